// Questions about the program and edits of it: a form for each, and what the library answered.
import { useEffect, useRef, useState } from "preact/hooks";
import { counted, grouped } from "../../../explorer/src/names";
import { ACTIONS, type Action, type Field, type Values, requestOf } from "../actions";
import { Stopped } from "../client";
import type { Subject } from "../files";
import { type Answer, type Findings, LibraryError, type OutputFile } from "../library";
import { openFiles } from "../report";
import { client, files, report, show } from "../state";
import { Download, EntryView } from "./parts";

interface Outcome { readonly action: Action; readonly answer?: Answer; readonly error?: Error }
interface Lists { readonly releases: readonly string[]; readonly targets: readonly string[]; readonly methods: readonly string[] }

export function Panel({ subject, onClose }: { subject: Subject; onClose: () => void }) {
  const [id, setId] = useState("check");
  const [values, setValues] = useState<Readonly<Record<string, Values>>>({});
  const [isRunning, setRunning] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const known = useKnown();
  const first = useRef<HTMLSelectElement>(null);
  useEffect(() => first.current?.focus(), []);
  useEffect(() => setOutcome(null), [subject.input]);
  const action = ACTIONS.find((found) => found.id === id)!;
  const methods = (report.value?.graph?.methods ?? []).map(({ name }) => name);
  const lists: Lists = { ...known, methods };
  const own = values[id] ?? {};
  const { input, with: data } = subject;
  const about = { input: input.libraryName, name: input.name, with: data.map(({ libraryName }) => libraryName), methods };
  const run = async () => {
    setRunning(true);
    setOutcome(null);
    try {
      const answer = await client.call(requestOf(action, own, about));
      setOutcome({ action, answer: action.id === "dump" ? asFile(answer, input.name) : answer });
    } catch (error) {
      if (!(error instanceof Stopped)) setOutcome({ action, error: error instanceof Error ? error : new Error(String(error)) });
    } finally {
      setRunning(false);
    }
  };
  return (
    <aside id="panel" class="panel" aria-label="Check and edit" onKeyDown={(event) => { if (event.key === "Escape") onClose(); }}>
      <div class="panelhead"><label>Do <select ref={first} value={id} onChange={(event) => { setId(event.currentTarget.value); setOutcome(null); }}>{ACTIONS.map(({ id: value, title }) => <option value={value}>{title}</option>)}</select></label><button type="button" class="inline" aria-label="Close" onClick={onClose}>×</button></div>
      <p class="quiet">{action.says} <bdi class="mono">{subject.input.name}</bdi></p>
      <form onSubmit={(event) => { event.preventDefault(); void run(); }}>
        {action.fields.map((field) => <FieldView key={`${id}.${field.name}`} field={field} lists={lists} value={own[field.name]} onChange={(value) => setValues({ ...values, [id]: { ...own, [field.name]: value } })} />)}
        <button type="submit" class="main" disabled={isRunning}>{action.title}</button> {isRunning && <span role="status">Working… <button type="button" onClick={() => client.stop()}>Stop</button></span>}
      </form>
      <div aria-live="polite">{outcome && <OutcomeView outcome={outcome} subject={subject} onClose={onClose} />}</div>
    </aside>
  );
}
function FieldView({ field, lists, value, onChange }: { field: Field; lists: Lists; value: string | boolean | undefined; onChange: (value: string | boolean) => void }) {
  const { name, label, type, hint, list } = field;
  const known = list ? lists[list] : [];
  const text = typeof value === "string" ? value : "";
  if (type === "flag") return <label class="field flag"><input type="checkbox" checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} /> {label}</label>;
  if (type === "choice") return <label class="field"><span>{label}</span> <select value={text || (field.options?.[0] ?? "")} onChange={(event) => onChange(event.currentTarget.value)}>{(field.options ?? ["", ...known]).map((option) => <option value={option}>{option}</option>)}</select></label>;
  if (type === "lines") return <label class="field"><span>{label}</span> <textarea rows={3} placeholder={hint ?? ""} value={text} onInput={(event) => onChange(event.currentTarget.value)} /></label>;
  return <label class="field"><span>{label}</span> <input type={type === "number" ? "number" : "text"} {...(type === "number" ? { min: 0 } : {})} {...(known.length > 0 ? { list: `list-${name}` } : {})} placeholder={hint ?? ""} value={text} onInput={(event) => onChange(event.currentTarget.value)} />
    {known.length > 0 && <datalist id={`list-${name}`}>{(list === "methods" ? known : ["all", ...known]).map((item) => <option value={item} />)}</datalist>}</label>;
}
function OutcomeView({ outcome: { action, answer, error }, subject, onClose }: {
  outcome: Outcome; subject: Subject; onClose: () => void;
}) {
  if (error) {
    const entries = error instanceof LibraryError ? (error.findings?.files ?? []).flatMap(({ findings }) => findings) : [];
    return <div class="outcome"><p class="error" role="alert">{entries.length === 0 ? error.message : "Not done:"}</p><ul class="plain">{entries.map((entry) => <li><EntryView entry={entry} /></li>)}</ul></div>;
  }
  if (!answer) return null;
  const open = async (outputs: readonly OutputFile[], isCompared: boolean) => {
    // What is compared has both; a program whose data were not changed keeps its .ptd files.
    const kept = isCompared ? files.value.filter((file) => file !== subject.before) : files.value.filter(({ name, kind }) => kind === "data" && !outputs.some((output) => output.name === name));
    const opened = await openFiles(outputs.map(({ name, bytes }) => ({ name, content: new Blob([bytes]) })), isCompared ? files.value : kept);
    await show([...kept, ...opened], isCompared ? action.tab ?? "differences" : undefined);
    // On a narrow page, the panel is above what it opened.
    if (matchMedia("(max-width: 700px)").matches) onClose();
  };
  return (
    <div class="outcome">
      {answer.files.length > 0 && <>
        <ul class="plain">{answer.files.map((file) => <li key={file.name}><Download file={file} /></li>)}</ul>
        {action.suffix !== undefined && <p><button type="button" onClick={() => void open(answer.files, false)}>Show it</button> <button type="button" onClick={() => void open(answer.files, true)}>Compare with {subject.input.name}</button></p>}
      </>}
      {isFindings(answer.result) ? <FindingsView findings={answer.result} hasFiles={answer.files.length > 0} /> : action.id === "dump" ? <pre class="yaml" tabIndex={0}>{String(answer.result).slice(0, 100_000)}</pre> : <JsonResult name={`${action.id}.json`} value={answer.result} />}
    </div>
  );
}
const isFindings = (result: unknown): result is Findings => typeof result === "object" && result !== null && "files" in result && "errors" in result;

function FindingsView({ findings, hasFiles }: { findings: Findings; hasFiles: boolean }) {
  if (hasFiles && findings.errors + findings.warnings + findings.notes === 0) return null;
  return <>
    <p><b>{findings.errors === 0 ? "No errors" : `${grouped(findings.errors)} errors`}</b>, {grouped(findings.warnings)} warnings, {grouped(findings.notes)} notes</p>
    {findings.files.map(({ file, runtime, target, errors, findings: list, diagnosis }, at) => (
      <details key={at} open={findings.files.length < 4 || undefined}>
        <summary><span class={`level ${errors > 0 ? "error" : "note"}`}>{errors > 0 ? "no" : "ok"}</span> {runtime ? `ExecuTorch ${runtime}` : ""} {target ?? ""} {!runtime && !target && <bdi>{file}</bdi>} {list.length > 0 && <span class="quiet">{counted(list.length, "finding")}</span>}</summary>
        {diagnosis && <p><b>{diagnosis.found}</b>: {diagnosis.help}</p>}
        <ul class="plain">{list.slice(0, 200).map((entry) => <li><EntryView entry={entry} /></li>)}</ul>
      </details>
    ))}
  </>;
}
function JsonResult({ name, value }: { name: string; value: unknown }) {
  const [file, setFile] = useState<OutputFile | null>(null);
  useEffect(() => setFile({ name, bytes: new TextEncoder().encode(`${JSON.stringify(value, null, 2)}\n`) }), [value]);
  return <>{file && <p><Download file={file} /></p>}<JsonView value={value} depth={0} /></>;
}
/** Any result: objects and lists can be opened. */
function JsonView({ value, depth }: { value: unknown; depth: number }) {
  if (typeof value !== "object" || value === null) return <bdi class="mono">{typeof value === "number" ? grouped(value) : value === null ? "none" : String(value)}</bdi>;
  // Such as the planned bytes before and after an edit.
  if (Array.isArray(value) && value.length <= 8 && value.every((item) => typeof item !== "object")) return <bdi class="mono">{value.map((item) => (typeof item === "number" ? grouped(item) : String(item))).join(value.length === 2 ? " → " : ", ")}</bdi>;
  const entries = Object.entries(value).filter(([, item]) => item !== null && !(Array.isArray(item) && item.length === 0));
  if (entries.length === 0) return <span class="quiet">nothing</span>;
  const nameOf = (key: string, item: unknown) => {
    const named = item as { name?: unknown; kind?: unknown; label?: unknown; file?: unknown } | null;
    const found = named && typeof named === "object" ? named.name ?? named.kind ?? named.label ?? named.file : undefined;
    return Array.isArray(value) ? (typeof found === "string" && found !== "" ? found : key) : key.replaceAll("_", " ");
  };
  return (
    <ul class="json">
      {entries.slice(0, 200).map(([key, item]) => (typeof item === "object" && !(Array.isArray(item) && item.length <= 8 && item.every((own) => typeof own !== "object"))
        ? <li><JsonGroup name={nameOf(key, item)} count={Array.isArray(item) ? item.length : null} isOpen={depth < 2 && entries.length <= 12} value={item} depth={depth} /></li>
        : <li><span class="quiet">{nameOf(key, item)}</span> <JsonView value={item} depth={depth + 1} /></li>))}
      {entries.length > 200 && <li class="quiet">and {grouped(entries.length - 200)} more</li>}
    </ul>
  );
}
function JsonGroup({ name, count, isOpen, value, depth }: { name: string; count: number | null; isOpen: boolean; value: unknown; depth: number }) {
  const [isShown, setShown] = useState(isOpen);
  return <details open={isShown} onToggle={(event) => setShown(event.currentTarget.open)}><summary><bdi>{name}</bdi>{count !== null && <span class="quiet"> {grouped(count)}</span>}</summary>{isShown && <JsonView value={value} depth={depth + 1} />}</details>;
}
function asFile({ result, files: others }: Answer, name: string): Answer {
  return { result, files: [{ name: `${name.replace(/\.[^.]+$/, "")}.yaml`, bytes: new TextEncoder().encode(String(result)) }, ...others] };
}

let lists: Promise<{ releases: string[]; targets: string[] }> | null = null;
const SMALLEST = "methods: {forward: {values: {x: {tensor: float32, sizes: [1]}}, inputs: [x], outputs: [x], instructions: []}}\n";
/** Releases and targets that the library knows: those that it answers about. */
function useKnown() {
  const [known, setKnown] = useState<{ releases: string[]; targets: string[] }>({ releases: [], targets: [] });
  useEffect(() => {
    const ask = async (options: object) => ((await client.call({ command: "check", input: "smallest.yaml", files: { "smallest.yaml": SMALLEST }, ...options })).result as Findings).files;
    lists ??= (async () => ({
      releases: [...new Set((await ask({ runtime: "all" })).flatMap(({ runtime }) => runtime ?? []))].reverse(),
      targets: [...new Set((await ask({ target: "all" })).flatMap(({ target }) => target ?? []))],
    }))();
    lists.then(setKnown, () => { lists = null; });
  }, []);
  return known;
}
