// Kinds of operators and their colours. One palette for the graph, the memory plan, tables and charts.

export interface Kind {
  readonly id: string;
  readonly title: string;
  /** Colour on a light and on a dark page. */
  readonly light: string;
  readonly dark: string;
}

// After Okabe and Ito, and Tol: distinguishable with each of the common colour vision deficiencies. The name of a kind
// is also printed in the legend and in tables, so that no information depends on colour alone.
const LIST: readonly Kind[] = [
  { id: "convolution", title: "convolution", light: "#0072b2", dark: "#56a7e0" },
  { id: "matmul", title: "matrix product", light: "#4b4bc3", dark: "#9b9bff" },
  { id: "activation", title: "activation", light: "#c4501b", dark: "#f28e5c" },
  { id: "normalization", title: "normalization", light: "#8f3d8f", dark: "#d38cd3" },
  { id: "pooling", title: "pooling", light: "#007a5e", dark: "#3cc6a0" },
  { id: "reduction", title: "reduction", light: "#14805a", dark: "#6fd8a8" },
  { id: "elementwise", title: "elementwise", light: "#8a6d00", dark: "#dfbe42" },
  { id: "shape", title: "shape", light: "#6b7480", dark: "#a3adba" },
  { id: "copy", title: "copy", light: "#55606e", dark: "#8995a5" },
  { id: "creation", title: "creation", light: "#7b7468", dark: "#b9b1a3" },
  { id: "index", title: "index, embedding", light: "#1a7f9c", dark: "#62c9e6" },
  { id: "quantize", title: "quantization", light: "#a83254", dark: "#f0809f" },
  { id: "delegate", title: "delegate", light: "#3f6b1e", dark: "#9fd06c" },
  { id: "control", title: "control flow", light: "#4a4a4a", dark: "#d0d0d0" },
  { id: "other", title: "other operator", light: "#7a5c4f", dark: "#c8a899" },
  { id: "input", title: "input, output", light: "#2d3b4e", dark: "#b9c9de" },
];
export const KINDS: ReadonlyMap<string, Kind> = new Map(LIST.map((kind) => [kind.id, kind]));

export function colourOf(kind: string, isDark: boolean): string {
  const found = KINDS.get(kind) ?? KINDS.get("other")!;
  return isDark ? found.dark : found.light;
}

/** A member of a group: what it is called, its kind, and its work. */
export interface Member { readonly name: string; readonly kind: string; readonly macs: number; readonly constant: number }
// Kinds that a group is named after only if it has nothing else.
const LIGHT = new Set(["shape", "copy", "elementwise", "creation", "control"]);

export interface Share { readonly name: string; count: number; macs: number; constant: number }
/** What the members of a group are, by a name of each, with what matters first: MACs, then constants, then numbers. */
export function byWeight(members: readonly Member[], nameOf: (member: Member) => string): Share[] {
  const found = new Map<string, Share & { isLight: boolean }>();
  for (const member of members) {
    const name = nameOf(member);
    let sum = found.get(name);
    if (!sum) found.set(name, (sum = { name, count: 0, macs: 0, constant: 0, isLight: LIGHT.has(member.kind) }));
    sum.count++;
    sum.macs += member.macs;
    sum.constant += member.constant;
  }
  return [...found.values()].sort((a, b) =>
    b.macs - a.macs || b.constant - a.constant || Number(a.isLight) - Number(b.isLight) || b.count - a.count);
}
/** The kind of what matters most in a group. */
export function mainKind(members: readonly Member[]): string {
  return byWeight(members, ({ kind }) => kind)[0]?.name ?? "other";
}
