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
      el("span", { class: "removed" }, "removed"), ", ", el("span", { class: "changed" }, "changed or moved"), ", ",
      el("span", { class: "placed" }, "only placed elsewhere")]));
  const { left, right } = data.changes;
  const isTotal = (key) => typeof left[key] === "number" && (left[key] !== 0 || right[key] !== 0);
  const totals = Object.keys(left).filter(isTotal);
  table(body, [["total"], ["before", true], ["now", true], ["change", true]],
    totals.map((key) => [key.replaceAll("_", " "), left[key], right[key], right[key] - left[key]]));
  if (differences.length === 0) return;
  const targets = markTargets("differences");
  const statistics = ({ data: found }) => ["differing", "max_abs", "mean_abs", "cosine"]
    .filter((key) => isPresent(found?.[key])).map((key) => `${key} ${found[key]}`).join(", ");
  for (const [area, title] of Object.entries(AREAS)) {
    const list = differences.map((_, index) => index).filter((index) => differences[index].area === area);
    if (list.length === 0) continue;
    const group = el("details", { class: `rule area-${area}`, open: area !== "layout" }, el("summary", {},
      el("b", {}, area), ` ${counted(list.length, "difference")}: ${title}`));
    const columns = [["path"], ["kind"], ["topic"], ["before"], ["now"], ...(area === "data" ? [["data"]] : [])];
    table(group, columns, list.map((index) => differences[index]).map((found) => [found.path, found.kind, found.topic,
      found.left?.value, found.right?.value, ...(area === "data" ? [statistics(found)] : [])]),
    (row) => targets.has(list[row]) && (() => show.value(...targets.get(list[row]))),
    (row) => differenceClass(differences[list[row]]));
    body.append(group);
  }
}
const AREAS = {
  meaning: "what the program computes",
  data: "constants, initial states, named data, tests",
  layout: "only the placement; the results are the same",
};
const KINDS = { added: "added", removed: "removed", changed: "changed", moved: "changed" };
// A difference of layout alone does not look like one of meaning.
const differenceClass = ({ area, kind }) => (area === "layout" ? "placed" : KINDS[kind]);
// The class of what has these differences: the most important one. A group has no class of its own for what is added.
function changeOf(indices, isGroup) {
  const classes = new Set(indices.map((index) => differenceClass(differences[index] ?? {})));
  if (classes.has("added") && !isGroup) return "added";
  return ["changed", "removed", "added"].some((name) => classes.has(name)) ? "changed" : classes.has("placed") ? "placed" : null;
}
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
