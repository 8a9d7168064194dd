// Sizes as a treemap.

function sizeSection() {
  const body = section("size", "Size");
  // A level with one part is none; its name is shown if nothing is below it.
  const merged = (node) => {
    const only = node.children?.length === 1 ? merged(node.children[0]) : null;
    if (!only) return { ...node, children: node.children?.map(merged) };
    const isNamed = !only.children && only.name !== "(none)" && !node.name.includes(only.name);
    return { ...only, name: isNamed ? `${node.name} / ${only.name}` : node.name };
  };
  const roots = data.files.map((file) =>
    ({ name: file.name, bytes: file.size.bytes, children: file.size.children.map(merged) }));
  const all = roots.reduce((sum, file) => sum + file.bytes, 0);
  const root = roots.length === 1 ? roots[0] : { name: data.name, bytes: all, children: roots };
  const trail = el("div", { class: "bar" });
  const line = el("div", { class: "line mono", "aria-live": "polite" });
  const drawing = svg("svg", { class: "map", role: "group", "aria-label": "Sizes; choose a part to enlarge it" });
  body.append(trail, drawing, line);
  const percent = (node) => ((100 * node.bytes) / Math.max(root.bytes, 1)).toFixed(1);
  const describe = (path, node) =>
    `${path.map((part) => part.name).join(" / ")}: ${counted(node.bytes, "byte")}, ${percent(node)} %`;
  let current = [root];
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
      // Of a value, its name.
      const name = /^.*values\[\d+\] \((.*)\)$/s.exec(node.name)?.[1] ?? node.name.replace(/^methods\./, "");
      const text = `${shown(name)} ${bytes(node.bytes)}`;
      const part = place.ancestors().find((ancestor) => ancestor.depth === 1).data.node;
      const enter = () => (part.children ? draw([...path, part]) : point());
      const point = () => { line.textContent = shown(describe(steps, node)); };
      return svg("g", { role: "button", tabindex: place.depth === 1 ? 0 : -1, "aria-label": describe(steps, node),
        onclick: enter, onfocus: point,
        onkeydown: (key) => { if (key.key === "Enter" || key.key === " ") { key.preventDefault(); enter(); } } },
        svg("title", {}, describe(steps, node)),
        svg("rect", { class: "cell", x: place.x0, y: place.y0, width: w, height: h,
          fill: place.children ? "var(--panel)" : colour(name.replace(/[\d[\]]+/g, "")) }),
        w > 40 && h > 14 && svg("text", { x: place.x0 + 4, y: place.y0 + 12 },
          clipped(text, Math.max(2, Math.floor((w - 6) / 6.8)))));
    }).filter(Boolean));
    line.textContent = shown(describe(path, top));
  }
  atWidth(body, (width) => draw(current, width));
}
