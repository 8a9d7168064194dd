// The YAML with highlighting. A line that is about an instruction or a value selects it, and the other way round.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { isSameTarget, lineOf, targetsOfLines } from "../links";
import type { State } from "../state";
import { tokensOf } from "../yaml";
import { useVirtual } from "./virtual";

export function TextView({ state }: { state: State }) {
  const { text, reason } = state.document.text ?? { text: null };
  const lines = useMemo(() => (text ?? "").replace(/\n$/, "").split("\n"), [text]);
  const targets = useMemo(() => targetsOfLines(state.document, state.methods), []);
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtual(lines.length, 19, scroller);
  const [method, selection] = [state.method.value, state.selection.value];
  const line = Number(state.settings.value.get("line") ?? 0);
  const chosen = method && selection ? lineOf(state.document, method, selection) : line > 0 && line <= lines.length ? line : null;
  useEffect(() => { if (chosen !== null) virtual.scrollToIndex(chosen - 1, { align: "center" }); }, [chosen]);
  if (text === null) return <p class="message">{reason ?? "The document has no YAML."}</p>;
  const now = method && selection ? { method: method.index, selection } : null;
  return (
    <div class="code" ref={scroller} tabIndex={0} role="region" aria-label="YAML">
      <div class="rows" style={{ height: `${virtual.getTotalSize()}px` }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const target = targets.get(index + 1);
          const isChosen = index + 1 === chosen || (target !== undefined && isSameTarget(target, now));
          return (
            <div key={index} class={`line ${isChosen ? "chosen" : ""} ${target ? "link" : ""}`} style={{ transform: `translateY(${start}px)` }}
              onClick={() => { if (target) state.select(target.selection, { method: target.method }); else state.setting("line", String(index + 1)); }}>
              <span class="linenumber">{index + 1}</span>
              <code>{tokensOf(lines[index] ?? "").map(({ kind, text: part }) => (kind === "plain" ? part : <span class={kind}>{part}</span>))}</code>
            </div>
          );
        })}
      </div>
    </div>
  );
}
