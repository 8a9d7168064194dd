// The planned memory of a pool as rectangles of time and address. Pure.
import type { PlannedTensor, Pool } from "./document";
import type { Method } from "./model";

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

export const fullOf = (pool: Pool): number => pool.tensors.reduce((most, { offset, bytes }) => Math.max(most, offset + bytes), Math.max(pool.bytes, 1));
export const aliveAt = (pool: Pool, time: number): PlannedTensor[] => pool.tensors.filter(({ alive }) => alive !== null && alive[0] <= time && time <= alive[1]).sort((a, b) => b.bytes - a.bytes);

export type Scale = "linear" | "logarithmic";
/** The scale on which small tensors can be seen in a picture of this height. */
export function scaleFor(pool: Pool, height: number): Scale {
  const sizes = pool.tensors.filter(({ alive }) => alive).map(({ bytes }) => bytes).sort((a, b) => a - b);
  const small = sizes[Math.floor(sizes.length / 4)] ?? 0;
  return sizes.length > 0 && (small / fullOf(pool)) * height < 6 ? "logarithmic" : "linear";
}
/** A function from addresses to 0..1. On the logarithmic scale, the height of a range between two borders of tensors is the logarithm of its size. */
export function addressScale(pool: Pool, scale: Scale): (address: number) => number {
  const full = fullOf(pool);
  if (scale === "linear") return (address) => address / full;
  const borders = [...new Set([0, full, ...pool.tensors.flatMap(({ offset, bytes }) => [offset, offset + bytes])])].sort((a, b) => a - b);
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
