// The library as the site uses it: files by name, and requests about them, as `bindings/json` describes both. Everything
// here can be sent between a worker and a page.

/** A command and its options: `{command: "check", input: "model.pte"}`. */
export interface Request { readonly command: string; readonly [option: string]: unknown }
export interface OutputFile { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> }
export interface Answer { readonly result: unknown; readonly files: readonly OutputFile[] }

export type Level = "error" | "warning" | "note";
export interface Position { readonly line: number; readonly column: number; readonly start: number; readonly end: number }
/** A finding of a rule, or a message, as docs/check.schema.json has both. */
export interface Entry {
  readonly level: Level; readonly message: string; readonly rule?: string | null; readonly title?: string; readonly why?: string; readonly runtime?: string;
  readonly path?: string; readonly offset?: number | null; readonly help?: string | null; readonly source?: Position | null;
}
export interface FileFindings {
  readonly file: string; readonly findings: readonly Entry[]; readonly errors: number; readonly warnings: number; readonly notes: number;
  readonly runtime?: string | null; readonly target?: string | null; readonly diagnosis?: { readonly found: string; readonly help: string } | null;
}
export interface Findings { readonly files: readonly FileFindings[]; readonly errors: number; readonly warnings: number; readonly notes: number }

/** The request has no answer: what is wrong, with lines of YAML and advice. */
export interface Failure { readonly message: string; readonly findings: Findings | null }
export class LibraryError extends Error {
  readonly findings: Findings | null;
  constructor({ message, findings }: Failure) {
    super(message);
    this.findings = findings;
  }
}

export type Content = Blob | Uint8Array<ArrayBuffer>;
export interface Library {
  /** Adds a file, in place of one with the same name. A Blob is read by slices when a request needs them. */
  addFile(name: string, content: Content): void;
  removeFile(name: string): void;
  /** @throws LibraryError, or another error after which the library cannot be used. */
  call(request: Request): Answer;
}

/** What a page sends to its worker, and gets back. */
export type Message =
  | { readonly kind: "add"; readonly name: string; readonly content: Content }
  | { readonly kind: "remove"; readonly name: string }
  | { readonly kind: "call"; readonly id: number; readonly request: Request };
export type Reply =
  | { readonly kind: "ready" }
  | { readonly kind: "answer"; readonly id: number; readonly answer: Answer }
  | { readonly kind: "failure"; readonly id: number; readonly failure: Failure }
  /** The worker has to be replaced. */
  | { readonly kind: "end"; readonly message: string };
