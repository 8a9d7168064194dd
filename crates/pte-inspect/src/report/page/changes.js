// What differs from an older file.

// The differences from the older file, and the totals of both.
function changesSection() {
  if (!data.changes && !data.comparison_error) return;
  const body = section("changes", "Differences");
  if (data.comparison_error) {
    // The message names the file that it is about.
    body.append(el("p", { class: "error" }, `The files cannot be compared: ${data.comparison_error}`));
    return;
  }
  const count = differences.length === 0 ? "No differences" : counted(differences.length, "difference");
  body.append(el("p", {}, `${count} from `, el("bdi", { class: "mono" }, data.before), ". ",
    differences.length > 0 && [el("span", { class: "added" }, "added"), ", ",
      el("span", { class: "removed" }, "removed"), ", ", el("span", { class: "changed" }, "changed or moved")]));
  const { left, right } = data.changes;
  const isTotal = (key) => typeof left[key] === "number" && (left[key] !== 0 || right[key] !== 0);
  const totals = Object.keys(left).filter(isTotal);
  table(body, [["total"], ["before", true], ["now", true], ["change", true]],
    totals.map((key) => [key.replaceAll("_", " "), left[key], right[key], right[key] - left[key]]));
  if (differences.length === 0) return;
  const targets = markTargets("differences");
  const statistics = ({ data: found }) => ["differing", "max_abs", "mean_abs", "cosine"]
    .filter((key) => isPresent(found?.[key])).map((key) => `${key} ${found[key]}`).join(", ");
  table(body, [["path"], ["kind"], ["area"], ["topic"], ["before"], ["now"], ["data"]],
    differences.map((found) =>
      [found.path, found.kind, found.area, found.topic, found.left?.value, found.right?.value, statistics(found)]),
    (row) => targets.has(row) && (() => show.value(...targets.get(row))), (row) => KINDS[differences[row].kind]);
}
const KINDS = { added: "added", removed: "removed", changed: "changed", moved: "changed" };
// By index of a finding or difference: the method, and the instruction or value that it is about.
function markTargets(key) {
  const targets = new Map();
  (data.graph?.methods ?? []).forEach((method, index) => {
    method.nodes.forEach((node, number) => {
      const marks = [...(node[key] ?? []), ...(method.delegates[node.delegate]?.[key] ?? [])];
      for (const mark of marks) if (!targets.has(mark)) targets.set(mark, [index, { node: number }]);
    });
    method.values.forEach((value, number) => {
      for (const mark of value[key] ?? []) targets.set(mark, [index, { value: number }]);
    });
  });
  return targets;
}
