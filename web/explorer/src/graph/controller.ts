// The graph on its canvas: builds scenes in slices of time, moves the camera, and turns input into changes of the state.
import { effect } from "@preact/signals";
import { measurementOf } from "../heat";
import { selectionOf, severitiesOf } from "../links";
import { hitCounts } from "../search";
import { type State, callOf } from "../state";
import { type Part, chainTo, isInner, isOpenable } from "../tree";
import { type Camera, READABLE, centre, clamp, fit, pan, zoom } from "./camera";
import type { Point } from "./layout";
import { type Label, type Style, type Theme, boxAt, isSign, isSummarized, measureText, paint, visibleBoxes } from "./paint";
import { type Box, type LayoutCache, type Scene, sceneOf } from "./scene";

/** Milliseconds of work between two chances of the page to react; the first slice is longer, so that small graphs do not flicker. */
const SLICE = { first: 150, next: 12 };

export interface Controller {
  fitAll(): void;
  zoomBy(factor: number): void;
  walk(direction: "up" | "down" | "left" | "right"): void;
  toggleSelected(): void;
  /** For tests: what is painted. */
  readonly boxes: () => { id: string; title: string; severity: string | null; x: number; y: number; width: number; height: number; isOpen: boolean }[];
  readonly labels: () => { id: string; text: string; isEdge?: boolean; x: number; y: number; width: number; height: number }[];
  /** Edges on the screen, in the innermost group that they lead through. */
  readonly edges: () => { from: string; to: string; points: Point[]; isCut: boolean }[];
  readonly isReady: () => boolean;
  readonly frames: () => number[];
  dispose(): void;
}

/** What the controller tells the view: that it is building, and the largest number of the heat. */
interface Notes { status(text: string): void; scale(most: string): void }

export function createController(state: State, canvas: HTMLCanvasElement, map: HTMLCanvasElement, { status, scale }: Notes): Controller {
  const context = canvas.getContext("2d", { alpha: false })!;
  const cache: LayoutCache = new Map();
  let scene: Scene | null = null;
  let built: { method: unknown; tree: readonly Part[]; open: ReadonlySet<string> } | null = null;
  let camera: Camera = { x: 0, y: 0, scale: 1 };
  let view = { width: canvas.clientWidth, height: canvas.clientHeight };
  let isMoved = false;
  let hovered: Box | null = null;
  let labels: Label[] = [];
  let theme = themeOf(canvas);
  let frame = 0;
  let work = 0;
  let wantsReveal = false;
  const times: number[] = [];

  const whole = () => ({ x: 0, y: 0, width: scene?.width ?? 1, height: scene?.height ?? 1 });
  const draw = () => { frame ||= requestAnimationFrame(() => { frame = 0; render(); }); };

  function render(): void {
    const ratio = devicePixelRatio || 1;
    const [width, height] = [Math.round(view.width * ratio), Math.round(view.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    const started = performance.now();
    if (scene) labels = paint(context, scene, camera, view, ratio, style(scene));
    else { context.fillStyle = theme.page; context.fillRect(0, 0, width, height); labels = []; }
    times.push(performance.now() - started);
    if (times.length > 600) times.shift();
    paintMap();
  }
  const selectedBox = (at: Scene): Box | null => {
    const [method, selection] = [state.method.value, state.selection.value];
    if (!method || !selection) return null;
    if (selection.kind === "group") return at.byId.get(selection.id) ?? null;
    if (selection.kind === "value") {
      if (selection.output !== undefined) return at.byId.get(`out${selection.output}`) ?? at.byId.get("outputs") ?? null;
      const input = method.data.inputs.indexOf(selection.index);
      if (input >= 0) return at.byId.get(`in${input}`) ?? at.byId.get("inputs") ?? null;
    }
    const call = callOf(method, selection);
    if (call === null) return null;
    const chain = chainTo(state.tree.value, method, call, selection.kind === "operation" ? selection.operation : undefined);
    for (const part of chain.reverse()) { const box = at.byId.get(part.id); if (box) return box; }
    return null;
  };
  let heatCache: { key: unknown[]; heat: Style["heat"] } | null = null;
  function heatOf(at: Scene): Style["heat"] {
    const [heat, method] = [state.heat.value, state.method.value];
    if (!heat || !method) return null;
    const key = [at, heat];
    if (heatCache && heatCache.key.every((part, index) => part === key[index])) return heatCache.heat;
    const measurement = measurementOf(state.document, method, heat);
    const values = new Map<Box, number>(at.boxes.map((box) => [box, measurement.of(box.part)]));
    let most = 0;
    for (const [box, value] of values) if (!box.children) most = Math.max(most, value);
    const found: Style["heat"] = (box) => {
      const value = values.get(box) ?? 0;
      return value === 0 ? null : { part: Math.min(1, value / Math.max(most, 1e-9)), text: measurement.text(value) };
    };
    scale(measurement.text(most));
    heatCache = { key, heat: found };
    return found;
  }
  let severityCache: { scene: Scene; severity: Style["severity"] } | null = null;
  /** What findings say of the boxes of a scene. */
  function severityOf(at: Scene): Style["severity"] {
    if (severityCache?.scene !== at) {
      const method = state.method.value;
      const found = method && severitiesOf(state.document, method);
      const isMarked = ({ part }: Box) => part.kind === "call" || (part.kind === "group" && !isInner(part));
      const severities = new Map(at.boxes.map((box) => [box, found && isMarked(box) ? found.most(box.part.start, box.part.end) : null]));
      severityCache = { scene: at, severity: (box) => severities.get(box) ?? null };
    }
    return severityCache.severity;
  }
  let hitCache: { key: unknown[]; hits: ReadonlySet<Box> } | null = null;
  /** Boxes that contain hits of the search. */
  function hitsOf(at: Scene): ReadonlySet<Box> | null {
    const [query, method] = [state.query.value.trim(), state.method.value];
    if (query === "" || !method) return null;
    const key = [at, query];
    if (!hitCache || hitCache.key.some((part, index) => part !== key[index])) {
      const count = hitCounts(method, query);
      hitCache = { key, hits: new Set(at.boxes.filter(({ part }) => count(part) > 0)) };
    }
    return hitCache.hits;
  }
  function style(at: Scene): Style {
    const selected = selectedBox(at);
    return { theme, isDark: state.isDark.value, isComparison: state.document.changes != null && state.heat.value === null, selected: new Set(selected ? [selected] : []), hovered, hits: hitsOf(at), heat: heatOf(at), severity: severityOf(at) };
  }

  // Building.
  function build(): void {
    const method = state.method.value;
    const [tree, open] = [state.tree.value, state.open.value];
    const before = built;
    const old = scene;
    if (before && before.method === method && before.tree === tree && before.open === open) return;
    clearTimeout(work);
    if (!method) { scene = null; draw(); return; }
    const steps = sceneOf(method, tree, open, measureText, view, cache);
    const finish = (next: Scene) => {
      scene = next;
      built = { method, tree, open };
      hovered = null;
      status("");
      const isSame = before?.tree === tree && old !== null;
      const anchor = isSame ? anchorOf(old, next, before.open, open) : null;
      if (anchor) {
        const [from, to] = anchor;
        camera = { ...camera, x: camera.x + to.x - from.x, y: camera.y + to.y - from.y };
      } else if (!isSame) { isMoved = false; camera = fit(whole(), view); }
      if (wantsReveal) { wantsReveal = false; centreSelection(isSame); }
      paintedMap = null;
      draw();
    };
    const run = (budget: number) => {
      const until = performance.now() + budget;
      for (;;) {
        const step = steps.next();
        if (step.done) return finish(step.value);
        if (performance.now() > until) break;
      }
      status("placing boxes…");
      work = window.setTimeout(() => run(SLICE.next), 0);
    };
    built = null;
    if (before) built = before;
    run(SLICE.first);
  }
  /** A box that is in both scenes and should stay where it is: the one that was opened or closed, or what is selected. */
  function anchorOf(old: Scene, next: Scene, from: ReadonlySet<string>, to: ReadonlySet<string>): [Box, Box] | null {
    const changed = [...from].filter((id) => !to.has(id)).concat([...to].filter((id) => !from.has(id)));
    const selected = selectedBox(next)?.part.id;
    for (const id of [...changed, ...(selected === undefined ? [] : [selected])]) {
      const [a, b] = [old.byId.get(id), next.byId.get(id)];
      if (a && b) return [a, b];
    }
    return null;
  }

  // Moving.
  let animation = 0;
  function moveTo(target: Camera, isSmooth: boolean): void {
    cancelAnimationFrame(animation);
    isMoved = true;
    if (!isSmooth || matchMedia("(prefers-reduced-motion: reduce)").matches) { camera = target; draw(); return; }
    const [from, started] = [camera, performance.now()];
    const step = () => {
      const part = Math.min(1, (performance.now() - started) / 160);
      const eased = 1 - (1 - part) ** 3;
      const scale = from.scale * (target.scale / from.scale) ** eased;
      // The centre moves in a straight line.
      const centreAt = (at: Camera) => ({ x: at.x + view.width / at.scale / 2, y: at.y + view.height / at.scale / 2 });
      const [a, b] = [centreAt(from), centreAt(target)];
      camera = part === 1 ? target : { scale, x: a.x + (b.x - a.x) * eased - view.width / scale / 2, y: a.y + (b.y - a.y) * eased - view.height / scale / 2 };
      render();
      if (part < 1) animation = requestAnimationFrame(step);
    };
    animation = requestAnimationFrame(step);
  }
  function centreSelection(isSmooth: boolean): void {
    const box = scene && selectedBox(scene);
    if (box) moveTo(clamp(centre(camera, box, view), whole(), view), isSmooth);
  }
  function selectBox(box: Box | null): void {
    const method = state.method.value;
    state.select(box && method ? selectionOf(method, box.part) : null, { reveal: false });
  }

  // Pointer.
  const pointers = new Map<number, Point>();
  let pressed: { at: Point; box: Box | null } | null = null;
  let isDragging = false;
  const at = (event: MouseEvent): Point => {
    const area = canvas.getBoundingClientRect();
    return { x: event.clientX - area.left, y: event.clientY - area.top };
  };
  const onDown = (event: PointerEvent) => {
    if (event.button > 1) return;
    cancelAnimationFrame(animation);
    pointers.set(event.pointerId, at(event));
    isDragging = false;
    pressed = { at: at(event), box: scene && boxAt(scene, camera, at(event)) };
  };
  const onMove = (event: PointerEvent) => {
    const point = at(event);
    const last = pointers.get(event.pointerId);
    if (!last) {
      const found = scene && boxAt(scene, camera, point);
      if (found !== hovered) {
        hovered = found && !found.children ? found : null;
        // Texts may be clipped in the box.
        const severity = hovered && scene && severityOf(scene)(hovered);
        canvas.title = hovered ? [hovered.title, ...hovered.lines, ...(severity ? [`findings: ${severity}`] : [])].join("\n") : "";
        draw();
      }
      canvas.style.cursor = found && (!found.children || isSign(found, camera, point)) ? "pointer" : "grab";
      return;
    }
    if (pointers.size === 2) {
      const other = [...pointers].find(([id]) => id !== event.pointerId)![1];
      const factor = Math.hypot(point.x - other.x, point.y - other.y) / Math.max(1, Math.hypot(last.x - other.x, last.y - other.y));
      camera = zoom(camera, factor, { x: (point.x + other.x) / 2, y: (point.y + other.y) / 2 });
      isDragging = isMoved = true;
    } else if (isDragging || (pressed && Math.hypot(point.x - pressed.at.x, point.y - pressed.at.y) > 4)) {
      if (!isDragging) canvas.setPointerCapture(event.pointerId);
      isDragging = isMoved = true;
      camera = pan(camera, point.x - last.x, point.y - last.y);
    } else return;
    pointers.set(event.pointerId, point);
    draw();
  };
  const onUp = (event: PointerEvent) => {
    if (!pointers.delete(event.pointerId) || isDragging || !pressed || event.type === "pointercancel") return;
    const { box } = pressed;
    pressed = null;
    if (box && isSign(box, camera, at(event)) && !isSummarized(box, camera.scale)) state.toggle(box.part.id);
    else if (!box?.children || isSummarized(box, camera.scale) || at(event).y < (box.y - camera.y) * camera.scale + 26 * camera.scale) selectBox(box);
    else selectBox(null);
  };
  const onDouble = (event: MouseEvent) => {
    const box = scene && boxAt(scene, camera, at(event));
    if (box && isSummarized(box, camera.scale)) moveTo(centre(fit(box, view, 1), box, view), true);
    else if (box && isOpenable(box.part) && !isSign(box, camera, at(event))) state.toggle(box.part.id);
  };
  const onLeave = () => { if (hovered) { hovered = null; draw(); } };
  const onWheel = (event: WheelEvent) => {
    event.preventDefault();
    isMoved = true;
    const isWheel = event.deltaMode !== 0 || (event.deltaX === 0 && Math.abs(event.deltaY) >= 50);
    if (event.ctrlKey || event.metaKey || (isWheel && !event.shiftKey)) camera = zoom(camera, Math.exp(-Math.max(-240, Math.min(240, event.deltaY)) * (event.ctrlKey && !isWheel ? 0.01 : 0.0016)), at(event));
    else camera = event.shiftKey && event.deltaX === 0 ? pan(camera, -event.deltaY, 0) : pan(camera, -event.deltaX, -event.deltaY);
    draw();
  };
  canvas.addEventListener("pointerdown", onDown);
  canvas.addEventListener("pointermove", onMove);
  canvas.addEventListener("pointerup", onUp);
  canvas.addEventListener("pointercancel", onUp);
  canvas.addEventListener("pointerleave", onLeave);
  canvas.addEventListener("dblclick", onDouble);
  canvas.addEventListener("wheel", onWheel, { passive: false });

  // The map in the corner.
  let paintedMap: HTMLCanvasElement | null = null;
  const mapScale = () => Math.min(map.clientWidth / Math.max(scene?.width ?? 1, 1), map.clientHeight / Math.max(scene?.height ?? 1, 1));
  function paintMap(): void {
    const area = { x: camera.x, y: camera.y, width: view.width / camera.scale, height: view.height / camera.scale };
    const isWhole = !scene || (area.x <= 1 && area.y <= 1 && area.x + area.width >= scene.width - 1 && area.y + area.height >= scene.height - 1);
    map.hidden = isWhole;
    if (isWhole || !scene) return;
    const [width, height] = [map.clientWidth, map.clientHeight];
    if (width === 0) return;
    if (map.width !== width || map.height !== height) { map.width = width; map.height = height; paintedMap = null; }
    const paper = map.getContext("2d")!;
    const scale = mapScale();
    const [left, top] = [(width - scene.width * scale) / 2, (height - scene.height * scale) / 2];
    if (!paintedMap) {
      const small: Camera = { scale, x: -left / scale, y: -top / scale };
      paintedMap = document.createElement("canvas");
      paintedMap.width = width;
      paintedMap.height = height;
      paint(paintedMap.getContext("2d")!, scene, small, { width, height }, 1, { ...style(scene), selected: new Set(), hovered: null, hits: null, isMap: true });
    }
    paper.drawImage(paintedMap, 0, 0);
    paper.strokeStyle = theme.accent;
    paper.lineWidth = 2;
    paper.strokeRect(left + area.x * scale, top + area.y * scale, area.width * scale, area.height * scale);
  }
  const onMap = (event: PointerEvent) => {
    if (!scene || event.buttons === 0) return;
    const area = map.getBoundingClientRect();
    const scale = mapScale();
    const x = (event.clientX - area.left - (area.width - scene.width * scale) / 2) / scale;
    const y = (event.clientY - area.top - (area.height - scene.height * scale) / 2) / scale;
    moveTo({ scale: camera.scale, x: x - view.width / camera.scale / 2, y: y - view.height / camera.scale / 2 }, false);
  };
  map.addEventListener("pointerdown", onMap);
  map.addEventListener("pointermove", onMap);

  const fitSize = () => {
    const next = { width: canvas.clientWidth, height: canvas.clientHeight };
    if (next.width === 0 || next.height === 0 || (next.width === view.width && next.height === view.height)) return;
    const middle = { x: camera.x + view.width / camera.scale / 2, y: camera.y + view.height / camera.scale / 2 };
    view = next;
    const fitted = fit(whole(), view);
    if (isMoved) camera = { scale: camera.scale, x: middle.x - view.width / camera.scale / 2, y: middle.y - view.height / camera.scale / 2 };
    // A graph that would not be readable any more keeps its scale and its corner, such as when a tab opens.
    else if (fitted.scale >= Math.min(READABLE, camera.scale)) camera = fitted;
    // At once: a canvas that is enlarged would be empty until the next frame.
    render();
  };
  const resized = new ResizeObserver(fitSize);
  resized.observe(canvas);
  // A page that is printed has another width, which nothing observes in time.
  addEventListener("beforeprint", fitSize);

  const stops = [
    effect(() => { state.method.value; state.tree.value; state.open.value; build(); }),
    effect(() => {
      if (state.reveals.value === 0) return;
      // The scene with what was opened may not be complete yet.
      if (built && built.open === state.open.peek() && built.tree === state.tree.peek()) centreSelection(true);
      else wantsReveal = true;
    }),
    effect(() => { state.selection.value; state.heat.value; state.query.value; draw(); }),
    effect(() => { state.isDark.value; theme = themeOf(canvas); paintedMap = null; draw(); }),
    effect(() => { state.heat.value; paintedMap = null; }),
  ];

  /** The nearest box in a direction: along edges up and down, beside it left and right. */
  function walk(direction: "up" | "down" | "left" | "right"): void {
    if (!scene) return;
    const leaves = scene.boxes.filter((box) => !box.children);
    const from = selectedBox(scene);
    if (!from) { const first = leaves.find((box) => box.part.kind !== "input") ?? leaves[0]; selectBox(first ?? null); if (first) keepInView(first); return; }
    let next: Box | undefined;
    if (direction === "up" || direction === "down") {
      const linked = scene.ends.flatMap(([a, b]) => (direction === "down" ? (a === from ? [b] : []) : b === from ? [a] : []));
      next = linked.sort((a, b) => distance(a, from) - distance(b, from))[0];
      if (!next) {
        const order = leaves.indexOf(from);
        next = leaves[order + (direction === "down" ? 1 : -1)];
      }
    } else {
      const sign = direction === "right" ? 1 : -1;
      next = leaves.filter((box) => (box.x + box.width / 2 - from.x - from.width / 2) * sign > 4)
        .sort((a, b) => sideways(a, from) - sideways(b, from))[0];
    }
    if (next) { selectBox(next); keepInView(next); }
  }
  const distance = (a: Box, b: Box) => Math.hypot(a.x - b.x, a.y - b.y);
  const sideways = (a: Box, b: Box) => Math.abs(a.x + a.width / 2 - b.x - b.width / 2) + 3 * Math.abs(a.y + a.height / 2 - b.y - b.height / 2);
  function keepInView(box: Box): void {
    const x = (box.x - camera.x) * camera.scale;
    const y = (box.y - camera.y) * camera.scale;
    const isInside = x > 8 && y > 8 && x + box.width * camera.scale < view.width - 8 && y + box.height * camera.scale < view.height - 8;
    if (!isInside || camera.scale < 0.4) moveTo(clamp(centre(camera, box, view), whole(), view), true);
  }

  const visible = () => (scene ? visibleBoxes(scene, camera, view) : []);
  const place = (box: Box) => ({ x: (box.x - camera.x) * camera.scale, y: (box.y - camera.y) * camera.scale, width: box.width * camera.scale, height: box.height * camera.scale });
  return {
    fitAll: () => { moveTo(fit(whole(), view), true); isMoved = false; },
    zoomBy: (factor) => { isMoved = true; camera = zoom(camera, factor, { x: view.width / 2, y: view.height / 2 }); draw(); },
    walk,
    toggleSelected() {
      const box = scene && selectedBox(scene);
      if (box && isOpenable(box.part)) state.toggle(box.part.id);
    },
    boxes: () => visible().map((box) => ({ id: box.part.id, title: box.title, severity: scene && severityOf(scene)(box), isOpen: box.children !== null && !isSummarized(box, camera.scale), ...place(box) })),
    labels: () => labels.map(({ box, ...label }) => ({ id: box.part.id, ...label })),
    edges: () => (scene?.routes ?? []).flatMap(({ points, edges, cut }) => edges.map((at) => ({
      from: scene!.edges[at]!.from, to: scene!.edges[at]!.to, isCut: cut !== null,
      points: points.map(({ x, y }) => ({ x: (x - camera.x) * camera.scale, y: (y - camera.y) * camera.scale })),
    }))).reverse(),
    isReady: () => scene !== null && built !== null && built.open === state.open.value && built.tree === state.tree.value,
    frames: () => [...times],
    dispose() {
      stops.forEach((stop) => stop());
      resized.disconnect();
      removeEventListener("beforeprint", fitSize);
      clearTimeout(work);
      cancelAnimationFrame(frame);
      cancelAnimationFrame(animation);
    },
  };
}

/** The colours of the style sheet. */
function themeOf(element: Element): Theme {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim() || "#888888";
  return {
    page: colour("page"), panel: colour("panel"), text: colour("text"), muted: colour("muted"), line: colour("line"), edge: colour("edge"),
    accent: colour("accent"), incoming: colour("incoming"), outgoing: colour("outgoing"), added: colour("added"), removed: colour("removed"),
    changed: colour("changed"), heat: colour("heat"), hit: colour("hit"),
  };
}
