// A hook for long lists: only rows in view are elements.
import { useEffect, useMemo, useReducer } from "preact/hooks";
import { Virtualizer, elementScroll, observeElementOffset, observeElementRect } from "@tanstack/virtual-core";
import type { RefObject } from "preact";

export function useVirtual(count: number, size: number, scroller: RefObject<HTMLElement | null>, head = 0): Virtualizer<HTMLElement, HTMLElement> {
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
  return virtual;
}
