/** The commands of pte-emit. `load` of `pte-emit` creates a {@link PteEmit}. */

import { Instance, type FileSource, type OutputFile } from "./wasm.js";
import type { FindingsDocument } from "./results/check.js";
import type { DiffDocument } from "./results/diff.js";
import type { BoundReport, Extracted, Optimization } from "./results/edit.js";
import type { Document as Explanations } from "./results/explain.js";
import type { Delegation, FileSize, Inspection, MemoryDocument } from "./results/inspect.js";
import type {
  CallSignature,
  CompletionItem,
  Hover,
  InlayHint,
  OutlineItem,
  RangeOfUint,
  Reference,
  SemanticToken,
  SourceAction,
  SourceMessage,
  TextEdit,
} from "./results/language.js";
import type { Document as Operators } from "./results/ops.js";
import type { ReportDocument } from "./results/report.js";
import type { WeightList } from "./results/weights.js";

export type { FileSource, OutputFile } from "./wasm.js";
export type { FindingsDocument } from "./results/check.js";
export type { DiffDocument } from "./results/diff.js";
export type { BoundReport, Extracted, Optimization } from "./results/edit.js";
export type { Document as Explanations } from "./results/explain.js";
export type { Delegation, FileSize, Inspection, MemoryDocument } from "./results/inspect.js";
export type {
  CallSignature,
  CompletionItem,
  Hover,
  InlayHint,
  OutlineItem,
  RangeOfUint as TextRange,
  Reference,
  SemanticToken,
  SourceAction,
  SourceMessage,
  TextEdit,
} from "./results/language.js";
export type { Document as Operators } from "./results/ops.js";
export type { ReportDocument } from "./results/report.js";
export type { WeightList } from "./results/weights.js";

/** An error of a source, with its messages. */
export class PteEmitError extends Error {
  override readonly name = "PteEmitError";

  constructor(
    message: string,
    /** Messages with codes, lines and columns; none if the call failed as a whole. */
    readonly findings: FindingsDocument | undefined,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Options of every command that reads a source. */
export interface SourceOptions {
  /** `.ptd` files that the program is loaded with. */
  with?: string | string[];
  /** Values of `${NAME}` in YAML. */
  define?: Record<string, string | number>;
  /** Number of the document from 1, if YAML has several. */
  document?: number;
  /** Lists of custom operators. */
  operators?: string | string[];
  /** Texts of further files that this call reads, by name. */
  files?: Record<string, string>;
}

/** Options of every command that writes files. Layout options of docs/yaml-reference.md are further keys. */
export interface OutputOptions extends SourceOptions {
  /** Name of the output; `.pte`, `.ptd`, `.bpte` or `.safetensors` selects the format. */
  output?: string;
  /** Release of ExecuTorch to write for. */
  for_runtime?: string;
  /** Move constants to a `.ptd`: true for all, or rules such as `layer*.ptd=layers.*.*`. */
  external_data?: boolean | string | string[];
  /** Move the data of `.ptd` files into the program: true for all, or patterns of names. */
  internal_data?: boolean | string | string[];
  /** Maximum number of bytes of data in a `.ptd`. */
  max_shard_size?: number;
  /** Maximum number of bytes of the data, and of the files of the answer. */
  max_size?: number;
  /** Remove parts without effect. */
  prune?: boolean;
  [layout: string]: unknown;
}

export interface CheckOptions extends SourceOptions {
  /** Releases of ExecuTorch, or `all`. */
  runtime?: string | string[];
  /** Targets: names, files, or `all`. */
  target?: string | string[];
  read_data?: boolean;
  all_notes?: boolean;
  build?: "strict" | "portable" | "aten" | "32-bit" | "legacy";
}

export interface MemoryOptions extends SourceOptions {
  abi?: "64" | "arm32";
  processor?: "x86-avx512" | "x86-avx2" | "arm64" | "arm32";
  external?: boolean;
}

export interface DiffOptions extends SourceOptions {
  with_a?: string | string[];
  with_b?: string | string[];
  only?: "meaning" | "layout" | "data";
  compare_data?: "none" | "hash" | "stats";
}

export interface AnalysisOptions extends Pick<SourceOptions, "define" | "files"> {
  /** Release of ExecuTorch that the program is compared with. */
  runtime?: string;
  /** Targets that the program is compared with: names, files, or `all`. */
  target?: string | string[];
  /** Hints between the text; by default types and arguments. */
  hints?: ("types" | "arguments" | "memory")[];
}

/** What `strip` removed of a kind. */
export interface Stripped {
  kind: string;
  count: number;
  bytes: number;
}

/** A changed program. */
export interface Edited<T> {
  /** What was done. */
  result: T;
  /** The files of the program: its `.pte`, and its `.ptd`. */
  files: OutputFile[];
}

/**
 * Answers for an editor about YAML that is being written; `PteEmit.analysis` creates it. Offsets are those of strings. The
 * library keeps the analysis of the last text: questions about the same text do not analyse it again.
 */
export class Analysis {
  constructor(
    private readonly library: PteEmit,
    private readonly input: string,
    private readonly options: AnalysisOptions,
  ) {}

  /** Returns messages of the assembler and findings of `check`. */
  messages(): SourceMessage[] {
    return this.ask("messages");
  }

  /** Describes the part of the text at an offset. */
  hover(at: number): Hover | null {
    return this.ask("hover", { at });
  }

  /** Returns the texts that can be inserted at an offset. */
  completions(at: number): CompletionItem[] {
    return this.ask("completions", { at });
  }

  /** Returns the signature of the operator of the call at an offset. */
  signature(at: number): CallSignature | null {
    return this.ask("signature", { at });
  }

  /** Returns short texts to show between those of the text. */
  hints(start?: number, end?: number): InlayHint[] {
    return this.ask("hints", { start, end });
  }

  /** Returns where the name at an offset is declared. */
  definition(at: number): RangeOfUint | null {
    return this.ask("definition", { at });
  }

  /** Returns all places of the name at an offset. */
  references(at: number): Reference[] {
    return this.ask("references", { at });
  }

  /** Returns the name at an offset, if it can be renamed. */
  renameable(at: number): RangeOfUint | null {
    return this.ask("renameable", { at });
  }

  /** Returns the changes that rename the name at an offset. */
  rename(at: number, name: string): TextEdit[] {
    return this.ask("rename", { at, name });
  }

  /** Returns methods with their values and instructions. */
  symbols(): OutlineItem[] {
    return this.ask("symbols");
  }

  /** Returns the meaning of words. */
  tokens(): SemanticToken[] {
    return this.ask("tokens");
  }

  /** Returns corrections of the messages in a range, and other changes at its start. */
  actions(start?: number, end?: number): SourceAction[] {
    return this.ask("actions", { start, end });
  }

  /** Returns the change that lays the text out. */
  formatting(): TextEdit[] {
    return this.ask("formatting");
  }

  private ask<T>(question: string, options: object = {}): T {
    const request = { ...this.options, ...options, question, input: this.input, units: "utf-16" };
    return this.library.call<T>("language", request).result;
  }
}

/** The library. Each method throws a {@link PteEmitError} for an invalid source or option. */
export class PteEmit {
  private readonly instance: Instance;

  /** Beyond `maxMemory` bytes, by default 256 MiB, the memory is released after a call. */
  constructor(module: WebAssembly.Module, maxMemory = 256 * 2 ** 20) {
    this.instance = new Instance(module, maxMemory);
  }

  /** Adds a file that calls can name, in place of one with the same name. A `Blob` needs a worker. */
  addFile(name: string, content: Uint8Array | ArrayBuffer | string | Blob | FileSource): void {
    this.instance.add(name, sourceOf(content));
  }

  /** Removes a file. Returns false if there was none. */
  removeFile(name: string): boolean {
    return this.instance.remove(name);
  }

  /** Bytes of memory that the library has at present. */
  get memoryBytes(): number {
    return this.instance.memory;
  }

  /** Runs a command with its options. */
  call<T>(command: string, options: object = {}): Edited<T> {
    const { files } = options as { files?: object };
    for (const [name, text] of Object.entries(files ?? {})) {
      if (typeof text !== "string") throw new TypeError(`files[${name}]: expected a string, found ${kindOf(text)}`);
    }
    let answer;
    try {
      answer = this.instance.call(JSON.stringify({ ...options, command }));
    } catch (error) {
      throw new PteEmitError(error instanceof Error ? error.message : String(error), undefined, { cause: error });
    }
    const parsed = JSON.parse(answer.json) as
      | { result: T; error?: undefined }
      | { error: { message: string } & FindingsDocument };
    if (parsed.error) {
      const { message, ...findings } = parsed.error;
      throw new PteEmitError(message, findings as FindingsDocument);
    }
    return { result: parsed.result, files: answer.files };
  }

  /** Assembles YAML; the result has warnings. */
  assemble(input: string, options: OutputOptions = {}): Edited<FindingsDocument> {
    return this.call("assemble", { ...options, input });
  }

  /** Prints a binary file as YAML. */
  dump(
    input: string,
    options: {
      data?: "inline" | "refer" | "extract" | "hash";
      payload?: "graph" | "opaque";
      explicit?: boolean;
      replan?: boolean;
    } = {},
  ): Edited<string> {
    return this.call("dump", { ...options, input });
  }

  /** Validates a file, or those that YAML assembles to. */
  check(input: string, options: CheckOptions = {}): FindingsDocument {
    return this.call<FindingsDocument>("check", { ...options, input }).result;
  }

  /** Returns the content of each file. */
  inspect(input: string, options: SourceOptions & { read_data?: boolean } = {}): Inspection[] {
    return this.call<Inspection[]>("inspect", { ...options, input }).result;
  }

  /** Returns the work by operator, in delegates and in kernels. */
  delegation(input: string, options: SourceOptions = {}): Delegation {
    return this.call<Delegation>("inspect", { ...options, input, delegation: true }).result;
  }

  /** Returns the bytes of each file as a tree. */
  size(input: string, options: SourceOptions & { levels?: string | string[]; limit?: number } = {}): FileSize[] {
    return this.call<FileSize[]>("size", { ...options, input }).result;
  }

  /** Returns the RAM that a program needs. */
  memory(input: string, options: MemoryOptions = {}): MemoryDocument {
    return this.call<MemoryDocument>("memory", { ...options, input }).result;
  }

  /** Compares two files. */
  diff(input: string, other: string, options: DiffOptions = {}): DiffDocument {
    return this.call<DiffDocument>("diff", { ...options, input, other }).result;
  }

  /** Reduces planned memory and instructions. */
  optimize(
    input: string,
    options: OutputOptions & { only?: string | string[]; max_growth?: number } = {},
  ): Edited<Optimization> {
    return this.call("optimize", { ...options, input });
  }

  /** Lowers the bounds of dynamic inputs. */
  bound(
    input: string,
    options: OutputOptions & { inputs?: string | string[]; static?: boolean; method?: string },
  ): Edited<BoundReport> {
    return this.call("bound", { ...options, input });
  }

  /** Removes parts that the runtime does not need. */
  strip(input: string, options: OutputOptions & { only?: string | string[] } = {}): Edited<Stripped[]> {
    return this.call("strip", { ...options, input });
  }

  /** Keeps some methods. */
  extract(input: string, options: OutputOptions & { method: string | string[] }): Edited<Extracted> {
    return this.call("extract", { ...options, input });
  }

  /** Moves weights to `.ptd` files: all, or those of the rules of `external_data`. */
  splitWeights(input: string, options: OutputOptions = {}): Edited<FindingsDocument> {
    return this.call("split_weights", { ...options, input });
  }

  /** Lists the weights. */
  weights(input: string, options: SourceOptions = {}): WeightList {
    return this.call<WeightList>("weights", { ...options, input }).result;
  }

  /** Returns the data of the page of `pte-emit report`. */
  report(
    input: string,
    options: SourceOptions & {
      before?: string;
      etdump?: string;
      method?: string | string[];
      data_statistics?: boolean;
    } = {},
  ): ReportDocument {
    return this.call<ReportDocument>("report", { ...options, input }).result;
  }

  /** Explains errors of the runtime, lines of its log, rules and codes; in a program with `input`. */
  explain(
    texts: string | string[] = [],
    options: MemoryOptions & { input?: string; method?: string | string[] } = {},
  ): Explanations {
    return this.call<Explanations>("explain", { ...options, texts }).result;
  }

  /** Answers questions of an editor about YAML that is being written. */
  analysis(input: string, options: AnalysisOptions = {}): Analysis {
    return new Analysis(this, input, options);
  }

  /** Lists the known operators, or those whose names contain a text. */
  operators(name = ""): Operators {
    return this.call<Operators>("ops", { name }).result;
  }

  /** Returns the JSON Schema of the YAML. */
  schema(): object {
    return this.call<object>("schema").result;
  }

  /** Returns the version of the library. */
  version(): string {
    return this.call<string>("version").result;
  }
}

/** Options of `load`. */
export interface LoadOptions {
  /** The WebAssembly: its address or bytes, by default those of the package. */
  wasm?: URL | string | BufferSource | WebAssembly.Module;
  /** See {@link PteEmit}. */
  maxMemory?: number;
}

/** Loads the library. In Node and in the browser, the entry points of the package are this function. */
export declare function load(options?: LoadOptions): Promise<PteEmit>;

/** Opens a file of Node's file system, of which only the needed ranges are read. */
export declare function openFile(path: string): FileSource & { close(): void };

declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

function sourceOf(content: Uint8Array | ArrayBuffer | string | Blob | FileSource): FileSource {
  if (typeof content === "string") content = new TextEncoder().encode(content);
  if (content instanceof ArrayBuffer) content = new Uint8Array(content);
  if (content instanceof Uint8Array) {
    const bytes = content;
    return { length: bytes.length, read: (offset, out) => out.set(bytes.subarray(offset, offset + out.length)) };
  }
  if (typeof Blob !== "undefined" && content instanceof Blob) {
    const blob = content;
    if (typeof FileReaderSync === "undefined") {
      throw new TypeError("a Blob can be read synchronously in a worker only: pass its bytes, or call it in a worker");
    }
    const reader = new FileReaderSync();
    return {
      length: blob.size,
      read: (offset, out) => {
        const bytes = new Uint8Array(reader.readAsArrayBuffer(blob.slice(offset, offset + out.length)));
        if (bytes.length !== out.length) throw new RangeError("the file became shorter");
        out.set(bytes);
      },
    };
  }
  // Another view of a buffer has a length, too, which is not that of its bytes.
  const source = content as FileSource | null;
  if (typeof source?.read !== "function") {
    throw new TypeError(
      "the content of a file: expected a string, Uint8Array, ArrayBuffer, Blob, or an object with `length` and `read`, " +
        `found ${kindOf(content)}`,
    );
  }
  if (!Number.isSafeInteger(source.length) || source.length < 0) {
    throw new TypeError(`the length of a file: expected a non-negative integer, found ${source.length}`);
  }
  return source;
}

/** What a value is, for messages: `a Uint16Array`. */
function kindOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  const name = (value.constructor as { name?: string } | undefined)?.name || "object";
  return `${/^[AEIO]/i.test(name) ? "an" : "a"} ${name}`;
}
