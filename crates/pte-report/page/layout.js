// Places of the nodes of a graph, and lines of its edges.

function bounds(items) {
  const left = least(items, (item) => item.x - item.width / 2);
  const right = largest(items, (item) => item.x + item.width / 2);
  const top = least(items, (item) => item.y - item.height / 2);
  const bottom = largest(items, (item) => item.y + item.height / 2);
  return { left: left - 20, top: top - 20, width: right - left + 40, height: bottom - top + 40 };
}

function placeDagre(items, edges) {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ nodesep: 24, ranksep: 34, edgesep: 12, marginx: 10, marginy: 10 });
  for (const item of items) graph.setNode(item.key, { width: item.width, height: item.height });
  for (const edge of edges) {
    const width = Math.min(40, (edge.texts[0] ?? "").length) * 5.5;
    // A loop goes back up.
    const [from, to] = edge.isBack ? [edge.to, edge.from] : [edge.from, edge.to];
    edge.name = { v: from.key, w: to.key, name: edge.isBack ? "back" : "on" };
    graph.setEdge(edge.name, { width, height: 10, labelpos: "c" });
  }
  dagre.layout(graph);
  for (const item of items) Object.assign(item, { x: graph.node(item.key).x, y: graph.node(item.key).y });
  for (const edge of edges) {
    const { points, x, y } = graph.edge(edge.name);
    edge.path = smooth(edge.isBack ? [...points].reverse() : points);
    Object.assign(edge, { x: x ?? (edge.from.x + edge.to.x) / 2, y: (y ?? (edge.from.y + edge.to.y) / 2) + 3 });
  }
}
// A curve through points, by the middles of the lines between them.
function smooth(points) {
  const at = ({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  let path = `M${at(points[0])}`;
  for (let i = 1; i < points.length - 1; i++) {
    const next = points[i + 1];
    const middle = { x: (points[i].x + next.x) / 2, y: (points[i].y + next.y) / 2 };
    path += `Q${at(points[i])} ${at(i === points.length - 2 ? next : middle)}`;
  }
  return points.length > 2 ? path : `${path}L${at(points[points.length - 1])}`;
}

// Largest graph that dagre places; a larger one, or one that would not be legible, is in columns.
const DAGRE = { nodes: 90, edges: 180 };
// Lines of the nodes, and their sizes; `isDense` leaves out all but the name.
function measure(items, isDense) {
  for (const item of items) {
    const lines = isDense ? [item.name] : item.lines.filter((line, number) => number === 0 || line !== "");
    const most = isDense ? 20 : 44;
    const sign = !isOpenable(item.tree) ? "" : item.tree.open ? "− " : "+ ";
    item.texts = lines.map((line, number) => (number === 0 ? sign : "") + clipped(shown(line), most));
    item.width = Math.max(...item.texts.map((line, number) => line.length * (number === 0 ? 7.3 : 6.1)), 34) + (isDense ? 10 : 18);
    item.height = isDense ? 20 : item.texts.length > 1 ? 38 : 26;
  }
}
// Places nodes and edges for a view of this size in pixels: the first of dagre's layout, columns, and columns of dense
// nodes that is legible as a whole; otherwise columns, of which a part is visible. Returns the bounds.
function place(items, edges, view) {
  measure(items, false);
  const isSmall = items.length <= DAGRE.nodes && edges.length <= DAGRE.edges;
  const fits = (box) => box.width * LEGIBLE <= view.width && box.height * LEGIBLE <= view.height;
  const dagreBox = isSmall && (placeDagre(items, edges), bounds(items));
  if (dagreBox && fits(dagreBox)) return dagreBox;
  placeColumns(items, edges, view, false);
  let box = bounds(items);
  if (fits(box)) return box;
  measure(items, true);
  placeColumns(items, edges, view, true);
  box = bounds(items);
  if (fits(box)) return box;
  measure(items, false);
  placeColumns(items, edges, view, false);
  return bounds(items);
}
