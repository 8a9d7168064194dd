// The parts of a method as a tree: inputs, groups of instructions, calls of delegates with the operations of their
// payloads, outputs. Which parts are open is a set of ids, so that it can be in the address.
import { type Method, payloadOf } from "./model";
import { counted, frequent, shortName } from "./names";

export interface Part {
  /** `12` an instruction, `12.3` an operation, `10-20` and `12.0-9` groups, `inputs`, `in0`, `outputs`, `out0`. */
  readonly id: string;
  readonly kind: "call" | "operation" | "group" | "input" | "output";
  readonly title: string;
  /** Positions in the order of the method, or of operations in their payload. */
  readonly start: number;
  readonly end: number;
  readonly call?: number;
  readonly operation?: number;
  readonly children?: readonly Part[];
  /** A block of adjacent parts, which has no name of its own. */
  readonly isBlock?: boolean;
}

export const GROUPINGS = ["module", "stack trace", "name", "delegate", "block"] as const;
export type Grouping = (typeof GROUPINGS)[number];

// More parts beside each other are in blocks of BLOCK.
const MANY = 40;
const BLOCK = 10;
// More inputs or outputs are one group.
const PORTS = 8;
// Boxes that the first view has at least, if the method has as many.
const FEW = 30;
// Most names of modules, and frames of a stack trace, that are groups.
const LEVELS = 16;

/** The paths of the groups of each call, the outermost first; empty arrays if there is nothing to group by. */
export function pathsOf(method: Method, by: Grouping): string[][] {
  const calls = method.order.map((index) => method.calls[index]!);
  switch (by) {
    case "module": {
      const { modules = [] } = method.data;
      const paths = modules.map((_, index) => {
        const path: string[] = [];
        let at: number | null | undefined = index;
        for (let depth = 0; at != null && depth < LEVELS; depth++) {
          const module: { name: string; parent?: number | null } | undefined = modules[at];
          if (!module) break;
          path.unshift(module.name);
          at = module.parent;
        }
        return path;
      });
      return inherit(calls.map(({ data }) => (data.module === undefined ? null : paths[data.module] ?? null)));
    }
    case "stack trace":
      return inherit(calls.map(({ data }) => data.trace?.slice(0, LEVELS).map((frame) => {
        const { file, line, name, context } = method.data.frames[frame] ?? {};
        return `${(file ?? "").split("/").pop()}:${line ?? ""} ${context || name || ""}`;
      }) ?? null));
    case "name":
      return inherit(calls.map(({ data }) => {
        const constant = (data.reads ?? []).map(([read]) => method.values[read]).find((value) => value?.content === "constant");
        const names = constant?.name.split(".").slice(0, -1) ?? [];
        return names.length === 0 ? null : names.slice(0, LEVELS);
      }));
    case "delegate": {
      let run = 0;
      return calls.map(({ data, index }, at) => {
        const isDelegate = data.delegate !== undefined;
        if (isDelegate || (at > 0 && calls[at - 1]?.data.delegate !== undefined)) run++;
        return isDelegate ? [`delegate ${index}`] : [`portable part ${run}`];
      });
    }
    case "block":
      return calls.map(() => []);
  }
}
/** A call without a path has what its neighbours have in common. */
function inherit(paths: (string[] | null)[]): string[][] {
  const next: (string[] | null)[] = new Array(paths.length).fill(null);
  for (let at = paths.length - 1, found: string[] | null = null; at >= 0; at--) {
    found = paths[at] ?? found;
    next[at] = found;
  }
  let last: string[] | null = null;
  return paths.map((path, at) => {
    if (path) { last = path; return path; }
    if (!last) return [];
    const after = next[at];
    // After the last call with a path, the module of the last one goes on.
    if (!after) return last.slice(0, 1);
    let common = 0;
    while (common < last.length && last[common] === after[common]) common++;
    return last.slice(0, common);
  });
}
/** Groupings that divide the method, and the one to begin with. */
export function groupingsOf(method: Method): { possible: Grouping[]; first: Grouping } {
  const possible = GROUPINGS.filter((by) => {
    if (by === "block") return true;
    if (by === "delegate") return method.data.delegates.length > 0;
    const paths = pathsOf(method, by);
    const heads = new Set(paths.map((path) => path.join("\n")));
    const named = paths.filter((path) => path.length > 0).length;
    return heads.size > 1 && named * 2 >= paths.length;
  });
  return { possible, first: possible[0] ?? "block" };
}

export function treeOf(method: Method, by: Grouping): Part[] {
  const port = (kind: "input" | "output", value: number, at: number): Part =>
    ({ id: `${kind === "input" ? "in" : "out"}${at}`, kind, title: method.values[value]?.name ?? "", start: at, end: at + 1 });
  const ports = (kind: "input" | "output", values: readonly number[]): Part[] => {
    const children = values.map((value, at) => port(kind, value, at));
    if (children.length <= PORTS) return children;
    return [{ id: `${kind}s`, kind, title: counted(children.length, kind), start: 0, end: children.length }];
  };
  const paths = pathsOf(method, by);
  return [
    ...ports("input", method.data.inputs),
    ...groups(method, paths, 0, 0, method.order.length),
    ...ports("output", method.data.outputs.map(([value]) => value)),
  ];
}
/** A group is a run of consecutive calls whose paths begin alike. */
function groups(method: Method, paths: string[][], depth: number, start: number, end: number): Part[] {
  const parts: Part[] = [];
  for (let at = start; at < end;) {
    const label = paths[at]?.[depth];
    let stop = at + 1;
    if (label !== undefined) while (stop < end && paths[stop]?.[depth] === label) stop++;
    if (label === undefined || stop - at === 1) parts.push(callPart(method, at));
    else {
      const children = groups(method, paths, depth + 1, at, stop);
      // A level that separates nothing is left out.
      if (stop - at === end - start) return children;
      parts.push({ id: `${at}-${stop - 1}`, kind: "group", title: titleOf(label, paths[at]?.[depth - 1]), start: at, end: stop, children });
    }
    at = stop;
  }
  return blocks(parts, "");
}
/** The name of a module without that of its parent. */
function titleOf(name: string, parent: string | undefined): string {
  return parent && name.startsWith(`${parent}.`) ? name.slice(parent.length + 1) : name;
}
function callPart(method: Method, at: number): Part {
  const index = method.order[at] ?? at;
  const call = method.calls[index]!;
  const part = { id: String(index), kind: "call" as const, title: call.name, start: at, end: at + 1, call: index };
  const payload = payloadOf(method, call);
  if (!payload || payload.nodes.length === 0) return part;
  let children: Part[] | null = null;
  const make = () => blocks(payload.nodes.map((node, operation): Part => ({
    id: `${index}.${operation}`, kind: "operation", title: shortName(node.name), start: operation, end: operation + 1, call: index, operation,
  })), `${index}.`);
  return Object.defineProperty(part, "children", { get: () => (children ??= make()), enumerable: true }) as Part;
}
function blocks(parts: Part[], prefix: string): Part[] {
  if (parts.length <= MANY) return parts;
  const made: Part[] = [];
  for (let at = 0; at < parts.length; at += BLOCK) {
    const children = parts.slice(at, at + BLOCK);
    const [first, last] = [children[0]!, children[children.length - 1]!];
    if (children.length === 1) { made.push(first); continue; }
    made.push({
      id: `${prefix}${first.start}-${last.end - 1}`, kind: "group", title: `${first.start} to ${last.end - 1}`, start: first.start, end: last.end,
      isBlock: true, children, ...(first.operation === undefined && prefix === "" ? {} : { call: first.call! }),
    });
  }
  return blocks(made, prefix);
}

/** True if a part is inside of a payload. */
export const isInner = (part: Part): boolean => part.kind === "operation" || (part.kind === "group" && part.id.includes("."));
export const isOpenable = (part: Part): boolean => part.kind === "group" || (part.kind === "call" && part.children !== undefined);

/** `12 calls: 4 convolution, 4 relu, ...` */
export function summaryOf(method: Method, part: Part): string {
  if (isInner(part)) {
    const payload = payloadOf(method, method.calls[part.call!]!);
    const names = payload?.nodes.slice(part.start, part.end).map((node) => shortName(node.name)) ?? [];
    return `${counted(names.length, "operation")}: ${frequent(names)}`;
  }
  const names = namesOf(method, part);
  return `${counted(names.length, "call")}: ${frequent(names)}`;
}
export function namesOf(method: Method, part: Part): string[] {
  return method.order.slice(part.start, part.end).map((index) => method.calls[index]?.name ?? "");
}

/** Ids of the parts that are open in the first view, so that it has at most `most` boxes. */
export function openFirst(tree: readonly Part[], most: number): Set<string> {
  const open = new Set<string>();
  let count = tree.length;
  let level: readonly Part[] = tree.filter(isOpenable);
  while (level.length > 0) {
    const groups = level.filter((part) => part.kind === "group");
    const payloads = level.filter((part) => part.kind === "call");
    const added = groups.reduce((sum, part) => sum + part.children!.length, 0);
    const next: Part[] = [];
    const openPart = (part: Part) => {
      open.add(part.id);
      count += part.children!.length;
      next.push(...part.children!.filter(isOpenable));
    };
    // All groups of a level; or the first that fit, if there would be few boxes otherwise.
    const isFew = count < FEW;
    if (count + added <= most) groups.forEach(openPart);
    else if (isFew) for (const part of groups) if (count + part.children!.length <= most) openPart(part);
    const operations = payloads.reduce((sum, part) => sum + part.children!.length, 0);
    if (count + operations <= most) payloads.forEach(openPart);
    else if (isFew) for (const part of payloads) if (count + part.children!.length <= most) openPart(part);
    level = next;
  }
  return open;
}

/** The chain of parts, the outermost first, that contain a call or an operation; ends with it. */
export function chainTo(tree: readonly Part[], method: Method, call: number, operation?: number): Part[] {
  const position = method.order.indexOf(call);
  const chain: Part[] = [];
  let parts: readonly Part[] | undefined = tree;
  while (parts) {
    const found: Part | undefined = parts.find((part) => {
      if (part.kind === "input" || part.kind === "output") return false;
      if (isInner(part)) return operation !== undefined && part.start <= operation && operation < part.end;
      return part.start <= position && position < part.end;
    });
    if (!found) break;
    chain.push(found);
    if (found.kind === "operation" || (found.kind === "call" && operation === undefined)) break;
    parts = found.children;
  }
  return chain;
}
/** The chain to a part by its id. */
export function chainToId(tree: readonly Part[], id: string): Part[] {
  const inside = (parts: readonly Part[]): Part[] | null => {
    for (const part of parts) {
      if (part.id === id) return [part];
      // Operations are built when they are needed.
      if (!part.children || (part.kind === "call" && !id.startsWith(`${part.id}.`))) continue;
      const found = inside(part.children);
      if (found) return [part, ...found];
    }
    return null;
  };
  return inside(tree) ?? [];
}
