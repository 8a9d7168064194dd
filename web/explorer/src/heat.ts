// Heat: a number for each part of the graph, of what is chosen in the toolbar. Pure.
import type { ReportDocument } from "./document";
import { type Method, constantBytes, macsOf, payloadOf } from "./model";
import { bytes, counted, decimal, duration } from "./names";
import { type Part, isInner } from "./tree";

export const HEATS = ["time", "constants", "MACs", "traffic", "differences"] as const;
export type Heat = (typeof HEATS)[number];

/** Nanoseconds per execution by instruction; empty without measurements. */
export function timesOf(document: ReportDocument, method: Method): Map<number, number> {
  const times = document.profile?.methods.find(({ index }) => index === method.index);
  const executions = Math.max(times?.executions.count ?? 1, 1);
  return new Map(times?.instructions.map(({ index, total }) => [index, total / executions]) ?? []);
}

/** Nanoseconds per execution by operation of a payload, `12.3`, from the events of the backend. */
export function operationTimes(document: ReportDocument, method: Method): Map<string, number> {
  const times = new Map<string, number>();
  const own = document.timeline?.executions.filter((execution) => execution.method === method.index) ?? [];
  for (const { events } of own) {
    for (const [, length, node, , operation] of events) {
      if (operation === undefined || operation === null) continue;
      const key = `${node}.${operation}`;
      times.set(key, (times.get(key) ?? 0) + length / own.length);
    }
  }
  return times;
}

/** A function from parts to numbers, and how these are printed. */
export interface Measurement {
  of(part: Part): number;
  text(value: number): string;
}
export function measurementOf(document: ReportDocument, method: Method, heat: Heat): Measurement {
  const number = ofCalls(document, method, heat);
  const inner = ofOperations(document, method, heat);
  // Sums of all calls before each position, so that a group of any size costs the same.
  const sums = [0];
  method.order.forEach((index, at) => sums.push(sums[at]! + number(index)));
  return {
    of(part) {
      if (part.kind === "input" || part.kind === "output") return 0;
      if (!isInner(part)) return sums[part.end]! - sums[part.start]!;
      let sum = 0;
      for (let at = part.start; at < part.end; at++) sum += inner(part.call!, at);
      return sum;
    },
    text: { time: duration, constants: bytes, traffic: bytes, MACs: (value: number) => `${decimal(value)} MAC`, differences: (value: number) => counted(value, "difference") }[heat],
  };
}
function ofCalls(document: ReportDocument, method: Method, heat: Heat): (index: number) => number {
  const call = (index: number) => method.calls[index]!;
  switch (heat) {
    case "time": { const times = timesOf(document, method); return (index) => times.get(index) ?? 0; }
    case "constants": return (index) => constantBytes(method, call(index));
    case "MACs": return (index) => macsOf(method, call(index));
    case "traffic": return (index) => { const { planned = 0, constant = 0, written = 0 } = call(index).data.work ?? {}; return planned + constant + written; };
    case "differences": return (index) => (call(index).change === null || call(index).change === "changed" ? (call(index).data.differences ?? []).length : 1);
  }
}
function ofOperations(document: ReportDocument, method: Method, heat: Heat): (index: number, operation: number) => number {
  const work = (index: number, operation: number) => payloadOf(method, method.calls[index]!)?.nodes[operation]?.work ?? {};
  switch (heat) {
    case "time": { const times = operationTimes(document, method); return (index, operation) => times.get(`${index}.${operation}`) ?? 0; }
    case "constants": return (index, operation) => work(index, operation).constant ?? 0;
    case "MACs": return (index, operation) => work(index, operation).macs ?? 0;
    case "traffic": return (index, operation) => { const { planned = 0, constant = 0, written = 0 } = work(index, operation); return planned + constant + written; };
    case "differences": return () => 0;
  }
}
/** The kinds of heat that a document has numbers for. */
export function heatsOf(document: ReportDocument, method: Method): Heat[] {
  return HEATS.filter((heat) => {
    if (heat === "time") return document.profile != null && timesOf(document, method).size > 0;
    if (heat === "differences") return document.changes != null;
    const number = ofCalls(document, method, heat);
    return method.calls.some(({ index }) => number(index) > 0);
  });
}
