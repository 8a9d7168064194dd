// Rows by the longest path from an input, broken into columns, in a time proportional to the number of edges.

// Distances: between nodes of a row, rows, columns, and lines beside each other.
const SPACES = {
  false: { node: 26, row: 38, column: 44, lane: 6 },
  true: { node: 12, row: 13, column: 26, lane: 4 },
};
// Lines that are beside each other; more share their places.
const LANES = 4;

function placeColumns(items, edges, view, isDense) {
  const space = SPACES[isDense];
  const before = new Map(items.map((item) => [item, []]));
  // What goes back is below where it goes.
  for (const { from, to, isBack } of edges) if (from !== to) before.get(isBack ? from : to).push(isBack ? to : from);
  const most = (view.width / LEGIBLE) * 0.92;
  const levels = levelsOf(items, edges, before);
  const [main, ...others] = componentsOf(items, edges);
  const rows = rowsOf(levels, new Set(main), most, space);
  // Small parts without a connection to the others are beside each other in columns of their own.
  const column = Math.max(most * 0.3, largest(rows, (row) => row.width));
  const batches = batchesOf(others, column, space);
  batches.forEach((batch, number) => {
    const more = rowsOf(levels, new Set(batch), most, space);
    more[0].isFirst = number === 0;
    rows.push(...more);
  });
  const columns = columnsOf(rows, view.width / view.height, space);
  let left = 0;
  columns.forEach((column, number) => {
    column.middle = left + column.width / 2;
    column.right = left + column.width;
    left = column.right + space.column;
    let top = 0;
    column.rows.forEach((row, index) => {
      placeRow(row, column, before, space);
      for (const item of row.items) Object.assign(item, { y: top + row.height / 2, column, columnNumber: number, row: index });
      top += row.height + space.row;
    });
  });
  for (const edge of edges) {
    lineOf(edge, columns, space);
    // There is no room for types.
    if (isDense) edge.x = undefined;
  }
}
// The connected parts of the graph, the largest one first.
function componentsOf(items, edges) {
  const parent = items.map((_, order) => order);
  const find = (order) => {
    while (parent[order] !== order) order = parent[order] = parent[parent[order]];
    return order;
  };
  // Of two parts, the one that begins later is added to the other one.
  for (const { from, to } of edges) {
    const [a, b] = [find(from.order), find(to.order)];
    parent[Math.max(a, b)] = Math.min(a, b);
  }
  const parts = new Map();
  for (const item of items) {
    const root = find(item.order);
    if (!parts.has(root)) parts.set(root, []);
    parts.get(root).push(item);
  }
  const sorted = [...parts.values()].sort((a, b) => b.length - a.length);
  // What is almost as large as the largest one is below it.
  const main = sorted.filter((part) => part.length * 2 >= sorted[0].length);
  return [main.flat(), ...sorted.slice(main.length)];
}
// Joins parts until their rows have a width.
function batchesOf(parts, most, space) {
  const batches = [];
  let width = Infinity;
  for (const part of parts) {
    const perRow = new Map();
    for (const item of part) perRow.set(item.row, (perRow.get(item.row) ?? 0) + item.width + space.node);
    const own = largest([...perRow.values()], (sum) => sum);
    if (width + own > most) { batches.push([]); width = 0; }
    batches.at(-1).push(...part);
    width += own;
  }
  return batches;
}
// The items by levels: each is below what it depends on.
function levelsOf(items, edges, before) {
  const after = new Map(items.map((item) => [item, []]));
  for (const { from, to, isBack } of edges) if (!isBack) after.get(from).push(to);
  // In their order, what an item depends on is before it.
  for (const item of items) {
    item.row = Math.max(-1, largest(before.get(item), (other) => other.row)) + 1;
    item.isFed = item.role === "input" || before.get(item).some((other) => other.isFed);
  }
  // What depends on constants only, and inputs, are close to where they are used.
  for (const item of [...items].reverse()) {
    const users = after.get(item);
    const isLate = !item.isFed || item.role === "input";
    if (isLate && users.length > 0) item.row = Math.max(item.row, least(users, (other) => other.row) - 1);
  }
  const levels = [];
  for (const item of items) (levels[item.row] ??= []).push(item);
  return levels;
}
// The items of a set by rows. A level that is too wide continues in the next row.
function rowsOf(levels, wanted, most, space) {
  const rows = [];
  for (const level of levels) {
    let row = null;
    for (const item of level ?? []) {
      if (!wanted.has(item)) continue;
      if (!row || row.width + space.node + item.width > most) rows.push((row = { items: [], width: -space.node, height: 0 }));
      row.items.push(item);
      row.width += space.node + item.width;
      row.height = Math.max(row.height, item.height);
    }
  }
  return rows;
}
// Breaks rows into columns, so that the picture is at least as wide, relative to its height, as `aspect`.
function columnsOf(rows, aspect, space) {
  const total = rows.reduce((sum, row) => sum + row.height + space.row, 0);
  let columns = [];
  for (let count = 1; count <= rows.length; count = Math.max(count + 1, Math.floor(count * 1.1))) {
    columns = [];
    const most = total / count;
    let column = null;
    for (const row of rows) {
      if (!column || row.isFirst || column.height + row.height > most) columns.push((column = { rows: [], width: 0, height: 0 }));
      column.rows.push(row);
      column.width = Math.max(column.width, row.width);
      column.height += row.height + space.row;
    }
    const width = columns.reduce((sum, one) => sum + one.width + space.column, 0);
    if (width >= aspect * largest(columns, (one) => one.height)) break;
  }
  return columns;
}
// Places the nodes of a row below what they depend on, within the column.
function placeRow(row, column, before, space) {
  for (const item of row.items) {
    const others = before.get(item).filter((other) => other.column === column);
    item.wish = others.length === 0 ? column.middle : others.reduce((sum, other) => sum + other.x, 0) / others.length;
  }
  row.items.sort((a, b) => a.wish - b.wish || a.order - b.order);
  let right = -Infinity;
  for (const item of row.items) {
    item.x = Math.max(item.wish, right + space.node + item.width / 2);
    right = item.x + item.width / 2;
  }
  const shift = row.items.reduce((sum, item) => sum + item.x - item.wish, 0) / row.items.length;
  const [first, last] = [row.items[0], row.items.at(-1)];
  const [low, high] = [first.x - first.width / 2 - shift, last.x + last.width / 2 - shift];
  const within = Math.max(column.right - column.width - low, Math.min(0, column.right - high));
  for (const item of row.items) item.x += within - shift;
}
// The line of an edge: straight to the next row, beside the nodes to another row, between the columns to another one.
function lineOf(edge, columns, space) {
  const { from, to, isBack } = edge;
  const [y1, y2] = [from.y + from.height / 2, to.y - to.height / 2];
  Object.assign(edge, { x: undefined, y: undefined });
  if (isBack) {
    const side = lane(from.column, space);
    const over = lane(to.column, space);
    const points = [[from.x + from.width / 2, from.y], [side, from.y]];
    if (from.column !== to.column) points.push([side, -space.row / 2], [over, -space.row / 2]);
    edge.path = cornered([...points, [over, to.y], [to.x + to.width / 2, to.y]]);
  } else if (from.column === to.column && to.row - from.row === 1) {
    const bend = Math.min(24, (y2 - y1) * 0.7);
    edge.path = `M${from.x} ${y1}C${from.x} ${y1 + bend} ${to.x} ${y2 - bend} ${to.x} ${y2}`;
    Object.assign(edge, { x: (from.x + to.x) / 2, y: (y1 + y2) / 2 + 3 });
  } else if (from.column === to.column) {
    const between = from.column.rows.slice(from.row + 1, Math.min(to.row, from.row + 60));
    const side = beside(between.flatMap((row) => row.items), (from.x + to.x) / 2, from.column, space);
    edge.path = cornered([[from.x, y1], [from.x, y1 + space.row / 3], [side, y1 + space.row / 3],
      [side, y2 - space.row / 3], [to.x, y2 - space.row / 3], [to.x, y2]]);
  } else {
    const side = lane(from.column, space);
    const points = [[from.x, y1], [from.x, y1 + space.row / 3], [side, y1 + space.row / 3]];
    if (to.columnNumber - from.columnNumber !== 1) {
      const over = lane(columns[to.columnNumber - 1] ?? to.column, space);
      points.push([side, -space.row / 2], [over, -space.row / 2], [over, y2 - space.row / 3]);
    } else points.push([side, y2 - space.row / 3]);
    edge.path = cornered([...points, [to.x, y2 - space.row / 3], [to.x, y2]]);
  }
}
// A place for a line right of a column.
function lane(column, space) {
  column.lanes = ((column.lanes ?? -1) + 1) % LANES;
  return column.right + space.column / 2 + (column.lanes - LANES / 2) * space.lane;
}
// A place for a line beside nodes: the next free one to the right of x, otherwise right of the column.
function beside(items, x, column, space) {
  let side = x;
  for (let attempt = 0; attempt < 8; attempt++) {
    const hit = items.find((item) => Math.abs(item.x - side) < item.width / 2 + space.lane);
    if (!hit) return side;
    side = hit.x + hit.width / 2 + space.lane + 1;
  }
  return lane(column, space);
}
// A line through points, with rounded corners.
function cornered(points) {
  const at = ([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  let path = `M${at(points[0])}`;
  for (let i = 1; i < points.length - 1; i++) {
    const [before, corner, after] = [points[i - 1], points[i], points[i + 1]];
    const towards = ([x, y]) => {
      const length = Math.hypot(x - corner[0], y - corner[1]);
      const part = length === 0 ? 0 : Math.min(0.5, 7 / length);
      return [corner[0] + (x - corner[0]) * part, corner[1] + (y - corner[1]) * part];
    };
    path += `L${at(towards(before))}Q${at(corner)} ${at(towards(after))}`;
  }
  return `${path}L${at(points.at(-1))}`;
}
