// Small elements that several views use.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren, RefObject } from "preact";
import type { Statistics } from "../document";
import { KINDS, colourOf } from "../kinds";
import { counted, grouped, percent } from "../names";
import type { State } from "../state";

/** A square in the colour of a kind, and its name for those who do not see it. */
export function Swatch({ kind, isDark }: { kind: string; isDark: boolean }) {
  return <span class="swatch" role="img" aria-label={KINDS.get(kind)?.title ?? kind} title={KINDS.get(kind)?.title ?? kind} style={{ background: colourOf(kind, isDark) }} />;
}
export function Facts({ rows }: { rows: readonly (readonly [string, ComponentChildren] | null | false | undefined)[] }) {
  const shown = rows.filter((row): row is readonly [string, ComponentChildren] => Boolean(row) && row !== undefined);
  return <dl class="facts">{shown.map(([name, value]) => <><dt><bdi>{name}</bdi></dt><dd>{typeof value === "string" ? <bdi>{value}</bdi> : value}</dd></>)}</dl>;
}
/** The size of an element, which is followed. */
export function useSize(element: RefObject<HTMLElement | null>): { width: number; height: number } {
  const [size, setSize] = useState({ width: 0, height: 0 });
  useEffect(() => {
    const found = element.current;
    if (!found) return;
    const read = () => setSize((old) => (old.width === found.clientWidth && old.height === found.clientHeight ? old : { width: found.clientWidth, height: found.clientHeight }));
    read();
    const observer = new ResizeObserver(read);
    observer.observe(found);
    // A page that is printed has another width, which an observer would see too late.
    addEventListener("beforeprint", read);
    return () => {
      observer.disconnect();
      removeEventListener("beforeprint", read);
    };
  }, []);
  return size;
}
export interface CellPlace { readonly depth: number; readonly parent: number }
/**
 * Arrow keys between nested cells: left and right on a level, up to the cell around it, down to the first one inside; Home and
 * End on a level. One cell is in the order of Tab; cells are the `rect` of the element, in the order of `places`.
 */
export function useCells(places: readonly CellPlace[]): { active: number; focus: (at: number) => void; onKeyDown: (event: KeyboardEvent) => void } {
  const [wanted, focus] = useState(0);
  const active = wanted < places.length ? wanted : 0;
  const onKeyDown = (event: KeyboardEvent) => {
    const place = places[active];
    if (!place) return;
    const level = places.flatMap(({ depth }, at) => (depth === place.depth ? [at] : []));
    const position = level.indexOf(active);
    const next = {
      ArrowLeft: level[position - 1] ?? active, ArrowRight: level[position + 1] ?? active, ArrowUp: place.parent,
      ArrowDown: places.findIndex(({ parent }) => parent === active), Home: level[0], End: level.at(-1),
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    (event.currentTarget as Element).querySelectorAll<SVGElement>("rect")[next]?.focus();
  };
  return { active, focus, onKeyDown };
}
/** A canvas that is painted at the resolution of the screen. */
export function Painted({ width, height, paint, label, ...rest }: {
  width: number; height: number; label: string; paint: (context: CanvasRenderingContext2D) => void;
  onPointerMove?: (event: PointerEvent) => void; onPointerDown?: (event: PointerEvent) => void; onPointerUp?: (event: PointerEvent) => void;
  onPointerLeave?: (event: PointerEvent) => void; onDblClick?: (event: MouseEvent) => void; onKeyDown?: (event: KeyboardEvent) => void; onWheel?: (event: WheelEvent) => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  // Before the next frame, because there is none before a page is printed.
  useLayoutEffect(() => {
    const found = canvas.current;
    const context = found?.getContext("2d");
    if (!found || !context || width <= 0 || height <= 0) return;
    const ratio = devicePixelRatio || 1;
    found.width = Math.round(width * ratio);
    found.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    paint(context);
  });
  return <canvas ref={canvas} class="painted" role="img" aria-label={label} tabIndex={0} style={{ width: `${width}px`, height: `${height}px` }} {...rest} />;
}
/** A colour of the style sheet, for canvases. */
export const colourNamed = (name: string): string => getComputedStyle(document.querySelector(".explorer") ?? document.body).getPropertyValue(`--${name}`).trim() || "#888888";

export function StatisticsView({ statistics, hasData }: { statistics: Statistics | null | undefined; hasData: boolean }) {
  if (!statistics) return <p class="quiet">{hasData ? "No statistics for data of this type." : "No statistics: pte-emit report --data-statistics reads the data."}</p>;
  const { elements, not_finite: notFinite, zeros, minimum, maximum, mean } = statistics;
  const rounded = (value: number | null) => (value === null ? "" : String(Number(value.toPrecision(6))));
  return <>
    <Facts rows={[["elements", grouped(elements)], ["minimum", rounded(minimum)], ["maximum", rounded(maximum)], ["mean", rounded(mean)],
      zeros > 0 && ["zeros", `${grouped(zeros)} (${percent(zeros, elements)})`], notFinite > 0 && ["not finite", grouped(notFinite)]]} />
    <Histogram statistics={statistics} />
  </>;
}
export function Histogram({ statistics, isSmall }: { statistics: Statistics; isSmall?: boolean }) {
  const { minimum, maximum, histogram } = statistics;
  if (histogram.length === 0 || minimum === null || maximum === null) return null;
  const most = Math.max(...histogram, 1);
  const [width, height] = isSmall ? [80, 20] : [320, 100];
  const step = width / histogram.length;
  const text = (value: number) => String(Number(value.toPrecision(4)));
  return (
    <svg class={isSmall ? "spark" : "histogram"} viewBox={`0 0 ${width} ${height + (isSmall ? 0 : 16)}`} role="img" aria-label={`Histogram from ${text(minimum)} to ${text(maximum)}`}>
      {histogram.map((count, bin) => {
        // A bin that is not empty is visible.
        const tall = count === 0 ? 0 : Math.max(1.5, ((height - 2) * count) / most);
        return <rect x={bin * step} y={height - tall} width={Math.max(0.8, step - 0.8)} height={tall}>{!isSmall && <title>{counted(count, "element")}</title>}</rect>;
      })}
      {!isSmall && <><text x={0} y={height + 13}>{text(minimum)}</text><text x={width} y={height + 13} text-anchor="end">{text(maximum)}</text></>}
    </svg>
  );
}
/** A path of which the numbers are visible if it does not fit: `methods.f…instructions[12].args[0]`. */
export function Path({ path }: { path: string }) {
  const at = Math.max(0, path.search(/\w+\[\d/));
  const [head, tail] = [path.slice(0, at), path.slice(at)];
  return <span class="path" title={path}><bdi>{head}</bdi><bdi>{tail}</bdi></span>;
}
/** A button that shows a selection in the graph. */
export function Link({ state, method, selection, children }: { state: State; method: number; selection: Parameters<State["select"]>[0]; children: ComponentChildren }) {
  return <button type="button" class="inline" onClick={() => state.select(selection, { method })}>{children}</button>;
}
