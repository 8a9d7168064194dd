// The line at the top: file, method, search, grouping, heat.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { heatsOf } from "../heat";
import { counted } from "../names";
import type { Method } from "../model";
import { search } from "../search";
import type { Colour, State } from "../state";
import { type Grouping, groupingsOf } from "../tree";
import { Swatch } from "./parts";

export function Toolbar({ state }: { state: State }) {
  const method = state.method.value;
  const heats = useMemo(() => (method ? heatsOf(state.document, method) : []), [method]);
  const groupings = useMemo(() => (method ? groupingsOf(method).possible : []), [method]);
  const { name, before, files } = state.document;
  const findings = files.reduce((sum, { findings: list = [] }) => sum + list.length, 0);
  return (
    <header class="toolbar">
      <h1 title={before ? `${before} → ${name}` : name}><bdi>{before ? `${before.split("/").pop()} → ` : ""}{name.split("/").pop()}</bdi></h1>
      {state.methods.length > 1 && <label class="method">Method <select value={state.methodIndex.value} onChange={(event) => state.select(null, { method: Number(event.currentTarget.value), reveal: false })}>{state.methods.map((one, index) => <option value={index}>{one.name} ({one.calls.length}{isNew(state, one) ? ", added" : one.isRemoved ? ", removed" : ""})</option>)}</select></label>}
      {method && <SearchBox state={state} />}
      {groupings.length > 1 && <label class="wide">Groups <select value={state.by.value} onChange={(event) => { state.grouping.value = event.currentTarget.value as Grouping; }}>{groupings.map((by) => <option value={by}>by {by}</option>)}</select></label>}
      {heats.length > 0 && <label class="wide">Colour <select value={state.heat.value ?? "kind"} onChange={(event) => { state.colour.value = event.currentTarget.value as Colour; }}><option value="kind">{state.document.changes ? "by change" : "by kind"}</option>{heats.map((heat) => <option value={heat}>by {heat}</option>)}</select></label>}
      {findings > 0 && <button type="button" class="marks" title="Show the findings" onClick={() => { state.tab.value = "findings"; }}><span aria-hidden="true">!</span> {counted(findings, "finding")}</button>}
      <button type="button" class="help" aria-label="Help" title="Help (?)" onClick={() => { state.isHelpOpen.value = true; }}>?</button>
    </header>
  );
}

const isNew = ({ document: { base } }: State, { index, isRemoved }: Method) => base?.graph != null && !isRemoved && base.methods[index] === null;

/** Milliseconds after which a text that is typed is searched. */
const PAUSE = 120;

function SearchBox({ state }: { state: State }) {
  const [isOpen, setOpen] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const query = state.query.value;
  /** The hit that is gone to, of a query. */
  const [gone, setGone] = useState({ query: "", at: -1 });
  const active = gone.query === query ? gone.at : -1;
  const setActive = (at: number, of = query) => setGone({ query: of, at });
  /** What is typed and not yet searched. */
  const [typed, setTyped] = useState<string | null>(null);
  const timer = useRef(0);
  const text = typed ?? query;
  const searchFor = (next: string) => {
    clearTimeout(timer.current);
    setTyped(null);
    state.query.value = next;
  };
  const type = (next: string) => {
    clearTimeout(timer.current);
    setTyped(next);
    setOpen(true);
    timer.current = window.setTimeout(() => searchFor(next), PAUSE);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  const hits = useMemo(() => search(state.methods, query, state.methodIndex.value), [query, state.methodIndex.value]);
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => { list.current?.children[active]?.scrollIntoView({ block: "nearest" }); }, [active]);
  const go = (at: number, found = hits, of = query) => {
    const hit = found[at];
    if (!hit) return;
    setActive(at, of);
    // What was found is below the list.
    setOpen(false);
    state.select(hit.selection, { method: hit.method });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") { searchFor(""); setOpen(false); input.current?.blur(); }
    else if (event.key === "Enter" && typed !== null) {
      searchFor(typed);
      go(0, search(state.methods, typed, state.methodIndex.value), typed);
    } else if (event.key === "Enter") go(hits.length === 0 ? -1 : (Math.max(active, -1) + (event.shiftKey ? hits.length - 1 : 1)) % hits.length);
    else if (event.key === "ArrowDown") { setOpen(true); setActive(Math.min(hits.length - 1, active + 1)); }
    else if (event.key === "ArrowUp") setActive(Math.max(0, active - 1));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="search" onFocusOut={(event) => { if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOpen(false); }}>
      <input ref={input} id="search" role="combobox" aria-expanded={isOpen && query !== ""} {...(isOpen && query !== "" ? { "aria-controls": "hits" } : {})} aria-autocomplete="list" {...(active >= 0 && isOpen ? { "aria-activedescendant": `hit${active}` } : {})}
        placeholder="Search ( / )" aria-label="Search operators, values and sources" value={text} onInput={(event) => type(event.currentTarget.value)} onFocus={() => setOpen(true)} onKeyDown={onKeyDown} />
      {query !== "" && <span class="hits" aria-live="polite">{hits.length >= 200 ? "200+" : counted(hits.length, "hit")}</span>}
      {isOpen && query !== "" && (
        <ul id="hits" role="listbox" aria-label="Hits" ref={list}>
          {hits.slice(0, 100).map((hit, at) => (
            <li key={at} id={`hit${at}`} role="option" aria-selected={at === active} onMouseDown={(event) => { event.preventDefault(); go(at); }}>
              <Swatch kind={hit.kind} isDark={state.isDark.value} /> <b><bdi>{hit.title}</bdi></b> <span class="quiet"><bdi>{hit.text}</bdi></span>{hit.method !== state.methodIndex.value && <span class="quiet"> in {state.methods[hit.method]?.name}</span>}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
