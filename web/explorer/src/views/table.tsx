// A table that can be sorted and filtered, of any number of rows.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { counted, grouped } from "../names";
import { useVirtual } from "./virtual";

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string | number | null | undefined;
  /** What is shown, if it is not the value. */
  readonly show?: (row: Row) => ComponentChildren;
  readonly isNumber?: boolean;
  /** A width for the grid of the table. */
  readonly width?: string;
}
interface Props<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly onChoose?: (row: Row) => void;
  readonly isChosen?: (row: Row) => boolean;
  readonly rowClass?: (row: Row) => string;
  /** The column, from 0, by which rows are sorted first; negative numbers, from -1, are descending. */
  readonly sort?: number;
  readonly children?: ComponentChildren;
}
const HEIGHT = 26;

export function Table<Row>({ label, rows, columns, onChoose, isChosen, rowClass, sort, children }: Props<Row>) {
  const [order, setOrder] = useState<{ column: number; isDown: boolean } | null>(sort === undefined ? null : { column: sort < 0 ? -sort - 1 : sort, isDown: sort < 0 });
  const [filter, setFilter] = useState("");
  const scroller = useRef<HTMLDivElement>(null);
  const shown = useMemo(() => {
    const text = filter.trim().toLowerCase();
    const kept = text === "" ? [...rows] : rows.filter((row) => columns.some(({ value }) => String(value(row) ?? "").toLowerCase().includes(text)));
    const column = order && columns[order.column];
    if (!column) return kept;
    const compare = (a: Row, b: Row) => {
      const [left, right] = [column.value(a), column.value(b)];
      if (left == null || right == null) return (left == null ? 1 : 0) - (right == null ? 1 : 0);
      const found = typeof left === "number" && typeof right === "number" ? left - right : String(left).localeCompare(String(right), undefined, { numeric: true });
      return order.isDown ? -found : found;
    };
    return kept.sort(compare);
  }, [rows, columns, filter, order]);
  const virtual = useVirtual(shown.length, HEIGHT, scroller, HEIGHT);
  const chosen = isChosen ? shown.findIndex(isChosen) : -1;
  useEffect(() => {
    if (chosen < 0) return;
    virtual.scrollToIndex(chosen, { align: "auto" });
    // The table has its height only after the first time.
    const frame = requestAnimationFrame(() => virtual.scrollToIndex(chosen, { align: "auto" }));
    return () => cancelAnimationFrame(frame);
  }, [chosen]);
  const grid = { gridTemplateColumns: columns.map(({ width, isNumber }) => width ?? (isNumber ? "minmax(84px, 0.6fr)" : "minmax(120px, 2fr)")).join(" ") };
  const move = (event: KeyboardEvent, at: number) => {
    const row = shown[at];
    if ((event.key === "Enter" || event.key === " ") && row && onChoose) { event.preventDefault(); onChoose(row); return; }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const next = Math.max(0, Math.min(shown.length - 1, at + step));
    virtual.scrollToIndex(next, { align: "auto" });
    requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>(`[aria-rowindex="${next + 2}"]`)?.focus());
  };
  const items = virtual.getVirtualItems();
  return (
    <div class="tablebox">
      <div class="bar">
        {children}
        {rows.length > 12 && <input type="search" class="filter" placeholder="Filter" aria-label={`Filter ${label}`} value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />}
        <span class="quiet count">{filter ? `${grouped(shown.length)} of ${counted(rows.length, "row")}` : counted(rows.length, "row")}</span>
      </div>
      <div class="table" role="table" aria-label={label} aria-rowcount={shown.length + 1} ref={scroller} tabIndex={0}>
        <div class="tr head" role="row" aria-rowindex={1} style={grid}>
          {columns.map(({ title, isNumber }, at) => (
            <div role="columnheader" class={isNumber ? "number" : ""} aria-sort={order?.column === at ? (order.isDown ? "descending" : "ascending") : "none"}>
              <button type="button" onClick={() => setOrder(order?.column === at ? { column: at, isDown: !order.isDown } : { column: at, isDown: isNumber === true })}>
                {title}<span aria-hidden="true">{order?.column === at ? (order.isDown ? " ▾" : " ▴") : ""}</span>
              </button>
            </div>
          ))}
        </div>
        <div role="rowgroup" class="rows" style={{ height: `${virtual.getTotalSize()}px` }}>
          {items.map(({ index, start }) => {
            const row = shown[index];
            if (row === undefined) return null;
            return (
              <div key={index} role="row" aria-rowindex={index + 2} class={`tr ${onChoose ? "link" : ""} ${index === chosen ? "chosen" : ""} ${rowClass?.(row) ?? ""}`}
                style={{ ...grid, transform: `translateY(${start}px)` }} tabIndex={onChoose ? (index === Math.max(chosen, items[0]?.index ?? 0) ? 0 : -1) : undefined}
                onClick={() => onChoose?.(row)} onKeyDown={(event) => move(event, index)}>
                {columns.map(({ value, show, isNumber }) => {
                  const content = value(row);
                  return <div role="cell" class={isNumber ? "number" : ""} title={typeof content === "string" ? content : undefined}>
                    {show ? show(row) : typeof content === "number" ? grouped(content) : <bdi>{content ?? ""}</bdi>}
                  </div>;
                })}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
