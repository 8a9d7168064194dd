// Paints a scene on a canvas. Texts are at least 8 pixels high and never leave their boxes; what is too small for texts
// is a coloured area, and groups whose boxes would be too small are painted as if they were closed.
import { colourOf } from "../kinds";
import { compactType } from "../names";
import { isOpenable } from "../tree";
import { type Camera, isVisible, toScreen } from "./camera";
import { type Box, LINE, type Route, type Scene, TITLE } from "./scene";
import type { Point } from "./layout";

export interface Theme {
  page: string; panel: string; text: string; muted: string; line: string; edge: string; accent: string; incoming: string; outgoing: string;
  added: string; removed: string; changed: string; heat: string; hit: string;
}
export interface Style {
  readonly theme: Theme;
  readonly isDark: boolean;
  readonly selected: ReadonlySet<Box>;
  readonly hovered: Box | null;
  readonly hits: ReadonlySet<Box> | null;
  /** A small picture, without texts and summaries. */
  readonly isMap?: boolean;
  /** Two files: only what differs has a colour. */
  readonly isComparison: boolean;
  /** The highest severity of the findings about a box. */
  readonly severity: (box: Box) => string | null;
  /** From 0 to 1, with a text; null without heat. */
  readonly heat: ((box: Box) => { part: number; text: string } | null) | null;
}
interface Area { readonly x: number; readonly y: number; readonly width: number; readonly height: number }
/** A text that was painted: where it is on the screen, and whether it is at an edge rather than in the box. */
export interface Label extends Area { readonly box: Box; readonly text: string; readonly isEdge?: boolean }

const FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";
// Least height on the screen of the highest box of a group, below which the group is painted as a whole.
const LEAST = 11;
// A box of less pixels has only a title.
const NARROW = 60;
// Scale above which edges have the types of what they pass.
const RESTING = 0.75;
// Sizes of fonts at which texts are cut rather than made smaller.
const SMALLEST = { title: 9, line: 8 };

const mixes = new Map<string, string>();
/** A colour between two, both as `#rrggbb`. */
export function mix(from: string, to: string, part: number): string {
  const key = `${from}${to}${part.toFixed(2)}`;
  let found = mixes.get(key);
  if (!found) {
    const channel = (text: string, at: number) => parseInt(text.slice(1 + 2 * at, 3 + 2 * at), 16);
    const mixed = [0, 1, 2].map((at) => Math.round(channel(from, at) + (channel(to, at) - channel(from, at)) * part).toString(16).padStart(2, "0"));
    found = `#${mixed.join("")}`;
    mixes.set(key, found);
  }
  return found;
}

const widths = new Map<string, number>();
let ruler: CanvasRenderingContext2D | null = null;
/** The width of a text at its size in the picture. */
export function measureText(text: string, isTitle: boolean): number {
  const key = `${isTitle ? "t" : "l"}${text}`;
  let found = widths.get(key);
  if (found === undefined) {
    ruler ??= document.createElement("canvas").getContext("2d");
    if (!ruler) return text.length * 7;
    ruler.font = isTitle ? `600 ${TITLE}px ${FONT}` : `${LINE}px ${FONT}`;
    found = ruler.measureText(text).width;
    if (widths.size > 50_000) widths.clear();
    widths.set(key, found);
  }
  return found;
}
/** The part of a text that fits, and the size of the font: a text is smaller before it is cut. */
function fitted(text: string, isTitle: boolean, size: number, most: number): { shown: string; size: number; wide: number } {
  const widthAt = (part: string, at: number) => measureText(part, isTitle) * (at / (isTitle ? TITLE : LINE));
  const least = Math.min(size, isTitle ? SMALLEST.title : SMALLEST.line);
  const full = widthAt(text, least);
  if (full <= most) {
    const found = Math.max(least, Math.min(size, (size * most) / widthAt(text, size)));
    return { shown: text, size: found, wide: widthAt(text, found) };
  }
  const done = (shown: string) => ({ shown, size: least, wide: widthAt(shown, least) });
  let count = Math.max(0, Math.floor((text.length * most) / full) - 1);
  while (count > 0 && widthAt(`${text.slice(0, count)}…`, least) > most) count--;
  // In less room, the first letters say more than the sign that some are missing.
  for (let letters = 3; count < 3 && letters > 0; letters--) {
    if (widthAt(text.slice(0, letters), least) <= most) return done(text.slice(0, letters));
  }
  return done(count < 3 ? "" : `${text.slice(0, count)}…`);
}

/** True if an open group is painted as a whole, because its boxes would be too small. */
export function isSummarized(box: Box, scale: number): boolean {
  return box.children !== null && box.children.every((child) => child.height * scale < LEAST);
}
/** Boxes that are painted as boxes of their own, with the containers. */
export function visibleBoxes(scene: Scene, camera: Camera, view: { width: number; height: number }, isMap = false): Box[] {
  const found: Box[] = [];
  const visit = (boxes: readonly Box[]) => {
    for (const box of boxes) {
      if (!isVisible(camera, box, view)) continue;
      found.push(box);
      if (box.children && (isMap || !isSummarized(box, camera.scale))) visit(box.children);
    }
  };
  visit(scene.roots);
  return found;
}
export function boxAt(scene: Scene, camera: Camera, point: Point): Box | null {
  const x = camera.x + point.x / camera.scale;
  const y = camera.y + point.y / camera.scale;
  let found: Box | null = null;
  let boxes: readonly Box[] | null = scene.roots;
  while (boxes) {
    const inside: Box | undefined = boxes.find((box) => box.x <= x && x <= box.x + box.width && box.y <= y && y <= box.y + box.height);
    if (!inside) break;
    found = inside;
    boxes = isSummarized(inside, camera.scale) ? null : inside.children;
  }
  return found;
}
/** Where the sign is that opens or closes a box. */
function signOf(box: Box, camera: Camera): Area {
  const { x, y, width } = toScreen(camera, box);
  const size = Math.max(18, 24 * camera.scale);
  return { x: x + width - size, y, width: size, height: size };
}
export function isSign(box: Box, camera: Camera, point: Point): boolean {
  if (!isOpenable(box.part)) return false;
  const { x, y, height } = signOf(box, camera);
  return point.x > x && point.y < y + height;
}

const paths = new WeakMap<Scene, Map<Box | null, { plain: Path2D; jumps: Path2D }>>();
/** Routes of each level as paths in units of the picture. */
function pathsOf(scene: Scene) {
  let found = paths.get(scene);
  if (!found) {
    found = new Map();
    for (const route of scene.routes) {
      let level = found.get(route.parent);
      if (!level) found.set(route.parent, (level = { plain: new Path2D(), jumps: new Path2D() }));
      trace(route.isJump ? level.jumps : level.plain, route.points);
    }
    paths.set(scene, found);
  }
  return found;
}
function trace(path: Path2D | CanvasRenderingContext2D, points: readonly Point[]): void {
  const [first] = points;
  if (!first) return;
  path.moveTo(first.x, first.y);
  for (let at = 1; at < points.length - 1; at++) {
    const [before, point, after] = [points[at - 1]!, points[at]!, points[at + 1]!];
    const radius = Math.min(9, Math.hypot(point.x - before.x, point.y - before.y) / 2, Math.hypot(after.x - point.x, after.y - point.y) / 2);
    path.arcTo(point.x, point.y, after.x, after.y, radius);
  }
  const last = points[points.length - 1]!;
  path.lineTo(last.x, last.y);
}

/** Paints the part of a scene in view; returns the labels. */
export function paint(context: CanvasRenderingContext2D, scene: Scene, camera: Camera, view: { width: number; height: number }, ratio: number, style: Style): Label[] {
  const { theme } = style;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = theme.page;
  context.fillRect(0, 0, view.width, view.height);
  const isMap = style.isMap ?? false;
  const visible = visibleBoxes(scene, camera, view, isMap);
  const labels: Label[] = [];
  const levels = pathsOf(scene);
  const edges = (parent: Box | null) => {
    const level = levels.get(parent);
    if (!level || camera.scale < 0.06) return;
    context.save();
    context.setTransform(ratio * camera.scale, 0, 0, ratio * camera.scale, -camera.x * camera.scale * ratio, -camera.y * camera.scale * ratio);
    context.strokeStyle = theme.edge;
    context.lineWidth = Math.max(1.1, 0.9 / camera.scale);
    context.stroke(level.plain);
    context.setLineDash([5, 4]);
    context.stroke(level.jumps);
    context.restore();
  };
  edges(null);
  for (const box of visible) {
    const isOpen = box.children !== null && (isMap || !isSummarized(box, camera.scale));
    const { fill, heat } = paintBox(context, box, isOpen, camera, style);
    if (isOpen) edges(box);
    if (!isMap) paintTexts(context, box, isOpen, camera, style, heat, fill, labels);
  }
  if (camera.scale > 0.35) {
    arrows(context, scene, camera, view, theme);
    cutEnds(context, scene, camera, view, theme);
  }
  if (isMap) return labels;
  const isWhole = (box: Box) => box.children === null || isSummarized(box, camera.scale);
  const inner = visible.filter(isWhole).map((box) => toScreen(camera, box));
  const taken = [...labels, ...visible.filter(({ part }) => isOpenable(part)).map((box) => signOf(box, camera))];
  const marked = highlight(context, scene, camera, view, ratio, style, { labels, taken, boxes: inner });
  if (camera.scale > RESTING) {
    restLabels(context, scene, camera, view, style, { labels, taken: [...taken, ...inner] }, marked);
  }
  return labels;
}
/** Where labels of edges must not be: texts and signs, and, if there is room elsewhere, boxes. */
interface Places { readonly labels: Label[]; readonly taken: Area[]; readonly boxes?: readonly Area[] }

function paintBox(context: CanvasRenderingContext2D, box: Box, isOpen: boolean, camera: Camera, style: Style): { fill: string; heat: string } {
  const { theme, isDark } = style;
  const { x, y, width, height } = toScreen(camera, box);
  const colour = style.isComparison ? theme.muted : colourOf(box.kind, isDark);
  const isGroup = box.part.kind === "group";
  const isPort = box.part.kind === "input" || box.part.kind === "output";
  const heat = style.heat?.(box) ?? null;
  const isDimmed = style.hits !== null && !style.hits.has(box) && !isOpen;
  const change = box.change === null ? null : theme[box.change];
  let fill = isOpen ? mix(theme.page, box.isDelegate ? colourOf("delegate", isDark) : theme.text, box.isDelegate ? 0.09 : 0.04) : mix(theme.panel, colour, isPort ? 0.1 : style.isComparison ? 0.05 : isDark ? 0.3 : 0.17);
  if (style.heat && !isOpen) fill = heat ? mix(theme.panel, theme.heat, 0.08 + 0.8 * heat.part) : theme.panel;
  if (box.change !== null && !isOpen && !style.heat) fill = mix(theme.panel, change!, 0.22);
  if (isDimmed) fill = mix(fill, theme.page, 0.65);
  if (width < 3 || height < 3) {
    context.fillStyle = style.heat ? fill : mix(theme.page, colour, 0.7);
    context.fillRect(x, y, Math.max(width, 1), Math.max(height, 1));
    return { fill, heat: "" };
  }
  const radius = Math.min(isPort ? height / 2 : 5 * camera.scale, 8, height / 3);
  const outline = () => { context.beginPath(); context.roundRect(x, y, width, height, radius); };
  // A closed group looks like a stack.
  if (isGroup && box.children === null && height > 14) {
    context.fillStyle = mix(theme.panel, colour, 0.1);
    context.strokeStyle = mix(theme.page, colour, 0.5);
    context.beginPath();
    context.roundRect(x + 3, y + 3, width, height, radius);
    context.fill();
    context.stroke();
  }
  outline();
  context.fillStyle = fill;
  context.fill();
  const isHit = style.hits !== null && !isDimmed && !isOpen;
  context.lineWidth = change || isHit ? 2 : 1;
  context.strokeStyle = change ?? (isHit ? theme.hit : isOpen ? mix(theme.page, box.isDelegate ? colour : theme.muted, 0.55) : mix(theme.page, colour, isDimmed ? 0.25 : 0.6));
  if (box.change === "removed") context.setLineDash([5, 3]);
  context.stroke();
  context.setLineDash([]);
  // The call of a delegate has a second line around it.
  if (box.part.kind === "call" && box.isDelegate && height > 14) {
    context.beginPath();
    context.roundRect(x - 3, y - 3, width + 6, height + 6, radius + 2);
    context.lineWidth = 1.2;
    context.strokeStyle = mix(theme.page, colour, 0.75);
    context.stroke();
  }
  if (!isOpen && !isPort && width > 10) {
    context.save();
    outline();
    context.clip();
    context.fillStyle = isDimmed ? mix(colour, theme.page, 0.6) : change ?? colour;
    context.fillRect(x, y, Math.max(2, Math.min(5, 4 * camera.scale)), height);
    context.restore();
  }
  return { fill, heat: heat?.text ?? "" };
}

function paintTexts(
  context: CanvasRenderingContext2D, box: Box, isOpen: boolean, camera: Camera, style: Style, heat: string, fill: string, labels: Label[],
): void {
  const { x, y, width, height } = toScreen(camera, box);
  const isSum = box.children !== null && !isOpen;
  const title = isSum ? Math.max(10, Math.min(14, height / 4)) : Math.max(isOpen ? 9 : 10, TITLE * camera.scale);
  const room = isOpen ? 26 * camera.scale : height;
  if (room < title + 1 || width < 16) return;
  const inset = Math.max(3, 8 * camera.scale);
  const line = Math.max(9, LINE * camera.scale);
  const step = line * 1.27;
  const sign = isOpenable(box.part) && width >= NARROW ? Math.max(13, 20 * camera.scale) : 0;
  // The number of the heat is beside the title, or the first line, but never cut.
  const heatWidth = heat === "" ? 0 : measureText(heat, false) * (line / LINE) + 8;
  const isBeside = heat !== "" && heatWidth < (width - sign) * 0.5;
  const texts = heat === "" || isBeside ? box.lines : [heat, ...box.lines];
  const lines = isOpen || width < NARROW ? [] : texts.slice(0, Math.max(0, Math.floor((height - title - 4) / step)));
  const block = title + lines.length * step;
  const top = isOpen ? y + (room - title) / 2 : y + (height - block) / 2;
  // Colours of heat can be strong, so that the text is dark or light by what it is on.
  const ink = isLight(fill) ? "#14181f" : "#f3f5f8";
  const badgeWidth = isBeside ? heatWidth : 0;
  context.textBaseline = "middle";
  const put = (text: string, isTitle: boolean, wanted: number, at: number, most: number, colour: string) => {
    const { shown, size, wide } = fitted(text, isTitle, wanted, most);
    if (shown === "") return;
    context.font = isTitle ? `600 ${size}px ${FONT}` : `${size}px ${FONT}`;
    // Edges lead through the title of an open group.
    if (isOpen) { context.fillStyle = fill; context.fillRect(x + inset - 2, at - size / 2, wide + 4, size); }
    context.fillStyle = colour;
    context.fillText(shown, x + inset, at);
    labels.push({ box, text: shown, x: x + inset, y: at - size / 2, width: wide, height: size });
  };
  put(box.title, true, title, top + title / 2, width - inset * 1.6 - sign - badgeWidth, ink);
  lines.forEach((text, at) => put(text, false, line, top + title + step * (at + 0.55), width - inset * 1.6, mix(ink, fill, 0.22)));
  if (isBeside) {
    context.font = `${line}px ${FONT}`;
    context.fillStyle = ink;
    context.fillText(heat, x + width - badgeWidth - sign + 2, top + title / 2);
  }
  const severity = isOpen ? null : style.severity(box);
  if (severity !== null) {
    const colour = severity === "note" ? "muted" : severity === "suspicious" ? "changed" : "removed";
    mark(context, { x: x + width - 2, y: y + 2 }, style.theme[colour], style.theme.page);
  }
  if (sign > 0 && height >= 14) {
    context.strokeStyle = ink;
    context.lineWidth = 1.4;
    const [cx, cy, r] = [x + width - sign / 2 - 2, isOpen ? y + room / 2 : top + title / 2, Math.max(3, 4 * camera.scale)];
    context.beginPath();
    context.moveTo(cx - r, cy);
    context.lineTo(cx + r, cy);
    if (!box.children) { context.moveTo(cx, cy - r); context.lineTo(cx, cy + r); }
    context.stroke();
  }
}
/** A dot with "!" at the corner of a box with findings. */
function mark(context: CanvasRenderingContext2D, { x, y }: Point, colour: string, ink: string): void {
  context.beginPath();
  context.arc(x, y, 6, 0, 2 * Math.PI);
  context.fillStyle = colour;
  context.fill();
  context.lineWidth = 1;
  context.strokeStyle = ink;
  context.stroke();
  context.fillStyle = ink;
  context.fillRect(x - 0.8, y - 3.5, 1.6, 4.4);
  context.fillRect(x - 0.8, y + 2, 1.6, 1.6);
}
function isLight(colour: string): boolean {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return red * 0.299 + green * 0.587 + blue * 0.114 > 140;
}

/** Points at the ends of routes that lead into boxes. */
function arrows(context: CanvasRenderingContext2D, scene: Scene, camera: Camera, view: { width: number; height: number }, theme: Theme): void {
  context.fillStyle = theme.edge;
  context.beginPath();
  for (const { points, hasArrow } of scene.routes) {
    if (!hasArrow) continue;
    const [before, last] = [points[points.length - 2], points[points.length - 1]];
    if (before && last) arrow(context, before, last, camera, view);
  }
  context.fill();
}
/** Open circles where only the end of an edge is drawn. */
function cutEnds(context: CanvasRenderingContext2D, scene: Scene, camera: Camera, view: { width: number; height: number }, theme: Theme): void {
  const radius = 2.5 * Math.min(camera.scale, 1.2);
  context.beginPath();
  for (const { cut } of scene.routes) {
    if (!cut) continue;
    const [x, y] = [(cut.x - camera.x) * camera.scale, (cut.y - camera.y) * camera.scale];
    if (x < 0 || y < 0 || x > view.width || y > view.height) continue;
    context.moveTo(x + radius, y);
    context.arc(x, y, radius, 0, 2 * Math.PI);
  }
  context.fillStyle = theme.page;
  context.fill();
  context.lineWidth = 1;
  context.strokeStyle = theme.edge;
  context.stroke();
}
function arrow(context: CanvasRenderingContext2D, before: Point, last: Point, camera: Camera, view: { width: number; height: number }): void {
  const x = (last.x - camera.x) * camera.scale;
  const y = (last.y - camera.y) * camera.scale;
  if (x < 0 || y < 0 || x > view.width || y > view.height) return;
  const length = Math.hypot(last.x - before.x, last.y - before.y) || 1;
  const [dx, dy] = [(last.x - before.x) / length, (last.y - before.y) / length];
  const size = 6 * Math.min(camera.scale, 1.2);
  context.moveTo(x, y);
  context.lineTo(x - dx * size - dy * size * 0.5, y - dy * size + dx * size * 0.5);
  context.lineTo(x - dx * size + dy * size * 0.5, y - dy * size - dx * size * 0.5);
}

/** The edges of what is selected or under the pointer, with their types, and outlines; returns the routes. */
function highlight(
  context: CanvasRenderingContext2D, scene: Scene, camera: Camera, view: { width: number; height: number }, ratio: number,
  style: Style, places: Places,
): ReadonlySet<Route> {
  const { theme } = style;
  const chosen = new Set(style.selected);
  if (style.hovered) chosen.add(style.hovered);
  if (chosen.size === 0) return new Set();
  const marked = new Map<number, "incoming" | "outgoing">();
  scene.ends.forEach(([from, to], at) => {
    if (isIn(to, chosen) && !isIn(from, chosen)) marked.set(at, "incoming");
    else if (isIn(from, chosen) && !isIn(to, chosen)) marked.set(at, "outgoing");
  });
  const routes = scene.routes.flatMap((route) => {
    // One for each value that takes the route.
    const names = new Set<string>();
    return route.edges.filter((at) => marked.has(at) && !names.has(scene.edges[at]!.name) && names.add(scene.edges[at]!.name)).map((edge) => ({ route, edge, side: marked.get(edge)! }));
  });
  context.save();
  context.setTransform(ratio * camera.scale, 0, 0, ratio * camera.scale, -camera.x * camera.scale * ratio, -camera.y * camera.scale * ratio);
  context.lineWidth = Math.max(2.2, 1.6 / camera.scale);
  for (const { route, side } of routes) {
    context.strokeStyle = theme[side];
    context.beginPath();
    trace(context, route.points);
    context.stroke();
  }
  context.restore();
  for (const box of chosen) {
    const { x, y, width, height } = toScreen(camera, box);
    context.beginPath();
    context.roundRect(x - 3, y - 3, width + 6, height + 6, 7);
    context.lineWidth = style.selected.has(box) ? 3 : 1.5;
    context.strokeStyle = theme.accent;
    context.stroke();
  }
  edgeLabels(context, routes, scene, camera, view, style, places);
  return new Set(routes.map(({ route }) => route));
}
function isIn(box: Box, chosen: ReadonlySet<Box>): boolean {
  for (let at: Box | null = box; at; at = at.parent) if (chosen.has(at)) return true;
  return false;
}
/** Types of marked edges beside them; one that would cover another, or the text or the sign of a box, is left out. */
function edgeLabels(
  context: CanvasRenderingContext2D, routes: { route: Route; edge: number; side: "incoming" | "outgoing" }[], scene: Scene, camera: Camera,
  view: { width: number; height: number }, { theme }: Style, { labels, taken, boxes = [] }: Places,
): void {
  const done = new Set<string>();
  context.font = `11px ${FONT}`;
  context.textBaseline = "middle";
  for (const { route, edge, side } of routes) {
    const { name, type } = scene.edges[edge]!;
    const text = [name, compactType(type)].filter((part) => part !== "").join(": ");
    if (done.has(`${side}${text}`) || text === "" || done.size >= 24) continue;
    const candidates = besides(route, camera, measureText(text, false) + 10, 18, [0.5, 0.25, 0.75, 0.9, 0.1]);
    const free = freeOf(candidates, view, [...taken, ...boxes]) ?? freeOf(candidates, view, taken);
    if (!free) continue;
    done.add(`${side}${text}`);
    taken.push(free);
    context.fillStyle = theme.panel;
    context.strokeStyle = theme[side];
    context.lineWidth = 1;
    context.beginPath();
    context.roundRect(free.x, free.y, free.width, free.height, 4);
    context.fill();
    context.stroke();
    context.fillStyle = theme.text;
    context.fillText(text, free.x + 5, free.y + 9.5);
    labels.push({ box: scene.ends[edge]![1], text, isEdge: true, ...free });
  }
}
/** Types beside the edges in view, where there is room between the boxes. */
function restLabels(
  context: CanvasRenderingContext2D, scene: Scene, camera: Camera, view: { width: number; height: number }, { theme }: Style,
  { labels, taken }: Places, marked: ReadonlySet<Route>,
): void {
  context.font = `${SMALLEST.title}px ${FONT}`;
  context.textBaseline = "middle";
  context.fillStyle = theme.muted;
  for (const route of scene.routes) {
    const [first, last] = [route.points[0], route.points[route.points.length - 1]];
    if (marked.has(route) || !first || !last || !isVisible(camera, between(first, last), view)) continue;
    const types = new Set(route.edges.map((at) => scene.edges[at]!.type));
    const text = types.size === 1 ? compactType([...types][0]!) : `${types.size} types`;
    if (text === "") continue;
    const wide = measureText(text, false) * (SMALLEST.title / LINE);
    const free = freeOf(besides(route, camera, wide + 2, SMALLEST.title + 1, [0.5, 0.35, 0.65]), view, taken);
    if (!free) continue;
    taken.push(free);
    context.fillText(text, free.x + 1, free.y + free.height / 2);
    labels.push({ box: scene.ends[route.edges[0]!]![1], text, isEdge: true, ...free });
  }
}
const between = (a: Point, b: Point): Area =>
  ({ x: Math.min(a.x, b.x), y: Math.min(a.y, b.y), width: Math.abs(a.x - b.x), height: Math.abs(a.y - b.y) });
/** Places right and left of a route. */
function besides({ points }: Route, camera: Camera, width: number, height: number, parts: readonly number[]): Area[] {
  return parts.flatMap((part) => {
    const point = pointAt(points, part);
    const [x, y] = [(point.x - camera.x) * camera.scale, (point.y - camera.y) * camera.scale - height / 2];
    return [{ x: x + 5, y, width, height }, { x: x - width - 5, y, width, height }];
  });
}
function freeOf(candidates: readonly Area[], view: { width: number; height: number }, taken: readonly Area[]): Area | undefined {
  const isInside = ({ x, y, width, height }: Area) => x > 0 && y > 0 && x + width < view.width && y + height < view.height;
  return candidates.find((area) => isInside(area) && !taken.some((other) => overlaps(area, other)));
}
const overlaps = (a: Area, b: Area) =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
function pointAt(points: readonly Point[], part: number): Point {
  let total = 0;
  for (let at = 1; at < points.length; at++) total += Math.hypot(points[at]!.x - points[at - 1]!.x, points[at]!.y - points[at - 1]!.y);
  let left = total * part;
  for (let at = 1; at < points.length; at++) {
    const [a, b] = [points[at - 1]!, points[at]!];
    const length = Math.hypot(b.x - a.x, b.y - a.y);
    if (left <= length && length > 0) return { x: a.x + ((b.x - a.x) * left) / length, y: a.y + ((b.y - a.y) * left) / length };
    left -= length;
  }
  return points[points.length - 1] ?? { x: 0, y: 0 };
}
