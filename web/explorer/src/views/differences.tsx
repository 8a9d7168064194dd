// With two files: totals side by side, and the differences by area with links to the graph.
import { useMemo } from "preact/hooks";
import type { Difference } from "../document";
import { type Target, targetOfPath, targetsOfMarks } from "../links";
import { differencesOf } from "../model";
import { change, counted, grouped } from "../names";
import type { State } from "../state";
import { Path } from "./parts";
import { Table } from "./table";

export function DifferencesView({ state }: { state: State }) {
  const { changes, comparison_error: error, before, name } = state.document;
  const rows = useMemo(() => {
    const targets = targetsOfMarks(state.methods, "differences");
    return differencesOf(state.document).map((difference, index) => ({ difference, target: targetOf(state, difference, targets.get(index)) }));
  }, []);
  if (error) return <p class="message error">The files cannot be compared: {error}</p>;
  if (!changes) return null;
  const { left, right } = changes;
  const totals = Object.keys(left).filter((key) => typeof left[key] === "number" && (left[key] !== 0 || right[key] !== 0)).map((key) => ({ key, left: left[key] as number, right: Number(right[key] ?? 0) }));
  const text = (value: unknown) => (value == null ? "" : String(value));
  return (
    <div class="split">
      <div class="main">
        <Table label="differences" rows={rows} onChoose={({ target }) => { if (target) state.select(target.selection, { method: target.method }); }}
          rowClass={({ difference }) => `difference ${difference.area === "layout" ? "layout" : difference.kind}`} columns={[
            { title: "kind", value: ({ difference }) => difference.kind, width: "80px" }, { title: "area", value: ({ difference }) => difference.area, width: "80px" },
            { title: "path", value: ({ difference }) => difference.path, show: ({ difference }) => <Path path={difference.path} /> }, { title: "before", value: ({ difference }) => text(difference.left?.value) }, { title: "now", value: ({ difference }) => text(difference.right?.value) },
          ]}><span class="quiet"><bdi>{before}</bdi> → <bdi>{name}</bdi></span></Table>
      </div>
      <div class="aside">
        <h3>Totals</h3>
        <table class="totals"><thead><tr><th scope="col">total</th><th scope="col">before</th><th scope="col">now</th><th scope="col">change</th></tr></thead>
          <tbody>{totals.map(({ key, left: old, right: now }) => <tr class={old === now ? "" : "changed"}>
            <th scope="row">{key.replaceAll("_", " ")}</th>
            <td>{grouped(old)}</td><td>{grouped(now)}</td><td>{change(old, now)}</td></tr>)}</tbody></table>
        <p class="quiet">{counted(rows.length, "difference")}. In the graph, what was added, removed and changed is coloured.</p>
      </div>
    </div>
  );
}
function targetOf(state: State, { right }: Difference, marked: Target | undefined): Target | null {
  const path = (right as { path?: string } | null | undefined)?.path;
  return marked ?? (path ? targetOfPath(state.methods, path) : null);
}
