// The graph of a method: what is open, drawing, keyboard.

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
  function open(index) {
    select.value = String(index);
    view?.close();
    view = methodGraph(data.graph.methods[index], index, holder);
    show.method = index;
  }
  show.value = (index, wanted) => {
    if (show.method !== index || !view) open(index);
    view.reveal(wanted);
    body.scrollIntoView();
  };
  open(methods[0].index);
}
// Links between the sections: `value` shows a node or value of a method in the graph, `memory` a value in the memory
// plan, if it is in one.
const show = { method: -1, value: () => {}, memory: () => null };

// Pixels of the view for each node of a legible picture.
const AREA = 2300;

function methodGraph(method, methodIndex, holder) {
  const labelOf = (frame) => frameLabel(method.frames[frame]);
  const GROUPINGS = {
    none: ["nothing", () => []],
    trace: ["stack trace", (node) => (node.trace ?? []).slice(0, LEVELS).map(labelOf)],
    delegate: ["calls between delegates", (node) => (node.delegate === undefined ? ["outside of delegates"] : [])],
  };
  const has = { none: true, trace: method.frames.length > 0, delegate: method.delegates.length > 0 };
  let grouping = has.trace ? "trace" : has.delegate ? "delegate" : "none";
  let tree = [];
  let visible = [];
  let chosen = null;
  // What is drawn is still what the size of the view selected.
  let isFirst = true;

  const grouper = el("select", { onchange: () => { grouping = grouper.value; start(); } },
    Object.entries(GROUPINGS).filter(([key]) => has[key]).map(([key, [label]]) => el("option", { value: key }, label)));
  grouper.value = grouping;
  const button = (label, action, title) =>
    el("button", { type: "button", onclick: action, title, "aria-label": title }, label);
  const drawing = svg("svg", { tabindex: 0, role: "group",
    "aria-label": "Graph; arrow keys choose a node, Enter opens it, plus and minus zoom" });
  const detail = el("div", { class: "detail", "aria-live": "polite" });
  const map = overviewMap();
  const scene = panZoom(drawing, map);
  const search = graphSearch(method, labelOf, { reveal, mark });
  const describe = details(method, methodIndex, () => visible);
  holder.replaceChildren(
    el("div", { class: "bar" }, el("label", {}, "Group by", grouper),
      button("Expand all", () => expand(true), "Open all groups"),
      button("Collapse all", () => expand(false), "Close all groups and payloads"), search.input, search.count,
      button("+", () => scene.zoom(1.3), "Zoom in"), button("−", () => scene.zoom(1 / 1.3), "Zoom out"),
      button("Fit", () => fit(), "Show all of the graph")),
    search.list,
    el("div", { class: "graph" }, el("div", { class: "view" }, drawing, map.element), detail));

  const capacity = () => {
    const { width, height } = scene.size();
    return Math.max(16, Math.floor((width * height) / AREA));
  };
  // Where a picture that is not visible as a whole begins.
  const anchor = () => visible.find((item) => item.kind === "delegate") ?? visible[0];
  function start() {
    tree = methodTree(method, GROUPINGS[grouping][1]);
    // An open payload stays open.
    const isOpen = openFirst(tree, capacity());
    draw();
    if (!isOpen) level();
    scene.fit(anchor());
    isFirst = true;
  }
  // Closes groups until all of the picture is legible.
  function level() {
    for (let most = capacity() * 1.6; most > 4 && !scene.fits(); most *= 0.82) {
      close(tree);
      openUpTo(tree, most);
      draw();
    }
  }
  function fit() {
    if (!scene.fits()) { draw(); level(); }
    scene.fit(anchor());
  }
  function expand(open) {
    isFirst = false;
    close(tree);
    if (open) {
      // All groups before payloads.
      let count = tree.length;
      eachGroup(tree, (group) => {
        group.open = count + added(group) <= DRAWN;
        if (group.open) count += added(group);
      });
      eachCall(tree, (item) => {
        if (count + item.payload.nodes.length > DRAWN) return;
        count += item.payload.nodes.length;
        openAll(item);
      });
    }
    draw();
    scene.fit(anchor());
  }

  function draw() {
    let edges;
    ({ visible, edges } = collect(method, tree));
    for (const item of visible) item.edges = [];
    const box = place(visible, edges, scene.size());
    // Types are above the lines of all edges.
    const [frames, paths, types, nodeLayer] = [svg("g", {}), svg("g", {}), svg("g", { class: "types" }), svg("g", {})];
    for (const payload of payloadFrames(visible)) frames.append(svg("rect", { class: "payload", rx: 8, ...payload }));
    for (const edge of edges) drawEdge(edge, paths, types);
    for (const item of visible) nodeLayer.append(drawNode(item));
    scene.content([frames, paths, types, nodeLayer], visible, box);
    mark();
    const again = chosen && visible.find((item) => item.key === chosen.key);
    if (again) choose(again, true);
    else { chosen = null; replace(detail, describe.overview()); }
  }
  function drawEdge(edge, paths, types) {
    const text = edge.texts.length > 1 ? counted(edge.texts.length, "type") : clipped(shown(edge.texts[0] ?? ""), 40);
    const title = [`${edge.from.lines[0]} → ${edge.to.lines[0]}`, edge.isBack && "back, in a loop", edge.texts.join("; ")];
    edge.element = svg("g", { class: `edge${edge.isJump ? " jump" : ""}${edge.isBack ? " back" : ""}`,
      "data-from": edge.from.key, "data-to": edge.to.key },
    svg("path", { d: edge.path, "marker-end": "url(#arrow)" }),
    svg("title", {}, title.filter(Boolean).join(": ")));
    if (text && edge.x !== undefined) types.append(svg("text", { x: edge.x, y: edge.y }, text));
    edge.from.edges.push(edge);
    edge.to.edges.push(edge);
    paths.append(edge.element);
  }
  function drawNode(item) {
    const kind = item.kind === "delegate" ? "instruction delegate" : item.kind;
    const worst = describe.marks(item, "findings").map((finding) => severity(findings[finding] ?? {})).sort()[0];
    const change = changeOf(describe.marks(item, "differences"), isOpenable(item.tree));
    const found = worst === "error" || worst === "warning" ? `finding-${worst}` : "";
    const isTall = item.texts.length > 1;
    const label = (y, text, second) => svg("text", { class: second && "second", x: 0, y, "text-anchor": "middle" }, text);
    item.element = svg("g", { class: ["node", kind, found, change ?? ""].filter(Boolean).join(" "),
      transform: `translate(${item.x} ${item.y})`, tabindex: -1, role: "button",
      "aria-label": item.lines.join(", "), "data-key": item.key,
      onclick: () => choose(item), ondblclick: () => toggle(item) },
    svg("title", {}, item.lines.join("\n")),
    svg("rect", { x: -item.width / 2, y: -item.height / 2, width: item.width, height: item.height,
      rx: item.kind === "value" ? item.height / 2 : 5 }),
    label(isTall ? -3 : 4, item.texts[0]), isTall && label(12, item.texts[1], "second"));
    return item.element;
  }

  // ---- selection
  function choose(item, quiet) {
    if (chosen?.element) {
      chosen.element.classList.remove("chosen");
      chosen.edges.forEach((edge) => edge.element.classList.remove("chosen"));
    }
    chosen = item;
    item.element.classList.add("chosen");
    item.edges.forEach((edge) => edge.element.classList.add("chosen"));
    if (!quiet) replace(detail, describe.of(item, { toggle: () => toggle(item), close: (part) => closePart(item, part) }));
  }
  // Draws again, with the item that now stands for what was chosen at the same place of the view.
  function redraw(item, part) {
    isFirst = false;
    draw();
    const range = part?.range ?? [];
    const again = visible.find((other) => other.key === item.key)
      ?? visible.find((other) => other.tree === part)
      ?? visible.find((other) => other.index === item.index && range[0] <= other.operation && other.operation < range[1])
      ?? visible.find((other) => other.kind !== "value" && other.from <= item.from && item.from < other.to);
    if (!again) return;
    choose(again);
    scene.center(again);
  }
  function toggle(item) {
    if (!isOpenable(item.tree)) return;
    const [first] = item.tree.children;
    if (item.tree.open) close([item.tree]);
    else item.tree.open = true;
    const stays = item.tree.payload || !item.tree.open;
    redraw(stays ? item : { ...item, key: first.role ? `${first.role}${first.position}` : "" }, item.tree);
  }
  function closePart(item, part) {
    close([part]);
    redraw(item, part);
  }
  drawing.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (step) {
      const next = visible[Math.max(0, Math.min(visible.length - 1, (chosen?.order ?? -step) + step))];
      if (next) { choose(next); scene.center(next); }
    } else if (event.key === "Enter" && chosen) toggle(chosen);
    else if (event.key === "+" || event.key === "=") scene.zoom(1.3);
    else if (event.key === "-") scene.zoom(1 / 1.3);
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
  });
  function mark() {
    for (const item of visible) item.element.classList.toggle("found", search.finds(item));
  }
  // Shows an instruction, an operation of its payload, an input or output, or the first instruction that uses a value.
  function reveal(wanted) {
    let index = wanted.node;
    const uses = (node) => [...(node.writes ?? []), ...(node.args ?? [])].includes(wanted.value);
    if (index === undefined) index = method.nodes.findIndex(uses);
    if (index === undefined || index < 0) return;
    if (openPath(tree, index, wanted.operation)) { isFirst = false; draw(); }
    const item = visible.find((other) => other.index === index && other.operation === wanted.operation);
    if (item) { choose(item); scene.center(item); }
  }

  start();
  // The layout depends on the size of the view.
  let width = scene.size().width;
  const resized = new ResizeObserver(() => {
    const now = scene.size().width;
    if (!drawing.isConnected || now === width) return;
    width = now;
    if (isFirst && !scene.isMoved()) start();
    else { draw(); scene.fit(chosen && visible.find((item) => item.key === chosen.key) || anchor()); }
  });
  resized.observe(drawing);
  return { reveal, close: () => resized.disconnect() };
}
// Frames around the operations of open payloads, one in each column.
function payloadFrames(visible) {
  const parts = new Map();
  for (const item of visible) {
    if (item.part === undefined) continue;
    const key = `${item.part} ${item.columnNumber ?? ""}`;
    if (!parts.has(key)) parts.set(key, []);
    parts.get(key).push(item);
  }
  return [...parts.values()].map((items) => {
    const { left, top, width, height } = bounds(items);
    return { x: left + 12, y: top + 12, width: width - 24, height: height - 24 };
  });
}
function frameLabel({ file, line, name, context }) {
  return `${(file ?? "").split("/").pop()}:${line} ${context || name || ""}`;
}
