// What the files are: sizes, methods, releases, segments. Of a malformed file, what can be read.
import { bytes, counted, grouped } from "../names";
import type { FileData } from "../document";
import type { State } from "../state";
import { Facts } from "./parts";

export function SummaryView({ state }: { state: State }) {
  const { files, memory, error, before } = state.document;
  return (
    <div class="scroll summary" tabIndex={0} role="region" aria-label="Summary">
      {error && <p class="error">{error}</p>}
      {before && <p>Compared with <bdi class="mono">{before}</bdi></p>}
      {files.map((file) => <FileSummary state={state} file={file} />)}
      {memory?.total && <section><h3>Memory</h3><Facts rows={[["without files", bytes(memory.total.bytes)], ["with files", bytes(memory.total.with_files)], ...memory.methods.map(({ name, planned }) => [`planned, ${name}`, bytes(planned)] as const)]} /></section>}
    </div>
  );
}
function FileSummary({ state, file }: { state: State; file: FileData }) {
  const { contents } = file;
  const severities = new Map<string, number>();
  for (const { severity } of file.findings ?? []) severities.set(severity, (severities.get(severity) ?? 0) + 1);
  const findings = [...severities].map(([severity, count]) => `${count} ${severity}`).join(", ");
  const releases = contents?.releases ?? [];
  const constants = Object.entries(contents?.constant_methods ?? {});
  const keys = Object.entries(contents?.named_data ?? {});
  return (
    <section>
      <h3><bdi>{file.name}</bdi></h3>
      {(contents?.errors ?? []).filter((text) => text !== state.document.error).map((text) => <p class="error">{text}</p>)}
      {file.diagnosis && <p><b>{file.diagnosis.found}</b>: {file.diagnosis.help}</p>}
      <Facts rows={[
        ["format", contents?.format ?? "not recognized"], ["size", bytes(contents?.bytes ?? file.size?.bytes ?? 0)],
        contents?.methods && ["methods", contents.methods.map(({ name }) => name).join(", ")],
        (contents?.segments?.length ?? 0) > 0 && ["segments", contents!.segments!.map((segment) => `${segment.content.join(", ")} (${bytes(segment.bytes)})`).join("; ")],
        releases.length > 0 && ["releases", `${releases[0]} to ${releases[releases.length - 1]}`],
        contents?.needs && ["needs", `ExecuTorch ${contents.needs.release}: ${contents.needs.feature}`],
        keys.length > 0 && ["named data", `${counted(keys.length, "key")}, ${bytes(keys.reduce((sum, [, size]) => sum + size, 0))}`],
        (contents?.required_keys?.length ?? 0) > 0 && ["requires keys", contents!.required_keys!.slice(0, 20).join(", ")],
        ["findings", findings === "" ? "none" : <button type="button" class="inline" onClick={() => { state.tab.value = "findings"; }}>{findings}</button>],
        ...constants.slice(0, 40).map(([name, values]) => [name, <bdi class="mono">{values.join(", ")}</bdi>] as const),
        constants.length > 40 && ["", `and ${grouped(constants.length - 40)} more constant methods`],
      ]} />
    </section>
  );
}
