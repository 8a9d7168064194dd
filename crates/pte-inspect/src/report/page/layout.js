// Places of the nodes of a graph, and lines of its edges.

function bounds(items) {
  const left = least(items, (item) => item.x - item.width / 2);
  const right = largest(items, (item) => item.x + item.width / 2);
  const top = least(items, (item) => item.y - item.height / 2);
  const bottom = largest(items, (item) => item.y + item.height / 2);
  return { left: left - 20, top: top - 20, width: right - left + 40, height: bottom - top + 40 };
}

function placeDagre(items, edges) {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ nodesep: 24, ranksep: 34, edgesep: 12, marginx: 10, marginy: 10 });
  for (const item of items) graph.setNode(item.key, { width: item.width, height: item.height });
  for (const edge of edges) {
    const width = Math.min(40, (edge.texts[0] ?? "").length) * 5.5;
    graph.setEdge(edge.from.key, edge.to.key, { width, height: 10, labelpos: "c" });
  }
  dagre.layout(graph);
  for (const item of items) Object.assign(item, { x: graph.node(item.key).x, y: graph.node(item.key).y });
  for (const edge of edges) {
    const { points, x, y } = graph.edge(edge.from.key, edge.to.key);
    edge.path = smooth(points);
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

// Rows that the line of an edge passes without crossing their nodes.
const BESIDE = 60;
// Rows by the longest path from an input, in each row by the places of the predecessors.
function placeRows(items, edges) {
  const before = new Map(items.map((item) => [item, []]));
  const after = new Map(items.map((item) => [item, []]));
  for (const { from, to } of edges) if (from.order < to.order) { before.get(to).push(from); after.get(from).push(to); }
  for (const item of items) {
    item.row = Math.max(-1, largest(before.get(item), (other) => other.row)) + 1;
    item.isFed = item.kind === "value" || before.get(item).some((other) => other.isFed);
  }
  // What depends on constants only is close to where it is used.
  for (const item of [...items].reverse()) {
    const users = after.get(item);
    if (!item.isFed && users.length > 0) item.row = least(users, (other) => other.row) - 1;
  }
  const rows = [];
  for (const item of items) (rows[item.row] ??= []).push(item);
  const GAP = 26;
  rows.forEach((row, number) => {
    for (const item of row) {
      // Below the nearest ones, so that a chain is a straight line.
      const nearest = largest(before.get(item), (other) => other.row);
      const others = before.get(item).filter((other) => other.row === nearest);
      item.wish = others.length === 0 ? 0 : others.reduce((sum, other) => sum + other.x, 0) / others.length;
    }
    row.sort((a, b) => a.wish - b.wish || a.order - b.order);
    let right = -Infinity;
    for (const item of row) {
      item.x = Math.max(item.wish, right + GAP + item.width / 2);
      right = item.x + item.width / 2;
    }
    const shift = row.reduce((sum, item) => sum + item.x - item.wish, 0) / row.length;
    for (const item of row) { item.x -= shift; item.y = number * 78; }
  });
  for (const edge of edges) {
    const { from, to } = edge;
    const [y1, y2] = [from.y + from.height / 2, to.y - to.height / 2];
    const rowsBetween = to.row - from.row;
    if (rowsBetween === 1) {
      edge.path = `M${from.x} ${y1}C${from.x} ${y1 + 24} ${to.x} ${y2 - 24} ${to.x} ${y2}`;
      Object.assign(edge, { x: (from.x + to.x) / 2, y: (y1 + y2) / 2 + 3 });
    } else {
      // Beside the nodes between them.
      let side = Math.max(from.x, to.x) + 30;
      const [first, last] = [Math.min(from.row, to.row), Math.max(from.row, to.row)];
      const between = rows.slice(first + 1, Math.min(last, first + BESIDE)).flat();
      // Each step to the right may lead to another node.
      for (let attempt = 0; attempt < 8; attempt++) {
        const hit = between.find((item) => Math.abs(item.x - side) < item.width / 2 + 8);
        if (!hit) break;
        side = hit.x + hit.width / 2 + 12;
      }
      edge.path = `M${from.x} ${y1}C${from.x} ${y1 + 30} ${side} ${y1} ${side} ${y1 + 40}L${side} ${y2 - 40}` +
        `C${side} ${y2} ${to.x} ${y2 - 30} ${to.x} ${y2}`;
      Object.assign(edge, { x: side, y: (y1 + y2) / 2 });
    }
  }
}
