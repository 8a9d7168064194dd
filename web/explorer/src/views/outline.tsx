// The graph as a tree of text: the same parts, for reading line by line and for assistive technology.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { formatSelection } from "../address";
import { selectionOf } from "../links";
import { outputName, parametersOf } from "../model";
import { type State } from "../state";
import { type Part, chainTo, isOpenable, summaryOf } from "../tree";
import { Swatch } from "./parts";
import { useVirtual } from "./virtual";

export function OutlineView({ state }: { state: State }) {
  const scroller = useRef<HTMLDivElement>(null);
  const [method, tree, open, selection] = [state.method.value, state.tree.value, state.open.value, state.selection.value];
  const rows = useMemo(() => {
    const found: { part: Part; depth: number }[] = [];
    const visit = (parts: readonly Part[], depth: number) => parts.forEach((part) => {
      found.push({ part, depth });
      if (open.has(part.id) && isOpenable(part)) visit(part.children!, depth + 1);
    });
    visit(tree, 1);
    return found;
  }, [tree, open]);
  const virtual = useVirtual(rows.length, 24, scroller);
  const id = !selection || !method ? null
    : selection.kind === "value" && selection.output === undefined ? `in${method.data.inputs.indexOf(selection.index)}` : formatSelection(selection);
  const chosen = rows.findIndex(({ part }) => part.id === id);
  useEffect(() => { if (chosen >= 0) virtual.scrollToIndex(chosen, { align: "auto" }); }, [chosen]);
  if (!method) return null;
  const textOf = (part: Part) => {
    if (part.kind === "group") return summaryOf(method, part);
    if (part.kind !== "call") return "";
    const call = method.calls[part.call!]!;
    return [outputName(method, call), parametersOf(method, call)].filter((text) => text !== "").join(", ");
  };
  const kindOf = (part: Part) => (part.kind === "call" ? method.calls[part.call!]!.kind : part.kind === "input" || part.kind === "output" ? "input" : part.kind === "operation" ? "delegate" : "copy");
  const onKeyDown = (event: KeyboardEvent, at: number) => {
    const part = rows[at]!.part;
    const isOpen = open.has(part.id);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (next !== undefined) {
      const target = rows[Math.max(0, Math.min(rows.length - 1, next))]!.part;
      state.select(selectionOf(method, target));
      virtual.scrollToIndex(Math.max(0, next), { align: "auto" });
      requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(target.id)}"]`)?.focus());
    } else if (event.key === "Enter" || (event.key === "ArrowRight" && !isOpen) || (event.key === "ArrowLeft" && isOpen)) { if (isOpenable(part)) state.toggle(part.id); }
    else if (event.key === "ArrowLeft") {
      const chain = part.call === undefined ? [] : chainTo(tree, method, part.call, part.operation);
      const parent = chain[chain.length - 2];
      if (parent) state.select(selectionOf(method, parent));
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const items = virtual.getVirtualItems();
  return (
    <div class="outline" ref={scroller} role="tree" aria-label={`Parts of ${method.name}`}>
      <div class="rows" role="presentation" style={{ height: `${virtual.getTotalSize()}px` }}>
        {items.map(({ index, start }) => {
          const { part, depth } = rows[index]!;
          return (
            <div key={part.id} data-id={part.id} role="treeitem" aria-level={depth} aria-selected={index === chosen} {...(isOpenable(part) ? { "aria-expanded": open.has(part.id) } : {})}
              tabIndex={index === (chosen >= 0 ? chosen : 0) ? 0 : -1} class={`outlinerow ${index === chosen ? "chosen" : ""}`} style={{ transform: `translateY(${start}px)`, paddingLeft: `${depth * 16}px` }}
              onClick={() => state.select(selectionOf(method, part))} onDblClick={() => { if (isOpenable(part)) state.toggle(part.id); }} onKeyDown={(event) => onKeyDown(event, index)}>
              <span class="sign" aria-hidden="true" onClick={(event) => { if (!isOpenable(part)) return; event.stopPropagation(); state.toggle(part.id); }}>{isOpenable(part) ? (open.has(part.id) ? "−" : "+") : ""}</span>
              <Swatch kind={kindOf(part)} isDark={state.isDark.value} /> <b><bdi>{part.title}</bdi></b> <span class="quiet"><bdi>{textOf(part)}</bdi></span>
            </div>
          );
        })}
      </div>
    </div>
  );
}
