// Measured times: the table of operators, a timeline of the executions, and a flame graph by module.
import { useMemo, useRef, useState } from "preact/hooks";
import type { ProfileMethod, TimelineEvent } from "../document";
import { measurementOf } from "../heat";
import { selectionOf } from "../links";
import { colourOf } from "../kinds";
import type { Method } from "../model";
import { clip, counted, duration, grouped, percent, shortName } from "../names";
import { mix } from "../graph/paint";
import type { State } from "../state";
import { type Part, treeOf } from "../tree";
import { Painted, colourNamed, useCells, useSize } from "./parts";
import { Table } from "./table";

const SHAPES = ["operators", "instructions", "delegates", "timeline", "flame"] as const;

export function TimeView({ state }: { state: State }) {
  const method = state.method.value;
  const profile = state.document.profile?.methods.find(({ index }) => index === method?.index);
  const shapes = SHAPES.filter((name) => (name === "timeline" ? (state.document.timeline?.executions.length ?? 0) > 0 : name !== "delegates" || (profile?.delegates?.length ?? 0) > 0));
  const shape = shapes.find((name) => name === state.settings.value.get("form")) ?? "operators";
  const setShape = (name: string) => state.setting("form", name === "operators" ? null : name);
  const choice = <div class="tabs small" role="group" aria-label="Form">{shapes.map((name) => <button type="button" aria-pressed={shape === name} onClick={() => setShape(name)}>{name}</button>)}</div>;
  if (!method || !profile) return <p class="message">The recording has no execution of {method?.name ?? "this method"}.</p>;
  const { executions } = profile;
  const total = <span class="quiet">{duration(executions.mean)} per execution, {counted(executions.count, "execution")} from {duration(executions.min)} to {duration(executions.max)}</span>;
  switch (shape) {
    case "operators": return <Operators state={state} method={method} profile={profile}>{choice}{total}</Operators>;
    case "instructions": return <Instructions state={state} method={method} profile={profile}>{choice}{total}</Instructions>;
    case "delegates": return <Delegates state={state} method={method} profile={profile}>{choice}{total}</Delegates>;
    case "timeline": return <div class="column"><div class="bar">{choice}{total}</div><TimelineView state={state} method={method} /></div>;
    case "flame": return <div class="column"><div class="bar">{choice}{total}</div><Flame state={state} method={method} /></div>;
  }
}
type Inner = { state: State; method: Method; profile: ProfileMethod; children: preact.ComponentChildren };
const perRun = (profile: ProfileMethod, total: number) => total / Math.max(profile.executions.count, 1);

/** Operators, and calls of delegates by backend. */
function Operators({ state, method, profile, children }: Inner) {
  const rows = useMemo(() => {
    const backends = new Map<string, ProfileMethod["operators"][number]>();
    for (const { backend, count, total, min, max, share } of profile.delegates ?? []) {
      const found = backends.get(backend);
      const sum = (found?.total ?? 0) + total;
      const times = (found?.count ?? 0) + count;
      backends.set(backend, { operator: backend, instructions: method.calls.filter(({ label }) => label === backend).length, count: times, total: sum, mean: sum / Math.max(times, 1), min: Math.min(found?.min ?? min, min), max: Math.max(found?.max ?? max, max), share: (found?.share ?? 0) + share });
    }
    return [...profile.operators, ...backends.values()];
  }, [profile]);
  const choose = (operator: string) => {
    state.query.value = shortName(operator);
    const call = method.calls.find(({ label }) => label === operator);
    if (call) state.select({ kind: "instruction", index: call.index }, { method: method.index });
  };
  return <Table label="operators" rows={rows} sort={-3} onChoose={({ operator }) => choose(operator)} columns={[
    { title: "operator", value: ({ operator }) => operator }, { title: "calls", value: ({ instructions }) => instructions, isNumber: true },
    { title: "per execution", value: ({ total }) => perRun(profile, total), show: ({ total }) => duration(perRun(profile, total)), isNumber: true },
    { title: "share", value: ({ share }) => share, show: ({ share }) => <Share share={share} />, isNumber: true, width: "minmax(140px, 1fr)" },
    { title: "mean", value: ({ mean }) => mean, show: ({ mean }) => duration(mean), isNumber: true },
    { title: "least", value: ({ min }) => min, show: ({ min }) => duration(min), isNumber: true }, { title: "most", value: ({ max }) => max, show: ({ max }) => duration(max), isNumber: true },
  ]}>{children}</Table>;
}
function Share({ share }: { share: number }) {
  return <span class="share"><span class="fill" style={{ width: `${Math.min(100, share * 100)}%` }} /><span>{percent(share, 1)}</span></span>;
}
function Instructions({ state, method, profile, children }: Inner) {
  const selection = state.selection.value;
  return <Table label="instructions" rows={profile.instructions} sort={-3} isChosen={({ index }) => selection?.kind === "instruction" && selection.index === index} onChoose={({ index }) => state.select({ kind: "instruction", index }, { method: method.index })} columns={[
    { title: "instruction", value: ({ index }) => index, isNumber: true, width: "100px" }, { title: "operator", value: ({ label }) => label },
    { title: "per execution", value: ({ total }) => perRun(profile, total), show: ({ total }) => duration(perRun(profile, total)), isNumber: true },
    { title: "share", value: ({ share }) => share, show: ({ share }) => <Share share={share} />, isNumber: true, width: "minmax(140px, 1fr)" },
    { title: "least", value: ({ min }) => min, show: ({ min }) => duration(min), isNumber: true }, { title: "most", value: ({ max }) => max, show: ({ max }) => duration(max), isNumber: true },
  ]}>{children}</Table>;
}

/** Delegates, and what their backends recorded of their operations. */
function Delegates({ state, method, profile, children }: Inner) {
  const rows = (profile.delegates ?? []).flatMap((delegate) => [{ ...delegate, operation: "", executes: "" }, ...delegate.operations.map((operation) => ({ ...operation, name: delegate.name, backend: delegate.backend, executes: operation.nodes.map(({ index, name }) => `[${index}] ${name}`).join(", ") }))]);
  const open = (name: string) => {
    const index = method.data.delegates.findIndex((delegate) => delegate.name === name);
    const call = method.calls.find(({ data }) => data.delegate === index);
    if (call) state.select({ kind: "instruction", index: call.index }, { method: method.index });
  };
  return <Table label="delegates" rows={rows} onChoose={({ name }) => open(name)} columns={[
    { title: "delegate", value: ({ name }) => name }, { title: "backend", value: ({ backend }) => backend, width: "minmax(110px, 1fr)" }, { title: "operation", value: ({ operation }) => operation }, { title: "of the graph", value: ({ executes }) => executes },
    { title: "per execution", value: ({ total }) => perRun(profile, total), show: ({ total }) => duration(perRun(profile, total)), isNumber: true },
    { title: "share", value: ({ share }) => share, show: ({ share }) => <Share share={share} />, isNumber: true, width: "minmax(140px, 1fr)" },
    { title: "mean", value: ({ mean }) => mean, show: ({ mean }) => duration(mean), isNumber: true },
  ]}>{children}</Table>;
}

/** The executions of all methods one after the other: a row of instructions, and one of the events of backends. */
function TimelineView({ state, method }: { state: State; method: Method }) {
  const timeline = state.document.timeline!;
  const holder = useRef<HTMLDivElement>(null);
  const { width, height } = useSize(holder);
  const last = timeline.executions.reduce((most, { end, start, events }) => Math.max(most, end ?? start, ...events.slice(-1).map(([from, length]) => from + length)), 1);
  const [range, setRange] = useState<[number, number]>([0, last]);
  const [hovered, setHovered] = useState<string>("");
  /** The event that the keyboard has chosen, as an index of `flat`. */
  const [current, setCurrent] = useState<number | null>(null);
  const drag = useRef<{ px: number; range: [number, number] } | null>(null);
  const [from, to] = range;
  const x = (time: number) => (width * (time - from)) / Math.max(to - from, 1);
  const ROW = { execution: 24, event: 34 };
  const flat = useMemo(() => timeline.executions.flatMap((execution) => execution.events.map((event) => ({ execution, event }))), []);
  const nameOf = (methodIndex: number, event: TimelineEvent) => (event.length > 3 ? timeline.names?.[event[3] as number] ?? "" : state.methods[methodIndex]?.calls[event[2]]?.name ?? `instruction ${event[2]}`);
  const rowOf = (event: TimelineEvent) => (event.length > 3 ? 1 : 0);
  const top = (row: number) => 22 + ROW.execution + row * ROW.event;
  const selection = state.selection.value;
  const isChosen = (methodIndex: number, event: TimelineEvent) => methodIndex === method.index && selection !== null && selection.kind !== "group" && selection.kind !== "value" && selection.index === event[2] && (selection.kind === "instruction" ? event.length === 3 : event[4] === selection.operation);
  const paint = (context: CanvasRenderingContext2D) => {
    const [page, text, muted, line, accent] = ["page", "text", "muted", "line", "accent"].map(colourNamed) as [string, string, string, string, string];
    context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    context.textBaseline = "middle";
    const step = 10 ** Math.floor(Math.log10(Math.max(to - from, 1) / 5)) || 1;
    const size = [1, 2, 5, 10].map((factor) => factor * step).find((found) => x(from + found) > 90) ?? step * 10;
    for (let time = Math.ceil(from / size) * size; time <= to; time += size) {
      context.fillStyle = line;
      context.fillRect(x(time), 16, 1, height);
      context.fillStyle = muted;
      context.fillText(duration(time), x(time) + 3, 9);
    }
    const box = (start: number, length: number, y: number, h: number, colour: string, name: string, marked: boolean) => {
      const left = Math.max(0, x(start));
      const w = Math.min(width, x(start + length)) - left;
      if (w < 0 || left > width) return;
      context.fillStyle = mix(page, colour, marked ? 0.9 : 0.45);
      context.fillRect(left, y, Math.max(1, w - 0.5), h);
      if (marked) { context.strokeStyle = accent; context.lineWidth = 2; context.strokeRect(left, y, Math.max(2, w), h); }
      if (w < 26) return;
      context.fillStyle = marked ? page : text;
      const most = Math.floor((w - 8) / 6.4);
      context.fillText(name.length > most ? `${name.slice(0, Math.max(0, most - 1))}…` : name, left + 4, y + h / 2);
    };
    for (const { method: of, start, end } of timeline.executions) box(start, (end ?? last) - start, 20, ROW.execution - 3, muted, state.methods[of]?.name ?? "", false);
    for (const [index, { execution, event }] of flat.entries()) {
      if (event[0] > to || event[0] + event[1] < from) continue;
      const kind = event.length > 3 ? "delegate" : state.methods[execution.method]?.calls[event[2]]?.kind ?? "other";
      box(event[0], event[1], top(rowOf(event)), ROW.event - 4, colourOf(kind, state.isDark.value), nameOf(execution.method, event), isChosen(execution.method, event));
      if (index === current) {
        // The one of several executions.
        context.fillStyle = accent;
        context.fillRect(Math.max(0, x(event[0])), top(rowOf(event)) + ROW.event - 4, Math.max(3, x(event[0] + event[1]) - Math.max(0, x(event[0]))), 3);
      }
    }
  };
  const local = (event: PointerEvent | WheelEvent) => { const area = (event.currentTarget as Element).getBoundingClientRect(); return { px: event.clientX - area.left, py: event.clientY - area.top }; };
  const hit = (px: number, py: number) => {
    const time = from + (px / Math.max(width, 1)) * (to - from);
    const slack = ((to - from) / Math.max(width, 1)) * 2;
    return flat.find(({ event }) => py >= top(rowOf(event)) && py < top(rowOf(event)) + ROW.event && event[0] - slack <= time && time <= event[0] + event[1] + slack);
  };
  const textOf = ({ execution, event }: (typeof flat)[number]) => `${nameOf(execution.method, event)}, instruction ${event[2]}: ${duration(event[1])} at ${duration(event[0])}`;
  const choose = ({ execution, event }: (typeof flat)[number]) => {
    const operation = event.length > 3 ? event[4] : undefined;
    state.select(operation === undefined || operation === null ? { kind: "instruction", index: event[2] } : { kind: "operation", index: event[2], operation }, { method: execution.method });
  };
  /** Goes to the event before or after, or to the one of the other row at the same time. */
  const onKeyDown = (event: KeyboardEvent) => {
    const zoom = { "+": 0.5, "=": 0.5, "-": 2 }[event.key];
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: 0, ArrowDown: 0 }[event.key];
    if (zoom === undefined && step === undefined && event.key !== "0") return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "0") { setRange([0, last]); return; }
    if (zoom !== undefined) { zoomBy(zoom); return; }
    const old = current === null ? flat.findIndex((found) => isChosen(found.execution.method, found.event)) : current;
    const at = flat[old];
    const row = at && step !== 0 ? rowOf(at.event) : event.key === "ArrowUp" ? 0 : event.key === "ArrowDown" ? 1 : 0;
    const own = flat.flatMap((found, index) => (rowOf(found.event) === row ? [index] : [])).sort((a, b) => flat[a]!.event[0] - flat[b]!.event[0]);
    const start = at?.event[0] ?? from;
    const next = at && step !== 0 ? own[own.indexOf(old) + step!] : own.find((index) => flat[index]!.event[0] + flat[index]!.event[1] >= start) ?? own[own.length - 1];
    const found = next === undefined ? undefined : flat[next];
    if (!found) return;
    setCurrent(next!);
    setHovered(textOf(found));
    choose(found);
    const [begin, length] = found.event;
    if (begin < from || begin + length > to) {
      const left = Math.max(0, Math.min(last - (to - from), begin + length / 2 - (to - from) / 2));
      setRange([left, left + (to - from)]);
    }
  };
  const zoomBy = (factor: number, px = width / 2) => {
    const middle = from + (px / Math.max(width, 1)) * (to - from);
    const next: [number, number] = [Math.max(0, middle - (middle - from) * factor), Math.min(last, middle + (to - middle) * factor)];
    if (next[1] - next[0] > 1) setRange(next);
  };
  return <>
    <div class="bar"><button type="button" onClick={() => zoomBy(0.5)} aria-label="Enlarge">+</button><button type="button" onClick={() => zoomBy(2)} aria-label="Reduce">−</button><button type="button" onClick={() => setRange([0, last])}>Show all</button>
      <span class="quiet" aria-live="polite"><bdi>{hovered}</bdi></span>{timeline.dropped ? <span class="quiet">{counted(timeline.dropped, "event")} not shown</span> : null}</div>
    <div class="picture" ref={holder}>
      <Painted width={width} height={height} paint={paint} onKeyDown={onKeyDown} label={`Timeline of ${counted(timeline.executions.length, "execution")}. Arrow keys go from event to event, plus and minus zoom.`}
        onWheel={(event) => { event.preventDefault(); zoomBy(event.deltaY > 0 ? 1.25 : 0.8, local(event).px); }}
        onPointerDown={(event) => { drag.current = { px: local(event).px, range }; }}
        onPointerUp={(event) => {
          const { px, py } = local(event);
          const found = drag.current && Math.abs(drag.current.px - px) < 4 ? hit(px, py) : undefined;
          drag.current = null;
          if (!found) return;
          setCurrent(flat.indexOf(found));
          choose(found);
        }}
        onPointerMove={(event) => {
          const { px, py } = local(event);
          if (drag.current && event.buttons === 1) {
            const by = ((drag.current.px - px) / Math.max(width, 1)) * (drag.current.range[1] - drag.current.range[0]);
            const limited = Math.max(-drag.current.range[0], Math.min(last - drag.current.range[1], by));
            setRange([drag.current.range[0] + limited, drag.current.range[1] + limited]);
            return;
          }
          const found = hit(px, py);
          setHovered(found ? textOf(found) : "");
        }}
        onPointerLeave={() => { setHovered(""); drag.current = null; }} />
    </div>
  </>;
}

/** Most bars of the flame graph. */
const CELLS = 4000;
const flameText = (title: string, time: string, most: number) => (title.length + time.length < most ? `${title} ${time}` : clip(title, most));
/** Times as nested bars: modules, calls and operations; the width is the time. */
function Flame({ state, method }: { state: State; method: Method }) {
  const holder = useRef<HTMLDivElement>(null);
  const { width, height } = useSize(holder);
  const [root, setRoot] = useState<Part | null>(null);
  const [hovered, setHovered] = useState("");
  const measurement = useMemo(() => measurementOf(state.document, method, "time"), [method]);
  const tree = useMemo(() => treeOf(method, state.by.value), [method, state.by.value]);
  const cells = useMemo(() => {
    const found: { part: Part; x: number; depth: number; parent: number; width: number; time: number }[] = [];
    const tops = root ? [root] : tree;
    const total = tops.reduce((sum, part) => sum + measurement.of(part), 0);
    const add = (parts: readonly Part[], left: number, depth: number, scale: number, parent: number) => {
      let x = left;
      for (const part of parts) {
        const time = measurement.of(part);
        const wide = time * scale;
        if (wide >= 1 && found.length < CELLS) {
          const own = found.push({ part, x, depth, parent, width: wide, time }) - 1;
          if (part.children && depth < 20) add(part.children, x, depth + 1, scale, own);
        }
        x += wide;
      }
    };
    if (total > 0) add(tops, 0, 0, width / total, -1);
    return { found, total };
  }, [tree, root, width]);
  const keys = useCells(cells.found);
  const page = colourNamed("page");
  const kindOf = (part: Part) => (part.kind === "call" ? method.calls[part.call!]?.kind ?? "other" : part.kind === "operation" ? "delegate" : "copy");
  const choose = (part: Part) => state.select(selectionOf(method, part));
  const textOf = ({ part, time }: (typeof cells.found)[number]) =>
    `${part.title}: ${duration(time)}, ${percent(time, cells.total)}, ${grouped(part.end - part.start)} parts`;
  const onKey = (event: KeyboardEvent, part: Part) => {
    if (event.key === "Enter") choose(part);
    else if (event.key === "+") setRoot(part);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return <>
    <div class="bar">{root && <button type="button" onClick={() => setRoot(null)}>Show all</button>}<span class="quiet" aria-live="polite"><bdi>{hovered || "By module; double-click or + enlarges a part."}</bdi></span></div>
    <div class="picture scroll" ref={holder}>
      <svg width={width} height={Math.max(0, height - 2, ...cells.found.map(({ depth }) => depth * 22 + 24))} role="group" aria-label="Time by module" onKeyDown={keys.onKeyDown}>
        {cells.found.map((cell, at) => ({ ...cell, y: cell.depth * 22, at })).map(({ part, x, y, at, width: wide, time }) => (
          <g key={part.id} class="cell">
            <rect x={x} y={y} width={Math.max(1, wide - 1)} height={20} fill={mix(page, colourOf(kindOf(part), state.isDark.value), 0.4)}
              role="button" tabIndex={at === keys.active ? 0 : -1} aria-label={`${part.title}: ${duration(time)}`} onClick={() => choose(part)} onDblClick={() => setRoot(part)}
              onFocus={() => { keys.focus(at); setHovered(textOf(cells.found[at]!)); }} onKeyDown={(event) => onKey(event, part)}
              onPointerEnter={() => setHovered(textOf(cells.found[at]!))} />
            {wide > 30 && <text aria-hidden="true" x={x + 4} y={y + 14}>{flameText(part.title, duration(time), Math.floor((wide - 6) / 6.6))}</text>}
          </g>
        ))}
      </svg>
    </div>
  </>;
}
