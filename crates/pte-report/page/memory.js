// Planned memory as a picture of a pool: instructions from left to right, addresses from the bottom.

// Rectangles of a picture; the smallest tensors of a larger one are left out.
const RECTANGLES = 4000;
// Least height and width of a rectangle, and of a selection, in pixels.
const LEAST = 3;
const PLAN = { height: 420, left: 74, right: 8, top: 14, bottom: 26 };

function memorySection() {
  const pools = (data.memory?.methods ?? []).flatMap((method, index) =>
    method.pools.map((pool) => ({ method, index, pool })));
  if (pools.length === 0) return;
  const body = section("memory", "Memory plan");
  const name = ({ method, pool }) => `${method.name}, pool ${pool.pool} (${pool.device})`;
  if (pools.length > 1) {
    table(body, [["method"], ["pool", true], ["device"], ["bytes", true], ["without sharing", true], ["lower bound", true],
      ["tensors", true], ["peak at"]], pools.map(({ method, pool }) => [method.name, pool.pool, pool.device, pool.bytes,
      pool.unshared, pool.lower_bound, pool.tensors.length, pool.peak.event]), (row) => () => choose(row));
  }
  const select = el("select", { onchange: () => choose(Number(select.value)) },
    pools.map((pool, index) => el("option", { value: index }, name(pool))));
  const scale = el("select", { onchange: () => draw() }, SCALES.map(([key, title]) => el("option", { value: key }, title)));
  const all = el("button", { type: "button", onclick: () => { window = null; draw(); } }, "Show all");
  const button = (label, title, factor) => el("button", { type: "button", title, "aria-label": title,
    onclick: () => zoomBy(factor) }, label);
  const facts = el("div", {});
  const holder = el("div", { class: "planview" });
  const line = el("div", { class: "line mono", "aria-live": "polite" });
  body.append(el("div", { class: "bar" }, pools.length > 1 && el("label", {}, "Pool", select),
    el("label", {}, "Scale", scale), button("+", "Enlarge the plan", 0.5), button("−", "Reduce the plan", 2), all,
    el("span", { class: "quiet" }, "Drag over an area to enlarge it.")), facts, holder, line);
  let current = pools.findIndex(({ pool }) => pool.tensors.length > 0);
  let wanted = null;
  let window = null;
  let width = 0;
  const choose = (index, value) => {
    current = index;
    select.value = String(index);
    wanted = value ?? null;
    window = null;
    scale.value = scaleOf(pools[index].pool);
    draw();
  };
  const places = new Map();
  pools.forEach(({ index, pool }, number) =>
    pool.tensors.forEach((tensor) => places.set(`${index} ${tensor.value}`, number)));
  show.memory = (index, value) => {
    const number = places.get(`${index} ${value}`);
    return number === undefined ? null : () => { choose(number, value); body.scrollIntoView(); };
  };
  function zoomBy(factor) {
    const times = pools[current].method.instructions.length + 2;
    const { from, to, low, high } = window ?? { from: 0, to: times, low: 0, high: 1 };
    const part = (a, b, most) => {
      const [middle, half] = [(a + b) / 2, ((b - a) / 2) * factor];
      return [Math.max(0, middle - half), Math.min(most, middle + half)];
    };
    const [[a, b], [c, d]] = [part(from, to, times), part(low, high, 1)];
    window = b - a >= times && d - c >= 1 ? null : { from: a, to: b, low: c, high: d };
    draw();
  }
  function draw() {
    const entry = pools[current];
    all.disabled = window === null;
    const drawn = poolPicture(entry, { width, window, scale: scale.value, line, wanted,
      zoom: (area) => { window = area; draw(); } });
    replace(facts, list(poolFacts(entry.pool, drawn.hidden)));
    holder.replaceChildren(drawn.element, drawn.tip);
    drawn.chosen?.();
  }
  current = Math.max(0, current);
  select.value = String(current);
  scale.value = scaleOf(pools[current].pool);
  // Without the border.
  atWidth(holder, (now) => { width = now - 2; draw(); });
}
function poolFacts(pool, hidden) {
  return [
    ["size", counted(pool.bytes, "byte")], ["without sharing", counted(pool.unshared, "byte")],
    ["peak", `${counted(pool.lower_bound, "byte")} alive at once, the lower bound, at ${pool.peak.event}`],
    ["not drawn", hidden > 0 ? counted(hidden, "smaller tensor") : null],
  ];
}
function eventAt(method, time) {
  return time === 0 ? "the start" : time > method.instructions.length ? "the end" : `instruction ${time - 1}`;
}

const SCALES = [["linear", "linear"], ["logarithmic", "logarithmic, by range"]];
const fullOf = (pool) => Math.max(pool.bytes, 1, largest(pool.tensors, (tensor) => tensor.offset + tensor.bytes));
// The scale on which the median tensor is visible.
function scaleOf(pool) {
  const sizes = pool.tensors.filter((tensor) => tensor.alive).map((tensor) => tensor.bytes).sort((a, b) => a - b);
  const small = sizes[Math.floor(sizes.length / 4)] ?? 0;
  return sizes.length > 0 && (small / fullOf(pool)) * PLAN.height < 6 ? "logarithmic" : "linear";
}
// A function from addresses to 0..1. On the logarithmic scale, each range between two borders of tensors has a height by
// the logarithm of its size, so that a large tensor does not hide the others.
function addressScale(pool, kind) {
  const full = fullOf(pool);
  if (kind === "linear") return (address) => address / full;
  const borders = [...new Set([0, full, ...pool.tensors.flatMap(({ offset, bytes: size }) => [offset, offset + size])])]
    .sort((a, b) => a - b);
  const sums = [0];
  for (let i = 1; i < borders.length; i++) sums.push(sums[i - 1] + Math.log2(2 + (borders[i] - borders[i - 1]) / 16));
  const total = sums.at(-1);
  return (address) => {
    let [low, high] = [0, borders.length - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (borders[middle] <= address) low = middle;
      else high = middle;
    }
    const part = high === low ? 0 : (address - borders[low]) / (borders[high] - borders[low]);
    return (sums[low] + (sums[high] - sums[low]) * part) / total;
  };
}

// The picture of a pool, the tip that follows the mouse, and the number of tensors that are left out.
function poolPicture({ method, index, pool }, { width, window, scale, line, wanted, zoom }) {
  const { height, left, right, top, bottom } = PLAN;
  const times = method.instructions.length + 2;
  const part = addressScale(pool, scale);
  const area = window ?? { from: 0, to: times, low: 0, high: 1 };
  const [wide, tall] = [width - left - right, height - top - bottom];
  const x = (time) => left + (wide * (time - area.from)) / (area.to - area.from);
  const y = (address) => height - bottom - (tall * (part(address) - area.low)) / (area.high - area.low);
  const inside = (value, low, high) => Math.max(low, Math.min(high, value));
  const describe = ({ name, type, bytes: size, offset, alive: [from, to] }) =>
    `${name}: ${type}, ${counted(size, "byte")} at ${grouped(offset)}, alive from ${eventAt(method, from)} ` +
    `to ${eventAt(method, to)}`;
  // What nothing uses is never alive.
  const used = pool.tensors.filter((tensor) => tensor.alive).sort((a, b) => b.bytes - a.bytes);
  const hidden = Math.max(0, used.length - RECTANGLES);
  const boxes = [];
  for (const tensor of used.slice(0, RECTANGLES)) {
    const [x1, x2] = [x(tensor.alive[0]), x(tensor.alive[1] + 1)];
    const [y1, y2] = [y(tensor.offset + tensor.bytes), y(tensor.offset)];
    if (x2 < left || x1 > width - right || y2 < top || y1 > height - bottom) continue;
    const [from, upper] = [inside(x1, left, width - right), inside(y1, top, height - bottom)];
    boxes.push({ tensor, x: from, y: Math.min(upper, height - bottom - LEAST),
      width: Math.max(LEAST, inside(x2, left, width - right) - from),
      height: Math.max(LEAST, inside(y2, top, height - bottom) - upper) });
  }
  const text = (at, level, content, anchor) => svg("text", { class: "axis", x: at, y: level, "text-anchor": anchor }, content);
  const tip = el("div", { class: "tip", hidden: true });
  const element = svg("svg", { class: "plan", viewBox: `0 0 ${width} ${height}`, role: "group",
    "aria-label": "Planned memory: instructions from left to right, addresses from the bottom" },
  marksOf(pool, part, area).map((address) => text(left - 6, y(address) + 4, bytes(address), "end")),
  part(pool.bytes) <= area.high && svg("line", { class: "size", x1: left, x2: width - right, y1: y(pool.bytes), y2: y(pool.bytes) }));
  const picked = (box, open) => {
    element.querySelectorAll(".chosen").forEach((other) => other.classList.remove("chosen"));
    box.element.classList.add("chosen");
    if (open) replace(line, `${describe(box.tensor)} `, el("button", { type: "button",
      onclick: () => show.value(index, { value: box.tensor.value }) }, "Show in the graph"));
  };
  for (const box of boxes) {
    const { tensor } = box;
    box.element = svg("rect", { class: "tensor", tabindex: -1, role: "button", "aria-label": describe(tensor), x: box.x,
      y: box.y, width: box.width, height: box.height, fill: strong(tensor.name), "data-value": tensor.value });
    box.element.addEventListener("click", () => picked(box, true));
    box.element.addEventListener("focus", () => picked(box, true));
    box.element.addEventListener("pointerenter", () => {
      const [name, size] = [el("b", {}, tensor.name), `${tensor.type}, ${counted(tensor.bytes, "byte")} at ${grouped(tensor.offset)}`];
      replace(tip, name, el("br"), size, el("br"),
        `${eventAt(method, tensor.alive[0])} to ${eventAt(method, tensor.alive[1])}`);
      tip.hidden = false;
      const most = element.clientWidth - tip.offsetWidth - 4;
      tip.style.left = `${Math.max(0, Math.min(most, (box.x * element.clientWidth) / width + 12))}px`;
      tip.style.top = `${Math.max(0, (box.y * element.clientWidth) / width - tip.offsetHeight - 4)}px`;
    });
    box.element.addEventListener("pointerleave", () => { tip.hidden = true; });
    element.append(box.element);
  }
  for (const box of boxes.slice(0, 200)) {
    const name = shown(box.tensor.name);
    if (box.height > 13 && box.width > name.length * 6.8 + 6)
      element.append(svg("text", { x: box.x + 4, y: box.y + box.height / 2 + 4 }, name));
  }
  const peak = x(pool.peak.time + 0.5);
  if (peak >= left && peak <= width - right) element.append(
    svg("line", { class: "peak", x1: peak, x2: peak, y1: top - 8, y2: height - bottom }),
    text(Math.min(peak + 4, width - right - 110), top - 3, `peak ${bytes(pool.lower_bound)}`, "start"));
  const [first, last] = [Math.round(area.from), Math.round(area.to) - 1];
  element.append(text(left, height - 8, first === 0 ? "inputs" : eventAt(method, first), "start"),
    text(width - right, height - 8, last >= times - 1 ? "outputs" : eventAt(method, last), "end"),
    text((left + width) / 2, height - 8, counted(times - 2, "instruction"), "middle"));
  walkBoxes(element, boxes);
  dragArea(element, (x1, x2, y1, y2) => {
    const ratio = width / element.clientWidth;
    const time = (at) => inside(area.from + ((at * ratio - left) / wide) * (area.to - area.from), 0, times);
    const level = (at) => inside(area.low + ((height - bottom - at * ratio) / tall) * (area.high - area.low), 0, 1);
    zoom({ from: time(x1), to: time(x2), low: level(y2), high: level(y1) });
  });
  const box = wanted !== null && boxes.find(({ tensor }) => tensor.value === wanted);
  return { element, tip, hidden, chosen: box ? () => picked(box, true) : null };
}
// Addresses at the left of the picture: about five, of those at which tensors begin on a scale that is not linear.
function marksOf(pool, part, area) {
  const full = fullOf(pool);
  const borders = [...new Set([0, full, ...[0.25, 0.5, 0.75].map((at) => Math.round(full * at)),
    ...pool.tensors.slice(0, RECTANGLES).map(({ offset }) => offset)])].sort((a, b) => a - b);
  const kept = [];
  let next = area.low;
  for (const address of borders) {
    const at = part(address);
    if (at < next || at > area.high) continue;
    kept.push(address);
    next = at + (area.high - area.low) / 8;
  }
  return kept;
}
// One stop of the tab key; arrows go from tensor to tensor.
function walkBoxes(element, boxes) {
  const rects = boxes.map((box) => box.element);
  rects[0]?.setAttribute("tabindex", 0);
  element.addEventListener("keydown", (key) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[key.key];
    const next = step && rects[rects.indexOf(document.activeElement) + step];
    if (next) { key.preventDefault(); next.focus(); }
  });
}
// Calls `take` with the borders of an area that is dragged over, in pixels of the element.
function dragArea(element, take) {
  let start = null;
  let frame = null;
  const at = (event) => {
    const box = element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  element.addEventListener("pointerdown", (event) => { if (event.pointerType !== "touch") start = at(event); });
  element.addEventListener("pointermove", (event) => {
    if (!start || event.buttons === 0) { start = null; frame?.remove(); frame = null; return; }
    const [x, y] = at(event);
    if (!frame && Math.hypot(x - start[0], y - start[1]) < 6) return;
    if (!frame) {
      element.setPointerCapture(event.pointerId);
      element.append((frame = svg("rect", { class: "selection" })));
    }
    const ratio = element.viewBox.baseVal.width / element.clientWidth;
    const sides = { x: Math.min(x, start[0]), y: Math.min(y, start[1]), width: Math.abs(x - start[0]), height: Math.abs(y - start[1]) };
    for (const [key, value] of Object.entries(sides)) frame.setAttribute(key, value * ratio);
  });
  element.addEventListener("pointerup", (event) => {
    const [from, to] = [start, at(event)];
    start = null;
    if (!frame) return;
    frame.remove();
    frame = null;
    const [x1, x2] = [from[0], to[0]].sort((a, b) => a - b);
    const [y1, y2] = [from[1], to[1]].sort((a, b) => a - b);
    if (x2 - x1 >= 6 && y2 - y1 >= 6) take(x1, x2, y1, y2);
  });
}
