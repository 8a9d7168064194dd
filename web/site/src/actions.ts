// Questions about a program and edits of it: their forms, and the requests that they become. Pure.
import { extensionOf } from "./files";
import type { Request } from "./library";

export interface Field {
  readonly name: string;
  readonly label: string;
  /** `words` are separated by commas or spaces, `lines` by lines; a `choice` has options. */
  readonly type: "flag" | "number" | "words" | "lines" | "choice";
  readonly options?: readonly string[];
  /** Which list of the library is offered. */
  readonly list?: "releases" | "targets" | "methods";
  readonly hint?: string;
}
export interface Action {
  readonly id: string;
  readonly title: string;
  readonly says: string;
  readonly fields: readonly Field[];
  /** Added to the name of the file that is written; without it, nothing is. */
  readonly suffix?: string;
  /** The tab of the explorer in which what it wrote is compared with the original; by default the differences. */
  readonly tab?: "memory";
}
export type Values = Readonly<Record<string, string | boolean | undefined>>;

const releases = (label: string): Field => ({ name: "runtime", label, type: "words", list: "releases", hint: "1.0.1, or all" });

export const ACTIONS: readonly Action[] = [
  { id: "check", title: "Check", says: "Validates the files: does a release of ExecuTorch run them, and a target?", fields: [
    releases("Releases"), { name: "target", label: "Targets", type: "words", list: "targets", hint: "a name, or all" },
    { name: "build", label: "Build", type: "choice", options: ["strict", "portable", "aten", "32-bit", "legacy"] },
    { name: "read_data", label: "Read all data", type: "flag" }] },
  { id: "memory", title: "Memory", says: "Memory that a runtime needs for the program.", fields: [{ name: "abi", label: "Runtime", type: "choice", options: ["64", "arm32"] }] },
  { id: "size", title: "Size", says: "Where the bytes of the files are.", fields: [{ name: "levels", label: "Levels", type: "words", hint: "tensor, or segment kind" }] },
  { id: "optimize", title: "Optimize", says: "Reduces planned memory and instructions, not the outputs.", suffix: "optimized", tab: "memory", fields: [
    { name: "only", label: "Only", type: "words", hint: "folding, identity, memory" }, { name: "max_growth", label: "Bytes by which the file may grow", type: "number" }] },
  { id: "bound", title: "Bound", says: "Lowers the bounds of dynamic inputs, or makes them static.", suffix: "bounded", tab: "memory", fields: [
    { name: "inputs", label: "Inputs, one in a line", type: "lines", hint: "x=1x64" }, { name: "static", label: "Make all inputs static", type: "flag" }, { name: "method", label: "Method", type: "choice", list: "methods" }] },
  { id: "strip", title: "Strip", says: "Removes what the runtime does not need: stack traces, names, debug handles, tests, unused parts.", suffix: "stripped", fields: [
    { name: "only", label: "Only", type: "words", hint: "traces, names, handles, tests, unused" }] },
  { id: "extract", title: "Extract methods", says: "Writes some methods, with what they need.", suffix: "extracted", fields: [{ name: "method", label: "Methods", type: "words", list: "methods", hint: "a name or a pattern: f*" }] },
  { id: "split_weights", title: "Split weights", says: "Moves constants to a .ptd beside the program.", suffix: "split", fields: [
    { name: "external_data", label: "Only those with such names", type: "words", hint: "weights.ptd=encoder.*" }, { name: "max_shard_size", label: "Most bytes of a .ptd", type: "number" }] },
  { id: "dump", title: "YAML", says: "Prints the file as YAML that assembles to it.", fields: [] },
];

/** `input` and `with` are names for the library, `name` is the one that the user knows. */
export interface About { readonly input: string; readonly name: string; readonly with: readonly string[]; readonly methods: readonly string[] }

/** `model.pte` and `stripped` become `model-stripped.pte`. */
export function outputName(input: string, suffix: string): string {
  const dot = input.lastIndexOf(".");
  const stem = dot > 0 ? input.slice(0, dot) : input;
  return `${stem}-${suffix}.${extensionOf(input) === "bpte" ? "bpte" : "pte"}`;
}
/** Words of a text, separated by commas or spaces; a known name can have both. */
const wordsOf = (text: string, known: readonly string[]): string[] => {
  if (known.includes(text)) return [text];
  const parts = text.split(",").map((part) => part.trim());
  return parts.flatMap((part) => (known.includes(part) ? [part] : part.split(/\s+/))).filter((word) => word !== "");
};
export function requestOf({ id, fields, suffix }: Action, values: Values, { input, name: shown, with: data, methods }: About): Request {
  const request: Record<string, unknown> & { command: string } = { command: id, input };
  if (data.length > 0 && id !== "dump") request["with"] = [...data];
  if (suffix !== undefined) request["output"] = outputName(shown, suffix);
  for (const { name, type, options, list } of fields) {
    const value = values[name];
    if (type === "flag") { if (value === true) request[name] = true; continue; }
    const text = typeof value === "string" ? value.trim() : "";
    if (text === "") continue;
    if (type === "number") request[name] = Number(text);
    else if (type === "words") request[name] = wordsOf(text, list === "methods" ? methods : []);
    else if (type === "lines") request[name] = text.split(/\n/).map((line) => line.trim()).filter((line) => line !== "");
    else if (text !== options?.[0]) request[name] = text;
  }
  return request;
}
