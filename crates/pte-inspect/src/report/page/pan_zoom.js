// Moving and zooming of a drawing.

// Moves and zooms the content of a drawing.
function panZoom(drawing) {
  const layer = svg("g", {});
  drawing.append(svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8,
    markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" },
  svg("path", { d: "M0 0L8 4L0 8z" }))), layer);
  const state = { x: 0, y: 0, scale: 1, box: null, first: null, moved: false };
  const apply = () => {
    if (drawing.hasAttribute("viewBox")) return;
    layer.setAttribute("transform", `translate(${state.x} ${state.y}) scale(${state.scale})`);
    drawing.classList.toggle("far", state.scale < 0.55);
  };
  const size = () => drawing.getBoundingClientRect();
  const zoomAt = (factor, x, y) => {
    const scale = Math.max(0.02, Math.min(4, state.scale * factor));
    state.x = x - ((x - state.x) * scale) / state.scale;
    state.y = y - ((y - state.y) * scale) / state.scale;
    state.scale = scale;
    state.moved = true;
    apply();
  };
  drawing.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = size();
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
    apply();
  });
  const end = () => { drag = null; drawing.classList.remove("dragged"); };
  drawing.addEventListener("pointerup", end);
  drawing.addEventListener("pointercancel", end);
  const api = {
    content(edges, nodes, box) { layer.replaceChildren(edges, nodes); state.box = box; },
    zoom(factor) { const { width, height } = size(); zoomAt(factor, width / 2, height / 2); },
    fit() {
      const { width, height } = size();
      state.scale = Math.min(1.2, width / state.box.width, height / state.box.height);
      state.x = (width - state.box.width * state.scale) / 2 - state.box.left * state.scale;
      state.y = (height - state.box.height * state.scale) / 2 - state.box.top * state.scale;
      apply();
    },
    // All of a small graph, the begin of a large one.
    start(item) {
      state.first = item;
      state.moved = false;
      api.fit();
      if (state.scale < 0.45 && item) { state.scale = 0.8; api.center(item, 0.12); }
    },
    center(item, height = 0.5) {
      const box = size();
      if (state.scale < 0.3) state.scale = 0.8;
      state.x = box.width / 2 - item.x * state.scale;
      state.y = box.height * height - item.y * state.scale;
      state.moved = item !== state.first;
      apply();
    },
  };
  new ResizeObserver(() => state.box && !state.moved && api.start(state.first)).observe(drawing);
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
