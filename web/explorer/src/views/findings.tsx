// Findings of the validator by rule, each with a link to what it is about.
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Finding } from "../document";
import { targetOfPath, targetsOfMarks } from "../links";
import { counted } from "../names";
import type { State } from "../state";

// Findings of a rule that are shown; the rest is counted.
const MOST = 300;

export function FindingsView({ state }: { state: State }) {
  const { files, error } = state.document;
  const all = useMemo(() => files.flatMap(({ name, findings = [] }) => findings.map((finding) => ({ ...finding, file: name }))), []);
  const targets = useMemo(() => targetsOfMarks(state.methods, "findings"), []);
  const rules = useMemo(() => {
    const found = new Map<string, { finding: Finding & { file: string }; index: number }[]>();
    all.forEach((finding, index) => found.set(finding.rule, [...(found.get(finding.rule) ?? []), { finding, index }]));
    return [...found];
  }, []);
  const wanted = Number(state.settings.value.get("row") ?? -1);
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => { body.current?.querySelector(".finding.chosen")?.scrollIntoView({ block: "center" }); }, [wanted]);
  const truncated = files.flatMap(({ truncated: list = [] }) => list.map(({ rule, count }) => `${counted(count, "finding")} of ${rule}`));
  return (
    <div class="scroll findings" ref={body} tabIndex={0} role="region" aria-label="Findings">
      {error && <p class="error">{error}</p>}
      {all.length === 0 && <p class="message">check reports nothing.</p>}
      {rules.map(([rule, list]) => {
        const { title, why, runtime, severity } = list[0]!.finding;
        return (
          <section key={rule}>
            <h3><span class={`severity ${severity}`}>{severity}</span> {rule} <span class="title">{title ?? ""}</span> <span class="quiet">{counted(list.length, "finding")}</span></h3>
            {(why || runtime) && <p class="quiet">{why ?? ""}{runtime ? ` The runtime ${runtime}.` : ""}</p>}
            <ul class="plain">
              {list.slice(0, MOST).map(({ finding, index }) => {
                const target = targets.get(index) ?? targetOfPath(state.methods, finding.path ?? "");
                return (
                  <li key={index} class={`finding ${severity} ${index === wanted ? "chosen" : ""}`}>
                    {target ? <button type="button" class="inline" onClick={() => { state.setting("row", String(index)); state.select(target.selection, { method: target.method }); }}><bdi class="mono">{finding.path || finding.file}</bdi></button> : <bdi class="mono">{finding.path || finding.file}</bdi>}
                    {finding.offset != null && <Byte state={state} file={finding.file} offset={finding.offset} />}
                    <div><bdi>{finding.found}</bdi>, expected <bdi>{finding.expected}</bdi></div>
                  </li>
                );
              })}
              {list.length > MOST && <li class="quiet">and {counted(list.length - MOST, "finding")} more</li>}
            </ul>
          </section>
        );
      })}
      {truncated.length > 0 && <p class="quiet">Not listed: {truncated.join(", ")}</p>}
    </div>
  );
}

/** The page has the bytes of the first file. */
function Byte({ state, file, offset }: { state: State; file: string; offset: number }) {
  if (file !== state.document.files[0]?.name) return <span class="quiet">byte {offset} of <bdi>{file}</bdi></span>;
  if (!state.tabs.includes("bytes")) return null;
  const open = () => { state.setting("byte", String(offset)); state.tab.value = "bytes"; };
  return <button type="button" class="inline" onClick={open}>byte {offset}</button>;
}
