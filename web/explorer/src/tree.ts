// The parts of a method as a tree: inputs, groups of instructions, calls of delegates with the operations of their
// payloads, outputs. Which parts are open is a set of ids, so that it can be in the address.
import { type Flow, flowOf, payloadFlow } from "./flow";
import { type Member, byWeight } from "./kinds";
import { type Method, constantBytes, macsOf, payloadOf, sizesOf } from "./model";
import { counted, firstOf, shortOperation } from "./names";
import { periodOf } from "./period";

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
}

export const GROUPINGS = ["module", "stack trace", "name", "delegate", "block"] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** More boxes are not in the first view. */
const MANY = 130;
// Blocks into which a longer level is divided.
const BLOCKS = 40;
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

/** The tree of a method. A level of more than `most` parts is divided, by a repetition or into blocks. */
export function treeOf(method: Method, by: Grouping, most = MANY): Part[] {
  const port = (kind: "input" | "output", value: number, at: number): Part =>
    ({ id: `${kind === "input" ? "in" : "out"}${at}`, kind, title: method.values[value]?.name ?? "", start: at, end: at + 1 });
  const ports = (kind: "input" | "output", values: readonly number[]): Part[] => {
    const children = values.map((value, at) => port(kind, value, at));
    if (children.length <= PORTS) return children;
    return [{ id: `${kind}s`, kind, title: counted(children.length, kind), start: 0, end: children.length }];
  };
  const [inputs, outputs] = [ports("input", method.data.inputs), ports("output", method.data.outputs.map(([value]) => value))];
  const room = Math.max(2, most - inputs.length - outputs.length);
  const make: Making = { method, paths: pathsOf(method, by), room, flow: flowOf(method) };
  const tree = [...inputs, ...groups(make, 0, 0, method.order.length), ...outputs];
  refine(make, tree, most);
  return tree;
}
interface Making { readonly method: Method; readonly paths: string[][]; readonly room: number; readonly flow: Flow }
type Changeable = { -readonly [key in keyof Part]: Part[key] };

/** A group is a run of consecutive calls whose paths begin alike. */
function groups(make: Making, depth: number, start: number, end: number): Part[] {
  const { paths } = make;
  const parts: Part[] = [];
  for (let at = start; at < end;) {
    const label = paths[at]?.[depth];
    let stop = at + 1;
    if (label !== undefined) while (stop < end && paths[stop]?.[depth] === label) stop++;
    if (label === undefined || stop - at === 1) parts.push(callPart(make, at));
    else {
      const children = groups(make, depth + 1, at, stop);
      // A level that separates nothing is left out.
      if (stop - at === end - start) return children;
      parts.push({ id: `${at}-${stop - 1}`, kind: "group", title: titleOf(label, paths[at]?.[depth - 1]), start: at, end: stop, children });
    }
    at = stop;
  }
  return divided(make, parts, make.flow);
}
/** The name of a module without that of its parent. */
function titleOf(name: string, parent: string | undefined): string {
  return parent && name.startsWith(`${parent}.`) ? name.slice(parent.length + 1) : name;
}
function callPart(make: Making, at: number): Part {
  const { method } = make;
  const index = method.order[at] ?? at;
  const call = method.calls[index]!;
  const part: Part = { id: String(index), kind: "call", title: call.name, start: at, end: at + 1, call: index };
  const payload = payloadOf(method, call);
  if (!payload || payload.nodes.length === 0) return part;
  let children: readonly Part[] | null = null;
  const operations = () => divided(make, payload.nodes.map((node, operation): Part => ({
    id: `${index}.${operation}`, kind: "operation", title: shortOperation(node.name), start: operation, end: operation + 1, call: index, operation,
  })), payloadFlow(payload));
  return Object.defineProperty(part, "children", {
    get: () => (children ??= operations()), set: (made: readonly Part[]) => { children = made; }, enumerable: true,
  });
}

/** A level of at most as many parts as there is room for: layers of a repetition, or blocks. */
function divided(make: Making, parts: Part[], flow: Flow): Part[] {
  const hasGroups = parts.some(({ kind }) => kind === "group");
  if (parts.length <= (hasGroups ? BLOCKS : make.room)) return parts;
  const layered = layers(parts, hasGroups ? 4 : 8);
  if (layered) return divided(make, layered, flow);
  if (parts.length <= make.room) return parts;
  return blocks(make, parts, Math.min(BLOCKS, make.room), flow).map((part) => {
    const { kind, children = [] } = part;
    if (kind === "group" && children.length > make.room) (part as Changeable).children = divided(make, [...children], flow);
    return part;
  });
}
/** The layers of a model without modules: groups of the parts that are repeated. Null if nothing is. */
function layers(parts: readonly Part[], least: number): Part[] | null {
  const found = periodOf(parts.map(({ title }) => title.replace(/\d+/g, "")), least);
  if (!found) return null;
  const count = found.length - 1;
  const made = found.slice(0, -1).map((from, at) => groupOf(parts.slice(from, found[at + 1]), `layer ${at + 1} of ${count}`));
  return [...parts.slice(0, found[0]), ...made, ...parts.slice(found[count])];
}
function groupOf(children: readonly Part[], title: string): Part {
  const [first, last] = [children[0]!, children[children.length - 1]!];
  const inner = isInner(first);
  return {
    id: `${inner ? `${first.call}.` : ""}${first.start}-${last.end - 1}`,
    kind: "group", title, start: first.start, end: last.end, children,
    ...(inner ? { call: first.call! } : {}),
  };
}
/** A level as blocks of about equal size, which end where few values are passed on. */
function blocks(make: Making, parts: readonly Part[], count: number, flow: Flow): Part[] {
  const size = parts.length / count;
  const made: Part[] = [];
  let from = 0;
  for (let number = 1; number <= count && from < parts.length; number++) {
    const aim = size * number;
    let end = parts.length;
    if (number < count) {
      let least = Infinity;
      const most = Math.min(parts.length - 1, Math.floor(aim + size / 2));
      for (let at = Math.max(from + 1, Math.ceil(aim - size / 2)); at <= most; at++) {
        const cost = (flow.passing[parts[at - 1]!.end - 1] ?? 0) + Math.abs(at - aim) / (size + 1);
        if (cost < least) { least = cost; end = at; }
      }
    }
    const children = parts.slice(from, end);
    made.push(children.length === 1 ? children[0]! : groupOf(children, blockTitle(make, children, flow)));
    from = end;
  }
  return made;
}
/** `layers 1 to 6 of 24`, `features[3] … features[5]`, or the heaviest members and the shape: `3 conv · 32→96 · 56×56`. */
function blockTitle({ method }: Making, parts: readonly Part[], flow: Flow): string {
  const named = parts.filter(({ kind }) => kind === "group");
  const [first, last] = [named[0], named[named.length - 1]];
  if (first && last && named.length * 2 >= parts.length) {
    const numbers = [first, last].map(({ title }) => /^layer (\d+) of (\d+)$/.exec(title));
    if (first === last) return first.title;
    return numbers[0] && numbers[1] ? `layers ${numbers[0][1]} to ${numbers[1][1]} of ${numbers[1][2]}` : `${first.title} … ${last.title}`;
  }
  const [start, end] = [parts[0]!.start, parts[parts.length - 1]!.end];
  const members = membersOf(method, parts[0]!, start, end);
  const sum = byWeight(members, ({ name }) => name);
  const image = members.some(({ kind }) => kind === "convolution") ? flow.image(start, end) : "";
  const heavy = sum.filter(({ macs, constant }) => macs > 0 || (constant > 0 && sum[0]!.macs === 0));
  const names = (heavy.length > 0 ? heavy : sum).slice(0, 2).map(({ name, count }) => ({ count, name: name === "convolution" ? "conv" : name }));
  return [firstOf(names), image || sizesOf(flow.leaving(start, end))].filter((text) => text !== "").join(" · ");
}

/** Divides groups that would not fit the first view, if this had few boxes without what is in them. */
function refine(make: Making, tree: readonly Part[], most: number): void {
  let count = tree.length;
  const below = (parts: readonly Part[]) => parts.flatMap(({ children }) => children!.filter(isOpenable));
  for (let level = tree.filter(isOpenable); level.length > 0; level = below(level)) {
    for (const kind of ["group", "call"]) {
      const parts = level.filter((part) => part.kind === kind);
      const added = parts.reduce((sum, { children }) => sum + children!.length, 0);
      if (count >= FEW) return;
      if (count + added <= most) { count += added; continue; }
      const room = Math.min(most, 2 * FEW) - count;
      for (const part of parts) {
        const { children = [], call } = part;
        const wanted = Math.max(2, Math.floor((room * children.length) / added));
        const flow = kind === "call" ? payloadFlow(payloadOf(make.method, make.method.calls[call!]!)!) : make.flow;
        if (children.length > wanted) (part as Changeable).children = blocks(make, children, wanted, flow);
      }
      return;
    }
  }
}

/** True if a part is inside of a payload. */
export const isInner = (part: Part): boolean => part.kind === "operation" || (part.kind === "group" && part.id.includes("."));
export const isOpenable = (part: Part): boolean => part.kind === "group" || (part.kind === "call" && part.children !== undefined);

/** The calls, or operations, of a group with their work. */
export function membersOf(method: Method, part: Part, start = part.start, end = part.end): Member[] {
  if (isInner(part)) {
    const nodes = payloadOf(method, method.calls[part.call!]!)?.nodes.slice(start, end) ?? [];
    return nodes.map(({ name, kind = "other", work }) =>
      ({ name: shortOperation(name), kind, macs: work?.macs ?? 0, constant: work?.constant ?? 0 }));
  }
  return method.order.slice(start, end).map((index) => {
    const call = method.calls[index]!;
    return { name: call.name, kind: call.kind, macs: macsOf(method, call), constant: constantBytes(method, call) };
  });
}
/** `12 calls: 4 convolution, 4 relu, ...`, with what matters first. */
export function summaryOf(method: Method, part: Part): string {
  const members = membersOf(method, part);
  return `${counted(members.length, isInner(part) ? "operation" : "call")}: ${firstOf(byWeight(members, ({ name }) => name))}`;
}
export function namesOf(method: Method, part: Part): string[] {
  return method.order.slice(part.start, part.end).map((index) => method.calls[index]?.name ?? "");
}

/**
 * Ids of the parts that are open in the first view, so that it has at most `most` boxes: all groups of a level or none, so
 * that a level is not half open. Of two files, those with changes are opened first.
 */
export function openFirst(tree: readonly Part[], most: number, isChanged: (part: Part) => boolean = () => false): Set<string> {
  const open = new Set<string>();
  let count = tree.length;
  let level: readonly Part[] = tree.filter(isOpenable);
  while (level.length > 0) {
    const next: Part[] = [];
    const openAll = (parts: readonly Part[]) => {
      const fresh = parts.filter(({ id }) => !open.has(id));
      const added = fresh.reduce((sum, { children }) => sum + children!.length, 0);
      if (count + added > most) return;
      for (const { id, children } of fresh) { open.add(id); next.push(...children!.filter(isOpenable)); }
      count += added;
    };
    const changed = level.filter(isChanged);
    openAll(changed);
    // Payloads are at the depth of groups, but they may be larger than all of these.
    openAll(level.filter(({ kind }) => kind === "group"));
    openAll(level.filter(({ kind }) => kind === "call"));
    for (const part of changed) openAll([part]);
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
