// The graph: the canvas with its buttons, legend and map. The controller does the work.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Controller, createController } from "../graph/controller";
import { KINDS } from "../kinds";
import { payloadOf } from "../model";
import { counted } from "../names";
import type { State } from "../state";
import { Swatch } from "./parts";

export function GraphView({ state, onReady }: { state: State; onReady: (controller: Controller | null) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const map = useRef<HTMLCanvasElement>(null);
  const [status, setStatus] = useState("");
  const [most, setMost] = useState("");
  const controller = useRef<Controller | null>(null);
  useEffect(() => {
    const made = createController(state, canvas.current!, map.current!, { status: setStatus, scale: setMost });
    controller.current = made;
    onReady(made);
    return () => { made.dispose(); onReady(null); };
  }, []);
  const method = state.method.value;
  const kinds = useMemo(() => {
    if (!method) return [];
    const found = new Set<string>(method.calls.map(({ kind }) => kind));
    for (const call of method.calls) for (const node of payloadOf(method, call)?.nodes ?? []) found.add(node.kind ?? "other");
    return [...KINDS.keys()].filter((kind) => found.has(kind));
  }, [method]);
  const diagnosis = state.document.files.find((file) => file.diagnosis)?.diagnosis;
  const press = (action: (made: Controller) => void) => () => { if (controller.current) action(controller.current); };
  return (
    <div class="graph">
      <canvas ref={canvas} class="drawing" tabIndex={0} role="img" aria-label={method ? `Graph of ${method.name}: ${counted(method.calls.length, "call")}. Arrow keys walk; the outline has the same as text.` : "No graph"} />
      {!method && <p class="message over">{diagnosis && <><b>This is {diagnosis.found}</b>: {diagnosis.help}. </>}{state.document.error ? `There is no graph: ${state.document.error}` : "The file has no program. The tabs below have what can be read."}</p>}
      <div class="buttons" role="group" aria-label="View of the graph">
        <button type="button" title="Zoom in (+)" aria-label="Zoom in" onClick={press((made) => made.zoomBy(1.3))}>+</button>
        <button type="button" title="Zoom out (-)" aria-label="Zoom out" onClick={press((made) => made.zoomBy(1 / 1.3))}>−</button>
        <button type="button" title="Show all (0)" aria-label="Show all" onClick={press((made) => made.fitAll())}>⤢</button>
        <button type="button" class="text" title="Open all groups" onClick={() => state.openAll()}>open all</button>
        <button type="button" class="text" title="Close all groups" onClick={() => state.closeAll()}>close all</button>
      </div>
      <Legend state={state} kinds={kinds} most={most} />
      <canvas ref={map} class="map" role="img" aria-label="Map of the graph" />
      {status !== "" && <span class="status" role="status">{status}</span>}
    </div>
  );
}
/** Kinds with their colours, or changes, or the range of numbers, of which the largest is `most`. */
function Legend({ state, kinds, most }: { state: State; kinds: readonly string[]; most: string }) {
  const hasChanges = state.document.changes != null;
  return (
    <div class="legend over" aria-label="Legend" role="group">
      {hasChanges && !state.heat.value && ["added", "removed", "changed"].map((change) => <span><span class={`swatch change-${change}`} /> {change}</span>)}
      {state.heat.value ? <span class="ramp"><span>{state.heat.value}: 0</span><span class="gradient" /><span>{most}</span></span>
        : !hasChanges && kinds.map((kind) => <span><Swatch kind={kind} isDark={state.isDark.value} /> {KINDS.get(kind)?.title}</span>)}
    </div>
  );
}
