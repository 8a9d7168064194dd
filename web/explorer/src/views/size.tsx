// Sizes as a treemap or an icicle: by tensor, module, dtype, delegate, kind or segment. A click enlarges a part, or selects what it is.
import { hierarchy, partition, treemap, type HierarchyRectangularNode } from "d3-hierarchy";
import { useMemo, useRef, useState } from "preact/hooks";
import { targetOfPath } from "../links";
import { mix } from "../graph/paint";
import { bytes, clip, grouped, percent } from "../names";
import { type SizeMode, type SizePart, firstMode, sizeModes, sizeRole, sizeTree } from "../sizes";
import type { State } from "../state";
import { colourOf, KINDS } from "../kinds";
import { colourNamed, useCells, useSize } from "./parts";

type Cell = HierarchyRectangularNode<SizePart>;
const PALETTE = [...KINDS.keys()].filter((kind) => !["input", "copy", "creation", "control"].includes(kind));

export function SizeView({ state }: { state: State }) {
  const setting = state.settings.value.get("size") ?? "";
  const [modeName, shape = "treemap"] = setting.split("-");
  const first = useMemo(() => firstMode(state.document.files), []);
  const modes = useMemo(() => sizeModes(state.methods), []);
  const mode: SizeMode = modes.find((name) => name === modeName) ?? first;
  const tree = useMemo(() => sizeTree(state.document.files, mode, state.methods), [mode]);
  const [hovered, setHovered] = useState<Cell | null>(null);
  const holder = useRef<HTMLDivElement>(null);
  const { width, height } = useSize(holder);
  const steps = state.settings.value.get("part");
  const path = useMemo(() => pathOf(tree, steps), [tree, steps]);
  const show = (parts: readonly SizePart[]) => {
    const numbers = parts.slice(1).map((part, at) => parts[at]!.children!.indexOf(part));
    state.setting("part", numbers.length > 0 ? numbers.join(".") : null);
  };
  const top = path[path.length - 1]!;
  const cells = useMemo(() => {
    if (width === 0 || height === 0) return [];
    const cut = (part: SizePart, depth: number): SizePart => (depth > 0 && part.children ? { ...part, children: part.children.map((child) => cut(child, depth - 1)) } : { name: part.name, path: part.path, bytes: part.bytes });
    const root = hierarchy<SizePart>(cut(top, 3), ({ children }) => children).sum(({ children, bytes: size }) => (children ? 0 : size));
    const placed: Cell = shape === "icicle"
      ? partition<SizePart>().size([width, height]).padding(1).round(true)(root)
      : treemap<SizePart>().size([width, height]).paddingOuter(2).paddingTop((cell) => (cell.depth === 0 ? 2 : 18)).paddingInner(1).round(true)(root);
    return placed.descendants().filter((cell) => (shape === "icicle" || cell.depth > 0) && cell.x1 - cell.x0 >= 2 && cell.y1 - cell.y0 >= 2);
  }, [top, width, height, shape]);
  const open = (cell: Cell) => {
    // The original parts have what was cut.
    const names = cell.ancestors().reverse().slice(1);
    let at = top;
    const steps: SizePart[] = [];
    for (const step of names) {
      const next: SizePart | undefined = at.children?.find(({ path: found, name }) => found === step.data.path && name === step.data.name);
      if (!next) break;
      if (next.children) steps.push(next);
      at = next;
    }
    const target = at.children ? null : targetOfPath(state.methods, at.path);
    if (target) state.select(target.selection, { method: target.method });
    else if (steps.length > 0) show([...path, steps[0]!]);
  };
  const groupOf = (cell: Cell) => cell.ancestors().reverse()[1]?.data ?? cell.data;
  // In a list of tensors, colours show the role: weight, bias, ...
  const key = (part: SizePart) => (mode === "tensor" ? sizeRole(part) : part.name);
  const names = useMemo(() => [...new Set((top.children ?? []).map(key))], [top]);
  const colourOfKey = (name: string) => colourOf(PALETTE[Math.max(0, names.indexOf(name)) % PALETTE.length]!, state.isDark.value);
  const roles = mode === "tensor" && names.length <= PALETTE.length ? names : [];
  const parents = useMemo(() => new Map(cells.map((cell, at) => [cell, at])), [cells]);
  const keys = useCells(useMemo(() => cells.map(({ depth, parent }) => ({ depth, parent: (parent && parents.get(parent)) ?? -1 })), [cells]));
  const page = colourNamed("page");
  const describe = (cell: Cell) => `${cell.data.path || cell.data.name}: ${grouped(cell.data.bytes)} bytes, ${percent(cell.data.bytes, tree.bytes)} of ${tree.name}`;
  const set = (nextMode: string, nextShape: string) => { state.setting("part", null); state.setting("size", nextMode === first && nextShape === "treemap" ? null : `${nextMode}-${nextShape}`); };
  return (
    <div class="column">
      <div class="bar">
        <label>By <select value={mode} onChange={(event) => set(event.currentTarget.value, shape)}>{modes.map((name) => <option>{name}</option>)}</select></label>
        <label>As <select value={shape} onChange={(event) => set(mode, event.currentTarget.value)}><option>treemap</option><option>icicle</option></select></label>
        <nav class="trail" aria-label="Part that is shown">{path.map((part, at) => <button type="button" disabled={at === path.length - 1} onClick={() => show(path.slice(0, at + 1))}><bdi>{clip(part.name, 30)}</bdi></button>)}</nav>
        <span class="quiet grow" aria-live="polite"><bdi>{hovered ? describe(hovered) : `${grouped(top.bytes)} bytes`}</bdi></span>
      </div>
      {roles.length > 1 && <div class="bar legend">{roles.map((role) => <span><span class="swatch" style={{ background: colourOfKey(role) }} /> {role}</span>)}</div>}
      <div class="picture" ref={holder} onPointerLeave={() => setHovered(null)}>
        <svg width={width} height={height} role="group" aria-label="Sizes" onKeyDown={keys.onKeyDown}>
          {cells.map((cell, index) => {
            const [x, y, w, h] = [cell.x0, cell.y0, cell.x1 - cell.x0, cell.y1 - cell.y0];
            const colour = colourOfKey(key(groupOf(cell)));
            const most = Math.floor((w - 6) / 6.6);
            const isTitled = h > 14 && most >= 3;
            const fill = mix(page, colour, cell.children ? (shape === "icicle" ? 0.22 : 0.12) : 0.34);
            return (
              <g key={index} class="cell">
                <rect x={x} y={y} width={w} height={h} fill={fill} stroke={mix(page, colour, 0.6)} role="button" tabIndex={index === keys.active ? 0 : -1} aria-label={describe(cell)}
                  onClick={() => open(cell)} onPointerEnter={() => setHovered(cell)} onFocus={() => { keys.focus(index); setHovered(cell); }} onKeyDown={(event) => { if (event.key === "Enter") open(cell); }} />
                {isTitled && linesOf(cell, most, Math.floor((h - 2) / 13)).map((line, at) => <text aria-hidden="true" x={x + 4} y={y + 12 + 13 * at} class={at > 0 ? "second" : ""}>{line}</text>)}
              </g>
            );
          })}
        </svg>
      </div>
    </div>
  );
}

/** The parts from the whole to the one of an address, `2.0`, as far as they exist. */
function pathOf(tree: SizePart, steps: string | undefined): SizePart[] {
  const path = [tree];
  for (const step of steps?.split(".") ?? []) {
    const next = path.at(-1)!.children?.[Number(step)];
    if (!next?.children) break;
    path.push(next);
  }
  return path;
}

/** The name and the size in as many lines as there is room for; a long name is divided after a dot or a line, but no word is. */
function linesOf({ data, children }: Cell, most: number, room: number): string[] {
  const size = bytes(data.bytes);
  if (children || room < 2) return [clip(data.name.length + size.length < most ? `${data.name} ${size}` : data.name, most)];
  const lines: string[] = [""];
  for (const word of data.name.match(/[^._]*[._]|[^._]+$/g) ?? [data.name]) {
    const last = lines[lines.length - 1]!;
    if (last === "" || last.length + word.length <= most) lines[lines.length - 1] = last + word;
    else lines.push(word);
  }
  const shown = lines.length < room && lines.every((line) => line.length <= most) ? lines : [clip(data.name, most)];
  return size.length <= most ? [...shown, size] : shown;
}
