// Findings of check, a part for each rule.

// Rules that are open from the beginning: those with few findings.
const FEW = 20;
function findingsSection() {
  const body = section("findings", "Findings of check");
  if (findings.length === 0) { body.append(el("p", {}, "No findings.")); return; }
  // The findings of the first file are those of the graph.
  const targets = markTargets("findings");
  const rules = new Map();
  findings.forEach((finding, index) => {
    if (!rules.has(finding.rule)) rules.set(finding.rule, []);
    rules.get(finding.rule).push(index);
  });
  const order = ["error", "warning", "note"];
  const worst = ([, list]) => Math.min(...list.map((index) => order.indexOf(severity(findings[index]))));
  const sorted = [...rules].sort((a, b) => worst(a) - worst(b) || b[1].length - a[1].length);
  const totals = new Map(data.files.flatMap((file) => file.truncated).map(({ rule, count }) => [rule, count]));
  for (const [rule, list] of sorted) {
    const level = order[worst([rule, list])];
    // What all findings of a rule have in common is said once.
    const isCommon = (key) => list.every((index) => findings[index][key] === findings[list[0]][key]);
    const common = ["why", "runtime"].filter((key) => isPresent(findings[list[0]][key]) && isCommon(key));
    const columns = ["path", "found", "expected", "why", "runtime"].filter((key) => !common.includes(key));
    const total = totals.get(rule);
    const group = el("details", { class: "rule", open: list.length <= FEW }, el("summary", {},
      el("b", { class: level }, rule), ` ${findings[list[0]].title ?? ""} `, el("span", { class: level }, level), ", ", counted(total ?? list.length, "finding"),
      total > list.length && `, of which ${grouped(list.length)} are listed`),
    common.map((key) => el("p", { class: "quiet" }, findings[list[0]][key])));
    table(group, columns.map((key) => [key === "runtime" ? "the runtime" : key]),
      list.map((index) => columns.map((key) => findings[index][key])),
      (row) => targets.has(list[row]) && (() => show.value(...targets.get(list[row]))));
    body.append(group);
  }
}
