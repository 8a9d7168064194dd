// Search for calls, operations of payloads, values and groups by name, type or source. Pure.
import type { Selection } from "./address";
import { type Method, outputName, parametersOf, payloadOf } from "./model";
import { compactType } from "./names";
import { type Part, isInner } from "./tree";

export interface Hit { readonly method: number; readonly selection: Selection; readonly title: string; readonly text: string; readonly kind: string }

interface Entry { readonly hit: Hit; readonly fields: readonly string[] }
const ENTRIES = new WeakMap<Method, readonly Entry[]>();
/** What can be found in a method, with the texts to search in lower case, made once. */
function entriesOf(method: Method): readonly Entry[] {
  const known = ENTRIES.get(method);
  if (known) return known;
  const entries: Entry[] = [];
  const at = method.index;
  const add = (hit: Omit<Hit, "method">, fields: readonly string[]) =>
    entries.push({ hit: { method: at, ...hit }, fields: fields.map((field) => field.toLowerCase()) });
  const outputs = new Set<number>();
  for (const call of method.calls) {
    const [written] = call.data.writes ?? [];
    if (written !== undefined) outputs.add(written);
    const output = outputName(method, call);
    const text = [output, parametersOf(method, call)].filter((part) => part !== "").join(", ");
    const delegate = call.data.delegate === undefined ? "" : method.data.delegates[call.data.delegate]?.name ?? "";
    const frames = (call.data.trace ?? []).map((frame) => {
      const { file, line, context } = method.data.frames[frame] ?? {};
      return `${file ?? ""}:${line ?? ""} ${context ?? ""}`;
    });
    add({
      selection: { kind: "instruction", index: call.index }, title: call.name, kind: call.kind,
      text: `instruction ${call.index}${text ? `, ${text}` : ""}`,
    }, [call.name, call.label, output, delegate, text, ...frames]);
    payloadOf(method, call)?.nodes.forEach((node, operation) => add({
      selection: { kind: "operation", index: call.index, operation }, title: node.name, kind: node.kind ?? "other",
      text: `operation ${operation} of instruction ${call.index}`,
    }, [node.name]));
  }
  method.values.forEach((value, index) => {
    // A result is found as the call that writes it.
    if (outputs.has(index) || value.content === "literal" || value.name.startsWith("values[")) return;
    const text = compactType(value.type);
    add({ selection: { kind: "value", index }, title: value.name, text, kind: "input" }, [value.name, value.type]);
  });
  ENTRIES.set(method, entries);
  return entries;
}
const USERS = new WeakMap<Method, ReadonlyMap<number, readonly number[]>>();
/** The calls that have each value as an argument. */
function usersOf(method: Method): ReadonlyMap<number, readonly number[]> {
  const known = USERS.get(method);
  if (known) return known;
  const users = new Map<number, number[]>();
  for (const { index, data } of method.calls) {
    for (const value of new Set(data.args)) {
      if (value === null) continue;
      const list = users.get(value);
      if (list) list.push(index);
      else users.set(value, [index]);
    }
  }
  USERS.set(method, users);
  return users;
}

/** At most `most` hits; those whose name begins with the query are first. */
export function search(methods: readonly Method[], query: string, current: number, most = 200): Hit[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === "") return [];
  const ranked: { hit: Hit; rank: number }[] = [];
  for (const method of methods) {
    for (const { hit, fields } of entriesOf(method)) {
      let rank = Infinity;
      fields.forEach((field, at) => {
        const position = field.indexOf(wanted);
        if (position < 0) return;
        const own = (position === 0 ? 0 : 1) + (field.length === wanted.length ? -0.5 : 0) + at * 2;
        rank = Math.min(rank, own);
      });
      if (rank < Infinity) ranked.push({ hit, rank: rank + (method.index === current ? 0 : 10) });
    }
  }
  return ranked.sort((a, b) => a.rank - b.rank).slice(0, most).map(({ hit }) => hit);
}

/** How many hits are in each part of a method: a function from ranges of calls or operations. */
export function hitCounts(method: Method, query: string): (part: Part) => number {
  const hits = search([method], query, method.index, Infinity);
  const operations = new Set<string>();
  const calls = new Map<number, number>();
  const add = (index: number) => calls.set(index, (calls.get(index) ?? 0) + 1);
  for (const { selection } of hits) {
    if (selection.kind === "instruction") add(selection.index);
    if (selection.kind === "operation") { add(selection.index); operations.add(`${selection.index}.${selection.operation}`); }
    if (selection.kind === "value") usersOf(method).get(selection.index)?.forEach(add);
  }
  const sums = [0];
  method.order.forEach((index, at) => sums.push(sums[at]! + (calls.get(index) ?? 0)));
  const ports = new Set(hits.flatMap(({ selection }) => (selection.kind === "value" ? [selection.index] : [])));
  return (part) => {
    if (part.kind === "input" || part.kind === "output") {
      const values = part.kind === "input" ? method.data.inputs : method.data.outputs.map(([value]) => value);
      return values.slice(part.start, part.end).filter((value) => ports.has(value)).length;
    }
    if (!isInner(part)) return sums[part.end]! - sums[part.start]!;
    let count = 0;
    for (let at = part.start; at < part.end; at++) if (operations.has(`${part.call}.${at}`)) count++;
    return count;
  };
}
