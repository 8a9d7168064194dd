// The picture of a plan: time from left to right, addresses from bottom to top, and a cursor at an instruction.
import { useRef, useState } from "preact/hooks";
import { mix } from "../graph/paint";
import { colourOf } from "../kinds";
import { bytes, counted } from "../names";
import { type Plan, type Side, aliveAt, eventName, fullOf } from "../plan";
import { Painted, colourNamed, useSize } from "./parts";

const EDGE = { left: 72, right: 12, top: 22, bottom: 24 };
/** Width for the labels of both ends, and of what is between them. */
const LABELS = { ends: 100, all: 300 };

export interface Cursor { readonly side: Side; readonly time: number }
export type KindOf = (value: number) => string;

export function PlanPicture({ plan, part, times, range, cursor, isDark, chosen, kindOf, ...on }: {
  plan: Plan; isDark: boolean; chosen: ReadonlySet<number>; kindOf: KindOf; cursor: number | null;
  /** From an address to 0..1. */
  part: (address: number) => number;
  /** Times in the picture, and those of them that are shown; the plan may end before. */
  times: number; range: readonly [number, number] | null;
  onHover: (cursor: Cursor | null) => void; onPin: (cursor: Cursor) => void;
  onRange: (range: [number, number] | null) => void; onChoose: (value: number) => void;
}) {
  const { side, memory, pool } = plan;
  const holder = useRef<HTMLDivElement>(null);
  const { width, height } = useSize(holder);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const last = memory.instructions.length + 1;
  const [from, to] = range ?? [0, times];
  const room = Math.max(1, width - EDGE.left - EDGE.right);
  const x = (time: number) => EDGE.left + (room * (time - from)) / (to - from);
  const y = (address: number) => height - EDGE.bottom - (height - EDGE.top - EDGE.bottom) * part(address);
  const within = (time: number) => Math.max(0, Math.min(last, time));
  const timeAt = (px: number) => within(Math.floor(from + ((px - EDGE.left) / room) * (to - from)));
  const end = Math.max(from, Math.min(to, last + 1));
  const paint = (context: CanvasRenderingContext2D) => {
    const [page = "", text = "", muted = "", accent = "", line = "", danger = ""] =
      ["page", "text", "muted", "accent", "line", "heat"].map(colourNamed);
    context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    context.textBaseline = "middle";
    context.fillStyle = muted;
    context.textAlign = "right";
    let next = Infinity;
    const borders = new Set([0, fullOf([pool]), ...pool.tensors.slice(0, 3000).map(({ offset }) => offset)]);
    for (const address of [...borders].sort((a, b) => a - b)) {
      const level = y(address);
      if (level > next - 22) continue;
      next = level;
      context.fillStyle = line;
      context.fillRect(EDGE.left, level, x(end) - EDGE.left, 1);
      context.fillStyle = muted;
      context.fillText(bytes(address), EDGE.left - 6, level);
    }
    context.save();
    context.beginPath();
    context.rect(EDGE.left, 0, room, height - EDGE.bottom + 1);
    context.clip();
    context.textAlign = "left";
    for (const tensor of pool.tensors) {
      if (!tensor.alive) continue;
      const [left, right] = [x(tensor.alive[0]), x(tensor.alive[1] + 1)];
      if (right < EDGE.left || left > width) continue;
      const [top, bottom] = [y(tensor.offset + tensor.bytes), y(tensor.offset)];
      const colour = colourOf(kindOf(tensor.value), isDark);
      const isAlive = cursor !== null && tensor.alive[0] <= cursor && cursor <= tensor.alive[1];
      const isChosen = chosen.has(tensor.value);
      context.fillStyle = mix(page, colour, isChosen ? 0.9 : isAlive ? 0.55 : 0.32);
      const [w, h] = [Math.max(1.5, right - left - 0.5), Math.max(1.5, bottom - top - 0.5)];
      context.fillRect(left, top, w, h);
      if (w > 3 && h > 3) {
        context.strokeStyle = isChosen ? accent : mix(page, colour, 0.8);
        context.lineWidth = isChosen ? 2.5 : 1;
        context.strokeRect(left + 0.5, top + 0.5, w - 1, h - 1);
      }
      const visible = Math.max(left, EDGE.left);
      const space = left + w - visible;
      if (h > 13 && space > 24 && context.measureText(tensor.name).width + 8 < space) {
        const size = bytes(tensor.bytes);
        const isTall = h > 30 && context.measureText(size).width + 8 < space;
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
    const label = `peak ${bytes(pool.lower_bound)}: ${eventName(memory.instructions, pool.peak.time)}`;
    context.fillStyle = danger;
    context.textAlign = peak + context.measureText(label).width + 8 > width - EDGE.right ? "right" : "left";
    context.fillText(label, peak + (context.textAlign === "right" ? -4 : 4), EDGE.top - 12);
    if (cursor !== null) vertical(cursor, accent, []);
    if (drag) {
      context.fillStyle = `${accent}33`;
      context.fillRect(drag[0], EDGE.top, drag[1] - drag[0], height - EDGE.top - EDGE.bottom);
    }
    context.restore();
    context.fillStyle = muted;
    context.textAlign = "left";
    context.fillText(from === 0 ? "inputs" : `instruction ${Math.round(from) - 1}`, EDGE.left, height - 10);
    context.textAlign = "right";
    const right = x(end);
    const title = end > last ? "outputs" : `instruction ${Math.round(end) - 1}`;
    context.fillText(title, Math.max(right, EDGE.left + LABELS.ends), height - 10);
    context.textAlign = "center";
    const between = counted(memory.instructions.length, "instruction");
    if (right - EDGE.left > LABELS.all) context.fillText(between, (right + EDGE.left) / 2, height - 10);
  };
  const local = (event: PointerEvent) => {
    const area = (event.currentTarget as Element).getBoundingClientRect();
    return { px: event.clientX - area.left, py: event.clientY - area.top };
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      event.stopPropagation();
      on.onHover(null);
      on.onPin({ side, time: within((cursor ?? pool.peak.time) + step) });
    }
    if (event.key === "Escape" && range) { event.stopPropagation(); on.onRange(null); }
  };
  const onPointerUp = (event: PointerEvent) => {
    const { px, py } = local(event);
    setDrag(null);
    if (drag && Math.abs(drag[1] - drag[0]) > 12) {
      const [a, b] = [timeAt(Math.min(...drag)), timeAt(Math.max(...drag)) + 1];
      on.onRange([a, Math.max(b, a + 1)]);
      return;
    }
    const time = timeAt(px);
    const hit = aliveAt(pool, time).find(({ offset, bytes: size }) => y(offset + size) <= py && py <= y(offset));
    if (hit) on.onChoose(hit.value);
    on.onPin({ side, time });
  };
  const content = `${counted(pool.tensors.length, "tensor")}, ${bytes(pool.bytes)}, peak at ${pool.peak.event}`;
  return (
    <div class="picture" ref={holder}>
      <Painted width={width} height={height} paint={paint} onKeyDown={onKeyDown} onPointerUp={onPointerUp}
        label={`Planned memory of pool ${pool.pool}, ${side}: ${content}. Arrow keys move the cursor.`}
        onPointerMove={(event) => {
          const { px } = local(event);
          if (event.buttons === 1 && drag) setDrag([drag[0], px]);
          else on.onHover(px < EDGE.left ? null : { side, time: timeAt(px) });
        }}
        onPointerDown={(event) => {
          const { px } = local(event);
          if (event.pointerType === "mouse") setDrag([px, px]);
        }}
        onPointerLeave={() => { on.onHover(null); setDrag(null); }} />
    </div>
  );
}
