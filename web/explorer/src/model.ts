// A method as the views use it: its calls in the order in which they are drawn, with what an older file had and this one
// has not. All of it is derived from the document; nothing here knows of the page.
import type { Callee, Difference, MethodData, NodeData, OperationData, PayloadData, ReportDocument, ValueData } from "./document";
import { counted, shortName } from "./names";

export type Change = "added" | "removed" | "changed";

export interface Call {
  /** The instruction; removed ones follow the instructions of the method. */
  readonly index: number;
  readonly data: NodeData;
  readonly label: string;
  readonly name: string;
  readonly kind: string;
  readonly change: Change | null;
  readonly callee: Callee | undefined;
}
/** A value of a method; one without a name has "". */
export interface Value extends ValueData { name: string; type: string }
export interface Method {
  readonly index: number;
  readonly data: MethodData;
  readonly name: string;
  readonly calls: readonly Call[];
  /** Indices of `calls` in the order of execution; removed ones are after what they followed. */
  readonly order: readonly number[];
  readonly values: readonly Value[];
  readonly payloads: readonly PayloadData[];
  /** With two files, true if only the older one has the method; its numbers are those of that file. */
  readonly isRemoved: boolean;
  /** With two files, the older method, and by call and value its number there; null for an added one. */
  readonly older: Older | null;
}
export interface Older {
  readonly method: number;
  readonly calls: readonly (number | null)[];
  readonly values: readonly (number | null)[];
}
export interface Argument {
  readonly name: string;
  readonly type: string;
  readonly role: string;
  /** The number of the value, or null if it is written at its use or out of range. */
  readonly value: number | null;
  readonly text: string;
}

/** The methods of a document; those that only the older of two files has are after them. */
export function methodsOf(document: ReportDocument): Method[] {
  const { graph, base } = document;
  const differences = differencesOf(document);
  const methods = (graph?.methods ?? []).map((data, index): Method => {
    const sides = base?.methods[index];
    const isAdded = base?.graph != null && sides === null;
    const callOf = (method: MethodData, node: NodeData, at: number, change: Change | null): Call => {
      const callees = (change === "removed" ? base?.graph : graph)?.callees;
      const label = method.labels[node.label] ?? "";
      const callee = callees?.[method.callees?.[node.label] ?? -1];
      return { index: at, data: node, label, name: shortName(label), kind: callee?.kind ?? (node.delegate === undefined ? "other" : "delegate"), change, callee };
    };
    const changeOf = (node: NodeData, at: number): Change | null => {
      if (isAdded || (sides && sides.nodes[at] === null)) return "added";
      return (node.differences ?? []).some((difference) => differences[difference]?.area !== "layout") ? "changed" : null;
    };
    const calls = data.nodes.map((node, at) => callOf(data, node, at, changeOf(node, at)));
    const order = data.nodes.map((_, at) => at);
    const old = sides && base?.graph?.methods[sides.method];
    const values = data.values.map(valueOf);
    const older = sides && old ? { method: sides.method, calls: [...sides.nodes], values: [...sides.values] } : null;
    if (old && older) addRemoved(old, older, calls, order, values, callOf);
    const name = data.name || `method ${index}`;
    return { index, data, name, calls, order, values, payloads: graph?.payloads ?? [], isRemoved: false, older };
  });
  return [...methods, ...removedMethods(document, methods)];
}
function removedMethods({ base, ...document }: ReportDocument, methods: readonly Method[]): Method[] {
  if (!base?.graph || document.graph == null) return [];
  const kept = new Set(methods.map(({ older }) => older?.method));
  // Findings are those of the newer file.
  const own = methodsOf({ ...document, graph: base.graph });
  return own.filter(({ index }) => !kept.has(index)).map((method, at) => ({
    ...method, index: methods.length + at, isRemoved: true, data: { ...method.data, findings: [] },
    calls: method.calls.map((call) => ({ ...call, data: { ...call.data, findings: [] }, change: "removed" as const })),
    values: method.values.map((value) => ({ ...value, findings: [] })),
    older: { method: method.index, calls: method.calls.map((_, call) => call), values: method.values.map((_, value) => value) },
  }));
}

/** Adds the instructions that only the older method has, with their values, and the numbers of both to `older`. */
function addRemoved(
  old: MethodData, older: { calls: (number | null)[]; values: (number | null)[] }, calls: Call[],
  order: number[], values: Value[],
  callOf: (method: MethodData, node: NodeData, at: number, change: Change) => Call,
): void {
  const newOf = new Map<number, number>();
  older.calls.forEach((from, at) => { if (from !== null) newOf.set(from, at); });
  const keptValues = new Map<number, number>();
  older.values.forEach((from, at) => { if (from !== null) keptValues.set(from, at); });
  const value = (from: number | null): number | null => {
    if (from === null) return null;
    const found = keptValues.get(from);
    if (found !== undefined) return found;
    const added = old.values[from];
    if (!added) return null;
    const index = values.length;
    keptValues.set(from, index);
    older.values.push(from);
    const shown: Value = { ...valueOf(added), findings: [], differences: [] };
    values.push(shown);
    const base = value(added.base ?? null);
    if (base !== null) shown.base = base;
    return index;
  };
  const isNumber = (item: number | null): item is number => item !== null;
  let after = -1;
  old.nodes.forEach((node, at) => {
    const kept = newOf.get(at);
    if (kept !== undefined) { after = order.indexOf(kept); return; }
    const index = calls.length;
    newOf.set(at, index);
    const reads = (node.reads ?? []).flatMap(([read, ...writers]): [number, ...(number | null)[]][] => {
      const mapped = value(read);
      return mapped === null ? [] : [[mapped, ...writers.map((writer) => (writer === null ? null : newOf.get(writer) ?? null))]];
    });
    // The delegate is one of the older file, so that it has no payload here.
    const { delegate: _, jump: __, module: ___, trace: ____, ...rest } = node;
    const moved: NodeData = { ...rest, args: (node.args ?? []).map(value), writes: (node.writes ?? []).map(value).filter(isNumber), reads, findings: [] };
    calls.push(callOf(old, moved, index, "removed"));
    older.calls.push(at);
    order.splice(++after, 0, index);
  });
}

const valueOf = (data: ValueData): Value => (data.name !== undefined && data.type !== undefined ? (data as Value) : { ...data, name: data.name ?? "", type: data.type ?? "" });

export function differencesOf(document: ReportDocument) {
  return document.changes?.differences ?? document.changes?.list ?? [];
}

/** Both sides of a difference; of the number of calls of an operator, its name is there once: `hardtanh 35 → 32 calls`. */
export function differenceText({ left, right }: Pick<Difference, "left" | "right">): string {
  const [old, now] = [left?.value, right?.value].map((value) => (value == null ? undefined : String(value)));
  const [before, after] = [old, now].map((text) => /^(.*): (\d+) calls?$/.exec(text ?? ""));
  if (before && after && before[1] === after[1]) return `${shortName(before[1]!)} ${before[2]} → ${counted(Number(after[2]), "call")}`;
  const only = before ?? after;
  if (only && (old === undefined || now === undefined)) return `${shortName(only[1]!)} ${counted(Number(only[2]), "call")}`;
  return [old, now].filter((text) => text !== undefined).join(" → ");
}

/** The payload of a call of a delegate, if it is decoded. */
export function payloadOf(method: Method, call: Call): PayloadData | undefined {
  const payload = call.data.delegate === undefined ? undefined : method.data.delegates[call.data.delegate]?.payload;
  return payload === undefined ? undefined : method.payloads[payload];
}

/** The arguments of a call by name, with what is passed. */
export function argumentsOf(method: Method, call: Call): Argument[] {
  const known = call.callee?.args;
  const args = call.data.args ?? [];
  const shown = known ? args.slice(0, known.length) : args;
  const payload = payloadOf(method, call);
  return shown.map((value, position) => {
    const declared = known?.[position];
    const data = value === null ? undefined : method.values[value];
    const isOutput = payload !== undefined && position >= payload.inputs.length;
    const name = declared?.name ?? (payload ? (isOutput ? `output ${position - payload.inputs.length}` : `input ${position}`) : `argument ${position}`);
    const text = call.data.texts?.find(([at]) => at === position)?.[1] ?? data?.text ?? (data?.items ? itemsText(method, data.items) : data?.name) ?? "out of range";
    return { name, type: declared?.type ?? data?.type ?? "", role: declared?.role ?? (isOutput ? "out" : "in"), value: data?.text === undefined ? value : data.content === "literal" ? null : value, text };
  });
}
function itemsText(method: Method, items: (number | null)[]): string {
  return `[${items.map((item) => (item === null ? "none" : method.values[item]?.name ?? "?")).join(", ")}]`;
}

/** The name of a call's result. */
export function outputName(method: Method, call: Call): string {
  const written = call.data.writes?.[0];
  return written === undefined ? "" : method.values[written]?.name ?? "";
}

// Literals that say nothing: defaults of the operators that exporters always write.
const DEFAULTS: Readonly<Record<string, string>> = {
  alpha: "1", beta: "1", dilation: "1 1", groups: "1", transposed: "false", output_padding: "0 0", ceil_mode: "false",
  non_blocking: "false", rounding_mode: "none", memory_format: "none", dim_order: "none", half_to_float: "false",
};
export const isDefault = (name: string, text: string): boolean => DEFAULTS[name] === text;
/** The literal arguments and constants of a call in one line: `weight 8×3×3×3, stride 2 2, padding 1 1`. */
export function parametersOf(method: Method, call: Call): string {
  const parts: string[] = [];
  for (const { name, value, text, role } of argumentsOf(method, call)) {
    if (role !== "in") continue;
    const data = value === null ? undefined : method.values[value];
    if (data?.content === "constant") parts.push(`${named(name)}${sizesOf(data.type)}`);
    else if (value === null && text !== "none") {
      const written = listText(text);
      if (!isDefault(name, written) && written !== "") parts.push(`${named(name)}${written}`);
    }
  }
  return parts.join(", ");
}
const named = (name: string) => (name.startsWith("argument ") ? "" : `${name} `);
/** `[2, 2]` is `2 2`. */
export function listText(text: string): string {
  return /^\[[-\d., e]*\]$/.test(text) ? text.slice(1, -1).replaceAll(",", "") : text;
}
export function sizesOf(type: string): string {
  const sizes = /\[([^\]]*)\]/.exec(type)?.[1];
  return sizes === undefined ? type : sizes === "" ? "scalar" : sizes.replaceAll(", ", "×");
}

/** Multiplications and additions of a call, with those of its payload. */
export function macsOf(method: Method, call: Call): number {
  return call.data.work?.macs ?? payloadOf(method, call)?.nodes.reduce((sum, { work }) => sum + (work?.macs ?? 0), 0) ?? 0;
}
/** Bytes of the constants that a call reads, with those of its payload. */
export function constantBytes(method: Method, call: Call): number {
  if (call.data.work?.constant !== undefined) return call.data.work.constant;
  const payload = payloadOf(method, call);
  const own = (call.data.reads ?? []).reduce((sum, [read]) => sum + (method.values[read]?.content === "constant" ? method.values[read]?.bytes ?? 0 : 0), 0);
  return own + (payload?.values.reduce((sum, value) => sum + (value.bytes ?? 0), 0) ?? 0);
}

// Attributes of operations that their constants or shapes say, too.
const TOLD = new Set(["kernel", "group_input_channels", "group_output_channels", "output_min", "output_max"]);
/** What is not usual about an operation of a payload, as `clamp 0…6, stride 2 2`. */
export function attributesOf({ attributes = [], roles = [] }: OperationData): string[] {
  const valueOfAttribute = (wanted: string) => attributes.find(([name]) => name === wanted)?.[1];
  const [least, most] = [valueOfAttribute("output_min"), valueOfAttribute("output_max")];
  const clamp = least === undefined && most === undefined ? [] : [`clamp ${least ?? "−∞"}…${most ?? "∞"}`];
  const isZero = (name: string, text: string) => (name === "padding" || name === "adjustment") && /^[0 ]*$/.test(text);
  const isUsual = (name: string, text: string) => isDefault(name, text) || (name === "stride" && text === "1 1") || isZero(name, text);
  // Only a filter has the size of the kernel.
  const isTold = (name: string) => TOLD.has(name) && (name !== "kernel" || roles.includes("filter"));
  const others = attributes.filter(([name, text]) => !isTold(name) && !isUsual(name, text));
  return [...clamp, ...others.map(([name, text]) => `${name} ${text}`)];
}
/** The role of an argument of an operation; the only input has no number. */
export function roleOf({ roles = [] }: OperationData, at: number): string {
  const role = roles[at] ?? `input ${at}`;
  return role === "input1" && !roles.includes("input2") ? "input" : role;
}
