// What is drawn of a method, and its edges.

// The most frequent of a list of names: `conv2d 7, clamp 7, add 2`.
function frequent(names) {
  const counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  const text = sorted.slice(0, 3).map(([name, count]) => (count > 1 ? `${name} ${count}` : name)).join(", ");
  return sorted.length > 3 ? `${text}, …` : text;
}
// The name of an operator without what most have in common: `aten::add.out` is `add`.
const short = (name) => (/^(?:aten|dim_order_ops|executorch_prim|quantized_decomposed)::_?([^.]+)/.exec(name)?.[1] ?? name);

// The items of a tree that are drawn: `key`, `kind`, `lines`, `name` (the first line, short), the range of instructions
// `from` to `to`, its position `order`, what it is `part` of; the edges between them.
function collect(method, tree) {
  const value = (index) => method.values[index] ?? { name: "", type: "" };
  const label = (node) => method.labels[node.label] ?? "";
  const visible = [];
  const owner = new Array(method.nodes.length);
  // By instruction, of an open payload, what is drawn of each operation.
  const insides = new Map();
  const ports = { input: [], output: [] };
  const timed = (from, to, text) => [timeText(method, from, to), text].filter(Boolean).join(", ");
  const add = (item) => { visible.push(item); return item; };
  const port = ({ role, position }) => {
    const index = role === "input" ? method.inputs[position] : method.outputs[position][0];
    const { name, type } = value(index);
    ports[role][position] = add({ key: `${role}${position}`, kind: "value", value: index, role, name,
      lines: [name, type], from: 0, to: 0 });
  };
  const portGroup = (item, parents) => {
    const values = item.role === "input" ? method.inputs : method.outputs.map(([output]) => output);
    const group = add({ key: `all ${item.role}s`, kind: "group", tree: item, parents, role: item.role, name: item.label,
      lines: [item.label, frequent(values.map((index) => value(index).type))], from: 0, to: 0 });
    values.forEach((_, position) => { ports[item.role][position] = group; });
  };
  const group = (item, parents) => {
    const names = method.nodes.slice(item.start, item.end).map((node) => short(label(node)));
    const drawn = add({ key: `g${item.start}-${item.end}-${parents.length}`, kind: "group", tree: item, parents,
      name: item.short ?? item.label, lines: [item.label, timed(item.start, item.end, `${counted(names.length, "instruction")}: ${frequent(names)}`)],
      from: item.start, to: item.end });
    for (let at = item.start; at < item.end; at++) owner[at] = drawn;
  };
  const instruction = (item, parents) => {
    const node = method.nodes[item.node];
    const constants = (node.reads ?? []).filter(([read]) => value(read).content === "constant");
    const written = (node.writes ?? []).map((write) => value(write).type).join(", ");
    const size = constants.reduce((sum, [read]) => sum + (value(read).bytes ?? 0), 0);
    const second = constants.length > 0 ? `${counted(constants.length, "constant")}, ${bytes(size)}` : written;
    const kind = node.delegate === undefined ? "instruction" : "delegate";
    const operations = item.payload && counted(item.payload.nodes.length, "operation");
    const drawn = add({ key: `n${item.node}`, kind, index: item.node, tree: item, parents, name: short(label(node)),
      lines: [label(node), timed(item.node, item.node + 1, operations ?? second)], from: item.node, to: item.node + 1 });
    owner[item.node] = drawn;
    if (item.payload && item.open) {
      insides.set(item.node, []);
      inside(item.children, item, [...parents, item]);
    }
  };
  const inside = (items, { node, payload }, parents) => {
    const operations = insides.get(node);
    for (const item of items) {
      if (item.operation !== undefined) {
        const { name, writes } = payload.nodes[item.operation];
        operations[item.operation] = add({ key: `n${node}.${item.operation}`, kind: "inner", index: node, name,
          operation: item.operation, payload, parents, part: node,
          lines: [name, writes.map((write) => payload.values[write]?.type ?? "").join(", ")], from: node, to: node + 1 });
      } else if (item.open) inside(item.children, { node, payload }, [...parents, item]);
      else {
        const [start, end] = item.range;
        const names = payload.nodes.slice(start, end).map(({ name }) => name);
        const drawn = add({ key: `n${node}.${start}-${end}`, kind: "inner group", index: node, tree: item, payload, parents,
          part: node, name: item.short ?? item.label, lines: [item.label, frequent(names)], from: node, to: node + 1 });
        for (let at = start; at < end; at++) operations[at] = drawn;
      }
    }
  };
  const walk = (items, parents) => {
    for (const item of items) {
      if (item.position !== undefined) port(item);
      else if (item.node !== undefined) instruction(item, parents);
      else if (item.open) walk(item.children, [...parents, item]);
      else (item.role ? portGroup : group)(item, parents);
    }
  };
  walk(tree, []);
  visible.forEach((item, order) => { item.order = order; });
  return { visible, edges: edgesOf(method, owner, insides, ports) };
}
function edgesOf(method, owner, insides, ports) {
  const value = (index) => method.values[index] ?? { name: "", type: "" };
  const edges = new Map();
  const connect = (from, to, text, kind) => {
    if (!from || !to) return;
    // A loop inside of a group is an edge, too.
    const isBack = kind === "back" || from.order > to.order;
    if (from === to && kind !== "back") return;
    const key = `${from.key} ${to.key}`;
    const edge = edges.get(key) ?? { from, to, texts: [], isJump: false, isBack };
    edge.isJump ||= kind !== undefined;
    if (text && !edge.texts.includes(text)) edge.texts.push(text);
    edges.set(key, edge);
  };
  const inputOf = new Map(method.inputs.map((input, position) => [input, ports.input[position]]));
  const base = (index) => value(index).base ?? index;
  // Of an open payload, the operation that writes the output that the argument stands for: arguments are inputs, then
  // outputs.
  const source = (read, writer) => {
    if (writer === null) return inputOf.get(base(read));
    const operations = insides.get(writer);
    if (!operations) return owner[writer];
    const { inputs, outputs, nodes } = payloadOf(method, writer);
    const number = method.nodes[writer].args.slice(inputs.length).findIndex((arg) => arg !== null && base(arg) === base(read));
    return operations[nodes.findLastIndex((node) => node.writes.includes(outputs[number]))] ?? owner[writer];
  };
  const output = ports.output[0];
  method.nodes.forEach((node, index) => {
    for (const [read, ...writers] of node.reads ?? [])
      for (const writer of writers) connect(source(read, writer), owner[index], value(read).type);
    if (node.jump === undefined) return;
    const kind = node.jump <= index ? "back" : "jump";
    connect(owner[index], owner[node.jump] ?? output, node.always ? "" : "if false", kind);
  });
  method.outputs.forEach(([read, ...writers], position) =>
    writers.forEach((writer) => connect(source(read, writer), ports.output[position], value(read).type)));
  for (const [index, operations] of insides) {
    const payload = payloadOf(method, index);
    const writers = new Map(payload.inputs.map((input) => [input, owner[index]]));
    payload.nodes.forEach((node, number) => {
      for (const read of node.reads) connect(writers.get(read), operations[number], payload.values[read]?.type);
      for (const write of node.writes) writers.set(write, operations[number]);
    });
  }
  return [...edges.values()];
}
const payloadOf = (method, index) => data.graph.payloads[method.delegates[method.nodes[index].delegate]?.payload];
