// The planned memory of a pool as rectangles of time and address; of two files, that of both. Pure.
import type { MemoryMethod, PlannedTensor, Pool, ReportDocument } from "./document";
import { type Method, methodsOf } from "./model";
import { shortName } from "./names";

export type Side = "before" | "after";
/** A pool of one file. Its values and instructions have the numbers of that file. */
export interface Plan {
  readonly side: Side;
  readonly memory: MemoryMethod;
  readonly pool: Pool;
  readonly owner: Method | undefined;
}
/** The same pool of each file that has it. */
export interface PoolPlans {
  readonly key: string; readonly title: string; readonly method: number; readonly plans: readonly Plan[];
}

export function plansOf({ memory, base, ...document }: ReportDocument, methods: readonly Method[]): PoolPlans[] {
  const older = base?.memory ? methodsOf({ ...document, graph: base.graph }) : [];
  const removed = methods.filter(({ isRemoved }) => isRemoved).map(({ index }) => [undefined, index] as const);
  return [...(memory?.methods ?? []).map((after, index) => [after, index] as const), ...removed].flatMap(([after, method]) => {
    const number = methods[method]?.older?.method ?? -1;
    const planOf = (side: Side, of: MemoryMethod | undefined, owner: Method | undefined) =>
      (of?.pools ?? []).map((pool): Plan => ({ side, memory: of!, pool, owner }));
    const before = planOf("before", base?.memory?.methods[number], older[number]);
    const all = [...before, ...planOf("after", after, methods[method])];
    return [...new Set(all.map(({ pool }) => pool.pool))].sort((a, b) => a - b).map((pool) => {
      const plans = all.filter((plan) => plan.pool.pool === pool);
      const name = after?.name ?? methods[method]!.name;
      const title = `${name}, pool ${pool} (${plans[0]!.pool.device})`;
      return { key: `${name}/${pool}`, title, method, plans };
    });
  });
}
/** The number that a value or call of a method with both files has in one of them; -1 if that file does not have it. */
export function ownOf(method: Method, side: Side, key: "values" | "calls", shown: number): number {
  if (side === "before") return method.older?.[key][shown] ?? -1;
  return !method.isRemoved && shown < (key === "values" ? method.data.values : method.data.nodes).length ? shown : -1;
}
export const shownOf = (method: Method, side: Side, key: "values" | "calls", own: number): number =>
  (side === "before" ? method.older?.[key].indexOf(own) ?? -1 : own);
/** Numbers in a plan of values of the method that is shown, with those of the values whose memory they have. */
export function ownValues({ side, owner }: Plan, method: Method, shown: readonly number[]): Set<number> {
  const numbers = shown.map((value) => ownOf(method, side, "values", value)).filter((own) => own >= 0);
  return new Set(numbers.flatMap((own) => [owner?.values[own]?.base ?? own, own]));
}
export const isPlanned = ({ pool }: Plan, own: ReadonlySet<number>): boolean =>
  pool.tensors.some(({ value }) => own.has(value));
/** When the instruction of a time in one plan is executed in another; null if it is not. */
export function timeIn(method: Method, from: Plan, to: Plan, time: number): number | null {
  if (from === to || time <= 0) return time;
  if (time > from.memory.instructions.length) return to.memory.instructions.length + 1;
  const own = ownOf(method, to.side, "calls", shownOf(method, from.side, "calls", time - 1));
  return own < 0 ? null : own + 1;
}

/** The first call that writes each value, with the kind of its operator. */
export function ownersOf(method: Method | undefined): Map<number, { kind: string; call: number }> {
  const owners = new Map<number, { kind: string; call: number }>();
  for (const { data, kind, index, change } of method?.calls ?? []) {
    if (change === "removed") continue;
    for (const write of data.writes ?? []) {
      const value = method?.values[write]?.base ?? write;
      if (!owners.has(value)) owners.set(value, { kind, call: index });
      if (!owners.has(write)) owners.set(write, { kind, call: index });
    }
  }
  return owners;
}

const tensorsOf = (pools: readonly Pool[]) => pools.flatMap(({ tensors }) => tensors);
export const fullOf = (pools: readonly Pool[]): number => {
  const planned = Math.max(1, ...pools.map(({ bytes }) => bytes));
  return tensorsOf(pools).reduce((most, { offset, bytes }) => Math.max(most, offset + bytes), planned);
};
export const aliveAt = (pool: Pool, time: number): PlannedTensor[] => pool.tensors.filter(({ alive }) => alive !== null && alive[0] <= time && time <= alive[1]).sort((a, b) => b.bytes - a.bytes);

export type Scale = "linear" | "logarithmic";
/** The scale on which small tensors can be seen in a picture of this height. */
export function scaleFor(pools: readonly Pool[], height: number): Scale {
  const sizes = tensorsOf(pools).filter(({ alive }) => alive).map(({ bytes }) => bytes).sort((a, b) => a - b);
  const small = sizes[Math.floor(sizes.length / 4)] ?? 0;
  return sizes.length > 0 && (small / fullOf(pools)) * height < 6 ? "logarithmic" : "linear";
}
/**
 * A function from addresses in any of the pools to 0..1. On the logarithmic scale, the height of a range between two
 * borders of tensors is the logarithm of its size.
 */
export function addressScale(pools: readonly Pool[], scale: Scale): (address: number) => number {
  const full = fullOf(pools);
  if (scale === "linear") return (address) => address / full;
  const ends = tensorsOf(pools).flatMap(({ offset, bytes }) => [offset, offset + bytes]);
  const borders = [...new Set([0, full, ...ends])].sort((a, b) => a - b);
  const sums = [0];
  for (let at = 1; at < borders.length; at++) sums.push(sums[at - 1]! + Math.log2(2 + (borders[at]! - borders[at - 1]!) / 16));
  const total = sums[sums.length - 1]!;
  return (address) => {
    let [low, high] = [0, borders.length - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (borders[middle]! <= address) low = middle;
      else high = middle;
    }
    const span = borders[high]! - borders[low]!;
    const part = span === 0 ? 0 : (address - borders[low]!) / span;
    return (sums[low]! + (sums[high]! - sums[low]!) * part) / Math.max(total, 1e-9);
  };
}
/** What happens at a time of the plan: 0 is when the inputs are set, `n` is instruction `n - 1`. */
export function eventText(instructions: readonly string[], time: number): string {
  if (time <= 0) return "the inputs are set";
  if (time > instructions.length) return "the outputs are read";
  return `instruction ${time - 1}, ${instructions[time - 1] ?? ""}`;
}
/** The operator of a time in one word. */
export const eventName = (instructions: readonly string[], time: number): string =>
  (time <= 0 ? "inputs" : time > instructions.length ? "outputs" : shortName(instructions[time - 1] ?? ""));
