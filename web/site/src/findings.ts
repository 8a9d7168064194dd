// Findings of the library as diagnostics of a text. Pure.
import type { ReportDocument } from "../../explorer/src/document";
import { lineOf, targetsOfMarks } from "../../explorer/src/links";
import { methodsOf } from "../../explorer/src/model";
import type { Entry, Findings, Level } from "./library";

export interface Diagnostic { readonly level: Level; readonly line: number; readonly from: number; readonly to: number; readonly message: string; readonly help: string | null; readonly rule: string }

/** Where the lines of a text begin. */
const startsOf = (text: string): number[] => {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
};

/** Diagnostics of a text, in its order. A finding without a position is at the line of its path, or at the first. */
export function diagnosticsOf(findings: Findings | null, text: string, lineOfPath: (path: string) => number | null): Diagnostic[] {
  const starts = startsOf(text);
  const entries = (findings?.files ?? []).flatMap(({ findings: list }) => list);
  return entries.map((entry) => diagnosticOf(entry, text, starts, lineOfPath)).sort((a, b) => a.from - b.from);
}
function diagnosticOf(entry: Entry, text: string, starts: readonly number[], lineOfPath: (path: string) => number | null): Diagnostic {
  const { source, level, message } = entry;
  const line = Math.min(Math.max(source?.line ?? (entry.path ? lineOfPath(entry.path) : null) ?? 1, 1), starts.length);
  const start = starts[line - 1]!;
  const end = Math.max(start, (starts[line] ?? text.length + 1) - 1);
  // Columns count characters, offsets of an editor UTF-16 units; `start` and `end` count bytes.
  let from = start + utf16(text.slice(start, end), (source?.column ?? 1) - 1);
  if (!source) from = start + (/^\s*/.exec(text.slice(start, end))?.[0].length ?? 0);
  const length = source ? utf16(text.slice(from, end), Math.max(1, source.end - source.start)) : end - from;
  const to = Math.min(end, Math.max(from + length, from));
  return { level, line, from: Math.min(from, end), to, message, help: entry.help ?? entry.why ?? null, rule: entry.rule ?? "" };
}
/** What `check` found in the program that a text assembles to, at the lines of what it is about; notes are left out. */
export function diagnosticsOfReport(document: ReportDocument, text: string): Diagnostic[] {
  const starts = startsOf(text);
  const methods = methodsOf(document);
  const targets = targetsOfMarks(methods, "findings");
  return (document.files[0]?.findings ?? []).flatMap(({ rule, severity, found, expected, title, why }, index): Diagnostic[] => {
    if (severity === "note") return [];
    const target = targets.get(index);
    const line = target && lineOf(document, methods[target.method]!, target.selection);
    const message = `${found}: expected ${expected}${line ? "" : " (in the file as a whole)"}`;
    return [diagnosticOf({ level: severity === "suspicious" ? "warning" : "error", message, rule, help: title || why || null, path: line ? "x" : "" }, text, starts, () => line || null)];
  });
}
/** UTF-16 units of the first characters of a text. */
function utf16(text: string, characters: number): number {
  let units = 0;
  for (const character of text) {
    if (characters-- <= 0) break;
    units += character.length;
  }
  return units;
}
