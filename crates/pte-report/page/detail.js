// What is known of a node of the graph.

function details(method, methodIndex, visible) {
  const value = (index) => method.values[index] ?? { name: "", type: "" };
  const button = (label, action) => el("button", { type: "button", onclick: action }, label);
  // Indices of the findings or differences about what is drawn: its instructions, their delegates and values.
  function marks(item, key) {
    const own = new Set();
    const add = (list) => (list ?? []).forEach((index) => own.add(index));
    for (let at = item.from; at < item.to; at++) {
      const node = method.nodes[at];
      add(node[key]);
      if (node.delegate !== undefined) add(method.delegates[node.delegate]?.[key]);
      if (item.part === undefined) [...(node.args ?? []).filter((arg) => arg !== null), ...(node.writes ?? [])].forEach((arg) => add(value(arg)[key]));
    }
    if (item.kind === "value") add(value(item.value)[key]);
    return [...own];
  }
  function overview() {
    const shownNodes = visible().filter((item) => item.kind === "instruction" || item.kind === "delegate").length;
    return [el("h3", {}, method.name), list([
      ["instructions", `${grouped(method.nodes.length)}, of which ${grouped(shownNodes)} are drawn one by one`],
      ["values", grouped(method.values.length)], ["delegates", grouped(method.delegates.length)],
    ]), el("p", { class: "quiet" }, "Choose a node for its arguments, its origin in the source and the findings " +
      "about it. Double-click, or Enter, opens groups and payloads of XNNPACK. Drag moves, Ctrl and the wheel zoom."),
    findingsList(method.findings ?? []), differencesList(method.differences ?? [])];
  }
  const differencesList = (all) => all.length > 0 && [el("h3", {}, "Differences"), el("ul", {}, all.map((index) => {
    const { kind, path, area, left, right } = differences[index] ?? {};
    const values = [left?.value, right?.value].filter(isPresent).join(" → ");
    return el("li", { class: differenceClass({ area, kind }) }, `${kind}: ${path}: ${values}`);
  }))];
  const findingsList = (all) => all.length > 0 && [el("h3", {}, "Findings"), el("ul", {}, all.map((index) => {
    const finding = findings[index] ?? {};
    const { rule, path, found, expected, why } = finding;
    return el("li", { class: severity(finding) },
      `${rule}: ${path ?? ""} ${found}, expected ${expected}. ${why ?? ""}`);
  }))];
  const valueRow = (index) => {
    const { name, type, content, bytes: size, statistics } = value(index);
    const origin = content === "literal" ? undefined : content;
    const open = show.memory(methodIndex, value(index).base ?? index);
    return [name, [[type, origin, size === undefined ? null : counted(size, "byte")].filter(Boolean).join(", "),
      open && [" ", button("memory plan", open)],
      content === "constant" && el("details", {}, el("summary", {}, "data"), statisticsView(statistics))]];
  };
  function of(item, actions) {
    const node = item.index === undefined || item.part !== undefined ? null : method.nodes[item.index];
    const rows = [];
    if (node) rows.push(["instruction", item.index]);
    if (node?.delegate !== undefined) {
      rows.push(["payload", counted(method.delegates[node.delegate]?.bytes ?? 0, "byte")]);
      if (item.tree?.payload) rows.push(["operations", frequent(item.tree.payload.nodes.map(({ name }) => name))]);
    }
    if (node) rows.push(...timeRows(method, item.index));
    if (node?.jump !== undefined) {
      const to = node.jump < method.nodes.length ? `instruction ${node.jump}` : "the end";
      rows.push([node.always ? "jumps to" : "if false", to]);
    }
    for (const [name, more] of [["values read, not listed", node?.more_reads], ["values written, not listed", node?.more_writes]])
      if (more) rows.push([name, grouped(more)]);
    if (item.kind === "value") {
      const open = show.memory(methodIndex, value(item.value).base ?? item.value);
      rows.push([item.role, [value(item.value).type, open && [" ", button("memory plan", open)]]]);
    }
    if (item.kind === "group" && !item.role) rows.push(["instructions", `${item.from} to ${item.to - 1}`]);
    if (item.operation !== undefined) rows.push(...operationRows(item));
    const title = node ? method.labels[node.label] ?? "" : item.lines[0];
    const isOpen = item.tree?.open;
    const action = item.tree?.payload ? (isOpen ? "Close the payload" : "Open the payload") : "Open the group";
    const labelOf = (part) => (part.payload ? "the payload" : `“${clipped(part.label, 40)}”`);
    return [el("h3", {}, el("bdi", {}, title)),
      el("div", { class: "bar" }, isOpenable(item.tree) && button(action, actions.toggle),
        (item.parents ?? []).map((part) => button(`Close ${labelOf(part)}`, () => actions.close(part)))),
      list(rows),
      node && [el("h3", {}, "Arguments"), list((node.args ?? []).filter((arg) => arg !== null).map(valueRow)),
        (node.writes ?? []).length > 0 && [el("h3", {}, "Writes"), list(node.writes.map(valueRow))]],
      node?.trace && [el("h3", {}, "Stack trace"), el("ol", {}, node.trace.map((frame) => {
        const { file, line, name, context } = method.frames[frame];
        return el("li", {}, `${file ?? ""}:${line} ${name ?? ""}`, el("br"), el("code", {}, context ?? ""));
      }))],
      findingsList(marks(item, "findings")), differencesList(marks(item, "differences"))];
  }
  function operationRows({ payload, operation, index }) {
    const { reads, writes } = payload.nodes[operation];
    const row = (title) => (number) => {
      const { name, type, bytes: size, statistics } = payload.values[number] ?? {};
      const constant = size !== undefined;
      return [title, [`${number}: ${type}${constant ? `, constant ${name ?? ""}, ${counted(size, "byte")}` : ""}`,
        constant && el("details", {}, el("summary", {}, "data"), statisticsView(statistics))]];
    };
    return [["operation", `${operation} of the payload of instruction ${index}`],
      ...reads.map(row("reads")), ...writes.map(row("writes"))];
  }
  return { marks, overview, of };
}
