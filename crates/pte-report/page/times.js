// Times that the runtime recorded, if the report was written with --etdump: a mean per execution of the method.

const recorded = new Map((data.profile?.methods ?? []).map((times) =>
  [times.index, { ...times, of: new Map(times.instructions.map((row) => [row.index, row])) }]));
const perExecution = (times, total) => total / Math.max(times.executions.count, 1);
// Times are in nanoseconds.
function duration(ticks) {
  const units = ["ns", "µs", "ms", "s"];
  let unit = 0;
  let time = ticks;
  for (; time >= 1000 && unit < units.length - 1; unit++) time /= 1000;
  return `${Number(time.toPrecision(3))}\u00a0${units[unit]}`;
}
const percent = (share) => `${(100 * share).toFixed(1)} %`;
// The time of instructions `from` to `to` as a text; null if none was recorded.
function timeText(method, from, to) {
  const times = recorded.get(data.graph.methods.indexOf(method));
  let total = null;
  for (let at = from; times && at < to; at++) {
    const row = times.of.get(at);
    if (row) total = (total ?? 0) + row.total;
  }
  return total === null ? null : duration(perExecution(times, total));
}
// Rows about the time of an instruction.
function timeRows(method, index) {
  const times = recorded.get(data.graph.methods.indexOf(method));
  const row = times?.of.get(index);
  if (!row) return [];
  return [["time", `${duration(perExecution(times, row.total))}, ${percent(row.share)} of the method`],
    ["executions", `${grouped(row.count)}, from ${duration(row.min)} to ${duration(row.max)}`]];
}
function timesSection() {
  const methods = [...recorded.values()];
  if (methods.length === 0) return;
  const body = section("times", "Times");
  body.append(list(methods.map(({ name, executions, overhead }) => [name, [
    `${counted(executions.count, "execution")}, ${duration(executions.mean)} each, from ${duration(executions.min)} to ${duration(executions.max)}; `,
    `${percent(overhead.share)} outside of instructions`]])));
  const columns = [["share, %", "real"], ["calls", true], ["mean, µs", "real"], ["shortest, µs", "real"], ["longest, µs", "real"]];
  const cells = ({ share, count, mean, min, max }) => [100 * share, count, mean / 1000, min / 1000, max / 1000];
  const by = (title, names, rows, open) => {
    if (rows.length === 0) return;
    rows.sort((a, b) => b[names.length] - a[names.length]);
    body.append(el("h3", {}, title));
    table(body, [...names, ...columns], rows, open && ((row) => open(rows[row])));
  };
  const all = (rows) => methods.flatMap((times) => rows(times));
  const places = new Map();
  const instructions = all(({ name, index, instructions: rows }) => rows.map((row) => {
    const cell = [row.results.join(", ") || row.delegate || row.label, name, row.index, row.label, ...cells(row)];
    places.set(cell, [index, row.index]);
    return cell;
  }));
  by("Instructions", [["result"], ["method"], ["instruction", true], ["operator"]], instructions, (row) => () => {
    const [method, node] = places.get(row);
    show.value(method, { node });
  });
  by("Operators", [["operator"], ["method"]],
    all(({ name, operators }) => operators.map((row) => [row.operator, name, ...cells(row)])));
  by("Delegates", [["delegate"], ["method"], ["operation"]],
    all(({ name, delegates }) => delegates.flatMap((row) => [[row.name, name, row.backend, ...cells(row)],
      ...row.operations.map((inner) => [row.name, name, inner.operation, ...cells(inner)])])));
}
