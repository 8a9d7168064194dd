// Moving and zooming of a drawing, with a map of all of it.

// Smallest scale: texts of nodes have 12 units, which are 9 pixels. From DETAILS on, smaller texts are visible, too.
const LEGIBLE = 0.76;
const DETAILS = 0.92;

function panZoom(drawing, map) {
  const layer = svg("g", {});
  drawing.append(svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8,
    markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" },
  svg("path", { d: "M0 0L8 4L0 8z" }))), layer);
  const state = { x: 0, y: 0, scale: 1, box: null, first: null, moved: false };
  const size = () => {
    const { width, height } = drawing.getBoundingClientRect();
    return { width: width || 1000, height: height || 600 };
  };
  const apply = () => {
    if (drawing.hasAttribute("viewBox")) return;
    layer.setAttribute("transform", `translate(${state.x} ${state.y}) scale(${state.scale})`);
    drawing.classList.toggle("far", state.scale < DETAILS);
    const { width, height } = size();
    map.show({ x: -state.x / state.scale, y: -state.y / state.scale, width: width / state.scale, height: height / state.scale });
  };
  // Something of the content stays visible; what is larger than the view fills it.
  const bound = (from, length, whole) => {
    const slack = length * 0.3;
    return whole <= length ? Math.max(-whole * 0.5, Math.min(length - whole * 0.5, from))
      : Math.max(length - whole - slack, Math.min(slack, from));
  };
  const keep = () => {
    const { width, height } = size();
    const { left, top } = state.box;
    const [w, h] = [state.box.width * state.scale, state.box.height * state.scale];
    state.x = bound(state.x + left * state.scale, width, w) - left * state.scale;
    state.y = bound(state.y + top * state.scale, height, h) - top * state.scale;
    apply();
  };
  const zoomAt = (factor, x, y) => {
    const scale = Math.max(LEGIBLE, Math.min(4, state.scale * factor));
    state.x = x - ((x - state.x) * scale) / state.scale;
    state.y = y - ((y - state.y) * scale) / state.scale;
    state.scale = scale;
    state.moved = true;
    keep();
  };
  drawing.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = drawing.getBoundingClientRect();
    zoomAt(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  let drag = null;
  drawing.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX - state.x, y: event.clientY - state.y, moved: false };
  });
  drawing.addEventListener("pointermove", (event) => {
    if (!drag || event.buttons === 0) { drag = null; return; }
    const [x, y] = [event.clientX - drag.x, event.clientY - drag.y];
    if (!drag.moved && Math.hypot(x - state.x, y - state.y) < 4) return;
    drag.moved = true;
    drawing.classList.add("dragged");
    drawing.setPointerCapture(event.pointerId);
    Object.assign(state, { x, y, moved: true });
    keep();
  });
  const end = () => { drag = null; drawing.classList.remove("dragged"); };
  drawing.addEventListener("pointerup", end);
  drawing.addEventListener("pointercancel", end);
  const scaleOfAll = () => {
    const { width, height } = size();
    return Math.min(1.2, width / state.box.width, height / state.box.height);
  };
  const api = {
    size,
    content(parts, items, box) {
      layer.replaceChildren(...parts);
      state.box = box;
      map.content(items, box);
    },
    zoom(factor) { const { width, height } = size(); zoomAt(factor, width / 2, height / 2); },
    fits: () => scaleOfAll() >= LEGIBLE,
    // All of the drawing, or as much as is legible around an item.
    fit(item) {
      state.first = item;
      state.moved = false;
      const { width, height } = size();
      state.scale = scaleOfAll();
      if (state.scale < LEGIBLE) {
        state.scale = DETAILS;
        api.center(item, 0.2, 0.12);
        return;
      }
      state.x = (width - state.box.width * state.scale) / 2 - state.box.left * state.scale;
      state.y = (height - state.box.height * state.scale) / 2 - state.box.top * state.scale;
      apply();
    },
    // Puts an item at a part of the view; without empty space if the drawing is larger.
    center(item, across = 0.5, down = 0.5) {
      const { width, height } = size();
      const fill = (from, length, begin, whole) => {
        const [low, high] = [length - (begin + whole) * state.scale, -begin * state.scale];
        return low > high ? (low + high) / 2 : Math.max(low, Math.min(high, from));
      };
      state.x = fill(width * across - item.x * state.scale, width, state.box.left, state.box.width);
      state.y = fill(height * down - item.y * state.scale, height, state.box.top, state.box.height);
      state.moved = item !== state.first;
      apply();
    },
    // Moves a point of the drawing to the middle.
    look(x, y) {
      const { width, height } = size();
      Object.assign(state, { x: width / 2 - x * state.scale, y: height / 2 - y * state.scale, moved: true });
      keep();
    },
    isMoved: () => state.moved,
  };
  map.onlook = api.look;
  // For print, all of it, as wide as the page, and not larger than on the screen; the size on paper is not known here.
  addEventListener("beforeprint", () => {
    if (!drawing.isConnected || !state.box) return;
    const { left, top, width, height } = state.box;
    const wide = Math.max(width, 680);
    drawing.setAttribute("viewBox", `${left - (wide - width) / 2} ${top} ${wide} ${height}`);
    layer.removeAttribute("transform");
    drawing.classList.remove("far");
  });
  addEventListener("afterprint", () => { drawing.removeAttribute("viewBox"); apply(); });
  return api;
}
// A map of all of a drawing, with a frame around what is visible; hidden if all of it is.
function overviewMap() {
  const nodesPath = svg("path", { class: "all" });
  const frame = svg("rect", { class: "frame" });
  const element = svg("svg", { class: "overview", "aria-hidden": "true" }, nodesPath, frame);
  let box = null;
  const api = {
    element,
    onlook: () => {},
    content(items, bounds) {
      box = bounds;
      element.setAttribute("viewBox", `${box.left} ${box.top} ${box.width} ${box.height}`);
      const at = (item) => `M${(item.x - item.width / 2).toFixed(0)} ${(item.y - item.height / 2).toFixed(0)}`;
      nodesPath.setAttribute("d", items.map((item) =>
        `${at(item)}h${item.width.toFixed(0)}v${item.height}h${-item.width.toFixed(0)}z`).join(""));
    },
    show({ x, y, width, height }) {
      if (!box) return;
      for (const [key, value] of Object.entries({ x, y, width, height })) frame.setAttribute(key, value.toFixed(1));
      const isAll = x <= box.left + 1 && y <= box.top + 1 && x + width >= box.left + box.width - 1
        && y + height >= box.top + box.height - 1;
      element.classList.toggle("needless", isAll);
    },
  };
  const look = (event) => {
    if (event.buttons === 0 && event.type === "pointermove") return;
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(element.getScreenCTM().inverse());
    api.onlook(place.x, place.y);
    event.stopPropagation();
  };
  element.addEventListener("pointerdown", look);
  element.addEventListener("pointermove", look);
  return api;
}
