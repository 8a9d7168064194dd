// Sizes as a treemap: by tensor, by layer, or by part of the file.

// Parts of a level; the others are one part.
const PARTS = 200;
function sizeSection() {
  const body = section("size", "Size");
  const trees = { tensor: treeOf((file) => file.tensors, cleaned), layer: treeOf((file) => file.tensors, byLayer),
    segment: treeOf((file) => file.size, (children) => children.map(merged)) };
  const trail = el("span", { class: "trail" });
  const line = el("div", { class: "line mono", "aria-live": "polite" });
  const drawing = svg("svg", { class: "map", role: "group", "aria-label": "Sizes; choose a part to enlarge it" });
  const select = el("select", { onchange: () => draw([trees[select.value]]) },
    Object.keys(trees).map((key) => el("option", { value: key }, key)));
  body.append(el("div", { class: "bar" }, el("label", {}, "Group by", select), trail), drawing, line);
  let current = [trees.tensor];
  const percent = (node) => ((100 * node.bytes) / Math.max(current[0].bytes, 1)).toFixed(1);
  const describe = (path, node) =>
    `${path.map((part) => part.name).join(" / ")}: ${counted(node.bytes, "byte")}, ${percent(node)} %` +
    (node.path && node.path !== node.name ? `, ${node.path}` : "");
  function draw(path, width = drawing.clientWidth) {
    current = path;
    const height = 480;
    drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const top = path[path.length - 1];
    // The parts, and what they consist of.
    const cut = (node, depth) => ({
      node,
      children: depth > 0 ? (node.children ?? []).map((child) => cut(child, depth - 1)) : undefined,
    });
    const hierarchy = d3.hierarchy(cut(top, 3)).sum(({ node, children }) => (children?.length ? 0 : node.bytes));
    const padding = (place) => (place.depth === 0 ? 2 : 17);
    const treemap = d3.treemap().size([width, height]).paddingOuter(2).paddingTop(padding).paddingInner(1).round(true);
    treemap(hierarchy);
    replace(trail, path.map((node, depth) =>
      el("button", { type: "button", onclick: () => draw(path.slice(0, depth + 1)) }, node.name || data.name)));
    replace(drawing, hierarchy.descendants().filter((place) => place.depth > 0).map((place) => {
      const { node } = place.data;
      const [w, h] = [place.x1 - place.x0, place.y1 - place.y0];
      if (w < 1 || h < 1) return null;
      const steps = [...path, ...place.ancestors().reverse().slice(1).map((ancestor) => ancestor.data.node)];
      const part = place.ancestors().find((ancestor) => ancestor.depth === 1).data.node;
      const enter = () => (part.children?.length ? draw([...path, part]) : point());
      const point = () => { line.textContent = shown(describe(steps, node)); };
      return svg("g", { role: "button", tabindex: place.depth === 1 ? 0 : -1, "aria-label": describe(steps, node),
        onclick: enter, onfocus: point, onpointerenter: point,
        onkeydown: (key) => { if (key.key === "Enter" || key.key === " ") { key.preventDefault(); enter(); } } },
      svg("title", {}, describe(steps, node)),
      svg("rect", { class: w < 6 || h < 6 ? "cell small" : "cell", x: place.x0, y: place.y0, width: w, height: h,
        fill: place.children ? "var(--panel)" : colour(node.name.replace(/[\d[\]]+/g, "")) }),
      cellText(node, place, w, h));
    }).filter(Boolean));
    line.textContent = shown(describe(path, top));
  }
  atWidth(drawing, (width) => draw(current, width));
}
// The name, and the size beside or below it.
function cellText(node, place, w, h) {
  const most = Math.max(2, Math.floor((w - 6) / 6.8));
  const size = bytes(node.bytes);
  // If there is no room for a name, the number in it, which distinguishes it.
  const full = shown(node.name);
  const name = full.length > most ? full.replace(/^[a-z]\w*?_(\d+)(?![^\W_])/i, "$1") : full;
  const text = (y, content) => svg("text", { x: place.x0 + 4, y: place.y0 + y }, clipped(content, most));
  if (w <= 40 || h <= 14) return null;
  const isBeside = name.length + size.length + 1 <= most;
  if (isBeside || place.children || h < 28) return text(12, isBeside ? `${name} ${size}` : name);
  return [text(12, name), text(25, size)];
}
function treeOf(of, arrange) {
  const trees = data.files.map((file) => ({ name: file.name, bytes: of(file).bytes, children: arrange(of(file).children) }));
  if (trees.length === 1) return trees[0];
  return { name: data.name, bytes: trees.reduce((sum, file) => sum + file.bytes, 0), children: trees };
}
// A level with one part is none.
function merged(node) {
  if (node.children?.length === 1) return { ...merged(node.children[0]), name: node.name };
  return { ...node, children: node.children?.map(merged) };
}
// Names without the path that follows in parentheses, `conv2d_43 filter (methods.forward...)`, and paths without the
// method that all have.
function cleaned(children) {
  const isOne = (program.methods ?? []).length === 1;
  const clean = (name) => {
    if (name === "(none)") return "no owner: padding, tables of the file";
    if (name.startsWith("(")) return name;
    const only = name.replace(/ \(.*\)$/s, "");
    const [, method, rest] = /^methods\.([^.[]+)\.(.*)$/s.exec(only) ?? [];
    return rest === undefined ? only : isOne ? rest : `${rest}, ${method}`;
  };
  return children.map(({ name, ...node }) => ({ ...node, path: name, name: clean(name) }));
}
// The layer of a tensor: what its name has in common with other tensors of the layer.
function byLayer(children) {
  const layers = new Map();
  for (const node of cleaned(children)) {
    const name = layerOf(node.name);
    if (!layers.has(name)) layers.set(name, { name, bytes: 0, children: [] });
    layers.get(name).bytes += node.bytes;
    layers.get(name).children.push(node);
  }
  const sorted = [...layers.values()].sort((a, b) => b.bytes - a.bytes).map((layer) =>
    (layer.children.length === 1 ? layer.children[0] : layer));
  if (sorted.length <= PARTS) return sorted;
  const rest = sorted.slice(PARTS);
  const more = { name: `(${rest.length} more)`, bytes: rest.reduce((sum, node) => sum + node.bytes, 0) };
  return [...sorted.slice(0, PARTS), more];
}
function layerOf(name) {
  if (/^\(|^no owner/.test(name)) return name;
  // Of a constant of a payload, the operation, and the delegate if there are several.
  const [, operation, delegate] = /^(\S+) [^,]*(, .*)?$/s.exec(name) ?? [];
  if (operation) return `${operation}${delegate ?? ""}`;
  return /^(.*[^._])[._](?:weight|bias|filter|scale|scales|zero_point|running_mean|running_var|num_batches_tracked)s?$/.exec(name)?.[1]
    ?? name.replace(/[.[].*$/s, "");
}
