// The layout of one level of the graph: dagre places the boxes, and a level that is much higher than wide is folded into
// columns, which are read like text. Pure; sizes and positions are in units of the picture.
import { Graph, layout as dagre } from "@dagrejs/dagre";

export interface Point { x: number; y: number }
interface Area extends Point { width: number; height: number }
export interface LevelEdge { from: number; to: number; isBack?: boolean }
export interface Level {
  sizes: readonly { width: number; height: number }[];
  edges: readonly LevelEdge[];
  /** The width of the level divided by its height that is aimed at. */
  aspect: number;
  /** A level of this height at most is not folded. */
  room: number;
}
export interface Placed {
  width: number;
  height: number;
  /** Upper left corners. */
  boxes: Point[];
  routes: Point[][];
}

/** Ends of edges that leave the level: at its upper and its lower border. */
export const ENTRY = -1;
export const EXIT = -2;
const GAP = { node: 18, rank: 26, lane: 5, column: 34, border: 8, stub: 10, skip: 8, end: 10 };

/** How an edge that skips boxes is drawn; null for other edges. */
export type Skip = "lane" | "stub" | null;
/** More edges of a side would be a bundle beside the level. */
const SKIPS = 2;

/**
 * Edges between a border of the level and a box that has another one at this side. They are no part of what dagre lays
 * out, which they would pull apart. A few, such as the one that skips the boxes of a residual block, have a lane beside
 * the boxes. If there are more, as of a delegate that passes its inputs to operations at any depth, they are short ends.
 */
export function skipsOf(edges: readonly LevelEdge[]): Skip[] {
  const [below, above] = [new Set<number>(), new Set<number>()];
  for (const { from, to, isBack } of edges) {
    if (from < 0 || to < 0 || from === to) continue;
    below.add(isBack ? from : to);
    above.add(isBack ? to : from);
  }
  const isEntry = ({ from, to }: LevelEdge) => from === ENTRY && below.has(to);
  const isExit = ({ from, to }: LevelEdge) => to === EXIT && above.has(from);
  const formOf = (count: number): Skip => (count > SKIPS ? "stub" : "lane");
  const [entries, exits] = [formOf(edges.filter(isEntry).length), formOf(edges.filter(isExit).length)];
  return edges.map((edge) => (isEntry(edge) ? entries : isExit(edge) ? exits : null));
}

export function layoutLevel({ sizes, edges, aspect, room }: Level): Placed {
  const skips = skipsOf(edges);
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: GAP.node, edgesep: 8, ranksep: GAP.rank, marginx: 0, marginy: 0, ranker: sizes.length > 150 ? "longest-path" : "network-simplex" });
  graph.setDefaultEdgeLabel(() => ({}));
  const key = (end: number) => (end === ENTRY ? "entry" : end === EXIT ? "exit" : String(end));
  sizes.forEach(({ width, height }, at) => graph.setNode(String(at), { width, height }));
  if (edges.some(({ from }, at) => from === ENTRY && skips[at] === null)) graph.setNode("entry", { width: 1, height: 1 });
  if (edges.some(({ to }, at) => to === EXIT && skips[at] === null)) graph.setNode("exit", { width: 1, height: 1 });
  edges.forEach(({ from, to, isBack }, at) => {
    // dagre places the end of an edge below its start; edges back are placed as if they led forward.
    if (from === to || skips[at]) return;
    const [upper, lower] = isBack ? [to, from] : [from, to];
    graph.setEdge(key(upper), key(lower), { weight: from === ENTRY || to === EXIT ? 0 : 1 }, String(at));
  });
  dagre(graph);
  const boxes = sizes.map(({ width, height }, at) => {
    const { x = 0, y = 0 } = graph.node(String(at)) as Partial<Point>;
    return { x: x - width / 2, y: y - height / 2 };
  });
  const routes = edges.map(({ from, to, isBack }, at) => {
    if (from === to) return loop(boxes[from]!, sizes[from]!);
    if (skips[at] === "lane") return [];
    if (skips[at]) return from === ENTRY ? stub(boxes[to]!, GAP.stub, 0) : stub(boxes[from]!, sizes[from]!.height, sizes[from]!.height + GAP.stub);
    const [upper, lower] = isBack ? [to, from] : [from, to];
    const { points = [] } = graph.edge({ v: key(upper), w: key(lower), name: String(at) }) as { points?: Point[] };
    const area = (end: number) => (end < 0 ? null : { ...boxes[end]!, ...sizes[end]! });
    const straight = straightened(points, area(upper), area(lower));
    return isBack ? straight.reverse() : straight;
  });
  const drawn = cropped(boxes, sizes, routes);
  addLanes(boxes, sizes, edges, skips, drawn);
  return normalized(fold({ boxes, routes: drawn, sizes, aspect, room }));
}
/** Lanes of edges that skip boxes: from the upper border at the left to a box, and at the right to the lower border. */
function addLanes(
  boxes: readonly Point[], sizes: Level["sizes"], edges: readonly LevelEdge[], skips: readonly Skip[], routes: Point[][],
): void {
  if (!skips.includes("lane")) return;
  const bounds = boundsOf({ boxes: [...boxes], routes, sizes });
  const used = { left: 0, right: 0 };
  edges.forEach(({ from, to }, at) => {
    if (skips[at] !== "lane") return;
    const isEntry = from === ENTRY;
    const [{ x, y }, { width, height }] = isEntry ? [boxes[to]!, sizes[to]!] : [boxes[from]!, sizes[from]!];
    const number = used[isEntry ? "left" : "right"]++;
    const lane = isEntry ? bounds.left - GAP.skip * (number + 1) : bounds.right + GAP.skip * (number + 1);
    const inset = Math.min(width / 2, GAP.skip * (number + 1.5));
    const end = isEntry ? x + inset : x + width - inset;
    const [left, right] = [Math.min(lane, end), Math.max(lane, end)];
    // Between the rows of boxes: above or below what is beside the box.
    let turn = isEntry ? y - GAP.skip : y + height + GAP.skip;
    for (let isFree = false; !isFree;) {
      const hit = boxes.findIndex((box, other) => {
        const size = sizes[other]!;
        return box.y <= turn && turn <= box.y + size.height && box.x < right && box.x + size.width > left;
      });
      isFree = hit < 0;
      if (!isFree) turn = isEntry ? boxes[hit]!.y - GAP.skip : boxes[hit]!.y + sizes[hit]!.height + GAP.skip;
    }
    const [border, side] = isEntry ? [bounds.top, y] : [bounds.bottom, y + height];
    const points = [{ x: lane, y: border }, { x: lane, y: turn }, { x: end, y: turn }, { x: end, y: side }];
    routes[at] = isEntry ? points : points.reverse();
  });
}
/**
 * A route of dagre that leaves a box at its bottom and enters one at its top; dagre aims at the centres, which ends at the
 * sides of wide boxes. Between neighbouring ranks, it has no corner.
 */
function straightened(points: readonly Point[], upper: Area | null, lower: Area | null): Point[] {
  const first = points[0] ?? { x: 0, y: 0 };
  const last = points[points.length - 1] ?? first;
  const inner = points.length <= 3 ? [] : points.slice(1, -1).map(({ x, y }) => ({ x, y }));
  const middle = (area: Area | null, end: Point) => (area ? area.x + area.width / 2 : end.x);
  const within = (area: Area | null, x: number) =>
    (area ? Math.max(area.x + GAP.end, Math.min(area.x + area.width - GAP.end, x)) : x);
  const start = within(upper, inner[0]?.x ?? middle(lower, last));
  const end = within(lower, inner[inner.length - 1]?.x ?? start);
  return [{ x: start, y: upper ? upper.y + upper.height : first.y }, ...inner, { x: end, y: lower ? lower.y : last.y }];
}
/** Ends at the borders of the level are a rank away from its boxes: they are moved next to these. */
function cropped(boxes: readonly Point[], sizes: Level["sizes"], routes: Point[][]): Point[][] {
  const top = Math.min(...boxes.map(({ y }) => y)) - GAP.border;
  const bottom = Math.max(...boxes.map(({ y }, at) => y + sizes[at]!.height)) + GAP.border;
  return routes.map((points) => points.map(({ x, y }) => ({ x, y: Math.max(top, Math.min(bottom, y)) })));
}
/** A short end of an edge near the upper left or the lower left corner of a box. */
function stub({ x, y }: Point, from: number, to: number): Point[] {
  const start = to === 0 ? y - from : y + from;
  return [{ x: x + GAP.stub, y: start }, { x: x + GAP.stub, y: y + to }];
}
/** An edge from a box to itself, at its right side. */
function loop({ x, y }: Point, { width, height }: { width: number; height: number }): Point[] {
  const right = x + width;
  return [{ x: right, y: y + height * 0.7 }, { x: right + 14, y: y + height * 0.7 }, { x: right + 14, y: y + height * 0.3 }, { x: right, y: y + height * 0.3 }];
}

interface Flat { boxes: Point[]; routes: Point[][]; sizes: Level["sizes"]; aspect: number; room: number }

// Fewer boxes are not folded, and not into more columns.
const FOLDED = { boxes: 3, columns: 12 };

/** Cuts a high level between rows of boxes, and places the parts beside each other, in as many columns as fit the view best. */
function fold(flat: Flat): Placed {
  const bounds = boundsOf(flat);
  const [width, height] = [bounds.right - bounds.left, bounds.bottom - bounds.top];
  let best: Placed = { boxes: flat.boxes, routes: flat.routes, width, height };
  if (flat.sizes.length < FOLDED.boxes || height <= flat.room) return best;
  // What a level needs of a view of this aspect; a column more has to be worth it, and edges between columns, too.
  const need = (placed: Placed, crossing = 0) => Math.max(placed.width / flat.aspect, placed.height) * (1 + 0.05 * crossing);
  let least = need(best);
  const likely = Math.sqrt((flat.aspect * height) / Math.max(width + GAP.column, 1));
  for (let columns = Math.max(2, Math.floor(likely) - 1); columns <= Math.min(FOLDED.columns, Math.ceil(likely * 1.5) + 1); columns++) {
    const cuts = cutsOf(flat, bounds, columns);
    const placed = cuts.length === 0 ? best : inColumns(flat, bounds, cuts);
    const crossing = flat.routes.reduce((sum, route) => sum + cuts.filter((y) => crosses(route, y)).length, 0) / Math.max(cuts.length, 1) - 1;
    if (cuts.length === 0 || need(placed, crossing) >= least * 0.93) continue;
    best = placed;
    least = need(placed, crossing);
  }
  return best;
}
function inColumns({ boxes, routes, sizes }: Flat, bounds: { top: number; bottom: number }, cuts: number[]): Placed {
  const borders = [bounds.top, ...cuts, bounds.bottom];
  const columnOf = (y: number) => { let column = 0; while (column < cuts.length && y > cuts[column]!) column++; return column; };
  const columns = borders.slice(1).map((end, at) => ({ top: borders[at]!, end, left: Infinity, right: -Infinity }));
  const include = (column: number, left: number, right: number) => {
    const found = columns[column]!;
    found.left = Math.min(found.left, left);
    found.right = Math.max(found.right, right);
  };
  const columnOfBox = boxes.map(({ y }, at) => columnOf(y + sizes[at]!.height / 2));
  boxes.forEach(({ x }, at) => include(columnOfBox[at]!, x, x + sizes[at]!.width));
  const pieces = routes.map((route) => piecesOf(route, cuts, columnOf));
  for (const parts of pieces) for (const { column, points } of parts) for (const { x } of points) include(column, x, x);
  // Lanes between columns have room for each edge that goes on in the next one.
  const crossings = cuts.map((_, at) => pieces.filter((parts) => parts.some((part, number) => {
    const next = parts[number + 1];
    return next && Math.min(part.column, next.column) === at;
  })).length);
  const lanes = crossings.map((count) => Math.min(count, 24) * GAP.lane);
  const tallest = Math.max(...columns.map(({ top, end }) => end - top));
  const extra = Math.max(0, ...lanes);
  const shift: { x: number; y: number }[] = [];
  let left = 0;
  columns.forEach(({ top, left: from, right }, at) => {
    shift.push({ x: left - from, y: extra + 8 - top });
    left += right - from + GAP.column + (lanes[at] ?? 0);
  });
  const used = cuts.map(() => 0);
  const moved = pieces.map((parts) => {
    const points: Point[] = [];
    parts.forEach(({ column, points: own }, number) => {
      const { x, y } = shift[column]!;
      points.push(...own.map((point) => ({ x: point.x + x, y: point.y + y })));
      const next = parts[number + 1];
      if (!next) return;
      const first = Math.min(column, next.column);
      const lane = (used[first]!++ % 24) * GAP.lane;
      const right = columns[first]!.right + shift[first]!.x + GAP.column / 2 + lane;
      const low = columns[first]!.end + shift[first]!.y + 4 + lane;
      const high = extra + 4 - lane;
      const from = points[points.length - 1]!;
      const to = { x: next.points[0]!.x + shift[next.column]!.x, y: 0 };
      const corners = [{ x: column === first ? from.x : to.x, y: low }, { x: right, y: low }, { x: right, y: high }, { x: column === first ? to.x : from.x, y: high }];
      points.push(...(column === first ? corners : corners.reverse()));
    });
    return points;
  });
  return {
    boxes: boxes.map(({ x, y }, at) => ({ x: x + shift[columnOfBox[at]!]!.x, y: y + shift[columnOfBox[at]!]!.y })),
    routes: moved, width: left - GAP.column, height: tallest + 2 * extra + 16,
  };
}
/** Heights between rows of boxes at which the level is cut: where few edges cross, near equal parts. */
function cutsOf({ boxes, routes, sizes }: Flat, bounds: { top: number; bottom: number }, wanted: number): number[] {
  const spans = boxes.map(({ y }, at) => [y, y + sizes[at]!.height] as const).sort((a, b) => a[0] - b[0]);
  const gaps: number[] = [];
  let end = -Infinity;
  for (const [top, bottom] of spans) {
    if (end > -Infinity && top > end + 4) gaps.push((top + end) / 2);
    end = Math.max(end, bottom);
  }
  const cost = (y: number) => routes.reduce((count, route) => count + (crosses(route, y) ? 1 : 0), 0);
  const part = (bounds.bottom - bounds.top) / wanted;
  const cuts: number[] = [];
  for (let number = 1; number < wanted; number++) {
    const aim = bounds.top + part * number;
    const near = gaps.filter((y) => Math.abs(y - aim) < part * 0.3 && y > (cuts[cuts.length - 1] ?? -Infinity) + part * 0.4);
    let best: number | null = null;
    let least = Infinity;
    for (const y of near) {
      const found = cost(y) * 40 + Math.abs(y - aim);
      if (found < least) { best = y; least = found; }
    }
    if (best !== null) cuts.push(best);
  }
  return cuts;
}
const crosses = (route: Point[], y: number) => {
  const [first, last] = [route[0], route[route.length - 1]];
  return first !== undefined && last !== undefined && first.y < y !== last.y < y;
};
function piecesOf(route: Point[], cuts: number[], columnOf: (y: number) => number): { column: number; points: Point[] }[] {
  const pieces: { column: number; points: Point[] }[] = [];
  let last: Point | null = null;
  for (const point of route) {
    const column = columnOf(point.y);
    let current = pieces[pieces.length - 1];
    if (!current || !last) { pieces.push({ column, points: [point] }); last = point; continue; }
    while (current.column !== column) {
      const step: number = column > current.column ? 1 : -1;
      const y: number = step > 0 ? cuts[current.column]! : cuts[current.column - 1]!;
      const part: number = point.y === last.y ? 0 : (y - last.y) / (point.y - last.y);
      const x: number = last.x + (point.x - last.x) * part;
      current.points.push({ x, y });
      current = { column: current.column + step, points: [{ x, y }] };
      pieces.push(current);
    }
    current.points.push(point);
    last = point;
  }
  return pieces;
}
function boundsOf({ boxes, routes, sizes }: Pick<Flat, "boxes" | "routes" | "sizes">) {
  const bounds = { left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity };
  const include = (x: number, y: number) => {
    bounds.left = Math.min(bounds.left, x);
    bounds.right = Math.max(bounds.right, x);
    bounds.top = Math.min(bounds.top, y);
    bounds.bottom = Math.max(bounds.bottom, y);
  };
  boxes.forEach(({ x, y }, at) => { include(x, y); include(x + sizes[at]!.width, y + sizes[at]!.height); });
  for (const route of routes) for (const { x, y } of route) include(x, y);
  return bounds.left === Infinity ? { left: 0, right: 0, top: 0, bottom: 0 } : bounds;
}
/** Moves a level so that it begins at 0, 0. */
function normalized({ boxes, routes, ...size }: Placed): Placed {
  let [left, top] = [Infinity, Infinity];
  for (const { x, y } of [...boxes, ...routes.flat()]) { left = Math.min(left, x); top = Math.min(top, y); }
  if (left === Infinity) return { boxes, routes, ...size };
  const move = ({ x, y }: Point) => ({ x: x - left, y: y - top });
  return { boxes: boxes.map(move), routes: routes.map((route) => route.map(move)), ...size };
}
