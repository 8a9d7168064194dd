// What is drawn of a method: a tree of boxes with their texts, sizes and positions, and the routes of the edges between
// them. Levels are laid out one by one, so that a large scene is built in slices of time.
import { mainKind } from "../kinds";
import { type Edge, edgesOf } from "../edges";
import { flowOf, payloadFlow } from "../flow";
import { type Call, type Change, type Method, attributesOf, parametersOf, payloadOf, sizesOf } from "../model";
import { compactType, counted } from "../names";
import { type Part, isInner, isOpenable, membersOf, summaryOf } from "../tree";
import { ENTRY, EXIT, type LevelEdge, type Placed, type Point, layoutLevel, skipsOf } from "./layout";

export interface Box {
  readonly part: Part;
  readonly parent: Box | null;
  readonly depth: number;
  /** The number among the boxes of its level. */
  readonly number: number;
  /** The boxes in it, if it is open. */
  readonly children: readonly Box[] | null;
  readonly title: string;
  readonly lines: readonly string[];
  readonly kind: string;
  readonly change: Change | null;
  readonly isDelegate: boolean;
  /** Position in the picture. */
  x: number; y: number; width: number; height: number;
}
export interface Route {
  readonly points: readonly Point[];
  /** The box in which it is, or null at the top. */
  readonly parent: Box | null;
  readonly isJump: boolean;
  /** False at the border of a group, where the edge goes on. */
  readonly hasArrow: boolean;
  /** A short end of an edge whose other part is not drawn: where it ends, or null. */
  readonly cut: Point | null;
  /** Indices of the edges of the scene that take this route. */
  readonly edges: number[];
}
export interface Scene {
  readonly roots: readonly Box[];
  /** All boxes, those that contain others before these. */
  readonly boxes: readonly Box[];
  readonly byId: ReadonlyMap<string, Box>;
  readonly routes: readonly Route[];
  readonly edges: readonly Edge[];
  /** The box at each end of each edge. */
  readonly ends: readonly (readonly [Box, Box])[];
  readonly width: number;
  readonly height: number;
}
export type Measure = (text: string, isTitle: boolean) => number;

export const TITLE = 13;
export const LINE = 11;
const PADDING = 12;
const HEADER = 26;
/** Widths of closed boxes: names of a few letters are read even if the whole graph is in view. */
const WIDTH = { least: 96, most: 260 };
/** Texts are painted larger than their scale if they could not be read otherwise. */
const SLACK = 1.1;
/** The shape of an open group. */
const INNER = { aspect: 1.2, room: 480 };
/** A method that fits the view at this scale is not folded. */
const SMALLEST = 0.75;
/** Most characters of a line. */
const LONGEST = 36;

/** Levels that were laid out before, by what they consist of. */
export type LayoutCache = Map<string, Placed>;

/** Builds a scene; yields after each level. */
export function* sceneOf(
  method: Method, tree: readonly Part[], open: ReadonlySet<string>, measure: Measure, view: { width: number; height: number }, cache: LayoutCache,
): Generator<void, Scene> {
  const boxes: Box[] = [];
  const byId = new Map<string, Box>();
  const build = (part: Part, parent: Box | null, number: number): Box => {
    const box = boxOf(method, part, parent, number, measure);
    boxes.push(box);
    byId.set(part.id, box);
    if (open.has(part.id) && isOpenable(part)) (box as { children: readonly Box[] | null }).children = part.children!.map((child, at) => build(child, box, at));
    return box;
  };
  const roots = tree.map((part, at) => build(part, null, at));
  const edges = edgesOf(method, open);
  const owner = ownersOf(method, boxes, byId);
  const levels = new Map<Box | null, Map<string, { edge: LevelEdge; isJump: boolean; edges: number[] }>>();
  const ends: [Box, Box][] = [];
  const kept: Edge[] = [];
  for (const edge of edges) {
    const [from, to] = [owner(edge.from), owner(edge.to)];
    if (!from || !to || (from === to && !(edge.isBack && from.part.kind === "call" && !from.children))) continue;
    const index = kept.length;
    kept.push(edge);
    ends.push([from, to]);
    addEdge(levels, from, to, edge, index);
  }
  yield;
  const routes: Route[] = [];
  const placed = new Map<Box | null, Placed>();
  const place = function* (children: readonly Box[], parent: Box | null): Generator<void, Placed> {
    for (const child of children) {
      if (!child.children) continue;
      const inner = yield* place(child.children, child);
      child.width = Math.max(inner.width + 2 * PADDING, measure(child.title, true) + 60);
      child.height = inner.height + HEADER + PADDING;
    }
    const found = [...(levels.get(parent)?.values() ?? [])];
    const sizes = children.map(({ width, height }) => ({ width, height }));
    const shape = parent ? INNER : { aspect: Math.max(0.3, view.width / Math.max(view.height, 1)), room: view.height / SMALLEST };
    const level = { sizes, edges: found.map(({ edge }) => edge), ...shape };
    const key = JSON.stringify(level);
    let result = cache.get(key);
    if (!result) {
      result = layoutLevel(level);
      if (cache.size > 2000) cache.clear();
      cache.set(key, result);
      yield;
    }
    placed.set(parent, result);
    return result;
  };
  const whole = yield* place(roots, null);
  // Where an edge meets the border of an open box, so that its parts outside and inside of it are one line.
  const meets = new Map<string, number>();
  const settle = (children: readonly Box[], parent: Box | null, left: number, top: number) => {
    const result = placed.get(parent)!;
    children.forEach((child, at) => {
      child.x = left + result.boxes[at]!.x;
      child.y = top + result.boxes[at]!.y;
    });
    const found = [...(levels.get(parent)?.values() ?? [])];
    const skips = skipsOf(found.map(({ edge }) => edge));
    const meet = (end: number, own: readonly number[], point: Point | undefined) => {
      const box = children[end];
      if (box?.children && point) for (const edge of own) meets.set(`${edge} ${box.part.id}`, point.x);
    };
    found.forEach(({ edge, isJump, edges: own }, at) => {
      const points = result.routes[at]!.map(({ x, y }) => ({ x: x + left, y: y + top }));
      const [first, last] = [points[0], points[points.length - 1]];
      meet(edge.from, own, first);
      meet(edge.to, own, last);
      if (parent && first && last && skips[at] !== "stub") {
        const x = meets.get(`${own[0]} ${parent.part.id}`);
        if (edge.from === ENTRY) points.unshift(...bent(first.x, x, parent.y, parent.y + HEADER - 3));
        if (edge.to === EXIT) points.push(...bent(last.x, x, parent.y + parent.height, parent.y + parent.height - 5).reverse());
      }
      const cut = skips[at] !== "stub" ? null : (edge.from === ENTRY ? first : last) ?? null;
      routes.push({ points, parent, isJump, hasArrow: edge.to !== EXIT && children[edge.to]?.children == null, cut, edges: own });
    });
    for (const child of children) {
      if (child.children) settle(child.children, child, child.x + (child.width - placed.get(child)!.width) / 2, child.y + HEADER);
    }
  };
  settle(roots, null, 0, 0);
  return { roots, boxes, byId, routes, edges: kept, ends, width: whole.width, height: whole.height };
}

/** Points from the border of a box, where an edge meets it at `meet`, to `x` in the box. */
function bent(x: number, meet: number | undefined, border: number, inner: number): Point[] {
  const isNear = meet === undefined || Math.abs(meet - x) < 6;
  return isNear ? [{ x: meet ?? x, y: border }] : [{ x: meet, y: border }, { x: meet, y: inner }, { x, y: inner }];
}

/** A function from the id of an end of an edge to the innermost box that contains it. */
function ownersOf(method: Method, boxes: readonly Box[], byId: ReadonlyMap<string, Box>): (id: string) => Box | undefined {
  const calls: (Box | undefined)[] = [];
  const operations = new Map<string, Box>();
  for (const box of boxes) {
    const { part } = box;
    if (part.kind === "input" || part.kind === "output") continue;
    if (isInner(part)) for (let at = part.start; at < part.end; at++) operations.set(`${part.call}.${at}`, box);
    else for (let at = part.start; at < part.end; at++) calls[method.order[at]!] = box;
  }
  return (id) => operations.get(id) ?? (id.includes(".") ? calls[Number(id.split(".")[0])] : byId.get(id) ?? calls[Number(id)]);
}

type Levels = Map<Box | null, Map<string, { edge: LevelEdge; isJump: boolean; edges: number[] }>>;
/** Divides an edge into parts of levels: from a box to the border of its parent, between the parents, and into the target. */
function addEdge(levels: Levels, from: Box, to: Box, { isJump, isBack }: Edge, index: number): void {
  const [left, right] = [ancestors(from), ancestors(to)];
  let common = 0;
  while (common < left.length - 1 && common < right.length - 1 && left[common] === right[common]) common++;
  const add = (parent: Box | null, start: number, end: number, back: boolean) => {
    const key = `${start} ${end} ${isJump ? "jump" : ""}`;
    const level = levels.get(parent) ?? new Map();
    levels.set(parent, level);
    const found = level.get(key);
    if (found) found.edges.push(index);
    else level.set(key, { edge: back ? { from: start, to: end, isBack: true } : { from: start, to: end }, isJump, edges: [index] });
  };
  for (let at = left.length - 1; at > common; at--) add(left[at]!.parent, left[at]!.number, EXIT, false);
  const [a, b] = [left[common]!, right[common]!];
  if (a !== b || from === to) add(a.parent, a.number, b.number, isBack || a.number > b.number);
  for (let at = common + 1; at < right.length; at++) add(right[at]!.parent, ENTRY, right[at]!.number, false);
}
function ancestors(box: Box): Box[] {
  const path: Box[] = [];
  for (let at: Box | null = box; at; at = at.parent) path.unshift(at);
  return path;
}

function boxOf(method: Method, part: Part, parent: Box | null, number: number, measure: Measure): Box {
  const { title, lines, kind, change, isDelegate } = textsOf(method, part);
  const sign = isOpenable(part) ? 22 : 0;
  const width = Math.min(WIDTH.most, Math.max(WIDTH.least, measure(title, true) * SLACK + 20 + sign, ...lines.map((line) => measure(line, false) * SLACK + 18)));
  const height = 14 + 16 + lines.length * 14;
  return { part, parent, depth: parent ? parent.depth + 1 : 0, number, children: null, title, lines, kind, change, isDelegate, x: 0, y: 0, width: Math.ceil(width), height };
}
function textsOf(method: Method, part: Part): { title: string; lines: string[]; kind: string; change: Change | null; isDelegate: boolean } {
  const plain = { change: null, isDelegate: false };
  const filled = (lines: (string | undefined)[]) => lines.filter((line): line is string => line !== undefined && line !== "");
  switch (part.kind) {
    case "input": case "output": {
      if (part.id === "inputs" || part.id === "outputs") return { title: part.title, lines: [], kind: "input", ...plain };
      const value = part.kind === "input" ? method.data.inputs[part.start] : method.data.outputs[part.start]?.[0];
      const data = value === undefined ? undefined : method.values[value];
      return { title: part.title, lines: filled([compactType(data?.text ?? data?.type ?? "")]), kind: "input", ...plain };
    }
    case "operation": {
      const payload = payloadOf(method, method.calls[part.call!]!)!;
      const node = payload.nodes[part.operation!]!;
      const constants = node.reads.flatMap((read, at) => {
        const value = payload.values[read];
        return value?.bytes === undefined ? [] : [`${node.roles?.[at] ?? "constant"} ${sizesOf(value.type ?? "")}`];
      });
      const attributes = attributesOf(node);
      const first = attributes[0]?.startsWith("clamp ") ? 1 : 0;
      const told = [...attributes.slice(0, first), ...constants, ...attributes.slice(first)].join(", ");
      const lines = filled([sizesOf(payload.values[node.writes[0] ?? -1]?.type ?? ""), ...wrapped(told)]);
      return { title: part.title, lines, kind: node.kind ?? "other", change: null, isDelegate: true };
    }
    case "group": {
      const inner = isInner(part);
      const flow = inner ? payloadFlow(payloadOf(method, method.calls[part.call!]!)!) : flowOf(method);
      // A block is named by its shape.
      const isShaped = part.title.includes(" · ");
      const changes = inner ? [] : method.order.slice(part.start, part.end).flatMap((index) => method.calls[index]!.change ?? []);
      const lines = filled([isShaped ? "" : sizesOf(flow.leaving(part.start, part.end)), ...wrapped(summaryOf(method, part))]);
      return { title: part.title, lines, kind: mainKind(membersOf(method, part)), change: changes.length > 0 ? "changed" : null, isDelegate: inner };
    }
    case "call": {
      const call = method.calls[part.call!]!;
      const payload = payloadOf(method, call);
      const delegate = call.data.delegate === undefined ? undefined : method.data.delegates[call.data.delegate];
      const lines = delegate
        ? filled([delegate.name, payload ? counted(payload.nodes.length, "operation") : undefined, ...wrapped(delegate.compiled_for?.join(", ") ?? "")])
        : filled([resultText(method, call), ...wrapped(parametersOf(method, call))]);
      return { title: part.title, lines, kind: call.kind, change: call.change, isDelegate: delegate !== undefined };
    }
  }
}
/** The sizes of the first result of a call, and its name if it is not that of the operator with a number. */
function resultText(method: Method, call: Call): string {
  const written = call.data.writes?.[0];
  const { name = "", type = "" } = (written === undefined ? undefined : method.values[written]) ?? {};
  const bare = name.replace(/(?:_copy|_default)?(?:_\d+)?$/, "");
  const isTold = name.startsWith("values[") || call.name.startsWith(bare) || bare.startsWith(call.name);
  return [type.includes("[") ? sizesOf(type) : "", isTold ? "" : name].filter((part) => part !== "").join(" ");
}
/** At most three lines, divided at commas. */
function wrapped(text: string, most = 3): string[] {
  const end = text.length <= LONGEST || most === 1 ? -1 : text.lastIndexOf(", ", LONGEST);
  return end < 0 ? [text] : [text.slice(0, end + 1), ...wrapped(text.slice(end + 2), most - 1)];
}
