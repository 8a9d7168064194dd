// The page: toolbar, graph, the panel at the side, and the tabs at the bottom with splitters between them.
import { useEffect, useRef } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Controller } from "../graph/controller";
import { marksOf } from "../links";
import { outputName, parametersOf } from "../model";
import { type State, type Tab } from "../state";
import { BytesView } from "./bytes";
import { Detail } from "./detail";
import { DifferencesView } from "./differences";
import { FindingsView } from "./findings";
import { GraphView } from "./graph";
import { Help } from "./help";
import { MemoryView } from "./memory";
import { OutlineView } from "./outline";
import { SizeView } from "./size";
import { SummaryView } from "./summary";
import { TextView } from "./text";
import { TimeView } from "./time";
import { Toolbar } from "./toolbar";
import { WeightsView } from "./weights";

const TITLES: Record<Tab, string> = {
  summary: "Summary", differences: "Differences", memory: "Memory", size: "Size", time: "Time", weights: "Weights", findings: "Findings", text: "Text", bytes: "Bytes", outline: "Outline",
};
const VIEWS: Record<Tab, (props: { state: State }) => ComponentChildren> = {
  summary: SummaryView, differences: DifferencesView, memory: MemoryView, size: SizeView, time: TimeView, weights: WeightsView, findings: FindingsView, text: TextView, bytes: BytesView, outline: OutlineView,
};

export function App({ state, licences, onReady }: { state: State; licences: string; onReady: (controller: Controller | null) => void }) {
  const controller = useRef<Controller | null>(null);
  const { side: sideSize, bottom: bottomSize, isSideOpen: sideOpen } = state.panels;
  const [side, bottom, isSideOpen] = [sideSize.value, bottomSize.value, sideOpen.value];
  // On a narrow page, a tab has the place of the panel.
  const isCovered = state.isNarrow() && state.tab.value !== null;
  const isSideShown = isSideOpen && !isCovered;
  const setSideOpen = (isOpen: boolean) => {
    sideOpen.value = isOpen;
    if (isOpen && isCovered) state.tab.value = null;
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => handleKey(state, controller.current, event);
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  // On a narrow page, the panel opens when something is selected.
  useEffect(() => { if (state.selection.value && state.isNarrow() && state.tab.value === null) setSideOpen(true); }, [state.selection.value]);
  const tab = state.tab.value;
  useEffect(() => { if (tab !== null) document.getElementById(`tab-${tab}`)?.scrollIntoView({ block: "nearest", inline: "nearest" }); }, [tab]);
  const View = tab === null ? null : VIEWS[tab];
  const findings = state.document.files.reduce((sum, { findings: list }) => sum + (list?.length ?? 0), 0);
  const toggle = isSideShown ? "Close the panel" : "Open the panel";
  return (
    <div class={`explorer ${tab === null ? "" : "with-tab"} ${isSideOpen ? "with-side" : ""}`} style={{ "--side": `${side}px`, "--bottom": `${bottom}px` } as Record<string, string>}>
      <Toolbar state={state} />
      <main class="stage">
        <GraphView state={state} onReady={(made) => { controller.current = made; onReady(made); }} />
        <button type="button" class="sidetoggle" aria-expanded={isSideShown} aria-controls="side" onClick={() => setSideOpen(!isSideShown)}
          title={toggle} aria-label={toggle}>{isSideShown ? "›" : "‹"}</button>
      </main>
      {isSideOpen && <>
        <Splitter label="Width of the panel" isVertical value={side} least={220} most={Math.max(240, state.size().width - 200)} onChange={(value) => { sideSize.value = value; }} />
        <aside id="side" class="side" aria-label="Selection" tabIndex={0}><button type="button" class="close" aria-label="Close the panel" onClick={() => setSideOpen(false)}>×</button><Detail state={state} /></aside>
      </>}
      <section class="bottom">
        {tab !== null && <Splitter label="Height of the tab" value={bottom} least={120} most={Math.max(160, state.size().height - 160)} onChange={(value) => { bottomSize.value = value; }} />}
        <div class="tabrow">
        <div class="tabs" role="tablist" aria-label="Views">
          {state.tabs.map((name) => (
            <button type="button" role="tab" id={`tab-${name}`} aria-selected={tab === name} aria-controls="tabpanel" tabIndex={tab === name || (tab === null && name === state.tabs[0]) ? 0 : -1}
              onClick={() => { state.tab.value = tab === name ? null : name; }} onKeyDown={(event) => moveTab(state, name, event)}>{TITLES[name]}{name === "findings" && findings > 0 ? ` ${findings}` : ""}</button>
          ))}
        </div>
        {tab !== null && <button type="button" class="close" aria-label="Close the tab" onClick={() => { state.tab.value = null; }}>×</button>}
        </div>
        <div id="tabpanel" role="tabpanel" class="tabpanel" hidden={tab === null} {...(tab === null ? { "aria-label": "No view" } : { "aria-labelledby": `tab-${tab}` })}>{View && <View key={`${tab}`} state={state} />}</div>
      </section>
      <div class="invisible" role="status" aria-live="polite">{description(state)}</div>
      {state.isHelpOpen.value && <Help state={state} licences={licences} />}
    </div>
  );
}

/** What is selected, in a sentence for assistive technology. */
function description(state: State): string {
  const [method, selection] = [state.method.value, state.selection.value];
  if (!method || !selection) return "";
  if (selection.kind === "value") return `${selection.output === undefined ? "Value" : "Output"} ${method.values[selection.index]?.name ?? ""}, ${method.values[selection.index]?.type ?? ""}`;
  if (selection.kind === "group") return `Group ${selection.id}`;
  const call = method.calls[selection.index];
  if (!call) return "";
  if (selection.kind === "operation") return `Operation ${selection.operation} of ${call.name}`;
  const findings = marksOf(method, selection, "findings").length;
  return [`${call.name}, instruction ${call.index}`, outputName(method, call), parametersOf(method, call), findings > 0 ? `${findings} findings` : ""].filter((part) => part !== "").join(", ");
}

function handleKey(state: State, controller: Controller | null, event: KeyboardEvent): void {
  const target = event.target as HTMLElement | null;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && state.isHelpOpen.value) { state.isHelpOpen.value = false; return; }
  // Keys of what is around the explorer are not its own.
  if (target?.closest("input, select, textarea, [contenteditable]") || (target && target !== document.body && !target.closest(".explorer"))) return;
  const isGraph = target === null || target === document.body || target.closest(".graph") !== null;
  switch (event.key) {
    case "/": document.getElementById("search")?.focus(); break;
    case "?": state.isHelpOpen.value = !state.isHelpOpen.value; break;
    case "Escape":
      if (state.query.value !== "") state.query.value = "";
      else if (state.selection.value) state.select(null, { reveal: false });
      else state.tab.value = null;
      break;
    case "+": case "=": controller?.zoomBy(1.3); break;
    case "-": controller?.zoomBy(1 / 1.3); break;
    case "0": controller?.fitAll(); break;
    case "ArrowUp": case "ArrowDown": case "ArrowLeft": case "ArrowRight":
      if (!isGraph) return;
      controller?.walk(event.key.slice(5).toLowerCase() as "up" | "down" | "left" | "right");
      break;
    case "Enter":
      if (!isGraph || target?.closest("button")) return;
      controller?.toggleSelected();
      break;
    default: return;
  }
  event.preventDefault();
}
function moveTab(state: State, name: Tab, event: KeyboardEvent): void {
  const { tabs } = state;
  const [at, last] = [tabs.indexOf(name), tabs.length - 1];
  const position = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last }[event.key];
  if (position === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  const next = tabs[position]!;
  state.tab.value = next;
  document.getElementById(`tab-${next}`)?.focus();
}

function Splitter({ label, value, least, most, isVertical, onChange }: { label: string; value: number; least: number; most: number; isVertical?: boolean; onChange: (value: number) => void }) {
  const start = useRef<{ at: number; value: number } | null>(null);
  const limited = (next: number) => onChange(Math.max(least, Math.min(most, next)));
  const at = (event: PointerEvent) => (isVertical ? event.clientX : event.clientY);
  return (
    <div class={`splitter ${isVertical ? "vertical" : ""}`} role="separator" aria-label={label} aria-orientation={isVertical ? "vertical" : "horizontal"} aria-valuenow={Math.round(value)} aria-valuemin={least} aria-valuemax={most} tabIndex={0}
      onPointerDown={(event) => { start.current = { at: at(event), value }; event.currentTarget.setPointerCapture(event.pointerId); }}
      onPointerMove={(event) => { if (start.current) limited(start.current.value + start.current.at - at(event)); }}
      onPointerUp={() => { start.current = null; }} onPointerCancel={() => { start.current = null; }}
      onKeyDown={(event) => {
        const step = { ArrowUp: 20, ArrowLeft: 20, ArrowDown: -20, ArrowRight: -20 }[event.key];
        if (step === undefined) return;
        event.preventDefault();
        event.stopPropagation();
        limited(value + step);
      }} />
  );
}
