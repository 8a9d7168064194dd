// Constant data: what their elements are, if the report was written with --data-statistics.

// Statistics of a tensor as a list and a histogram.
function statisticsView(statistics) {
  if (!statistics) {
    return el("p", { class: "quiet" }, data.data_statistics ? "No statistics: data that are not read, or of another type."
      : "The data were not read; pte-emit report --data-statistics does.");
  }
  const { elements, not_finite: notFinite, zeros, minimum, maximum, mean, histogram } = statistics;
  const part = (count) => `${grouped(count)} (${((100 * count) / Math.max(elements, 1)).toFixed(1)} %)`;
  const rounded = (number) => (isPresent(number) ? String(Number(number.toPrecision(6))) : null);
  return [list([["elements", grouped(elements)], ["minimum", rounded(minimum)], ["maximum", rounded(maximum)],
    ["mean", rounded(mean)], ["zeros", part(zeros)], ["not finite", notFinite > 0 && part(notFinite)]].filter(([, text]) => text)),
  histogram.length > 0 && histogramOf(statistics, rounded)];
}
function histogramOf({ minimum, maximum, histogram }, rounded) {
  const [width, height, bottom] = [320, 110, 16];
  const most = largest(histogram, (count) => count);
  const step = width / histogram.length;
  const from = (bin) => minimum + ((maximum - minimum) * bin) / histogram.length;
  const text = (x, content, anchor) => svg("text", { x, y: height - 3, "text-anchor": anchor }, content);
  const title = (count, bin) => `${rounded(from(bin))} to ${rounded(from(bin + 1))}: ${counted(count, "element")}`;
  return svg("svg", { class: "histogram", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Histogram from ${rounded(minimum)} to ${rounded(maximum)}` },
  histogram.map((count, bin) => {
    // What is not empty is visible.
    const tall = count === 0 ? 0 : Math.max(2, ((height - bottom - 4) * count) / most);
    return svg("rect", { x: bin * step, y: height - bottom - tall, width: Math.max(1, step - 1), height: tall },
      svg("title", {}, title(count, bin)));
  }), text(0, rounded(minimum), "start"), text(width, rounded(maximum), "end"));
}
// All constants of the program, and statistics of the one that is chosen.
function weightsSection() {
  const weights = [];
  const seen = new Set();
  (data.graph?.methods ?? []).forEach((method, index) => {
    method.values.forEach((value, number) => {
      if (value.content !== "constant") return;
      weights.push({ ...value, user: method.name, open: () => show.value(index, { value: number }) });
    });
    method.nodes.forEach((node, place) => {
      const payload = payloadOf(method, place);
      if (!payload || seen.has(payload)) return;
      seen.add(payload);
      const user = new Map();
      payload.nodes.forEach(({ reads }, operation) => reads.forEach((read) => user.has(read) || user.set(read, operation)));
      payload.values.forEach((value, number) => {
        if (value.bytes === undefined) return;
        const operation = user.get(number);
        weights.push({ ...value, name: value.name ?? `value ${number}`, user: `${method.name}, instruction ${place}`,
          open: () => show.value(index, { node: place, operation }) });
      });
    });
  });
  if (weights.length === 0) return;
  const body = section("weights", "Weights");
  const panel = el("div", { class: "panel", "aria-live": "polite" },
    el("p", { class: "quiet" }, "Choose a tensor for its statistics."));
  const open = ({ name, type, statistics, open: graph }) => replace(panel, el("h3", {}, el("bdi", {}, name)),
    el("p", { class: "mono" }, type, " ", el("button", { type: "button", onclick: graph }, "Show in the graph")),
    statisticsView(statistics));
  body.append(panel);
  const of = (key) => ({ statistics }) => statistics?.[key];
  const columns = data.data_statistics ? ["minimum", "maximum", "mean", "zeros"] : [];
  weights.sort((a, b) => b.bytes - a.bytes);
  table(body, [["name"], ["type"], ["used by"], ["bytes", true], ...columns.map((title) => [title, "real"])],
    weights.map((weight) => [weight.name, weight.type, weight.user, weight.bytes, ...columns.map((key) => of(key)(weight))]),
    (row) => () => open(weights[row]));
}
