// The address of what is shown, which is the fragment of the page's URL: `#forward/12`, `#weight=conv.weight`,
// `#forward/3.7&tab=memory&heat=time`. Pure functions between strings and `Address`.
import { SIZE_MODES } from "./sizes";

/**
 * What is selected. A group is a range of instructions, `forward/10-20`, or of operations of a payload, `forward/3.0-9`.
 * The value of an output is one of the method, too; `output` is which of the outputs is meant, `forward/out0`.
 */
export type Selection =
  | { kind: "instruction"; index: number }
  | { kind: "operation"; index: number; operation: number }
  | { kind: "value"; index: number; output?: number }
  | { kind: "group"; id: string };

export interface Address {
  method: string | null;
  selection: Selection | null;
  /** The name of a weight, which may be in any method. */
  weight: string | null;
  tab: string | null;
  /** Other settings: those of `SETTINGS`. */
  settings: ReadonlyMap<string, string>;
}

const [ANY, NUMBER] = [/./, /^\d{1,15}$/];
/** What settings look like; others are not read. */
const SETTINGS: ReadonlyMap<string, RegExp> = new Map(Object.entries({
  heat: ANY, by: ANY, open: ANY, closed: ANY, pool: ANY, plan: /^(both|before|after)$/, row: NUMBER, line: NUMBER, byte: NUMBER,
  size: new RegExp(`^(${SIZE_MODES.join("|")})-(treemap|icicle)$`), part: /^\d{1,9}(\.\d{1,9}){0,99}$/, at: /^(before-)?\d{1,9}$/,
  form: /^(instructions|delegates|timeline|flame)$/,
}));

export function parseAddress(fragment: string): Address {
  const address = { method: null, selection: null, weight: null, tab: null } as {
    -readonly [key in keyof Omit<Address, "settings">]: Address[key];
  };
  const settings = new Map<string, string>();
  for (const part of fragment.replace(/^#/, "").split("&")) {
    if (part === "") continue;
    const equals = part.indexOf("=");
    if (equals < 0) {
      const slash = part.lastIndexOf("/");
      address.method = decode(slash < 0 ? part : part.slice(0, slash));
      address.selection = slash < 0 ? null : parseSelection(decode(part.slice(slash + 1)));
      continue;
    }
    const [key, value] = [part.slice(0, equals), decode(part.slice(equals + 1))];
    if (key === "weight") address.weight = value;
    else if (key === "tab") address.tab = value;
    else if (SETTINGS.get(key)?.test(value)) settings.set(key, value);
  }
  return { ...address, settings };
}

export function formatAddress({ method, selection, weight, tab, settings }: Address): string {
  const parts: string[] = [];
  if (weight !== null) parts.push(`weight=${encode(weight)}`);
  if (method !== null) {
    // The slash is the one between method and selection.
    const name = encode(method).replaceAll("/", "%2F");
    parts.push(selection ? `${name}/${formatSelection(selection)}` : name);
  }
  if (tab !== null) parts.push(`tab=${encode(tab)}`);
  for (const [key, value] of settings) if (value !== "") parts.push(`${key}=${encode(value)}`);
  return parts.join("&");
}

export function formatSelection(selection: Selection): string {
  switch (selection.kind) {
    case "instruction": return String(selection.index);
    case "operation": return `${selection.index}.${selection.operation}`;
    case "value": return selection.output === undefined ? `v${selection.index}` : `out${selection.output}`;
    case "group": return encodeURIComponent(selection.id);
  }
}

export function parseSelection(text: string): Selection | null {
  const match = /^(?:(v?)(\d+)(?:\.(\d+))?)$/.exec(text);
  if (!match) return text === "" ? null : { kind: "group", id: text };
  const [, isValue, index, operation] = match;
  if (isValue) return { kind: "value", index: Number(index) };
  if (operation !== undefined) return { kind: "operation", index: Number(index), operation: Number(operation) };
  return { kind: "instruction", index: Number(index) };
}

const encode = (text: string) => encodeURIComponent(text).replace(/%2F/g, "/").replace(/%2C/g, ",").replace(/%5B/g, "[").replace(/%5D/g, "]");
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
