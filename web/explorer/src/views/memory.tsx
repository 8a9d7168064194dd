// Planned memory: time from left to right, addresses from bottom to top, one picture for each pool. A cursor shows what is
// alive at an instruction.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { KINDS, colourOf } from "../kinds";
import { bytes, compactType, counted, grouped, shortName } from "../names";
import { type Scale, addressScale, aliveAt, eventText, fullOf, ownersOf, scaleFor } from "../plan";
import type { State } from "../state";
import { mix } from "../graph/paint";
import { Facts, Painted, Swatch, colourNamed, useSize } from "./parts";
import { Table } from "./table";

const EDGE = { left: 72, right: 12, top: 22, bottom: 24 };

export function MemoryView({ state }: { state: State }) {
  const pools = useMemo(() => (state.document.memory?.methods ?? []).flatMap((memory, index) => memory.pools.map((pool) => ({ memory, pool, index, key: `${memory.name}/${pool.pool}` }))), []);
  const wanted = state.settings.value.get("pool");
  const [selection, method] = [state.selection.value, state.method.value];
  const values = useMemo(() => {
    if (!selection || !method) return new Set<number>();
    const found = selection.kind === "value" ? [selection.index] : selection.kind === "instruction" ? [...(method.calls[selection.index]?.data.args ?? []), ...(method.calls[selection.index]?.data.writes ?? [])] : [];
    return new Set(found.flatMap((value) => (value === null ? [] : [method.values[value]?.base ?? value, value])));
  }, [selection, method]);
  const ofSelection = pools.find(({ index, pool }) => index === method?.index && pool.tensors.some(({ value }) => values.has(value)));
  const entry = pools.find(({ key }) => key === wanted) ?? ofSelection ?? pools.find(({ index, pool }) => index === method?.index && pool.tensors.length > 0) ?? pools[0];
  const [scale, setScale] = useState<Scale | null>(null);
  const [pinned, setPinned] = useState<number | null>(null);
  const [hovered, setHovered] = useState<number | null>(null);
  const [range, setRange] = useState<[number, number] | null>(null);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const holder = useRef<HTMLDivElement>(null);
  const { width, height } = useSize(holder);
  const owner = state.methods[entry?.index ?? 0];
  const owners = useMemo(() => ownersOf(owner), [owner]);
  const pool = entry?.pool;
  useEffect(() => { setPinned(null); setRange(null); setScale(null); }, [pool]);
  const chosen = selection?.kind === "instruction" && method?.index === entry?.index ? selection.index + 1 : null;
  const kind = scale ?? (pool ? scaleFor(pool, height) : "linear");
  const part = useMemo(() => (pool ? addressScale(pool, kind) : () => 0), [pool, kind]);
  if (!entry || !pool) return <p class="message">No memory is planned.</p>;
  const { memory } = entry;
  const times = memory.instructions.length + 2;
  const [from, to] = range ?? [0, times];
  const cursor = hovered ?? pinned ?? chosen ?? pool.peak.time;
  const x = (time: number) => EDGE.left + ((width - EDGE.left - EDGE.right) * (time - from)) / (to - from);
  const y = (address: number) => height - EDGE.bottom - (height - EDGE.top - EDGE.bottom) * part(address);
  const timeAt = (px: number) => Math.max(0, Math.min(times - 1, Math.floor(from + ((px - EDGE.left) / Math.max(1, width - EDGE.left - EDGE.right)) * (to - from))));
  // State belongs to the method as inputs do; an operator only updates it.
  const kindOf = (value: number) => (owner?.values[value]?.content === "state" ? "input" : undefined) ?? owners.get(value)?.kind ?? (owner?.data.inputs.includes(value) ? "input" : "other");
  const isDark = state.isDark.value;
  const paint = (context: CanvasRenderingContext2D) => {
    const [page, text, muted, accent, line, danger] = ["page", "text", "muted", "accent", "line", "heat"].map(colourNamed) as [string, string, string, string, string, string];
    context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    context.textBaseline = "middle";
    context.fillStyle = muted;
    context.textAlign = "right";
    let next = Infinity;
    const borders = [...new Set([0, fullOf(pool), ...pool.tensors.slice(0, 3000).map(({ offset }) => offset)])].sort((a, b) => a - b);
    for (const address of borders) {
      const level = y(address);
      if (level > next - 22) continue;
      next = level;
      context.fillStyle = line;
      context.fillRect(EDGE.left, level, width - EDGE.left - EDGE.right, 1);
      context.fillStyle = muted;
      context.fillText(bytes(address), EDGE.left - 6, level);
    }
    context.save();
    context.beginPath();
    context.rect(EDGE.left, 0, width - EDGE.left - EDGE.right, height - EDGE.bottom + 1);
    context.clip();
    context.textAlign = "left";
    for (const tensor of pool.tensors) {
      if (!tensor.alive) continue;
      const [left, right] = [x(tensor.alive[0]), x(tensor.alive[1] + 1)];
      if (right < EDGE.left || left > width) continue;
      const [top, bottom] = [y(tensor.offset + tensor.bytes), y(tensor.offset)];
      const colour = colourOf(kindOf(tensor.value), isDark);
      const isAlive = tensor.alive[0] <= cursor && cursor <= tensor.alive[1];
      const isChosen = values.has(tensor.value);
      context.fillStyle = mix(page, colour, isChosen ? 0.9 : isAlive ? 0.55 : 0.32);
      const [w, h] = [Math.max(1.5, right - left - 0.5), Math.max(1.5, bottom - top - 0.5)];
      context.fillRect(left, top, w, h);
      if (w > 3 && h > 3) {
        context.strokeStyle = isChosen ? accent : mix(page, colour, 0.8);
        context.lineWidth = isChosen ? 2.5 : 1;
        context.strokeRect(left + 0.5, top + 0.5, w - 1, h - 1);
      }
      const visible = Math.max(left, EDGE.left);
      const room = left + w - visible;
      if (h > 13 && room > 24 && context.measureText(tensor.name).width + 8 < room) {
        const size = bytes(tensor.bytes);
        const isTall = h > 30 && context.measureText(size).width + 8 < room;
        context.fillStyle = isChosen ? page : text;
        context.fillText(tensor.name, visible + 4, top + h / 2 - (isTall ? 6 : 0));
        if (isTall) context.fillText(size, visible + 4, top + h / 2 + 8);
      }
    }
    const vertical = (time: number, colour: string, dash: number[]) => {
      const at = x(time + 0.5);
      context.strokeStyle = colour;
      context.lineWidth = 1.5;
      context.setLineDash(dash);
      context.beginPath();
      context.moveTo(at, EDGE.top - 6);
      context.lineTo(at, height - EDGE.bottom);
      context.stroke();
      context.setLineDash([]);
      return at;
    };
    const peak = vertical(pool.peak.time, danger, [4, 3]);
    const label = `peak ${bytes(pool.lower_bound)}: ${shortName(memory.instructions[pool.peak.time - 1] ?? "inputs")}`;
    context.fillStyle = danger;
    context.textAlign = peak + context.measureText(label).width + 8 > width - EDGE.right ? "right" : "left";
    context.fillText(label, peak + (context.textAlign === "right" ? -4 : 4), EDGE.top - 12);
    vertical(cursor, accent, []);
    if (drag) { context.fillStyle = `${accent}33`; context.fillRect(drag[0], EDGE.top, drag[1] - drag[0], height - EDGE.top - EDGE.bottom); }
    context.restore();
    context.fillStyle = muted;
    context.textAlign = "left";
    context.fillText(from === 0 ? "inputs" : `instruction ${Math.round(from) - 1}`, EDGE.left, height - 10);
    context.textAlign = "right";
    context.fillText(to === times ? "outputs" : `instruction ${Math.round(to) - 1}`, width - EDGE.right, height - 10);
    context.textAlign = "center";
    context.fillText(counted(memory.instructions.length, "instruction"), (width + EDGE.left) / 2, height - 10);
  };
  const local = (event: PointerEvent | MouseEvent) => { const area = (event.currentTarget as Element).getBoundingClientRect(); return { px: event.clientX - area.left, py: event.clientY - area.top }; };
  const alive = aliveAt(pool, cursor);
  const sum = alive.reduce((total, tensor) => total + tensor.bytes, 0);
  const choose = (value: number) => state.select({ kind: "value", index: value }, { method: entry.index });
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
    if (step !== undefined) { event.preventDefault(); event.stopPropagation(); setHovered(null); setPinned(Math.max(0, Math.min(times - 1, cursor + step))); }
    if (event.key === "Escape" && range) { event.stopPropagation(); setRange(null); }
  };
  const kinds = [...new Set(pool.tensors.map(({ value }) => kindOf(value)))];
  return (
    <div class="split">
      <div class="main">
        <div class="bar">
          {pools.length > 1 && <label>Pool <select value={entry.key} onChange={(event) => state.setting("pool", event.currentTarget.value)}>{pools.map(({ key, memory: of, pool: item }) => <option value={key}>{of.name}, pool {item.pool} ({item.device})</option>)}</select></label>}
          <label>Scale <select value={kind} onChange={(event) => setScale(event.currentTarget.value as Scale)}><option>linear</option><option>logarithmic</option></select></label>
          {range && <button type="button" onClick={() => setRange(null)}>Show all</button>}
          <span class="quiet">{bytes(pool.bytes)}; {bytes(pool.unshared)} without sharing; lower bound {bytes(pool.lower_bound)}</span>
          <span class="legend">{kinds.map((item) => <span><Swatch kind={item} isDark={isDark} /> {item === "other" ? "other" : item === "input" ? "input, state" : KINDS.get(item)?.title ?? item}</span>)}</span>
        </div>
        <div class="picture" ref={holder}>
          <Painted width={width} height={height} paint={paint} onKeyDown={onKeyDown}
            label={`Planned memory of pool ${pool.pool}: ${counted(pool.tensors.length, "tensor")}, ${bytes(pool.bytes)}, peak at ${pool.peak.event}. Arrow keys move the cursor.`}
            onPointerMove={(event) => {
              const { px } = local(event);
              if (event.buttons === 1 && drag) setDrag([drag[0], px]);
              else setHovered(px < EDGE.left ? null : timeAt(px));
            }}
            onPointerDown={(event) => { const { px } = local(event); if (event.pointerType === "mouse") setDrag([px, px]); }}
            onPointerUp={(event) => {
              const { px, py } = local(event);
              if (drag && Math.abs(drag[1] - drag[0]) > 12) {
                const [a, b] = [timeAt(Math.min(...drag)), timeAt(Math.max(...drag)) + 1];
                setRange([a, Math.max(b, a + 1)]);
              } else {
                const time = timeAt(px);
                setPinned(time);
                const hit = pool.tensors.find(({ alive: span, offset, bytes: size }) => span && span[0] <= time && time <= span[1] && y(offset + size) <= py && py <= y(offset));
                if (hit) choose(hit.value);
              }
              setDrag(null);
            }}
            onPointerLeave={() => { setHovered(null); setDrag(null); }} />
        </div>
      </div>
      <div class="aside" aria-live="polite">
        <Facts rows={[["at", cursor >= 1 && cursor <= memory.instructions.length
          ? <button type="button" class="inline" onClick={() => state.select({ kind: "instruction", index: cursor - 1 }, { method: entry.index })}>{eventText(memory.instructions, cursor)}</button> : eventText(memory.instructions, cursor)],
          ["alive", `${bytes(sum)} in ${counted(alive.length, "tensor")}`]]} />
        <Table label="tensors that are alive" rows={alive} onChoose={({ value }) => choose(value)} isChosen={({ value }) => selection?.kind === "value" && selection.index === value} columns={[
          { title: "tensor", value: ({ name }) => name, show: ({ name, value }) => <><Swatch kind={kindOf(value)} isDark={isDark} /> <bdi>{name}</bdi></> },
          { title: "type", value: ({ type }) => compactType(type), width: "minmax(80px, 1.4fr)" },
          { title: "bytes", value: ({ bytes: size }) => size, isNumber: true }, { title: "address", value: ({ offset }) => grouped(offset), isNumber: true },
        ]} />
      </div>
    </div>
  );
}
