// What the site shows, as signals: the start, open files, or the playground, which the address of the page says.
import { batch, signal } from "@preact/signals";
import type { ReportDocument } from "../../explorer/src/document";
import type { Tab } from "../../explorer/src/state";
import { Client, Stopped, startWorker } from "./client";
import { type OpenFile, libraryName, subjectOf } from "./files";
import { openFiles, pathsIn, reportOf } from "./report";
import { partOf } from "./share";

export type View = "start" | "files" | "playground";
export const client = new Client(startWorker);
export const view = signal<View>("start");
export const files = signal<readonly OpenFile[]>([]);
export const report = signal<ReportDocument | null>(null);
export const notice = signal<string | null>(null);
export const isBusy = signal(false);
/** The name in an address whose file is not open any more, as after a reload. */
export const missing = signal<string | null>(null);

/** The part of the address of open files that belongs to the site. */
export const keep = (): string => `file=${encodeURIComponent(subjectOf(files.value)?.input.name ?? "")}`;

export function follow(): void {
  const { hash } = location;
  const name = partOf(hash, "file");
  batch(() => {
    missing.value = null;
    if (partOf(hash, "yaml") !== null) view.value = "playground";
    else if (name !== null && name === encodeURIComponent(subjectOf(files.value)?.input.name ?? "")) view.value = "files";
    else {
      view.value = "start";
      if (name !== null) try { missing.value = decodeURIComponent(name); } catch { missing.value = name; }
    }
  });
}
export function go(fragment: string): void {
  history.pushState(null, "", `#${fragment}`);
  follow();
}

/** Opens files, beside those that are open already. */
export async function add(list: Iterable<{ name: string; content: Blob }>): Promise<void> {
  try {
    const opened = await openFiles(list, new Set(files.value.map(({ name }) => name)));
    if (opened.length > 0) await show([...files.value, ...opened]);
  } catch (error) {
    // Such as a folder.
    notice.value = `A file cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}
let turn = 0;
/** Shows files, in a tab of the explorer if one is given. */
export async function show(next: readonly OpenFile[], tab?: Tab): Promise<void> {
  const own = ++turn;
  const kept = new Set(next);
  for (const file of files.value) if (!kept.has(file)) client.removeFile(libraryName(file));
  for (const file of next) client.addFile(libraryName(file), file.content);
  const subject = subjectOf(next);
  const wasShown = view.value === "files";
  batch(() => {
    files.value = next;
    notice.value = null;
    isBusy.value = subject !== null;
    if (!subject) report.value = null;
  });
  if (!subject) { go(""); return; }
  try {
    if (subject.input.kind === "yaml" && subject.input.content.size < 4_000_000) {
      const text = await subject.input.content.text();
      for (const file of next) for (const path of pathsIn(text, file.name)) client.addFile(path, file.content);
    }
    const shown = await reportOf(client, subject);
    if (own !== turn) return;
    batch(() => {
      report.value = shown.document;
      notice.value = shown.notice;
      view.value = "files";
      document.title = `${shown.document.name} – pte-emit`;
    });
    const isKept = (part: string) => part !== "" && !part.startsWith("file=") && !(tab && part.startsWith("tab="));
    const rest = wasShown ? location.hash.slice(1).split("&").filter(isKept) : [];
    const address = `#${[keep(), ...rest, ...(tab ? [`tab=${tab}`] : [])].join("&")}`;
    if (wasShown) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
  } catch (error) {
    if (own === turn && !(error instanceof Stopped)) notice.value = error instanceof Error ? error.message : String(error);
  } finally {
    if (own === turn) isBusy.value = false;
  }
}
export const close = (file: OpenFile) => show(files.value.filter((other) => other !== file));
/** The newer of two files becomes the older. */
export const swap = () => {
  const subject = subjectOf(files.value);
  if (subject?.before) void show([...files.value.filter((file) => file !== subject.before), subject.before]);
};
export function stop(): void {
  turn++;
  isBusy.value = false;
  client.stop();
}
