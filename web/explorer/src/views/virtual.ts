// A hook for long lists: only rows in view are elements.
import { useEffect, useMemo, useReducer, useState } from "preact/hooks";
import { Virtualizer, elementScroll, observeElementOffset, observeElementRect } from "@tanstack/virtual-core";
import type { RefObject } from "preact";

interface Rows {
  getVirtualItems(): readonly { readonly index: number; readonly start: number }[];
  getTotalSize(): number;
  scrollToIndex(index: number, options: { align: "auto" | "center" }): void;
}

/** True while the page is printed, which has all rows. */
function usePrinting(): boolean {
  const [isPrinting, setPrinting] = useState(false);
  useEffect(() => {
    const follow = ({ type }: Event) => setPrinting(type === "beforeprint");
    addEventListener("beforeprint", follow);
    addEventListener("afterprint", follow);
    return () => {
      removeEventListener("beforeprint", follow);
      removeEventListener("afterprint", follow);
    };
  }, []);
  return isPrinting;
}

export function useVirtual(count: number, size: number, scroller: RefObject<HTMLElement | null>, head = 0): Rows {
  const isPrinting = usePrinting();
  const [, redraw] = useReducer((number: number) => number + 1, 0);
  const options = {
    count, estimateSize: () => size, getScrollElement: () => scroller.current, overscan: 12,
    // What is above the rows, and stays there, moves them down.
    scrollPaddingEnd: head,
    observeElementRect, observeElementOffset, scrollToFn: elementScroll, onChange: () => redraw(0),
  };
  const virtual = useMemo(() => new Virtualizer<HTMLElement, HTMLElement>(options), []);
  virtual.setOptions(options);
  useEffect(() => {
    const stop = virtual._didMount();
    virtual._willUpdate();
    redraw(0);
    return stop;
  }, []);
  useEffect(() => virtual._willUpdate());
  useEffect(() => { virtual.measure(); }, [count, size]);
  return {
    getVirtualItems: () => (isPrinting ? Array.from({ length: count }, (_, index) => ({ index, start: index * size })) : virtual.getVirtualItems()),
    getTotalSize: () => virtual.getTotalSize(),
    scrollToIndex: (index, options) => virtual.scrollToIndex(index, options),
  };
}
