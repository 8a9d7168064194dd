// Documents for tests: models of any number of instructions, portable or delegated, with times, names that are markup,
// and two files. Their numbers follow from the structure, so that tests can expect them.

/** A residual network: blocks of convolution, normalization, activation and a skip connection, in modules of four blocks. */
export function network(count, { delegated = false, times = false, statistics = false, name = "forward", hostile = "" } = {}) {
  const values = [];
  const nodes = [];
  const labels = ["aten::convolution.out", "aten::_native_batch_norm_legit_no_training.out", "aten::relu.out", "aten::add.out", "XnnpackBackend"];
  const tensor = (args, sizes) => [{ name: "self", type: "Tensor" }, ...args, { name: "out", type: "Tensor", role: "out" }];
  const callees = [
    { kind: "convolution", args: [{ name: "input", type: "Tensor" }, { name: "weight", type: "Tensor" }, { name: "bias", type: "Tensor?" }, { name: "stride", type: "int[]" }, { name: "padding", type: "int[]" }, { name: "dilation", type: "int[]" }, { name: "transposed", type: "bool" }, { name: "output_padding", type: "int[]" }, { name: "groups", type: "int" }, { name: "out", type: "Tensor", role: "out" }] },
    { kind: "normalization", args: tensor([{ name: "weight", type: "Tensor?" }, { name: "eps", type: "float" }]) },
    { kind: "activation", args: tensor([]) },
    { kind: "elementwise", args: tensor([{ name: "other", type: "Tensor" }, { name: "alpha", type: "Scalar" }]) },
    { kind: "delegate" },
  ];
  const modules = [{ name: "self", parent: null }];
  const add = (value) => values.push(value) - 1;
  const literal = (text) => add({ name: `values[${values.length}]`, type: "literal", content: "literal", text });
  const type = "float32 [1, 16, 32, 32]";
  let current = add({ name: "x", type, content: "input" });
  const input = current;
  const writer = new Map([[current, null]]);
  const weights = [];
  const delegates = [];
  const payloads = [];
  const constant = (title, shape, size) => {
    const index = add({ name: title, type: `float32 ${shape}`, content: "constant", bytes: size, ...(statistics ? { statistics: { elements: size / 4, not_finite: 0, zeros: 3, minimum: -0.5, maximum: 0.75, mean: 0.01, histogram: Array.from({ length: 40 }, (_, bin) => Math.round(100 * Math.exp(-((bin - 20) ** 2) / 40))) } } : {}) });
    weights.push({ name: title, type: `float32 ${shape}`, bytes: size, values: [[0, index]] });
    return index;
  };
  const call = (label, args, title, module, work, extra = {}) => {
    const out = add({ name: title, type });
    const reads = args.filter((arg) => values[arg].content !== "literal").map((arg) => [arg, writer.get(arg) ?? null]);
    nodes.push({ label, args: [...args, out], writes: [out], reads, module, work, ...extra });
    writer.set(out, nodes.length - 1);
    return out;
  };
  let block = 0;
  let module = 0;
  while (nodes.length < count) {
    if (block % 4 === 0) module = modules.push({ name: `self.layer${block / 4}`, parent: 0 }) - 1;
    const own = modules.push({ name: `self.layer${Math.floor(block / 4)}.block${block % 4}`, parent: module }) - 1;
    const path = `layer${Math.floor(block / 4)}.block${block % 4}`;
    const skip = current;
    if (delegated && block % 2 === 1 && count - nodes.length > 1) {
      const payload = payloads.push(xnnpack(path)) - 1;
      delegates.push({ backend: "XnnpackBackend", name: `part${delegates.length}`, bytes: 4096, payload });
      current = call(4, [current], `${path.replace(".", "_")}_delegate`, own, { macs: null, planned: 65536, written: 65536 }, { delegate: delegates.length - 1 });
      block++;
      continue;
    }
    const steps = [
      () => call(0, [current, constant(`${path}.conv.weight`, "[16, 16, 3, 3]", 9216), constant(`${path}.conv.bias`, "[16]", 64), literal("[1, 1]"), literal("[1, 1]"), literal("[1, 1]"), literal("false"), literal("[0, 0]"), literal("1")], `${path.replace(".", "_")}_conv${hostile}`, own, { macs: 2359296, planned: 65536, constant: 9280, written: 65536 }),
      () => call(1, [current, constant(`${path}.bn.weight`, "[16]", 64), literal("1e-5")], `${path.replace(".", "_")}_bn`, own, { macs: null, planned: 65536, constant: 64, written: 65536 }),
      () => call(2, [current], `${path.replace(".", "_")}_relu`, own, { macs: null, planned: 65536, written: 65536 }),
      () => call(3, [current, skip, literal("1")], `${path.replace(".", "_")}_add`, own, { macs: null, planned: 131072, written: 65536 }),
    ];
    for (const step of steps) if (nodes.length < count) current = step();
    block++;
  }
  const method = { name, inputs: [input], outputs: [[current, writer.get(current)]], values, labels, nodes, delegates, frames: [], findings: [], differences: [], callees: callees.map((_, at) => at), modules };
  const tensors = nodes.map((node, at) => ({ value: node.writes[0], name: values[node.writes[0]].name, type, offset: 65536 * (at % 3), bytes: 65536, alive: [at + 1, Math.min(at + 4, nodes.length + 1)] }));
  const bytes = weights.reduce((sum, weight) => sum + weight.bytes, 0);
  const document = {
    version: 1, name: `network${count}.pte`, error: null, before: null, changes: null, comparison_error: null, data_statistics: statistics,
    files: [{ name: `network${count}.pte`, contents: { format: "pte", bytes: bytes + 4096, errors: [], methods: [{ name }], releases: ["0.4.0", "1.0.1"], segments: [{ bytes, content: ["constants"] }] },
      size: { name: "", bytes: bytes + 4096, children: [{ name: "FlatBuffer", bytes: 4096, children: [{ name: "KernelCall", bytes: 4096 }] }, { name: "segment 0 (constants)", bytes, children: [{ name: "constants", bytes, children: weights.map((weight) => ({ name: `${weight.name} (methods.${name}.values[${weight.values[0][1]}])`, bytes: weight.bytes })) }] }] },
      tensors: { name: "", bytes: bytes + 4096, children: [...weights.map((weight) => ({ name: `${weight.name} (methods.${name}.values[${weight.values[0][1]}])`, bytes: weight.bytes })), { name: `methods.${name}.values`, bytes: 4096 }] },
      findings: [{ rule: "G-01", severity: "suspicious", title: "A rule.", why: "A reason.", runtime: "accepts it", offset: 12, path: `methods.${name}.instructions[0]`, found: `one thing${hostile}`, expected: "another" }], truncated: [] }],
    memory: { methods: [{ name, planned: 196608, instructions: nodes.map(({ label }) => labels[label]), pools: [{ pool: 1, device: "cpu", bytes: 196608, unshared: 65536 * (nodes.length + 1), lower_bound: 196608, peak: { time: Math.min(3, nodes.length), event: "an instruction" }, timeline: [], tensors }] }], total: { bytes: 200000, with_files: bytes + 204096 } },
    graph: { version: 4, methods: [method], payloads, callees, weights },
    text: { text: yaml(method), reason: null, methods: [{ line: 2, values: values.map(() => 0), nodes: nodes.map((_, at) => 4 + at), delegates: [] }] },
  };
  nodes[0].findings = [0];
  if (times) addTimes(document, method);
  return document;
}
function xnnpack(path) {
  const values = [{ name: "x", type: "fp32 [1, 32, 32, 16]" }, { name: "y", type: "fp32 [1, 32, 32, 16]" }];
  const nodes = [];
  let last = 0;
  for (const [name, kind] of [["conv2d", "convolution"], ["clamp", "activation"], ["conv2d", "convolution"], ["add", "elementwise"]]) {
    const filter = values.push({ name: `${path} filter ${nodes.length}`, type: "fp32 [16, 3, 3, 16]", bytes: 9216 }) - 1;
    const out = nodes.length === 3 ? 1 : values.push({ type: "fp32 [1, 32, 32, 16]" }) - 1;
    nodes.push({ name, kind, reads: name === "add" ? [last, 0] : name === "conv2d" ? [last, filter] : [last], roles: name === "add" ? ["input1", "input2"] : ["input", "filter"], writes: [out], attributes: name === "conv2d" ? [["stride", "1 1"], ["padding", "1 1 1 1"]] : [], work: { macs: name === "conv2d" ? 2359296 : null } });
    last = out;
  }
  return { values, inputs: [0], outputs: [1], nodes };
}
const yaml = ({ name, nodes, labels, values }) => `methods:\n  ${JSON.stringify(name)}:\n    instructions:\n${nodes.map((node) => `      - {kernel: ${labels[node.label]}, out: ${JSON.stringify(values[node.writes[0]].name)}}`).join("\n")}\n`;
function addTimes(document, method) {
  const mean = (node) => (node.label === 0 ? 90000 : node.label === 4 ? 120000 : 9000);
  const timing = (total, count, share) => ({ count, total, mean: total / count, min: total / count, max: total / count, share });
  const sum = method.nodes.reduce((all, node) => all + mean(node), 0);
  const operators = method.labels.flatMap((operator, label) => {
    const own = method.nodes.filter((node) => node.label === label);
    return own.length === 0 ? [] : [{ operator, instructions: own.length, ...timing(2 * own.length * mean(own[0]), 2 * own.length, (own.length * mean(own[0])) / sum) }];
  });
  document.profile = { version: 1, methods: [{ name: method.name, index: 0, executions: timing(2 * sum, 2, 1), instructions: method.nodes.map((node, index) => ({ index, label: method.labels[node.label], ...timing(2 * mean(node), 2, mean(node) / sum) })), operators }] };
  const executions = [0, 1].map((run) => {
    let at = run * (sum + 20000);
    const start = at;
    const events = [];
    method.nodes.forEach((node, index) => {
      events.push([at, mean(node), index]);
      if (node.delegate !== undefined) for (let operation = 0; operation < 4; operation++) events.push([at + operation * 30000, 29000, index, operation === 3 ? 2 : operation % 2, operation]);
      at += mean(node);
    });
    return { method: 0, start, end: at, events };
  });
  document.timeline = { names: ["Convolution (NHWC, F32)", "Clamp (NC, F32)", "Add (ND, F32)"], dropped: 0, executions };
}
/** Several methods, of which the second has many inputs. */
export function methods() {
  const document = network(20);
  const second = network(12, { name: "decode/step" }).graph.methods[0];
  for (let at = 0; at < 990; at++) second.inputs.push(second.values.push({ name: `cache_${at}`, type: "float32 [1, 8]", content: "input" }) - 1);
  document.graph.methods.push(second);
  return document;
}
/** Two files: the newer one has another activation, no normalization in its first block, and less planned memory. */
export function twoFiles(count = 40) {
  const document = network(count);
  const old = network(count + 1);
  const [pool] = old.memory.methods[0].pools;
  Object.assign(pool, { bytes: 262144, lower_bound: 262144, peak: { time: 4, event: "an instruction" } });
  document.before = "old.pte";
  document.changes = { left: { size: 1000, instructions: count + 1 }, right: { size: 900, instructions: count }, differences: [{ area: "meaning", kind: "removed", topic: "instruction", path: `methods.forward.instructions[1]`, left: { value: "batch_norm" } }, { area: "meaning", kind: "changed", topic: "instruction", path: "methods.forward.instructions[3]", left: { value: "relu" }, right: { value: "gelu" } }] };
  // The new instruction i is the old i + 1, but for the first; the last one is new.
  const nodes = document.graph.methods[0].nodes.map((_, at) => (at === 0 ? 0 : at === count - 1 ? null : at + 1));
  document.base = { graph: old.graph, memory: old.memory, methods: [{ method: 0, nodes, values: document.graph.methods[0].values.map((_, at) => (at < old.graph.methods[0].values.length ? at : null)) }] };
  document.graph.methods[0].nodes[3].differences = [1];
  return document;
}
/** What a file is of which nothing but its first bytes can be read. */
export function unreadable() {
  return {
    version: 1, name: "photo.pte", error: "this is a JPEG image, not a program", before: null, changes: null, comparison_error: null, graph: null, memory: null, text: null,
    files: [{ name: "photo.pte", contents: { format: "unknown", bytes: 4000, errors: ["this is a JPEG image, not a program"] }, size: { name: "", bytes: 4000, children: [] }, tensors: { name: "", bytes: 4000, children: [] }, findings: [{ rule: "F-01", severity: "invalid", found: "ff d8 ff e0", expected: "ET12 at offset 4", path: null, offset: 0 }], truncated: [] }],
    bytes: { size: 4000, coarse: false, paths: ["file"], types: ["bytes"], meanings: ["not recognized"], elements: [null], regions: [[0, 4000, 0, 0, 0, null]], data: { offset: 0, base64: Buffer.from(Array.from({ length: 256 }, (_, at) => at)).toString("base64") } },
  };
}
