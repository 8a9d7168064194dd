// Trees of sizes for the treemap: by segment, kind, tensor, module, dtype and delegate, with names that begin with what
// differs. Pure.
import type { FileData, SizeNode } from "./document";
import type { Method } from "./model";
import { commonPrefix } from "./names";

export interface SizePart {
  readonly name: string;
  /** The name with its path, as `size` prints it. */
  readonly path: string;
  readonly bytes: number;
  readonly children?: readonly SizePart[];
}
export const SIZE_MODES = ["tensor", "module", "dtype", "delegate", "kind", "segment"] as const;
export type SizeMode = (typeof SIZE_MODES)[number];

/** Modes that divide the files. */
export function sizeModes(methods: readonly Method[]): SizeMode[] {
  const has = { dtype: methods.length > 0, delegate: methods.some(({ data }) => data.delegates.length > 0) };
  return SIZE_MODES.filter((mode) => (mode === "dtype" || mode === "delegate" ? has[mode] : true));
}

/** By module if most names have dots. */
export function firstMode(files: readonly FileData[]): SizeMode {
  const names = files.flatMap(({ tensors }) => tensors?.children ?? []).map(leaf).filter(isTensor);
  return names.length > 8 && names.filter(({ name }) => name.includes(".")).length * 2 > names.length ? "module" : "tensor";
}

// More parts of a level are one.
const PARTS = 250;

export function sizeTree(files: readonly FileData[], mode: SizeMode, methods: readonly Method[] = []): SizePart {
  const trees = files.flatMap((file): SizePart[] => {
    const tree = mode === "kind" || mode === "segment" ? file.size : file.tensors;
    if (!tree) return [];
    const parts = tree.children ?? [];
    const children = {
      tensor: () => withStructure(parts), module: () => byModule(parts), segment: () => parts.map(branch), kind: () => byKind(parts),
      dtype: () => byPath(parts, (path) => dtypeOf(methods, path)), delegate: () => byPath(parts, (path) => delegateOf(methods, path)),
    }[mode]();
    return [{ name: file.name.split("/").pop() ?? file.name, path: file.name, bytes: tree.bytes, children: limited(shortened(children)) }];
  });
  if (trees.length === 1) return trees[0]!;
  return { name: "all files", path: "", bytes: trees.reduce((sum, { bytes }) => sum + bytes, 0), children: trees };
}
/** What a document has no room to list: `(5826 more)`. */
const REST = /^\([\d,]+ more\)$/;
const STRUCTURE = "structure of the file";
/** A name without the path in parentheses, and a path without what all have. */
function cleaned(name: string): string {
  if (name === "(none)") return "no owner";
  if (REST.test(name)) return name.slice(1, -1);
  const only = name.replace(/ \((?:methods|named_data|segments)[.[].*\)$/s, "");
  return only.replace(/^methods\./, "");
}
/** True for a name that is followed by its path. */
const isTensor = ({ path }: SizePart): boolean => path.endsWith(")") && path.includes(" (");
const leaf = ({ name, bytes }: SizeNode): SizePart => ({ name: cleaned(name), path: name, bytes });
/** Tensors, and all that is not one as one part. */
function withStructure(nodes: readonly SizeNode[]): SizePart[] {
  const parts = nodes.map(leaf);
  const isStructure = (part: SizePart) => !isTensor(part) && !REST.test(part.path);
  const rest = parts.filter(isStructure);
  if (rest.length < 2 || rest.length === parts.length) return parts;
  return [...parts.filter((part) => !isStructure(part)), { name: STRUCTURE, path: "", bytes: rest.reduce((sum, { bytes }) => sum + bytes, 0), children: limited(rest) }];
}
/** The role of a tensor, `weight` of `conv_3.weight`; colours show it. */
export const sizeRole = ({ name, path }: SizePart): string => (path.includes(" (") ? name.replace(/^.*[._ ]/, "").replace(/[\d[\]]+/g, "") : name);
function branch({ name, bytes, children }: SizeNode): SizePart {
  // A level with one part is none.
  if (children?.length === 1) return { ...branch(children[0]!), name: cleaned(name) };
  return { name: cleaned(name), path: name, bytes, ...(children ? { children: limited(shortened(children.map(branch))) } : {}) };
}
/** Sums of the kinds of objects in all segments. */
function byKind(segments: readonly SizeNode[]): SizePart[] {
  const kinds = new Map<string, { bytes: number; children: SizePart[] }>();
  for (const segment of segments) {
    for (const kind of segment.children ?? [segment]) {
      const found = kinds.get(kind.name) ?? { bytes: 0, children: [] };
      found.bytes += kind.bytes;
      found.children.push(...(kind.children ?? []).map(leaf));
      kinds.set(kind.name, found);
    }
  }
  return [...kinds].map(([name, { bytes, children }]): SizePart => {
    const sorted = children.sort((a, b) => b.bytes - a.bytes);
    return { name, path: name, bytes, ...(sorted.length > 1 ? { children: limited(shortened(sorted)) } : {}) };
  }).sort((a, b) => b.bytes - a.bytes);
}
interface Module { bytes: number; parts: Map<string, Module>; leaves: SizePart[] }
/** A tree of dotted names. */
function byModule(tensors: readonly SizeNode[]): SizePart[] {
  const root: Module = { bytes: 0, parts: new Map(), leaves: [] };
  for (const node of tensors) {
    const part = leaf(node);
    if (REST.test(node.name)) {
      root.leaves.push(part);
      continue;
    }
    const isNamed = isTensor(part);
    const path = isNamed ? part.name.split(".") : [STRUCTURE];
    let at = root;
    for (const name of isNamed ? path.slice(0, -1) : path) {
      let next = at.parts.get(name);
      if (!next) at.parts.set(name, (next = { bytes: 0, parts: new Map(), leaves: [] }));
      next.bytes += part.bytes;
      at = next;
    }
    at.leaves.push(isNamed ? { ...part, name: path[path.length - 1] ?? part.name } : part);
  }
  const parts = (module: Module): SizePart[] => [
    ...[...module.parts].map(([name, inner]): SizePart => {
      // Modules with one part are one, `layer.0`.
      const children = parts(inner);
      const [only] = children;
      return children.length === 1 && only ? { ...only, name: `${name}.${only.name}` } : { name, path: name, bytes: inner.bytes, children: limited(children) };
    }),
    ...module.leaves,
  ].sort((a, b) => b.bytes - a.bytes);
  return parts(root);
}
/** Sums of what a function says of the paths; null is the structure of the file. */
function byPath(tensors: readonly SizeNode[], groupOf: (path: string) => string | null): SizePart[] {
  const groups = new Map<string, { bytes: number; children: SizePart[] }>();
  for (const node of tensors) {
    const name = REST.test(node.name) ? cleaned(node.name) : groupOf(node.name) ?? STRUCTURE;
    const found = groups.get(name) ?? { bytes: 0, children: [] };
    found.bytes += node.bytes;
    found.children.push(leaf(node));
    groups.set(name, found);
  }
  return [...groups].map(([name, { bytes, children }]): SizePart => {
    const isOne = children.length === 1;
    return { name, path: isOne ? children[0]!.path : name, bytes, ...(isOne ? {} : { children: limited(shortened(children)) }) };
  }).sort((a, b) => b.bytes - a.bytes);
}
const PLACE = /\(methods\.(.+?)\.(values|delegates)\[(\d+)\](?:\.payload\.values\[(\d+)\])?\)$/s;
const methodNamed = (methods: readonly Method[], name: string | undefined) =>
  methods.find(({ data, isRemoved }) => data.name === name && !isRemoved);
/** `float32`, `fp32`; null of what is no tensor. */
function dtypeOf(methods: readonly Method[], path: string): string | null {
  const [, name, kind, index, inner] = PLACE.exec(path) ?? [];
  const method = methodNamed(methods, name);
  if (!method) return null;
  const payload = method.payloads[method.data.delegates[Number(index)]?.payload ?? -1];
  const type = kind === "values" ? method.values[Number(index)]?.type : payload?.values[Number(inner)]?.type;
  return /^(\w+) \[/.exec(type ?? "")?.[1] ?? null;
}
/** The delegate, or the part that no delegate executes; null of what is neither. */
function delegateOf(methods: readonly Method[], path: string): string | null {
  const [, name, index] = /methods\.(.+?)\.delegates\[(\d+)\]/s.exec(path) ?? [];
  const method = methodNamed(methods, name);
  const delegate = method?.data.delegates[Number(index)];
  if (!method || !delegate) return PLACE.test(path) ? "not delegated" : null;
  const own = delegate.name ? `${delegate.name} (${delegate.backend})` : `${delegate.backend} ${index}`;
  return methods.length > 1 ? `${method.name}: ${own}` : own;
}
/** Names without the prefix that all have. */
function shortened(parts: readonly SizePart[]): SizePart[] {
  const named = parts.filter(({ name, path }) => name !== path || name.includes("."));
  const prefix = commonPrefix(named.map(({ name }) => name));
  if (prefix.length < 2 || named.length < parts.length / 2) return [...parts];
  return parts.map((part) => (part.name.startsWith(prefix) && part.name.length > prefix.length ? { ...part, name: part.name.slice(prefix.length) } : part));
}
function limited(parts: readonly SizePart[]): SizePart[] {
  const sorted = [...parts].sort((a, b) => b.bytes - a.bytes);
  if (sorted.length <= PARTS) return sorted;
  const rest = sorted.slice(PARTS);
  return [...sorted.slice(0, PARTS), { name: `${rest.length} more`, path: "", bytes: rest.reduce((sum, { bytes }) => sum + bytes, 0) }];
}
