// Tables of the program.

function addTable(id, title, columns, rows) {
  if (rows.length > 0) table(section(id, title), columns, rows);
}

function tables() {
  const methods = data.graph?.methods ?? [];
  const place = new Map();
  (data.memory?.methods ?? []).forEach((method, index) => {
    for (const pool of method.pools) {
      for (const tensor of pool.tensors) place.set(`${index} ${tensor.value}`, [pool.pool, tensor]);
    }
  });
  const tensors = [];
  methods.forEach((method, index) => {
    const uses = new Array(method.values.length).fill(0);
    for (const node of method.nodes) {
      for (const used of new Set([...(node.reads ?? []).map(([read]) => read), ...(node.writes ?? [])])) uses[used]++;
    }
    method.values.forEach((value, number) => {
      const [pool, tensor] = place.get(`${index} ${number}`) ?? [];
      if (value.content === "literal") return;
      tensors.push({ index, number, row: [value.name, method.name, number, value.type, value.content ?? "computed",
        value.bytes ?? tensor?.bytes, pool, tensor?.offset, uses[number]] });
    });
  });
  if (tensors.length > 0) {
    table(section("tensors", "Tensors"), [["name"], ["method"], ["value", true], ["type"], ["content"], ["bytes", true],
      ["pool", true], ["offset", true], ["instructions", true]],
      tensors.map(({ row }) => row), (row) => () => show.value(tensors[row].index, { value: tensors[row].number }));
  }
  const methodsOf = (rows) => (program.methods ?? []).flatMap(rows);
  addTable("operators", "Operators", [["operator"], ["method"], ["calls", true], ["between delegates", true]],
    methodsOf((method) => Object.entries(method.operators).map(([name, count]) =>
      [name, method.name, count, method.operators_between_delegates[name] ?? 0])));
  const delegate = ({ name, backend, calls, bytes: size, named_data_bytes: named, inputs, outputs }) =>
    [name, backend, calls, size, named, (inputs ?? []).join("; "), (outputs ?? []).join("; ")];
  addTable("delegates", "Delegates", [["delegate"], ["backend"], ["calls", true], ["payload", true],
    ["named data", true], ["inputs"], ["outputs"]], methodsOf((method) => method.delegates.map(delegate)));
  addTable("segments", "Segments", [["file"], ["segment", true], ["bytes", true], ["content"]],
    data.files.flatMap((file) => (file.contents?.segments ?? []).map((segment, number) =>
      [file.name, number, segment.bytes, segment.content.join(", ") || "unused"])));
  const entry = (file, { key, bytes: size, type, sizes }) =>
    [key, file.name, size, type ? `${type} [${sizes.join(", ")}]` : "data"];
  const users = program.named_data_users ?? {};
  addTable("keys", "Keys", [["key"], ["file"], ["bytes", true], ["type"], ["used by"]],
    [...data.files.flatMap((file) => (file.contents?.keys ?? []).map((found) => entry(file, found))),
      ...Object.entries(program.named_data ?? {}).map(([key, size]) => [key, first.name, size, "named data", users[key]])]);
}
