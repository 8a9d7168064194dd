// The worker: owns the library, which blocks while it answers, and reads slices of files when it needs them.
import { type Library, LibraryError, type Message, type Reply } from "./library";
import { load } from "./package";

const send = (reply: Reply, transfer: Transferable[] = []) => postMessage(reply, { transfer });
const library: Promise<Library> = load();

addEventListener("message", ({ data }: MessageEvent<Message>) => {
  void library.then((loaded) => answer(loaded, data)).catch((error: unknown) => send({ kind: "end", message: error instanceof Error ? error.message : String(error) }));
});
send({ kind: "ready" });

function answer(loaded: Library, message: Message): void {
  switch (message.kind) {
    case "add": loaded.addFile(message.name, message.content); return;
    case "remove": loaded.removeFile(message.name); return;
    case "call":
      try {
        const found = loaded.call(message.request);
        send({ kind: "answer", id: message.id, answer: found }, found.files.map(({ bytes }) => bytes.buffer));
      } catch (error) {
        if (!(error instanceof LibraryError)) throw error;
        send({ kind: "failure", id: message.id, failure: { message: error.message, findings: error.findings } });
      }
  }
}
