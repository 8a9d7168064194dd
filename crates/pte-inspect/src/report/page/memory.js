// Planned memory as a picture.

// Rectangles of a picture; the smallest tensors of a larger one are left out.
const RECTANGLES = 4000;
function memorySection() {
  const pools = (data.memory?.methods ?? []).flatMap((method, index) =>
    method.pools.filter((pool) => pool.tensors.length > 0).map((pool) => ({ method, index, pool })));
  if (pools.length === 0) return;
  const body = section("memory", "Memory plan");
  const holder = el("div", {});
  const choose = () => draw((current = pools[Number(select.value)]), holder.clientWidth);
  const select = el("select", { onchange: choose }, pools.map(({ method, pool }, index) =>
    el("option", { value: index }, `${method.name}, pool ${pool.pool} (${pool.device})`)));
  body.append(el("div", { class: "bar" }, pools.length > 1 && el("label", {}, "Pool", select)), holder);
  let current = pools[0];
  atWidth(holder, (width) => draw(current, width));

  function draw({ method, index, pool }, width) {
    const [height, left, top, bottom] = [420, 74, 14, 26];
    const times = method.instructions.length + 2;
    const full = Math.max(pool.bytes, 1, largest(pool.tensors, (tensor) => tensor.offset + tensor.bytes));
    const x = (time) => left + ((width - left - 8) * time) / times;
    const y = (address) => height - bottom - ((height - top - bottom) * address) / full;
    const line = el("div", { class: "line mono", "aria-live": "polite" });
    const describe = ({ name, type, bytes: size, offset, alive: [from, to] }) =>
      `${name}: ${type}, ${counted(size, "byte")} at ${grouped(offset)}, alive from ${eventAt(method, from)} ` +
      `to ${eventAt(method, to)}`;
    // What nothing uses is never alive.
    const used = pool.tensors.filter((tensor) => tensor.alive);
    const hidden = Math.max(0, used.length - RECTANGLES);
    const kept = used.sort((a, b) => b.bytes - a.bytes).slice(0, RECTANGLES);
    const text = (x, y, content, anchor) => svg("text", { class: "axis", x, y, "text-anchor": anchor }, content);
    const peak = x(pool.peak.time + 0.5);
    const drawing = svg("svg", { class: "plan", viewBox: `0 0 ${width} ${height}`, role: "group",
      "aria-label": "Planned memory: instructions from left to right, addresses from the bottom" },
      [0, 0.25, 0.5, 0.75, 1].map((part) => text(left - 6, y(full * part) + 4, bytes(Math.round(full * part)), "end")),
      svg("line", { class: "size", x1: left, x2: width - 8, y1: y(pool.bytes), y2: y(pool.bytes) }),
      kept.map((tensor) => {
        const [from, to] = tensor.alive;
        const [low, high] = [y(tensor.offset), y(tensor.offset + tensor.bytes)];
        const box = svg("rect", { class: "tensor", tabindex: -1, role: "button", "aria-label": describe(tensor),
          x: x(from), y: high, width: Math.max(1, x(to + 1) - x(from)), height: Math.max(0.7, low - high),
          fill: colour(tensor.name) }, svg("title", {}, describe(tensor)));
        const pick = () => {
          drawing.querySelectorAll(".chosen").forEach((other) => other.classList.remove("chosen"));
          box.classList.add("chosen");
          const open = () => show.value(index, { value: tensor.value });
          replace(line, `${describe(tensor)} `, el("button", { type: "button", onclick: open }, "Show in the graph"));
        };
        box.addEventListener("click", pick);
        box.addEventListener("focus", pick);
        return box;
      }),
      kept.slice(0, 60).map((tensor) => {
        const [from, to] = tensor.alive;
        const [w, h] = [x(to + 1) - x(from), y(tensor.offset) - y(tensor.offset + tensor.bytes)];
        const name = shown(tensor.name);
        const isRoomy = h > 13 && w > name.length * 6.8 + 6;
        return isRoomy && svg("text", { x: x(from) + 4, y: y(tensor.offset + tensor.bytes / 2) + 4 }, name);
      }),
      svg("line", { class: "peak", x1: peak, x2: peak, y1: top - 8, y2: height - bottom }),
      text(Math.min(peak + 4, width - 90), top, `peak ${bytes(pool.lower_bound)}`, "start"),
      text(left, height - 8, "inputs", "start"), text(width - 8, height - 8, "outputs", "end"),
      text((left + width) / 2, height - 8, counted(times - 2, "instruction"), "middle"));
    // One stop of the tab key; arrows go from tensor to tensor.
    const boxes = [...drawing.querySelectorAll(".tensor")];
    boxes[0]?.setAttribute("tabindex", 0);
    drawing.addEventListener("keydown", (key) => {
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[key.key];
      const next = step && boxes[boxes.indexOf(document.activeElement) + step];
      if (next) { key.preventDefault(); next.focus(); }
    });
    holder.replaceChildren(list([
      ["size", counted(pool.bytes, "byte")], ["without sharing", counted(pool.unshared, "byte")],
      ["peak", `${counted(pool.lower_bound, "byte")} alive at once, the lower bound, at ${pool.peak.event}`],
      ["not drawn", hidden > 0 ? counted(hidden, "smaller tensor") : null],
    ]), drawing, line);
  }
}
function eventAt(method, time) {
  return time === 0 ? "the start" : time > method.instructions.length ? "the end" : `instruction ${time - 1}`;
}
