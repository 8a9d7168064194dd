// The graph of a method: groups, payloads, selection, search.

// What is drawn: `key`, `kind`, `lines`, the range of instructions `from` to `to`, and its position `order`; of an
// instruction its `index`, of a group the `group`, of an operation in a payload the `operation`.
function graphSection() {
  const methods = (data.graph?.methods ?? []).map((method, index) => ({ method, index }))
    .filter(({ method }) => method.nodes.length > 0);
  if (methods.length === 0) return;
  const body = section("graph", "Graph");
  let view = null;
  const option = ({ method, index }) => el("option", { value: index }, method.name || `method ${index}`);
  const select = el("select", { onchange: () => open(Number(select.value)) }, methods.map(option));
  const bar = el("div", { class: "bar" }, methods.length > 1 ? el("label", {}, "Method", select) : null);
  const holder = el("div", {});
  body.append(bar, holder);
  function open(index, then) {
    select.value = String(index);
    view = methodGraph(data.graph.methods[index], holder);
    show.method = index;
    then?.(view);
  }
  show.value = (index, wanted) => {
    if (show.method !== index || !view) open(index);
    view.reveal(wanted);
    body.scrollIntoView();
  };
  open(methods[0].index);
}
const show = { method: -1, value: () => {} };

// Largest graph that dagre places; larger ones are placed in rows, in a time proportional to the number of edges.
const DAGRE = { nodes: 90, edges: 180 };
// Most nodes beside each other; more are in groups of BLOCK. Most nodes that "Expand all" draws.
const MANY = 2000;
const BLOCK = 100;
const DRAWN = 5000;
// Most lines of a stack trace that are groups.
const LEVELS = 32;

// The groups of instructions, as a tree: a group is a run of consecutive instructions whose paths begin alike.
function groups(paths, depth, start, end) {
  const items = [];
  for (let at = start; at < end; ) {
    const label = paths[at][depth];
    let stop = at + 1;
    if (label !== undefined) while (stop < end && paths[stop][depth] === label) stop++;
    if (label === undefined || stop - at === 1) items.push({ node: at });
    else {
      // A level that separates nothing is left out.
      const children = groups(paths, depth + 1, at, stop);
      if (stop - at === end - start && depth > 0) return children;
      items.push({ label, start: at, end: stop, children, open: false });
    }
    at = Math.max(stop, at + 1);
  }
  return blocks(items);
}
function blocks(items) {
  if (items.length <= MANY) return items;
  const parts = [];
  for (let at = 0; at < items.length; at += BLOCK) parts.push(items.slice(at, at + BLOCK));
  return blocks(parts.map((children) => {
    const [start, end] = [children[0].start ?? children[0].node, children.at(-1).end ?? children.at(-1).node + 1];
    return { label: `instructions ${start} to ${end - 1}`, start, end, children, open: false };
  }));
}

function methodGraph(method, holder) {
  const labelOf = (frame) => frameLabel(method.frames[frame]);
  const GROUPINGS = {
    none: ["nothing", () => []],
    trace: ["stack trace", (node) => (node.trace ?? []).slice(0, LEVELS).map(labelOf)],
    delegate: ["calls between delegates", (node) => (node.delegate === undefined ? ["outside of delegates"] : [])],
  };
  const has = { none: true, trace: method.frames.length > 0, delegate: method.delegates.length > 0 };
  let grouping = has.trace ? "trace" : has.delegate ? "delegate" : "none";
  let tree = [];
  const openPayloads = new Set();
  let visible = [];
  let chosen = null;
  let found = [];
  let scene = null;

  const grouper = el("select", { onchange: () => { grouping = grouper.value; regroup(); draw(true); } },
    Object.entries(GROUPINGS).filter(([key]) => has[key]).map(([key, [label]]) => el("option", { value: key }, label)));
  grouper.value = grouping;
  const search = el("input", { type: "search", placeholder: "Operator, value, type", "aria-label": "Search the graph",
    oninput: () => find(0), onkeydown: (event) => {
    if (event.key === "Enter") { event.preventDefault(); find(event.shiftKey ? -1 : 1); }
  } });
  const matches = el("span", { class: "quiet", "aria-live": "polite" });
  const button = (label, action, title) =>
    el("button", { type: "button", onclick: action, title, "aria-label": title }, label);
  const drawing = svg("svg", { tabindex: 0, role: "group",
    "aria-label": "Graph; arrow keys choose a node, Enter opens it, plus and minus zoom" });
  const detail = el("div", { class: "detail", "aria-live": "polite" });
  holder.replaceChildren(
    el("div", { class: "bar" }, el("label", {}, "Group by", grouper),
      button("Expand all", () => expand(true), "Open all groups"),
      button("Collapse all", () => expand(false), "Close all groups and payloads"), search, matches,
      button("+", () => scene.zoom(1.3), "Zoom in"), button("−", () => scene.zoom(1 / 1.3), "Zoom out"),
      button("Fit", () => scene.fit(), "Show all of the graph")),
    el("div", { class: "graph" }, el("div", { class: "view" }, drawing), detail));
  scene = panZoom(drawing);

  const value = (index) => method.values[index] ?? { name: "", type: "" };
  const label = (node) => method.labels[node.label] ?? "";

  function regroup() {
    const paths = method.nodes.map((node, index) => GROUPINGS[grouping][1](node, index));
    tree = groups(paths, 0, 0, method.nodes.length);
    openUpTo(DAGRE.nodes * 0.6);
  }
  // Opens groups, from the outside, up to a number of nodes.
  function openUpTo(most) {
    let count = tree.length;
    const queue = tree.filter((item) => item.children);
    for (let at = 0; at < queue.length; at++) {
      const group = queue[at];
      if (count + group.children.length - 1 > most) continue;
      group.open = true;
      count += group.children.length - 1;
      for (const item of group.children) if (item.children) queue.push(item);
    }
  }
  function eachGroup(items, visit) {
    for (const item of items) if (item.children) { visit(item); eachGroup(item.children, visit); }
  }
  function expand(open) {
    eachGroup(tree, (group) => { group.open = false; });
    if (open) openUpTo(DRAWN);
    else openPayloads.clear();
    draw(true);
  }

  // ---- what is visible, and its edges
  function collect() {
    visible = [];
    const owner = new Array(method.nodes.length);
    const add = (item) => { visible.push(item); return item; };
    const port = (role, number, position) => add({ key: `${role}${position}`, kind: "value", value: number, role,
      lines: [value(number).name, value(number).type], from: 0, to: 0 });
    const inputs = method.inputs.map((input, position) => port("input", input, position));
    const walk = (items, parents) => {
      for (const item of items) {
        if (!item.children) { owner[item.node] = instruction(item.node, parents); continue; }
        if (item.open) { walk(item.children, [...parents, item]); continue; }
        const group = add({ key: `g${item.start}-${item.end}-${parents.length}`, kind: "group", group: item, parents,
          lines: [item.label, counted(item.end - item.start, "instruction")], from: item.start, to: item.end });
        for (let at = item.start; at < item.end; at++) owner[at] = group;
      }
    };
    const instruction = (index, parents) => {
      const node = method.nodes[index];
      const payload = node.delegate === undefined ? undefined : method.delegates[node.delegate]?.payload;
      const constants = (node.reads ?? []).filter(([read]) => value(read).content === "constant");
      const written = (node.writes ?? []).map((write) => value(write).type).join(", ");
      const size = constants.reduce((sum, [read]) => sum + (value(read).bytes ?? 0), 0);
      const second = constants.length > 0 ? `${counted(constants.length, "constant")}, ${bytes(size)}` : written;
      const kind = node.delegate === undefined ? "instruction" : "delegate";
      const lines = [label(node), second];
      const item = add({ key: `n${index}`, kind, index, parents, lines, payload, from: index, to: index + 1 });
      if (payload !== undefined && openPayloads.has(index)) inner(item, data.graph.payloads[payload]);
      return item;
    };
    const inner = (item, payload) => {
      item.graph = payload;
      item.inner = payload.nodes.map((node, number) => add({
        key: `${item.key}.${number}`, kind: "inner", operation: node, payloadGraph: payload, parents: item.parents,
        lines: [node.name, node.writes.map((write) => payload.values[write]?.type ?? "").join(", ")],
        from: item.index, to: item.index + 1,
      }));
    };
    walk(tree, []);
    const outputs = method.outputs.map(([output], position) => port("output", output, position));
    visible.forEach((item, order) => { item.order = order; });

    const edges = new Map();
    const connect = (from, to, text, jump) => {
      if (!from || !to || from === to) return;
      const key = `${from.key} ${to.key}`;
      const edge = edges.get(key) ?? { from, to, texts: [], jump: Boolean(jump) };
      if (text && !edge.texts.includes(text)) edge.texts.push(text);
      edges.set(key, edge);
    };
    const inputOf = new Map(method.inputs.map((input, position) => [input, inputs[position]]));
    const base = (index) => value(index).base ?? index;
    // Of an open payload, the operation that writes the output that the argument stands for: arguments are inputs, then
    // outputs.
    const source = (read, writer) => {
      if (writer === null) return inputOf.get(base(read));
      const from = owner[writer];
      if (!from?.inner) return from;
      const { inputs, outputs: results } = from.graph;
      const number = method.nodes[writer].args.slice(inputs.length).findIndex((arg) => base(arg) === base(read));
      return from.inner.findLast((item) => item.operation.writes.includes(results[number])) ?? from;
    };
    method.nodes.forEach((node, index) => {
      const target = owner[index];
      for (const [read, ...writers] of node.reads ?? [])
        for (const writer of writers) connect(source(read, writer), target, value(read).type);
      if (node.jump !== undefined) connect(target, owner[node.jump] ?? outputs[0], "if false", true);
    });
    method.outputs.forEach(([output, ...writers], position) => writers.forEach((writer) =>
      connect(source(output, writer), outputs[position], value(output).type)));
    for (const item of visible) if (item.inner) {
      const payload = item.graph;
      const writers = new Map(payload.inputs.map((input) => [input, item]));
      payload.nodes.forEach((node, number) => {
        for (const read of node.reads) connect(writers.get(read), item.inner[number], payload.values[read]?.type);
        for (const write of node.writes) writers.set(write, item.inner[number]);
      });
    }
    return [...edges.values()];
  }

  // ---- drawing
  function draw(refit) {
    const edges = collect();
    for (const item of visible) {
      const sign = item.group || (item.payload !== undefined && !item.inner) ? "+ " : item.inner ? "− " : "";
      const lines = item.lines.map((line, number) => (number === 0 ? sign : "") + clipped(shown(line), 44));
      item.lines = lines.filter((line, number) => number === 0 || line !== "");
      item.width = Math.max(...item.lines.map((line, number) => line.length * (number === 0 ? 7.3 : 6.1)), 40) + 18;
      item.height = item.lines.length > 1 ? 38 : 26;
      item.edges = [];
    }
    const isSmall = visible.length <= DAGRE.nodes && edges.length <= DAGRE.edges;
    (isSmall ? placeDagre : placeRows)(visible, edges);
    // Types are above the lines of all edges.
    const [paths, types] = [svg("g", {}), svg("g", { class: "types" })];
    const edgeLayer = svg("g", {}, paths, types);
    const nodeLayer = svg("g", {});
    for (const edge of edges) {
      const text = edge.texts.length > 1 ? counted(edge.texts.length, "type") : clipped(shown(edge.texts[0] ?? ""), 40);
      const title = `${edge.from.lines[0]} → ${edge.to.lines[0]}: ${edge.texts.join("; ")}`;
      edge.element = svg("g", { class: edge.jump ? "edge jump" : "edge" },
        svg("path", { d: edge.path, "marker-end": "url(#arrow)" }),
        svg("title", {}, title));
      if (text) types.append(svg("text", { x: edge.x, y: edge.y }, text));
      edge.from.edges.push(edge);
      edge.to.edges.push(edge);
      paths.append(edge.element);
    }
    for (const item of visible) {
      const kind = item.kind === "delegate" ? "instruction delegate" : item.kind;
      const worst = marks(item, "findings").map((finding) => severity(findings[finding] ?? {})).sort()[0];
      // One that is added has no differences of its own.
      const changes = marks(item, "differences").map((index) => KINDS[differences[index]?.kind]);
      const change = changes.includes("added") && !item.group ? "added" : changes[0];
      const found = worst === "error" || worst === "warning" ? `finding-${worst}` : "";
      item.element = svg("g", { class: ["node", kind, found, change ?? ""].filter(Boolean).join(" "),
        transform: `translate(${item.x} ${item.y})`, tabindex: -1, role: "button",
        "aria-label": item.lines.join(", "), "data-key": item.key,
        onclick: () => choose(item), ondblclick: () => toggle(item) },
        svg("rect", { x: -item.width / 2, y: -item.height / 2, width: item.width, height: item.height,
          rx: item.kind === "value" ? 13 : 5 }),
        svg("text", { x: 0, y: item.lines.length > 1 ? -3 : 4, "text-anchor": "middle" }, item.lines[0]),
        item.lines.length > 1 && svg("text", { class: "second", x: 0, y: 12, "text-anchor": "middle" }, item.lines[1]));
      nodeLayer.append(item.element);
    }
    scene.content(edgeLayer, nodeLayer, bounds(visible));
    if (refit) scene.start(visible[0]);
    mark();
    const again = chosen && visible.find((item) => item.key === chosen.key);
    if (again) choose(again, true);
    else { chosen = null; overview(); }
  }
  // Indices of the findings or differences about what is drawn: its instructions, their delegates and values.
  function marks(item, key) {
    const own = new Set();
    const add = (list) => (list ?? []).forEach((index) => own.add(index));
    for (let at = item.from; at < item.to; at++) {
      const node = method.nodes[at];
      add(node[key]);
      if (node.delegate !== undefined) add(method.delegates[node.delegate]?.[key]);
      if (item.kind !== "inner") [...(node.args ?? []), ...(node.writes ?? [])].forEach((arg) => add(value(arg)[key]));
    }
    if (item.kind === "value") add(value(item.value)[key]);
    return [...own];
  }

  // ---- selection
  function overview() {
    const shownNodes = visible.filter((item) => item.kind === "instruction" || item.kind === "delegate").length;
    replace(detail, el("h3", {}, method.name), list([
      ["instructions", `${grouped(method.nodes.length)}, of which ${grouped(shownNodes)} are drawn one by one`],
      ["values", grouped(method.values.length)], ["delegates", grouped(method.delegates.length)],
    ]), el("p", { class: "quiet" }, "Choose a node for its arguments, its origin in the source and the findings " +
      "about it. Double-click, or Enter, opens groups and payloads of XNNPACK. Drag moves, Ctrl and the wheel zoom."),
      findingsList(method.findings ?? []), differencesList(method.differences ?? []));
  }
  const differencesList = (all) => all.length > 0 && [el("h3", {}, "Differences"), el("ul", {}, all.map((index) => {
    const { kind, path, left, right } = differences[index] ?? {};
    const values = [left?.value, right?.value].filter(isPresent).join(" → ");
    return el("li", { class: KINDS[kind] }, `${kind}: ${path}: ${values}`);
  }))];
  const findingsList = (all) => all.length > 0 && [el("h3", {}, "Findings"), el("ul", {}, all.map((index) => {
    const finding = findings[index] ?? {};
    const { rule, path, found, expected, why } = finding;
    return el("li", { class: severity(finding) },
      `${rule}: ${path ?? ""} ${found}, expected ${expected}. ${why ?? ""}`);
  }))];
  const valueRow = (index) => {
    const { name, type, content, bytes: size } = value(index);
    const origin = content === "literal" ? undefined : content;
    return [name, [type, origin, size === undefined ? null : counted(size, "byte")].filter(Boolean).join(", ")];
  };
  function choose(item, quiet) {
    if (chosen?.element) {
      chosen.element.classList.remove("chosen");
      chosen.edges.forEach((edge) => edge.element.classList.remove("chosen"));
    }
    chosen = item;
    item.element.classList.add("chosen");
    item.edges.forEach((edge) => edge.element.classList.add("chosen"));
    if (quiet) return;
    const node = item.index === undefined ? null : method.nodes[item.index];
    const canOpen = item.group || item.payload !== undefined;
    const rows = [];
    if (node) rows.push(["instruction", item.index]);
    if (node?.delegate !== undefined) {
      rows.push(["payload", counted(method.delegates[node.delegate]?.bytes ?? 0, "byte")]);
    }
    if (node?.jump !== undefined) rows.push(["if false", node.jump < method.nodes.length ? `instruction ${node.jump}` : "the end"]);
    if (item.kind === "value") rows.push([item.role, value(item.value).type]);
    if (item.group) rows.push(["instructions", `${item.from} to ${item.to - 1}`]);
    const operation = item.operation;
    if (operation) for (const [title, values] of [["reads", operation.reads], ["writes", operation.writes]]) {
      for (const number of values) {
        const { type, bytes: size } = item.payloadGraph.values[number] ?? {};
        rows.push([title, `${number}: ${type}${size === undefined ? "" : `, constant, ${counted(size, "byte")}`}`]);
      }
    }
    const title = node ? label(node) : item.group ? item.group.label : item.lines[0];
    const action = item.inner ? "Close the payload" : item.group ? "Open the group" : "Open the payload";
    const close = (group) => { group.open = false; draw(false); };
    replace(detail, el("h3", {}, el("bdi", {}, title)),
      el("div", { class: "bar" }, canOpen && button(action, () => toggle(item)),
        (item.parents ?? []).map((group) => button(`Close “${clipped(group.label, 40)}”`, () => close(group)))),
      list(rows),
      node && [el("h3", {}, "Arguments"), list((node.args ?? []).map(valueRow)),
        (node.writes ?? []).length > 0 && [el("h3", {}, "Writes"), list(node.writes.map(valueRow))]],
      node?.trace && [el("h3", {}, "Stack trace"), el("ol", {}, node.trace.map((frame) => {
        const { file, line, name, context } = method.frames[frame];
        return el("li", {}, `${file ?? ""}:${line} ${name ?? ""}`, el("br"), el("code", {}, context ?? ""));
      }))],
      findingsList(marks(item, "findings")), differencesList(marks(item, "differences")));
  }
  function toggle(item) {
    if (item.group) item.group.open = true;
    else if (openPayloads.has(item.index)) openPayloads.delete(item.index);
    else if (item.payload !== undefined) openPayloads.add(item.index);
    else return;
    draw(false);
    const again = visible.find((other) => other.from <= item.from && item.from < other.to);
    if (again) { choose(again); scene.center(again); }
  }
  drawing.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (step) {
      const next = visible[Math.max(0, Math.min(visible.length - 1, (chosen?.order ?? -step) + step))];
      if (next) { choose(next); scene.center(next); }
    } else if (event.key === "Enter" && chosen) toggle(chosen);
    else if (event.key === "+" || event.key === "=") scene.zoom(1.3);
    else if (event.key === "-") scene.zoom(1 / 1.3);
    else if (event.key === "0") scene.fit();
    else return;
    event.preventDefault();
  });

  // ---- search, in all instructions; groups are opened as needed
  const named = (index) => [value(index).name, value(index).type];
  const used = (node) => [...(node.args ?? []), ...(node.writes ?? [])];
  const texts = method.nodes.map((node) => [label(node), ...used(node).flatMap(named).map((text) => clipped(text, 200)),
    ...(node.trace ?? []).map(labelOf)].join("\n").toLowerCase());
  let current = -1;
  function find(step) {
    const wanted = search.value.trim().toLowerCase();
    found = wanted === "" ? [] : texts.flatMap((text, index) => (text.includes(wanted) ? [index] : []));
    if (step === 0) current = -1;
    if (found.length > 0 && step !== 0) {
      current = (current + step + found.length) % found.length;
      reveal({ node: found[current] });
    }
    matches.textContent = wanted === "" ? "" : found.length === 0 ? "none"
      : step === 0 ? counted(found.length, "instruction") : `${current + 1} of ${found.length}`;
    mark();
  }
  function mark() {
    const set = new Set(found);
    for (const item of visible) {
      let hit = false;
      for (let at = item.from; at < item.to && !hit; at++) hit = set.has(at);
      item.element.classList.toggle("found", hit && item.kind !== "inner");
    }
  }
  // Shows an instruction, or the first one that uses a value.
  function reveal(wanted) {
    let index = wanted.node;
    const uses = (node) => [...(node.writes ?? []), ...(node.args ?? [])].includes(wanted.value);
    if (index === undefined) index = method.nodes.findIndex(uses);
    if (index === undefined || index < 0) return;
    let closed = false;
    eachGroup(tree, (group) => {
      if (group.open || index < group.start || group.end <= index) return;
      group.open = true;
      closed = true;
    });
    if (closed) draw(false);
    const item = visible.find((other) => other.index === index);
    if (item) { choose(item); scene.center(item); }
  }

  regroup();
  draw(true);
  return { reveal };
}
function frameLabel({ file, line, name, context }) {
  return `${(file ?? "").split("/").pop()}:${line} ${context || name || ""}`;
}
