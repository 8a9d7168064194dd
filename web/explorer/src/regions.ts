// Regions of the annotated bytes. Pure.
import type { Region } from "./document";

/** The index of the region that contains an offset. */
export function regionAt(regions: readonly Region[], offset: number): number {
  let [low, high] = [0, regions.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (regions[middle]![0] <= offset) low = middle;
    else high = middle - 1;
  }
  const found = regions[low];
  return found && found[0] <= offset && offset < found[0] + found[1] ? low : -1;
}
