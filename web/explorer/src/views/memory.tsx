// Planned memory: a picture of the plan of a pool, with two files one of each, and what is alive at an instruction.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { KINDS } from "../kinds";
import { bytes, change, compactType, counted, grouped, percent } from "../names";
import {
  type Plan, type PoolPlans, type Scale, addressScale, aliveAt, eventName, eventText, isPlanned, ownOf, ownValues,
  ownersOf, scaleFor, shownOf, timeIn,
} from "../plan";
import type { State } from "../state";
import { Facts, Swatch, useSize } from "./parts";
import { type Cursor, type KindOf, PlanPicture } from "./picture";
import { Table } from "./table";

const CHOICES = ["both", "before", "after"] as const;
const NONE: ReadonlySet<number> = new Set();

export function MemoryView({ state }: { state: State }) {
  const pools = state.plans.value;
  const [wanted, side, at] = ["pool", "plan", "at"].map((key) => state.settings.value.get(key));
  const [selection, method] = [state.selection.value, state.method.value];
  const chosen = useMemo(() => {
    const call = selection?.kind === "instruction" ? method?.calls[selection.index]?.data : undefined;
    const shown = selection?.kind === "value" ? [selection.index] : [...(call?.args ?? []), ...(call?.writes ?? [])];
    const plans = pools.flatMap((pool) => (pool.method === method?.index ? pool.plans : []));
    return new Map(plans.map((plan) => [plan, ownValues(plan, method!, shown.filter((value) => value !== null))]));
  }, [selection, method]);
  const ofMethod = pools.filter((pool) => pool.method === method?.index);
  const entry = pools.find(({ key }) => key === wanted)
    ?? ofMethod.find(({ plans }) => plans.some((plan) => isPlanned(plan, chosen.get(plan) ?? NONE)))
    ?? ofMethod.find(({ plans }) => plans.some(({ pool }) => pool.tensors.length > 0)) ?? pools[0];
  const [scale, setScale] = useState<Scale | null>(null);
  const [hovered, setHovered] = useState<Cursor | null>(null);
  const [range, setRange] = useState<[number, number] | null>(null);
  const holder = useRef<HTMLDivElement>(null);
  const { height } = useSize(holder);
  const kindsOf = useMemo(() => new Map(entry?.plans.map((plan) => [plan, kindsIn(plan)])), [entry]);
  useEffect(() => { setRange(null); setScale(null); }, [entry]);
  const all = useMemo(() => entry?.plans.map(({ pool }) => pool) ?? [], [entry]);
  const kind = scale ?? scaleFor(all, state.isNarrow() ? height / all.length : height);
  // Each picture has the scales of both plans, so that they can be compared, also one after the other.
  const part = useMemo(() => addressScale(all, kind), [all, kind]);
  if (!entry) return <p class="message">No memory is planned.</p>;
  const owner = state.methods[entry.method];
  const isPair = owner?.older != null && state.document.base?.memory != null;
  const choice = (isPair && CHOICES.find((name) => name === side)) || "both";
  const plans = entry.plans.filter((plan) => choice === "both" || plan.side === choice);
  const times = Math.max(...entry.plans.map(({ memory }) => memory.instructions.length)) + 2;
  const cursor = hovered ?? (at === undefined ? null : cursorOf(at));
  const under = plans.find((plan) => plan.side === cursor?.side);
  const pin = ({ side: of, time }: Cursor) => state.setting("at", of === "before" ? `before-${time}` : String(time));
  const timeOf = (plan: Plan): number | null => {
    if (owner && under && cursor) return timeIn(owner, under, plan, cursor.time);
    if (selection?.kind !== "instruction" || method?.index !== entry.method) return plan.pool.peak.time;
    const own = ownOf(method, plan.side, "calls", selection.index);
    return own < 0 ? null : own + 1;
  };
  const listed = under ?? plans.findLast((plan) => timeOf(plan) !== null) ?? plans[plans.length - 1];
  const choose = (plan: Plan) => (value: number) => {
    const shown = owner ? shownOf(owner, plan.side, "values", value) : -1;
    if (shown < 0) return;
    state.select({ kind: "value", index: shown }, { method: entry.method });
    // The list of what is alive stays as it is.
    state.setting("at", at ?? null);
  };
  const isDark = state.isDark.value;
  const kinds = new Set(plans.flatMap((plan) => plan.pool.tensors.map(({ value }) => kindsOf.get(plan)!(value))));
  const { before, name: after } = state.document;
  const titleOf = (name: string) => (name === "input" ? "input, state" : KINDS.get(name)?.title ?? name);
  return (
    <div class="split">
      <div class="main">
        <div class="bar">
          {pools.length > 1 && <label>Pool <select value={entry.key}
            onChange={(event) => { state.setting("pool", event.currentTarget.value); state.setting("at", null); }}>
            {pools.map(({ key, title }) => <option value={key}>{title}</option>)}</select></label>}
          {isPair && <label>Plan <select value={choice}
            onChange={(event) => state.setting("plan", event.currentTarget.value)}>
            {CHOICES.map((name) => <option>{name}</option>)}</select></label>}
          <label>Scale <select value={kind} onChange={(event) => setScale(event.currentTarget.value as Scale)}>
            <option>linear</option><option>logarithmic</option></select></label>
          {range && <button type="button" onClick={() => setRange(null)}>Show all</button>}
          {!isPair && plans.map(({ pool }) => <span class="quiet">{bytes(pool.bytes)}; {bytes(pool.unshared)} without
            sharing; lower bound {bytes(pool.lower_bound)}</span>)}
          <span class="legend">
            {[...kinds].map((name) => <span><Swatch kind={name} isDark={isDark} /> {titleOf(name)}</span>)}
          </span>
        </div>
        <div class="plans" ref={holder}>
          {plans.length === 0 && <p class="message">Nothing is planned {choice}.</p>}
          {plans.map((plan) => (
            <div class="plan" key={plan.side}>
              {isPair && <h3>{plan.side} <bdi>{plan.side === "before" ? before : after}</bdi></h3>}
              <PlanPicture plan={plan} part={part} range={range} times={times} cursor={timeOf(plan)} isDark={isDark}
                chosen={chosen.get(plan) ?? NONE} kindOf={kindsOf.get(plan)!}
                onHover={setHovered} onPin={pin} onRange={setRange} onChoose={choose(plan)} />
            </div>
          ))}
        </div>
      </div>
      <div class="aside" aria-live="polite">
        {isPair && <Totals state={state} entry={entry} />}
        {listed && <Alive state={state} entry={entry} plan={listed} time={timeOf(listed) ?? listed.pool.peak.time}
          title={isPair ? listed.side : "at"} chosen={selection?.kind === "value" ? chosen.get(listed) ?? NONE : NONE}
          kindOf={kindsOf.get(listed)!} onChoose={choose(listed)} />}
      </div>
    </div>
  );
}

/** The kind of what writes a value. State belongs to the method as inputs do; an operator only updates it. */
function kindsIn({ owner }: Plan): KindOf {
  const owners = ownersOf(owner);
  return (value) => (owner?.values[value]?.content === "state" ? "input" : undefined) ?? owners.get(value)?.kind
    ?? (owner?.data.inputs.includes(value) ? "input" : "other");
}
/** The cursor of an address, `12` or `before-12`. */
function cursorOf(at: string): Cursor {
  const isBefore = at.startsWith("before-");
  return { side: isBefore ? "before" : "after", time: Number(isBefore ? at.slice(7) : at) };
}
interface Place { state: State; entry: PoolPlans; plan: Plan; time: number }
/** A button that selects the instruction of a time. */
function Event({ state, entry, plan: { side, memory }, time, text }: Place & { text: typeof eventText }) {
  const isCall = time >= 1 && time <= memory.instructions.length;
  const index = isCall ? shownOf(state.methods[entry.method]!, side, "calls", time - 1) : -1;
  const title = text(memory.instructions, time);
  const select = () => state.select({ kind: "instruction", index }, { method: entry.method });
  return index < 0 ? <>{title}</> : <button type="button" class="inline" onClick={select}>{title}</button>;
}
/** Bytes of both plans, and what needs the most. */
function Totals({ state, entry }: { state: State; entry: PoolPlans }) {
  const [before, after] = (["before", "after"] as const).map((side) => entry.plans.find((plan) => plan.side === side));
  const row = (title: string, key: "bytes" | "lower_bound" | "unshared") => {
    const [old, now] = [before?.pool[key] ?? 0, after?.pool[key] ?? 0];
    if (old === now) return [title, `${grouped(now)} B, as before`] as const;
    const share = old > 0 ? ` (${now < old ? "−" : "+"}${percent(Math.abs(now - old), old)})` : "";
    return [title, <>{grouped(old)} → {grouped(now)} B: <span class="whole">{change(old, now)}{share}</span></>] as const;
  };
  const peak = (plan: Plan | undefined) =>
    plan ? <Event state={state} entry={entry} plan={plan} time={plan.pool.peak.time} text={eventName} /> : "nothing";
  return <Facts rows={[
    row("planned", "bytes"), row("peak", "lower_bound"), ["peak at", <>{peak(before)} → {peak(after)}</>],
    row("unshared", "unshared"),
  ]} />;
}
function Alive({ title, chosen, kindOf, onChoose, ...place }: Place & {
  title: string; chosen: ReadonlySet<number>; kindOf: KindOf; onChoose: (value: number) => void;
}) {
  const { state, plan, time } = place;
  const alive = aliveAt(plan.pool, time);
  const sum = alive.reduce((total, tensor) => total + tensor.bytes, 0);
  return <>
    <Facts rows={[[title, <Event {...place} text={eventText} />],
      ["alive", `${bytes(sum)} in ${counted(alive.length, "tensor")}`]]} />
    <Table label="tensors that are alive" rows={alive} onChoose={({ value }) => onChoose(value)}
      isChosen={({ value }) => chosen.has(value)} columns={[
        { title: "tensor", value: ({ name }) => name, show: ({ name, value }) =>
          <><Swatch kind={kindOf(value)} isDark={state.isDark.value} /> <bdi>{name}</bdi></> },
        { title: "type", value: ({ type }) => compactType(type), width: "minmax(80px, 1.4fr)" },
        { title: "bytes", value: ({ bytes: size }) => size, isNumber: true },
        { title: "address", value: ({ offset }) => grouped(offset), isNumber: true },
      ]} />
  </>;
}
