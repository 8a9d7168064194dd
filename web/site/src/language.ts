// Questions of the editor about its text. A worker of their own answers them, so that assembling and reports do not delay
// them; the library in it keeps the analysis of the last text. Of a question that waits, only the newest one is asked.
import type { CallSignature, CompletionItem, Hover, InlayHint, RangeOfUint, Reference, SemanticToken, SourceAction, SourceMessage, TextEdit } from "./answers";
import { type Client, Stopped } from "./client";
import type { Content } from "./library";

export interface Answers {
  actions: SourceAction[]; completions: CompletionItem[]; definition: RangeOfUint | null; formatting: TextEdit[]; hints: InlayHint[]; hover: Hover | null; messages: SourceMessage[];
  references: Reference[]; rename: TextEdit[]; renameable: RangeOfUint | null; signature: CallSignature | null; tokens: SemanticToken[];
}
export type Question = keyof Answers;
/** The text's file for the library. */
export const INPUT = "playground.yaml";
/** Milliseconds that a question may take when another one waits. */
const PATIENCE = 4000;

interface Waiting { readonly question: Question; readonly text: string; readonly options: object; resolve(answer: unknown): void; reject(error: unknown): void }

export class Language {
  readonly #client: Client;
  readonly #filesOf: (text: string) => Promise<readonly (readonly [string, Content])[]>;
  readonly #given = new Set<string>();
  readonly #waiting = new Map<string, Waiting>();
  #isRunning = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `filesOf` returns the files that a text refers to. */
  constructor(client: Client, filesOf: (text: string) => Promise<readonly (readonly [string, Content])[]>) {
    this.#client = client;
    this.#filesOf = filesOf;
  }
  /** Returns `undefined` if a newer question of the kind replaces this one, or it takes too long. Offsets are those of strings. */
  ask<Q extends Question>(question: Q, text: string, options: { at?: number; start?: number; end?: number; name?: string } = {}): Promise<Answers[Q] | undefined> {
    // The same question about all of the text and about a part are two kinds.
    const kind = `${question} ${Object.keys(options).join(" ")}`;
    this.#waiting.get(kind)?.resolve(undefined);
    return new Promise((resolve, reject) => {
      // A question that is asked again comes last.
      this.#waiting.delete(kind);
      this.#waiting.set(kind, { question, text, options, resolve: resolve as (answer: unknown) => void, reject });
      if (!this.#isRunning) void this.#run();
      else this.#timer ??= setTimeout(() => { this.#timer = undefined; if (this.#waiting.size > 0) this.#client.stop(); }, PATIENCE);
    });
  }
  end(): void {
    for (const { resolve } of this.#waiting.values()) resolve(undefined);
    this.#waiting.clear();
    this.#client.stop();
  }
  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let next; (next = [...this.#waiting][0]) !== undefined;) {
      const [kind, { question, text, options, resolve, reject }] = next;
      this.#waiting.delete(kind);
      try {
        for (const [name, content] of await this.#filesOf(text)) {
          if (!this.#given.has(name)) this.#client.addFile(name, content);
          this.#given.add(name);
        }
        resolve((await this.#client.call({ command: "language", question, input: INPUT, units: "utf-16", files: { [INPUT]: text }, ...options })).result);
      } catch (error) {
        if (error instanceof Stopped) resolve(undefined);
        else reject(error);
      }
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    this.#isRunning = false;
  }
}

/** The changes that an editor makes, in the order of the text. */
export const changesOf = (edits: readonly TextEdit[]) => edits.map(({ range: { start, end }, text }) => ({ from: start, to: end, insert: text })).sort((a, b) => a.from - b.from);

/** A snippet of the library as one of CodeMirror, which indents further lines like the first one; `indent` is that of the first one. Of choices, the first is the text. */
export function templateOf(snippet: string, indent: string): string {
  return snippet.replaceAll(`\n${indent}`, "\n").replace(/\$(\d+)|\$\{(\d+)[:|]([^,|}]*)[^}]*\}|\\(.)|[{}]/g, (found: string, alone?: string, numbered?: string, name?: string, escaped?: string) => {
    const number = alone ?? numbered;
    // Without a number, a field is the last one.
    if (number !== undefined) return `\${${number === "0" ? "" : name ? `${number}:${name}` : number}}`;
    const character = escaped ?? found;
    return character === "{" || character === "}" ? `\\${character}` : character;
  });
}

/** Where a cursor is after a change of layout: after as many characters that are no spaces. */
export function afterLayout(before: string, at: number, after: string): number {
  let count = before.slice(0, at).replace(/\s/g, "").length;
  let index = 0;
  for (; count > 0 && index < after.length; index++) if (!/\s/.test(after[index]!)) count--;
  return index;
}
