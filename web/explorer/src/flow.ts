// What is passed from call to call, and from operation to operation: how many values pass each position, and what leaves
// a range of them. Pure; computed once for each method and payload.
import type { PayloadData } from "./document";
import { type Method, sizesOf } from "./model";

export interface Flow {
  /** For each position, how many values are written at or before it and read after it. */
  readonly passing: Int32Array;
  /** The type of the last value that a range writes and passes on; "" if there is none. */
  leaving(start: number, end: number): string;
  /** Channels and size of a range of convolutions: `32→96 · 56×56`; "" if what leaves it is no image. */
  image(start: number, end: number): string;
}
interface Step { reads: readonly number[]; writes: readonly number[] }

/** Values as steps see them; `channels` is the dimension of four. */
interface Values {
  readonly outputs: readonly number[];
  typeOf(value: number): string;
  isConstant(value: number): boolean;
  readonly channels: number;
}

function flowThrough(steps: readonly Step[], { outputs, typeOf, isConstant, channels }: Values): Flow {
  const writer = new Map<number, number>();
  const last = new Map<number, number>();
  const passing = new Int32Array(steps.length + 1);
  steps.forEach(({ reads, writes }, at) => {
    for (const read of reads) if (writer.has(read)) last.set(read, at);
    for (const write of writes) if (!writer.has(write)) writer.set(write, at);
  });
  for (const output of outputs) last.set(output, steps.length);
  for (const [value, at] of writer) {
    const end = last.get(value) ?? at;
    passing[at]!++;
    if (end <= steps.length) passing[Math.max(at, end)]!--;
  }
  for (let at = 1; at <= steps.length; at++) passing[at]! += passing[at - 1]!;
  const leaving = (start: number, end: number): string => {
    for (let at = Math.min(end, steps.length) - 1; at >= start; at--) {
      const found = steps[at]!.writes.find((value) => (last.get(value) ?? -1) >= end);
      if (found !== undefined) return typeOf(found);
    }
    return "";
  };
  const sizes = (type: string) => (sizesOf(type).includes("×") ? sizesOf(type).split("×") : []);
  return {
    passing, leaving,
    image(start, end) {
      const out = sizes(leaving(start, end));
      if (out.length !== 4) return "";
      const read = steps[start]?.reads.filter((value) => !isConstant(value)) ?? [];
      const entering = read.map((value) => sizes(typeOf(value))).find(({ length }) => length === 4);
      const [from, to] = [entering?.[channels], out[channels]];
      const area = out.filter((_, axis) => axis > 0 && axis !== channels).join("×");
      return `${from === undefined || from === to ? to : `${from}→${to}`} · ${area}`;
    },
  };
}

const flows = new WeakMap<Method, Flow>();
export function flowOf(method: Method): Flow {
  let found = flows.get(method);
  if (!found) {
    const base = (value: number) => method.values[value]?.base ?? value;
    const steps = method.order.map((index): Step => {
      const { reads = [], writes = [] } = method.calls[index]!.data;
      return { reads: reads.map(([read]) => base(read)), writes: writes.map(base) };
    });
    flows.set(method, (found = flowThrough(steps, {
      outputs: method.data.outputs.map(([value]) => base(value)), typeOf: (value) => method.values[value]?.type ?? "",
      isConstant: (value) => method.values[value]?.content === "constant", channels: 1,
    })));
  }
  return found;
}
const payloadFlows = new WeakMap<PayloadData, Flow>();
export function payloadFlow(payload: PayloadData): Flow {
  let found = payloadFlows.get(payload);
  if (!found) {
    // Channels of XNNPACK are the last dimension.
    payloadFlows.set(payload, (found = flowThrough(payload.nodes, {
      outputs: payload.outputs, typeOf: (value) => payload.values[value]?.type ?? "",
      isConstant: (value) => payload.values[value]?.bytes !== undefined, channels: 3,
    })));
  }
  return found;
}
