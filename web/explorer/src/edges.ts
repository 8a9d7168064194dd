// Edges between calls of a method, and between operations of payloads that are open. Pure.
import { type Method, payloadOf } from "./model";

/** An end of an edge: a call, an operation, an input or an output, by the id of its part. */
export interface Edge {
  readonly from: string;
  readonly to: string;
  /** Name and type of what is passed; empty for jumps. */
  readonly name: string;
  readonly type: string;
  readonly isJump: boolean;
  readonly isBack: boolean;
}

/** All edges; those of a payload only if its call is open. */
export function edgesOf(method: Method, open: ReadonlySet<string>): Edge[] {
  const edges: Edge[] = [];
  const value = (index: number) => method.values[index];
  const base = (index: number) => value(index)?.base ?? index;
  const inputs = new Map<number, string>();
  const many = (count: number, kind: "in" | "out", at: number) => (count > 8 ? `${kind}puts` : `${kind}${at}`);
  method.data.inputs.forEach((input, at) => inputs.set(input, many(method.data.inputs.length, "in", at)));
  const position = new Map(method.order.map((index, at) => [index, at]));
  const isOpen = (index: number) => open.has(String(index)) && payloadOf(method, method.calls[index]!) !== undefined;

  // The parts that write what a call returns in an argument: arguments of delegates are inputs, then outputs.
  const sources = (read: number, writer: number | null): string[] => {
    if (writer === null) { const input = inputs.get(base(read)) ?? inputs.get(read); return input ? [input] : []; }
    const call = method.calls[writer];
    if (!call) return [];
    const payload = isOpen(writer) ? payloadOf(method, call) : undefined;
    if (!payload) return [String(writer)];
    const number = (call.data.args ?? []).slice(payload.inputs.length).findIndex((arg) => arg !== null && base(arg) === base(read));
    const output = payload.outputs[number];
    let operation = -1;
    if (output !== undefined) payload.nodes.forEach((node, at) => { if (node.writes.includes(output)) operation = at; });
    return [operation < 0 ? String(writer) : `${writer}.${operation}`];
  };
  const targets = (read: number, index: number): string[] => {
    const call = method.calls[index]!;
    const payload = isOpen(index) ? payloadOf(method, call) : undefined;
    if (!payload) return [String(index)];
    const found = new Set<string>();
    payload.inputs.forEach((input, at) => {
      if (call.data.args?.[at] !== read) return;
      payload.nodes.forEach((node, operation) => { if (node.reads.includes(input)) found.add(`${index}.${operation}`); });
    });
    return found.size > 0 ? [...found] : [String(index)];
  };

  for (const call of method.calls) {
    for (const [read, ...writers] of call.data.reads ?? []) {
      const { name = "", type = "" } = value(read) ?? {};
      for (const writer of writers) {
        const isBack = writer !== null && (position.get(writer) ?? 0) >= (position.get(call.index) ?? 0);
        for (const from of sources(read, writer)) for (const to of targets(read, call.index)) edges.push({ from, to, name, type, isJump: false, isBack });
      }
    }
    const { jump } = call.data;
    if (jump !== undefined) {
      const to = jump < method.data.nodes.length ? String(jump) : method.data.outputs.length > 0 ? many(method.data.outputs.length, "out", 0) : null;
      if (to !== null) edges.push({ from: String(call.index), to, name: "", type: call.data.always ? "" : "if false", isJump: true, isBack: jump <= call.index });
    }
    if (isOpen(call.index)) {
      const payload = payloadOf(method, call)!;
      const writers = new Map<number, number>();
      payload.nodes.forEach((node, operation) => {
        for (const read of node.reads) {
          const from = writers.get(read);
          if (from === undefined) continue;
          edges.push({ from: `${call.index}.${from}`, to: `${call.index}.${operation}`, name: payload.values[read]?.name ?? `value ${read}`, type: payload.values[read]?.type ?? "", isJump: false, isBack: false });
        }
        for (const write of node.writes) writers.set(write, operation);
      });
    }
  }
  method.data.outputs.forEach(([read, ...writers], at) => {
    const { name = "", type = "" } = value(read) ?? {};
    for (const writer of writers) for (const from of sources(read, writer)) edges.push({ from, to: many(method.data.outputs.length, "out", at), name, type, isJump: false, isBack: false });
  });
  return edges;
}
