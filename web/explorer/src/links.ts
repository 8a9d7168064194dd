// Which part of the program a path, a line or a range of bytes is about, and the other way round. Pure.
import { type Selection, formatSelection } from "./address";
import type { ReportDocument } from "./document";
import { type Method, payloadOf } from "./model";
import type { Part } from "./tree";

export interface Target { method: number; selection: Selection }

/** `methods.forward.instructions[3].args[0]` and `weight (methods.forward.values[0])`. */
export function targetOfPath(methods: readonly Method[], path: string): Target | null {
  const match = /methods\.(.+?)\.(instructions|values|delegates)\[(\d+)\](?:\.payload\.(nodes|values)\[(\d+)\])?/.exec(path);
  if (!match) return null;
  const [, name, kind, index, inner, number] = match;
  const method = methods.find((found) => found.data.name === name);
  if (!method) return null;
  const at = Number(index);
  if (kind === "instructions") return at < method.data.nodes.length ? { method: method.index, selection: { kind: "instruction", index: at } } : null;
  if (kind === "values") return at < method.data.values.length ? { method: method.index, selection: { kind: "value", index: at } } : null;
  return ofDelegate(method, at, inner, Number(number));
}
function ofDelegate(method: Method, delegate: number, inner: string | undefined, number: number): Target | null {
  const call = method.calls.find(({ data, change }) => data.delegate === delegate && change !== "removed");
  if (!call) return null;
  const payload = payloadOf(method, call);
  const operation = !payload || inner === undefined ? -1
    : inner === "nodes" ? (number < payload.nodes.length ? number : -1)
      : payload.nodes.findIndex(({ reads, writes }) => reads.includes(number) || writes.includes(number));
  return { method: method.index, selection: operation < 0 ? { kind: "instruction", index: call.index } : { kind: "operation", index: call.index, operation } };
}

/** Selections by line of the YAML. */
export function targetsOfLines(document: ReportDocument, methods: readonly Method[]): Map<number, Target> {
  const targets = new Map<number, Target>();
  const add = (line: number | undefined, target: Target | null) => { if (line && target && !targets.has(line)) targets.set(line, target); };
  document.text?.methods?.forEach((lines, index) => {
    const method = methods[index];
    if (!method) return;
    lines.nodes.forEach((line, at) => add(line, { method: index, selection: { kind: "instruction", index: at } }));
    lines.delegates?.forEach(({ line, nodes, values }, at) => {
      add(line, ofDelegate(method, at, undefined, 0));
      nodes?.forEach((own, operation) => add(own, ofDelegate(method, at, "nodes", operation)));
      values?.forEach((own, value) => add(own, ofDelegate(method, at, "values", value)));
    });
    lines.values.forEach((line, at) => add(line, { method: index, selection: { kind: "value", index: at } }));
  });
  return targets;
}
/** The line of a selection, or null if the YAML has none for it. */
export function lineOf(document: ReportDocument, method: Method, selection: Selection): number | null {
  const lines = document.text?.methods?.[method.index];
  if (!lines || document.text?.text == null) return null;
  const call = selection.kind === "group" ? undefined : selection.kind === "value" ? undefined : method.calls[selection.index];
  switch (selection.kind) {
    case "instruction": return lines.nodes[selection.index] || null;
    case "operation": return (call?.data.delegate === undefined ? 0 : lines.delegates?.[call.data.delegate]?.nodes?.[selection.operation]) || null;
    case "value": return lines.values[selection.index] || null;
    case "group": return null;
  }
}

/** Kinds of `elements` of the bytes. */
const ELEMENT = { instruction: 1, value: 2, delegate: 3 } as const;
export function targetOfRegion(document: ReportDocument, methods: readonly Method[], path: number): Target | null {
  const element = document.bytes?.elements?.[path];
  const text = document.bytes?.paths[path];
  if (element) {
    const [kind, method, index] = element;
    const found = methods[method];
    if (!found) return null;
    if (kind === ELEMENT.instruction && index < found.data.nodes.length) return { method, selection: { kind: "instruction", index } };
    if (kind === ELEMENT.value && index < found.data.values.length) return { method, selection: { kind: "value", index } };
    if (kind === ELEMENT.delegate) return (text && targetOfPath(methods, text)) || ofDelegate(found, index, undefined, 0);
  }
  return text ? targetOfPath(methods, text) : null;
}
export const isSameTarget = (a: Target | null, b: Target | null): boolean =>
  a !== null && b !== null && a.method === b.method && textOf(a.selection) === textOf(b.selection);
/** An output is its value. */
const textOf = (selection: Selection): string =>
  (selection.kind === "value" ? `v${selection.index}` : formatSelection(selection));

/** The selection of a part of the graph. Several inputs or outputs in one box are a group. */
export function selectionOf({ data }: Method, { kind, id, start, call, operation }: Part): Selection {
  const group: Selection = { kind: "group", id };
  switch (kind) {
    case "call": return { kind: "instruction", index: call! };
    case "operation": return { kind: "operation", index: call!, operation: operation! };
    case "group": return group;
    case "input": {
      const value = id === "inputs" ? undefined : data.inputs[start];
      return value === undefined ? group : { kind: "value", index: value };
    }
    case "output": {
      const value = id === "outputs" ? undefined : data.outputs[start]?.[0];
      return value === undefined ? group : { kind: "value", index: value, output: start };
    }
  }
}

/** Findings, or differences, about a selection, with those of its values and its delegate. */
export function marksOf(method: Method, selection: Selection, key: "findings" | "differences"): number[] {
  const marks = new Set<number>();
  const add = (list: number[] | undefined) => list?.forEach((index) => marks.add(index));
  if (selection.kind === "value") add(method.values[selection.index]?.[key]);
  if (selection.kind === "instruction" || selection.kind === "operation") {
    const call = method.calls[selection.index];
    if (!call) return [];
    add(call.data[key]);
    if (call.data.delegate !== undefined) add(method.data.delegates[call.data.delegate]?.[key]);
    for (const value of [...(call.data.args ?? []), ...(call.data.writes ?? [])]) if (value !== null) add(method.values[value]?.[key]);
  }
  return [...marks];
}
/** By index of a finding or difference, what it is about. */
export function targetsOfMarks(methods: readonly Method[], key: "findings" | "differences"): Map<number, Target> {
  const targets = new Map<number, Target>();
  const add = (marks: number[] | undefined, target: Target) => marks?.forEach((mark) => { if (!targets.has(mark)) targets.set(mark, target); });
  for (const method of methods) {
    for (const { data, index } of method.calls) {
      add(data[key], { method: method.index, selection: { kind: "instruction", index } });
      if (data.delegate !== undefined) add(method.data.delegates[data.delegate]?.[key], { method: method.index, selection: { kind: "instruction", index } });
    }
    method.values.forEach((value, index) => add(value[key], { method: method.index, selection: { kind: "value", index } }));
  }
  return targets;
}

// Severities of findings, the highest first.
const SEVERITIES = ["malformed", "invalid", "suspicious", "note"];
/**
 * The highest severity of the findings about a range of the order of a method. A finding about a value is at the call that
 * writes it, or else at the first that reads it.
 */
export function severitiesOf(document: ReportDocument, method: Method): { most(start: number, end: number): string | null } {
  const all = document.files.flatMap(({ findings = [] }) => findings);
  const rank = (marks: readonly number[] = []) => {
    const found = marks.map((mark) => SEVERITIES.indexOf(all[mark]?.severity ?? "note")).filter((at) => at >= 0);
    return Math.min(SEVERITIES.length, ...found);
  };
  const ranks = new Map<number, number>();
  const add = (call: number, found: number) => ranks.set(call, Math.min(found, ranks.get(call) ?? SEVERITIES.length));
  const places = new Map<number, number>();
  for (const key of ["writes", "args"] as const) {
    for (const { data, index } of method.calls) {
      for (const value of data[key] ?? []) if (value !== null && !places.has(value)) places.set(value, index);
    }
  }
  for (const { data, index } of method.calls) {
    add(index, rank(data.findings));
    if (data.delegate !== undefined) add(index, rank(method.data.delegates[data.delegate]?.findings));
  }
  method.values.forEach(({ findings }, value) => {
    const place = places.get(value);
    if (findings && place !== undefined) add(place, rank(findings));
  });
  const positions = method.order.map((call, at) => ({ at, rank: ranks.get(call) ?? SEVERITIES.length }))
    .filter(({ rank: found }) => found < SEVERITIES.length);
  return {
    most(start, end) {
      let least = SEVERITIES.length;
      for (const { at, rank: found } of positions) if (start <= at && at < end) least = Math.min(least, found);
      return SEVERITIES[least] ?? null;
    },
  };
}
