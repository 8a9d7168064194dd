// The summary of the files.

const first = data.files[0] ?? {};
const program = first.contents ?? {};
const findings = data.files.flatMap((file) => file.findings.map((finding) => ({ ...finding, file: file.name })));
const differences = data.changes?.differences ?? [];
const SEVERITIES = { malformed: "error", invalid: "error", suspicious: "warning" };
const severity = (finding) => SEVERITIES[finding.severity] ?? "note";
const FORMATS = { pte: "program", bpte: "program with tests", ptd: "weights" };

function summary() {
  document.title = `${shown(data.name)} - pte-emit report`;
  const header = el("header", {}, el("h1", {}, el("bdi", {}, data.name)),
    el("div", { class: "quiet" }, data.files.map((file) =>
      `${file.name}: ${FORMATS[file.contents?.format] ?? "file"}, ${counted(file.size.bytes, "byte")}`).join("; ")));
  document.body.prepend(header, contents, page);
  const body = section("summary", "Summary");
  if (data.error) body.append(el("p", { class: "error" }, `The program cannot be read: ${data.error}`));
  const methods = program.methods ?? [];
  const memory = data.memory?.methods ?? [];
  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
  const counts = { error: 0, warning: 0, note: 0 };
  findings.forEach((finding) => counts[severity(finding)]++);
  const called = (method) => method.nodes.filter((node) => node.delegate !== undefined).length;
  const calls = sum((data.graph?.methods ?? []).map(called));
  const instructions = sum(methods.map((method) => method.instructions));
  const named = sum(Object.values(program.named_data ?? {}));
  const weights = sum(data.files.flatMap((file) => file.contents?.keys ?? []).map((key) => key.bytes));
  const tiles = [
    ["size", bytes(sum(data.files.map((file) => file.size.bytes)))],
    [methods.length === 1 ? "method" : "methods", methods.length],
    ["instructions", grouped(instructions)],
    ["calls of delegates", grouped(calls)],
    ["calls of kernels", grouped(sum(methods.flatMap((method) => Object.values(method.operators))))],
    ["planned memory", bytes(Math.max(0, ...memory.map((method) => method.planned)))],
    ["constants", program.constants !== undefined && bytes(sum((program.constants ?? []).map((row) => row.bytes)))],
    ["named data", named > 0 && bytes(named)],
    [".ptd data", weights > 0 && bytes(weights)],
    ["findings of check", `${counted(counts.error, "error")}, ${counted(counts.warning, "warning")}`],
  ];
  body.append(el("div", { class: "tiles" }, tiles.filter(([, value]) => value !== false).map(([label, value]) =>
    el("div", { class: "tile" }, el("b", {}, value), el("span", { class: "quiet" }, label)))));
  body.append(list([
    ["serializer", { "object-api": "Python's object API", flatc: "flatc" }[program.serializer]],
    ["header", program.header && Object.entries(program.header).map(([key, value]) => `${key} ${value}`).join(", ")],
    ["needs", program.needs && `ExecuTorch ${program.needs.release} or later, for ${program.needs.feature}`],
    ["constants", (program.constants ?? []).map((row) =>
      `${row.type}: ${counted(row.bytes, "byte")} in ${counted(row.tensors, "tensor")}`).join("; ")],
    ["required keys", (program.required_keys ?? []).join(", ")],
    ["shared data", program.shared_bytes ? `${counted(program.shared_bytes, "byte")} saved` : null],
    ["stored twice", program.duplicated_bytes ? counted(program.duplicated_bytes, "byte") : null],
    ...Object.entries(program.constant_methods ?? {}).map(([name, values]) => [`${name}()`, values.join(", ")]),
  ]));
  methods.forEach((method) => {
    const allocator = method.method_allocator;
    const footprint = memory.find((found) => found.name === method.name);
    const bound = (total) => `${total.at_least ? "at least " : ""}${total.estimated ? "about " : ""}`;
    body.append(el("h3", {}, `Method ${method.name}`), list([
      ["inputs", method.inputs.map((value) => `${value.name}: ${value.type}`).join("; ")],
      ["outputs", method.outputs.map((value) => `${value.name}: ${value.type}`).join("; ")],
      ["state", method.state.map((value) => `${value.name}: ${value.type}`).join("; ")],
      ["memory", `${counted(method.planned_bytes, "byte")} planned, ${allocator.at_least ? "at least " : ""}` +
        `${grouped(allocator.bytes)} in the method allocator (64-bit)`],
      ["total memory", footprint && `${bound(footprint.total)}${counted(footprint.total.bytes, "byte")} (64-bit), with ` +
        `${grouped(footprint.temporary_allocator.bytes)} in the temporary allocator, ${grouped(footprint.delegate_bytes)} of delegates, and ` +
        `${grouped(footprint.inputs.bytes + footprint.outputs.bytes)} of inputs and outputs that the caller provides`],
    ]));
  });
}
