// The annotated bytes of the file: regions as a list, and their bytes as a hex view. Both select each other and the graph.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { isSameTarget, targetOfRegion } from "../links";
import { clipStart, counted, grouped } from "../names";
import { regionAt } from "../regions";
import type { State } from "../state";
import { useVirtual } from "./virtual";

const hex = (value: number, width: number) => value.toString(16).padStart(width, "0");
const COLUMNS = 16;
// Colours of adjacent regions differ; the number is that of a class.
const SHADES = 4;

export function BytesView({ state }: { state: State }) {
  const bytes = state.document.bytes!;
  const { regions, paths, types, meanings, size, coarse } = bytes;
  const content = useMemo(() => {
    const text = atob(bytes.data?.base64 ?? "");
    return Uint8Array.from(text, (character) => character.charCodeAt(0));
  }, []);
  const start = bytes.data?.offset ?? 0;
  const list = useRef<HTMLDivElement>(null);
  const grid = useRef<HTMLDivElement>(null);
  const rows = Math.ceil(content.length / COLUMNS);
  const listed = useVirtual(regions.length, 21, list);
  const dumped = useVirtual(rows, 20, grid);
  const [method, selection] = [state.method.value, state.selection.value];
  const targets = useMemo(() => paths.map((_, path) => targetOfRegion(state.document, state.methods, path)), []);
  const now = method && selection ? { method: method.index, selection } : null;
  const marked = useMemo(() => new Set(now ? regions.flatMap(([, , path], at) => (isSameTarget(targets[path] ?? null, now) ? [at] : [])) : []), [method, selection]);
  const wanted = state.settings.value.get("byte");
  const byByte = wanted === undefined ? -1 : regionAt(regions, Number(wanted));
  const chosen = byByte >= 0 && (marked.size === 0 || marked.has(byByte)) ? byByte : [...marked][0] ?? -1;
  useEffect(() => {
    const region = regions[chosen];
    if (!region) return;
    listed.scrollToIndex(chosen, { align: "center" });
    const row = Math.floor((region[0] - start) / COLUMNS);
    if (row >= 0 && row < rows) dumped.scrollToIndex(row, { align: "center" });
  }, [chosen]);
  const choose = (at: number) => {
    const region = regions[at];
    if (!region) return;
    state.setting("byte", String(region[0]));
    const target = targets[region[2]];
    if (target) state.select(target.selection, { method: target.method });
    else state.select(null, { reveal: false });
  };
  const value = (text: string | number | null | undefined) => (text === null || text === undefined ? "" : typeof text === "number" ? grouped(text) : text);
  const width = Math.max(4, hex(size, 0).length);
  return (
    <div class="bytes">
      <div class="hex" ref={grid} tabIndex={0} role="region" aria-label="Hexadecimal bytes">
        <div class="rows" style={{ height: `${dumped.getTotalSize()}px` }}>
          {dumped.getVirtualItems().map(({ index, start: top }) => (
            <div key={index} class="hexrow" style={{ transform: `translateY(${top}px)` }}>
              <span class="offset">{hex(start + index * COLUMNS, width)}</span>
              {Array.from({ length: Math.min(COLUMNS, content.length - index * COLUMNS) }, (_, column) => {
                const offset = start + index * COLUMNS + column;
                const region = regionAt(regions, offset);
                const state = region === chosen && region >= 0 ? "chosen" : marked.has(region) ? "marked" : region >= 0 ? `shade${region % SHADES}` : "";
                return <span class={`byte ${state}`} onClick={() => choose(region)}>{hex(content[index * COLUMNS + column] ?? 0, 2)}</span>;
              })}
              <span class="ascii">{Array.from(content.subarray(index * COLUMNS, index * COLUMNS + COLUMNS), (code) => (code > 31 && code < 127 ? String.fromCharCode(code) : "·")).join("")}</span>
            </div>
          ))}
        </div>
        {content.length < size && <p class="quiet">The page has {counted(content.length, "byte")} of {grouped(size)}.</p>}
      </div>
      <div class="regions" ref={list} tabIndex={0} role="region" aria-label="Annotated regions">
        <p class="quiet regionhead">{counted(regions.length, "region")}{coarse ? ", one for each object, because the file has too many fields" : ""}</p>
        <div class="rows" style={{ height: `${listed.getTotalSize()}px` }}>
          {listed.getVirtualItems().map(({ index, start: top }) => {
            const [offset, length, path, type, meaning, shown] = regions[index]!;
            return (
              <div key={index} class={`regionrow ${index === chosen ? "chosen" : marked.has(index) ? "marked" : ""} ${targets[path] ? "link" : ""}`} style={{ transform: `translateY(${top}px)` }} onClick={() => choose(index)}>
                <span class="offset">{hex(offset, width)}</span><span class="number">{grouped(length)}</span><span class="type">{types[type]}</span>
                <span class="value"><bdi>{value(shown)}</bdi></span><span class="path" title={paths[path]}><bdi>{clipStart(paths[path] ?? "", 60)}</bdi> <span class="quiet">{meanings[meaning]}</span></span>
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
