// The library of a page: a worker, which is replaced if it ends or is stopped. Answers arrive in the order of requests.
import { type Answer, type Content, LibraryError, type Message, type Reply, type Request } from "./library";

interface Pending { resolve(answer: Answer): void; reject(error: Error): void }
export class Stopped extends Error {}

/** What is used of a Worker. */
export interface Port {
  postMessage(message: Message): void;
  terminate(): void;
  onmessage: ((event: { data: Reply }) => void) | null;
  onerror: ((event: { message?: string }) => void) | null;
}

export class Client {
  readonly #start: () => Port;
  readonly #files = new Map<string, Content>();
  readonly #pending = new Map<number, Pending>();
  #port: Port | null = null;
  /** Messages to a worker that is not ready. */
  #queue: Message[] | null = null;
  #id = 0;

  constructor(start: () => Port) { this.#start = start; }

  addFile(name: string, content: Content): void {
    this.#files.set(name, content);
    if (this.#port) this.#post({ kind: "add", name, content });
  }
  removeFile(name: string): void {
    if (this.#files.delete(name) && this.#port) this.#post({ kind: "remove", name });
  }
  call(request: Request): Promise<Answer> {
    if (!this.#port) this.#open();
    return new Promise((resolve, reject) => {
      const id = this.#id++;
      this.#pending.set(id, { resolve, reject });
      this.#post({ kind: "call", id, request });
    });
  }
  get isBusy(): boolean { return this.#pending.size > 0; }
  /** Ends what is computed; its requests fail with `Stopped`. */
  stop(): void { this.#close(new Stopped("stopped")); }

  #open(): void {
    const port = this.#start();
    this.#port = port;
    this.#queue = [];
    port.onmessage = ({ data }) => this.#receive(data);
    port.onerror = ({ message }) => this.#close(new Error(message ?? "the library cannot be loaded"));
    for (const [name, content] of this.#files) this.#post({ kind: "add", name, content });
  }
  #post(message: Message): void {
    if (this.#queue) this.#queue.push(message);
    else this.#port?.postMessage(message);
  }
  #receive(reply: Reply): void {
    switch (reply.kind) {
      case "ready": {
        const queue = this.#queue ?? [];
        this.#queue = null;
        queue.forEach((message) => this.#post(message));
        break;
      }
      case "end": this.#close(new Error(reply.message)); break;
      case "answer": this.#take(reply.id)?.resolve(reply.answer); break;
      case "failure": this.#take(reply.id)?.reject(new LibraryError(reply.failure)); break;
    }
  }
  #take(id: number): Pending | undefined {
    const found = this.#pending.get(id);
    this.#pending.delete(id);
    return found;
  }
  #close(error: Error): void {
    this.#port?.terminate();
    this.#port = this.#queue = null;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    pending.forEach(({ reject }) => reject(error));
  }
}

/** Starts the worker from a Blob, so that it has the policy of the page: it can connect to nothing but the site. */
export function startWorker(): Port {
  const code = `import ${JSON.stringify(new URL("worker.js", document.baseURI).href)};`;
  const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  return new Worker(address, { type: "module", name: "pte-emit" }) as unknown as Port;
}
