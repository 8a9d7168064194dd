// The playground: YAML at the left, what it assembles to at the right. The text is in the address.
import { useEffect, useRef, useState } from "preact/hooks";
import type { ReportDocument } from "../../../explorer/src/document";
import { Client, Stopped, startWorker } from "../client";
import type { Problem } from "../assist";
import { type Editor, createEditor } from "../editor";
import { type Example, dataOf, exampleText, examples } from "../examples";
import { INPUT, Language } from "../language";
import { LibraryError, type OutputFile } from "../library";
import { messageOf } from "../report";
import { LONGEST, pack, partOf, unpack } from "../share";
import { go } from "../state";
import { Download, EntryView, ExplorerBox } from "./parts";

const START = "linear.yaml";
/** Milliseconds after the last key, and that an older text may still take when a newer one waits. */
const PAUSE = { check: 250, stop: 4000 };

let packed = "";
let isLong = false;
const keep = () => (isLong ? "yaml=" : `yaml=${packed}`);

export function PlaygroundPage() {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const work = useRef<Work | null>(null);
  const [list, setList] = useState<readonly Example[]>([]);
  const [found, setFound] = useState<Result | null>(null);
  const [problems, setProblems] = useState<readonly Problem[]>([]);
  const [status, setStatus] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [isResultShown, setResultShown] = useState(false);

  useEffect(() => {
    document.title = "Playground – pte-emit";
    let isGone = false;
    const failed = (reason: unknown) => { if (!isGone && !(reason instanceof Stopped)) setStatus(reason instanceof Error ? reason.message : String(reason)); };
    const made = work.current = new Work((result) => { if (!isGone) setFound((old) => ({ ...result, document: result.document ?? old?.document ?? null })); }, setBusy, failed);
    const language = new Language(new Client(startWorker), dataOf);
    examples().then((all) => { if (!isGone) setList(all); }, failed);
    void (async () => {
      const address = partOf(location.hash, "yaml") ?? "";
      const shared = address === "" ? null : await unpack(address);
      if (address !== "" && shared === null) setStatus("The address has no YAML that can be read: an example is shown.");
      const text = shared ?? await exampleText(START).catch((reason: unknown) => { failed(reason); return ""; });
      if (isGone) return;
      packed = address;
      editor.current = createEditor(place.current!, text, { language, onProblems: setProblems, onNotice: setStatus, onError: failed, onChange: () => { setStatus(""); made.changed(editor.current!.text()); } });
      made.changed(text, 0);
    })();
    // Another text in the address: a link, or Back.
    const follow = () => {
      const address = partOf(location.hash, "yaml");
      if (address === null || address === "" || address === packed) return;
      packed = address;
      void unpack(address).then((text) => { if (text !== null && !isGone && text !== editor.current?.text()) editor.current?.setText(text); });
    };
    addEventListener("popstate", follow);
    addEventListener("hashchange", follow);
    return () => {
      isGone = true;
      removeEventListener("popstate", follow);
      removeEventListener("hashchange", follow);
      made.end();
      language.end();
      editor.current?.destroy();
    };
  }, []);

  const choose = (name: string) => exampleText(name).then((text) => { editor.current?.setText(text); }, (reason: unknown) => setStatus(String(reason)));
  const share = async () => {
    await work.current?.address();
    if (isLong) { setStatus("The text is too long for an address."); return; }
    try {
      await navigator.clipboard.writeText(location.href);
      setStatus("The address with the text is copied.");
    } catch {
      setStatus("The address of this page has the text.");
    }
  };
  const isBroken = found !== null && found.error !== null;
  // Unused values are faded in the text.
  const listed = problems.filter(({ message }) => message.level !== "hint");
  return (
    <div class={`page playground ${isResultShown ? "with-result" : ""}`}>
      <nav class="sitebar" aria-label="Playground">
        <a href="#" class="home" onClick={(event) => { event.preventDefault(); go(""); }}>pte-emit</a>
        <label>Example <select value="" onChange={(event) => { const name = event.currentTarget.value; event.currentTarget.value = ""; if (name) void choose(name); }}><option value="">choose…</option>{list.map(({ name, title }) => <option value={name} title={title}>{name.replace(/\.yaml$/, "")}</option>)}</select></label>
        <button type="button" title="Shift+Alt+F" onClick={() => void editor.current?.layOut()}>Format</button>
        <button type="button" onClick={() => void share()}>Share</button>
        <span class="downloads" inert={isBusy}>{found?.files.map((file) => <Download key={file.name} file={file} />)}</span>
        <button type="button" class="turn" aria-pressed={isResultShown} onClick={() => setResultShown(!isResultShown)}>{isResultShown ? "YAML" : "Result"}</button>
        <span class="state" role="status">{status || (isBusy ? "Assembling…" : isBroken ? "" : found ? "Assembled" : "")}</span>
      </nav>
      <div class="halves">
        <section class="source" aria-label="Source">
          <div class="editor" ref={place} />
          {listed.length > 0 && (
            <ul class="problems" aria-label="Problems">
              {listed.slice(0, 100).map(({ message: { range, level, code, message }, line, fixes }) => {
                const [first = "", ...rest] = message.split("\n");
                return <li>
                  <button type="button" class="inline" onClick={() => editor.current?.goTo(range.start)}><EntryView entry={{ level: level === "hint" ? "note" : level, message: first, rule: code, help: rest.join("\n") || null, source: { line, column: 1, start: 0, end: 0 } }} /></button>
                  {fixes.map(({ title, apply }) => <button type="button" class="fix" onClick={apply}>{title}</button>)}
                </li>;
              })}
            </ul>
          )}
        </section>
        <section class="result" aria-label="Result">
          {isBroken && !listed.some(({ message }) => message.level === "error") && <p class="notice" role="alert">{found.error}</p>}
          {isBroken && found.document && <p class="notice">The last text without errors:</p>}
          {found?.document ? <ExplorerBox document={found.document} keep={keep} /> : <p class="message">{isBroken ? "The errors at the left have to be corrected first." : "Loading the library…"}</p>}
        </section>
      </div>
    </div>
  );
}

/** What a text is assembled to; without files, the error. */
interface Result { readonly error: string | null; readonly document: ReportDocument | null; readonly files: readonly OutputFile[] }

/** Assembles the last text. An older one that takes long is stopped. */
class Work {
  readonly client = new Client(startWorker);
  readonly #done: (result: Result) => void;
  readonly #busy: (isBusy: boolean) => void;
  readonly #failed: (reason: unknown) => void;
  #timer = 0;
  #text = "";
  #waiting: string | null = null;
  #isRunning = false;
  #started = 0;
  #isEnded = false;

  constructor(done: (result: Result) => void, busy: (isBusy: boolean) => void, failed: (reason: unknown) => void) {
    this.#done = done;
    this.#busy = busy;
    this.#failed = failed;
  }
  changed(text: string, pause = PAUSE.check): void {
    clearTimeout(this.#timer);
    this.#text = text;
    // What is shown is of an older text from now on.
    this.#busy(true);
    this.#timer = window.setTimeout(() => { this.#timer = 0; this.#start(text); }, pause);
  }
  end(): void {
    this.#isEnded = true;
    clearTimeout(this.#timer);
    this.client.stop();
  }
  /** Puts the text in the address. */
  async address(): Promise<void> {
    const text = this.#text;
    isLong = text.length > LONGEST;
    const next = isLong ? "" : await pack(text);
    if (this.#isEnded || text !== this.#text) return;
    packed = next;
    const rest = location.hash.replace(/^#/, "").split("&").filter((part) => part !== "" && !part.startsWith("yaml=")).join("&");
    history.replaceState(null, "", `#${[keep(), rest].filter((part) => part !== "").join("&")}`);
  }
  #start(text: string): void {
    this.#waiting = text;
    if (!this.#isRunning) void this.#run();
    else if (performance.now() - this.#started > PAUSE.stop) this.client.stop();
    else window.setTimeout(() => { if (this.#waiting !== null && this.#isRunning) this.client.stop(); }, PAUSE.stop);
  }
  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting !== null && !this.#isEnded) {
      const text = this.#waiting;
      this.#waiting = null;
      this.#started = performance.now();
      this.#busy(true);
      try {
        const result = await this.#assemble(text);
        if (this.#waiting === null && !this.#isEnded) { this.#done(result); await this.address(); }
      } catch (error) {
        this.#failed(error);
      }
    }
    this.#isRunning = false;
    this.#busy(this.#timer !== 0);
  }
  async #assemble(text: string): Promise<Result> {
    for (const [path, bytes] of await dataOf(text)) this.client.addFile(path, bytes);
    const files = { [INPUT]: text };
    try {
      const { files: outputs } = await this.client.call({ command: "assemble", input: INPUT, files });
      const document = (await this.client.call({ command: "report", input: INPUT, files })).result as ReportDocument;
      return { error: null, document, files: outputs };
    } catch (error) {
      if (!(error instanceof LibraryError)) throw error;
      return { error: messageOf(error), document: null, files: [] };
    }
  }
}
