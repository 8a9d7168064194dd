// The document that the explorer shows of open files: the library's, or of a file that it cannot read, what is known.
import type { ReportDocument } from "../../explorer/src/document";
import type { Client } from "./client";
import { HEAD, type OpenFile, type Subject, kindOf, libraryNameOf, signatureOf, uniqueName } from "./files";
import { LibraryError } from "./library";

export interface Shown { readonly document: ReportDocument; readonly notice: string | null }

/** Bytes that are shown of a file that cannot be read. */
const SHOWN = 65536;

export async function reportOf(client: Client, subject: Subject): Promise<Shown> {
  const { input, before, with: data, etdump } = subject;
  if (input.kind === "etdump") return { document: await unreadable(input, "An ETDump has the times of a program: add the .pte that was executed."), notice: null };
  const extras = {
    ...(before ? { before: before.libraryName } : {}),
    ...(data.length > 0 ? { with: data.map(({ libraryName }) => libraryName) } : {}),
    ...(etdump ? { etdump: etdump.libraryName } : {}),
  };
  try {
    return { document: await diagnosed(named(await ask(client, { input: input.libraryName, ...extras }), subject), input), notice: null };
  } catch (error) {
    if (!(error instanceof LibraryError)) throw error;
    if (Object.keys(extras).length > 0) {
      // Without what does not fit to it, the program can still be shown.
      try {
        return { document: named(await ask(client, { input: input.libraryName }), subject), notice: messageOf(error) };
      } catch (second) {
        if (!(second instanceof LibraryError)) throw second;
      }
    }
    return { document: await unreadable(input, messageOf(error), error), notice: null };
  }
}
const ask = async (client: Client, options: object): Promise<ReportDocument> => (await client.call({ command: "report", ...options })).result as ReportDocument;

/** A message with its lines and advice. */
export function messageOf(error: LibraryError): string {
  const entries = (error.findings?.files ?? []).flatMap(({ findings }) => findings);
  if (entries.length === 0) return error.message;
  return entries.slice(0, 20).map(({ message, source, help }) => `${source ? `line ${source.line}: ` : ""}${message}${help ? ` (${help})` : ""}`).join("; ");
}
/** The document with the names that the user knows. */
function named(document: ReportDocument, { input, before }: Subject): ReportDocument {
  const files = document.files.map((file) => (file.name === input.libraryName ? { ...file, name: input.name } : file));
  return { ...document, name: input.name, files, ...(before && document.before != null ? { before: before.name } : {}) };
}
/** With what a file is, if the library cannot read it. */
async function diagnosed(document: ReportDocument, { content }: OpenFile): Promise<ReportDocument> {
  const [first, ...rest] = document.files;
  if (document.error == null || !first || first.diagnosis) return document;
  const diagnosis = signatureOf(new Uint8Array(await content.slice(0, HEAD).arrayBuffer()));
  return diagnosis ? { ...document, files: [{ ...first, diagnosis }, ...rest] } : document;
}
async function unreadable({ name, kind, content }: OpenFile, message: string, error?: LibraryError): Promise<ReportDocument> {
  const head = new Uint8Array(await content.slice(0, SHOWN).arrayBuffer());
  const diagnosis = signatureOf(head);
  let binary = "";
  for (let at = 0; at < head.length; at += 8192) binary += String.fromCharCode(...head.subarray(at, at + 8192));
  const text = kind === "yaml" || kind === "text" ? new TextDecoder().decode(head) : null;
  const findings = (error?.findings?.files ?? []).flatMap(({ findings: list }) => list).map(({ level, message: found, rule, help, source }) =>
    ({ rule: rule ?? "", severity: level === "error" ? "invalid" : level === "warning" ? "suspicious" : "note", title: source ? `line ${source.line}, column ${source.column}` : "", found, expected: help ?? "", path: null, offset: null }));
  return {
    version: 1, name, error: message, files: [{ name, ...(diagnosis ? { diagnosis } : {}), contents: { bytes: content.size, ...(kind === "yaml" ? { format: "yaml" } : kind === "etdump" ? { format: "etdump" } : {}) }, findings }],
    ...(text === null ? {} : { text: { text } }),
    bytes: { size: content.size, coarse: true, paths: [""], types: [kind === "text" || kind === "yaml" ? "text" : "bytes"], meanings: ["not read"], regions: head.length > 0 ? [[0, content.size, 0, 0, 0, null]] : [], data: { offset: 0, base64: btoa(binary) } },
  };
}

/** Reads what files are, and gives each names that no other has. */
export async function openFiles(files: Iterable<{ name: string; content: Blob }>, others: readonly OpenFile[]): Promise<OpenFile[]> {
  const opened: OpenFile[] = [];
  for (const { name: given, content } of files) {
    const head = new Uint8Array(await content.slice(0, HEAD).arrayBuffer());
    const all = [...others, ...opened];
    const kind = kindOf(given, head);
    const name = uniqueName(given, new Set(all.map((file) => file.name)));
    const libraryName = uniqueName(libraryNameOf(name, kind), new Set(all.map((file) => file.libraryName)));
    opened.push({ name, libraryName, kind, content });
  }
  return opened;
}
/** Paths in a YAML that end with the name of a file: the library gets the file under these, too. */
export function pathsIn(yaml: string, name: string): string[] {
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return [...new Set([...yaml.matchAll(new RegExp(`[\\w./-]*/${escaped}(?![\\w.-])`, "g"))].map(([path]) => path))].slice(0, 20);
}
