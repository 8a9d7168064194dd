// What the site shows, as signals: the start, open files, or the playground, which the address of the page says.
import { batch, signal } from "@preact/signals";
import type { ReportDocument } from "../../explorer/src/document";
import type { Tab } from "../../explorer/src/state";
import { Client, Stopped, startWorker } from "./client";
import { type OpenFile, subjectOf } from "./files";
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

/** The files whose report is shown. Others can be open while theirs is computed. */
export const shownFiles = signal<readonly OpenFile[]>([]);

/** The part of the address of open files that belongs to the site. */
export const keep = (): string => `file=${encodeURIComponent(subjectOf(shownFiles.value)?.input.name ?? "")}`;

export function follow(): void {
  const { hash } = location;
  const name = partOf(hash, "file");
  batch(() => {
    missing.value = null;
    if (partOf(hash, "yaml") !== null) view.value = "playground";
    else if (shownFiles.value.length > 0 && hash.slice(1).split("&").includes(keep())) view.value = "files";
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
    const opened = await openFiles(list, files.value);
    if (opened.length > 0) await show([...files.value, ...opened]);
  } catch (error) {
    // Such as a folder.
    notice.value = `A file cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}
/** Files of the library by their names. */
type Given = ReadonlyMap<string, Blob>;
let given: Given = new Map();
/** What the library has when the report of `shownFiles` is shown. */
let shownGiven: Given = given;
/** Files by the names for the library; with a YAML, also by the names and paths that it can refer to. */
function givenOf(list: readonly OpenFile[], yaml?: string): Given {
  const all = new Map(list.map(({ libraryName, content }) => [libraryName, content]));
  if (yaml === undefined) return all;
  for (const { name, content } of list) for (const path of [name, ...pathsIn(yaml, name)]) if (!all.has(path)) all.set(path, content);
  return all;
}
/** Gives files to the library, and takes the others away. */
function give(next: Given): void {
  for (const name of given.keys()) if (!next.has(name)) client.removeFile(name);
  // After the removal, because paths that differ can be of the same file: `./w.bin`.
  for (const [name, content] of next) client.addFile(name, content);
  given = next;
}
let turn = 0;
/** Shows files, in a tab of the explorer if one is given. */
export async function show(next: readonly OpenFile[], tab?: Tab): Promise<void> {
  const own = ++turn;
  give(givenOf(next));
  const subject = subjectOf(next);
  const wasShown = view.value === "files";
  batch(() => {
    files.value = next;
    notice.value = null;
    isBusy.value = subject !== null;
    if (!subject) report.value = null;
  });
  if (!subject) {
    [shownFiles.value, shownGiven] = [next, given];
    go("");
    return;
  }
  try {
    if (subject.input.kind === "yaml" && subject.input.content.size < 4_000_000) {
      const yaml = await subject.input.content.text();
      if (own !== turn) return;
      give(givenOf(next, yaml));
    }
    const shown = await reportOf(client, subject);
    if (own !== turn) return;
    shownGiven = given;
    batch(() => {
      shownFiles.value = next;
      report.value = shown.document;
      notice.value = shown.notice;
      view.value = "files";
      isBusy.value = false;
      document.title = `${shown.document.name} – pte-emit`;
    });
    const parts = location.hash.slice(1).split("&");
    // After a reload, the address is already that of the file.
    const isHere = wasShown || parts.includes(keep());
    const isKept = (part: string) => part !== "" && !part.startsWith("file=") && !(tab && part.startsWith("tab="));
    const address = `#${[keep(), ...(isHere ? parts.filter(isKept) : []), ...(tab ? [`tab=${tab}`] : [])].join("&")}`;
    if (isHere) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
  } catch (error) {
    if (own !== turn) return;
    restore();
    if (!(error instanceof Stopped)) notice.value = error instanceof Error ? error.message : String(error);
  }
}
export const close = (file: OpenFile) => show(files.value.filter((other) => other !== file));
/** The newer of two files becomes the older. */
export const swap = () => {
  const subject = subjectOf(files.value);
  if (subject?.before) void show([...files.value.filter((file) => file !== subject.before), subject.before]);
};
/** Opens the files again whose report is shown. */
function restore(): void {
  turn++;
  give(shownGiven);
  batch(() => {
    files.value = shownFiles.value;
    isBusy.value = false;
  });
}
/** Stops the computation of a report. */
export function stop(): void {
  client.stop();
  restore();
}
