/** An instance of the WebAssembly, and the files that JavaScript provides. */

/** Content of a file, of which only the needed ranges are read. */
export interface FileSource {
  /** Length in bytes. */
  readonly length: number;
  /** Fills `out` with the bytes from `offset` on. Throws if they cannot be read. */
  read(offset: number, out: Uint8Array): void;
}

/** A file of an answer. */
export interface OutputFile {
  name: string;
  bytes: Uint8Array;
}

/** Answer to a request. */
export interface Answer {
  json: string;
  files: OutputFile[];
}

interface Exports {
  memory: WebAssembly.Memory;
  pte_emit_alloc(length: number): number;
  pte_emit_free(address: number, length: number): void;
  pte_emit_add_file(name: number, nameLength: number, id: number, length: number): void;
  pte_emit_remove_file(name: number, nameLength: number): void;
  pte_emit_answer(request: number, length: number): number;
  pte_emit_answer_json(answer: number, length: number): number;
  pte_emit_answer_file_count(answer: number): number;
  pte_emit_answer_file_name(answer: number, index: number, length: number): number;
  pte_emit_answer_file_bytes(answer: number, index: number, length: number): number;
  pte_emit_answer_free(answer: number): void;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** An instance that is replaced after a crash, and when its memory has grown beyond `maxMemory` bytes. */
export class Instance {
  private readonly files = new Map<string, { id: number; source: FileSource }>();
  private exports: Exports | undefined;
  private nextId = 0;
  private panic = "";

  constructor(
    private readonly module: WebAssembly.Module,
    private readonly maxMemory: number,
  ) {}

  add(name: string, source: FileSource): void {
    const file = { id: this.nextId++, source };
    this.files.set(name, file);
    if (this.exports) this.register(this.exports, name, file);
  }

  remove(name: string): boolean {
    const { exports } = this;
    if (exports) this.withText(exports, name, (address, length) => exports.pte_emit_remove_file(address, length));
    return this.files.delete(name);
  }

  /** Size of the memory in bytes. */
  get memory(): number {
    return this.exports?.memory.buffer.byteLength ?? 0;
  }

  call(request: string): Answer {
    try {
      const exports = (this.exports ??= this.start());
      return this.withText(exports, request, (address, length) =>
        this.read(exports, exports.pte_emit_answer(address, length)),
      );
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError || error instanceof RangeError)) throw error;
      this.exports = undefined;
      throw new Error(`internal error of pte-emit: ${this.panic || error.message}`, { cause: error });
    } finally {
      if (this.memory > this.maxMemory) this.exports = undefined;
    }
  }

  private start(): Exports {
    this.panic = "";
    const bytes = (address: number, length: number) =>
      new Uint8Array(exports.memory.buffer, address >>> 0, length >>> 0);
    const sources = () => [...this.files.values()];
    const imports = {
      read: (id: number, offset: number, out: number, length: number): number => {
        try {
          const file = sources().find((file) => file.id === id >>> 0);
          if (!file) return 1;
          file.source.read(offset, bytes(out, length));
          return 0;
        } catch {
          return 1;
        }
      },
      panicked: (message: number, length: number): void => {
        this.panic = decoder.decode(bytes(message, length));
      },
    };
    const instance = new WebAssembly.Instance(this.module, { pte_emit: imports });
    const exports = instance.exports as unknown as Exports;
    for (const [name, file] of this.files) this.register(exports, name, file);
    return exports;
  }

  private register(exports: Exports, name: string, file: { id: number; source: FileSource }): void {
    this.withText(exports, name, (address, length) =>
      exports.pte_emit_add_file(address, length, file.id, file.source.length),
    );
  }

  private withText<T>(exports: Exports, text: string, use: (address: number, length: number) => T): T {
    const bytes = encoder.encode(text);
    const address = exports.pte_emit_alloc(bytes.length) >>> 0;
    if (!address) throw new RangeError("out of memory");
    new Uint8Array(exports.memory.buffer, address, bytes.length).set(bytes);
    const result = use(address, bytes.length);
    exports.pte_emit_free(address, bytes.length);
    return result;
  }

  private read(exports: Exports, answer: number): Answer {
    const cell = exports.pte_emit_alloc(4) >>> 0;
    // The memory may have grown: a view is created after each call.
    const part = (address: number): Uint8Array => {
      const length = new DataView(exports.memory.buffer).getUint32(cell, true);
      return new Uint8Array(exports.memory.buffer, address >>> 0, length);
    };
    const json = decoder.decode(part(exports.pte_emit_answer_json(answer, cell)));
    const files: OutputFile[] = [];
    for (let index = 0; index < exports.pte_emit_answer_file_count(answer); index++) {
      const name = decoder.decode(part(exports.pte_emit_answer_file_name(answer, index, cell)));
      files.push({ name, bytes: part(exports.pte_emit_answer_file_bytes(answer, index, cell)).slice() });
    }
    exports.pte_emit_free(cell, 4);
    exports.pte_emit_answer_free(answer);
    return { json, files };
  }
}
