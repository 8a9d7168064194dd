// The repetition in a sequence of names, such as the layers of a transformer. Pure.

/** Most names of a layer. */
const MOST = 200;
/** Part of the names that agree with those one period before. */
const AGREE = 0.9;
// Names of a layer that decide where the next one begins, which is less than half a layer from where it is expected.
const HEAD = 6;
const SHIFT = 4;

/**
 * Where each repetition begins, and where the last one ends; null if the names do not repeat. The number of steps is at
 * most the length times the longest period; a period is given up after some misses.
 */
export function periodOf(names: readonly string[], least = 8): number[] | null {
  const numbers = new Map<string, number>();
  const ids = Int32Array.from(names, (name) => {
    let id = numbers.get(name);
    if (id === undefined) numbers.set(name, (id = numbers.size));
    return id;
  });
  for (let period = least; period <= Math.min(MOST, names.length / 2); period++) {
    let misses = Math.floor((1 - AGREE) * (names.length - period));
    for (let at = period; at < ids.length && misses >= 0; at++) if (ids[at] !== ids[at - period]) misses--;
    if (misses < 0) continue;
    const found = boundsOf(ids, period);
    if (found) return found;
  }
  return null;
}
function boundsOf(ids: Int32Array, period: number): number[] | null {
  const isEqual = (a: number, b: number, count: number) => {
    if (b < 0 || b + count > ids.length) return false;
    for (let step = 0; step < count; step++) if (ids[a + step] !== ids[b + step]) return false;
    return true;
  };
  // One name that is repeated is no layer.
  if (ids.every((id) => id === ids[0])) return null;
  let start = 0;
  while (start + 2 * period <= ids.length && !isEqual(start, start + period, period)) start++;
  if (start + 2 * period > ids.length) return null;
  const bounds = [start, start + period];
  for (let at = start + period; ;) {
    // What an older file had, or one instruction more or less, moves the layers after it.
    const farthest = Math.min(SHIFT, Math.ceil(period / 2) - 1);
    const nearest = (_: unknown, number: number) => (number % 2 === 1 ? (number + 1) / 2 : -number / 2);
    const shifts = Array.from({ length: 2 * farthest + 1 }, nearest);
    const shift = shifts.find((step) => isEqual(start, at + step, Math.min(HEAD, period)));
    if (shift === undefined || at + shift + period > ids.length) break;
    bounds[bounds.length - 1] = at + shift;
    at += shift + period;
    bounds.push(at);
  }
  return bounds.length > 2 ? bounds : null;
}
