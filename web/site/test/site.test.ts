// What the site computes without a page.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ACTIONS, requestOf } from "../src/actions";
import { Client, type Port, Stopped } from "../src/client";
import { type OpenFile, kindOf, libraryNameOf, signatureOf, subjectOf, uniqueName } from "../src/files";
import { Language, afterLayout, changesOf, templateOf } from "../src/language";
import { type Message, type Reply, type Request } from "../src/library";
import { blocksOf } from "../src/markdown";
import { openFiles, reportOf } from "../src/report";
import { pack, partOf, unpack } from "../src/share";

const bytes = (text: string) => new TextEncoder().encode(text);
test("kinds of files", () => {
  assert.equal(kindOf("a.bin", bytes("\0\0\0\0ET12")), "program");
  assert.equal(kindOf("a", bytes("\0\0\0\0ED00")), "etdump");
  assert.equal(kindOf("a.ptd", bytes("")), "data");
  assert.equal(kindOf("a.PTE", bytes("\x89PNG")), "program");
  assert.equal(kindOf("a.png", new Uint8Array([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10])), "binary");
  assert.equal(kindOf("a.txt", bytes("methods: é")), "text");
  assert.equal(kindOf("trace", readFileSync(new URL("../../../examples/data/linear.etdump", import.meta.url))), "etdump");
  assert.equal(libraryNameOf("a.png", "binary"), "a.png.pte");
  assert.equal(libraryNameOf("a.bpte", "program"), "a.bpte");
  assert.equal(signatureOf(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 13, 10]))?.found, "a PNG image");
  assert.equal(signatureOf(bytes("\0\0\0\0ET12")), null);
  assert.equal(uniqueName("m.pte", new Set(["m.pte", "m (2).pte"])), "m (3).pte");
});

test("open files have names that no other has, also for the library", async () => {
  const program = (name: string) => ({ name, content: new Blob(["\0\0\0\0ET12"]) });
  const names = async (list: { name: string; content: Blob }[], others: readonly OpenFile[] = []) => (await openFiles(list, others)).map(({ name, libraryName }) => [name, libraryName]);
  const expected = [["model", "model.pte"], ["model.pte", "model (2).pte"], ["model (2).pte", "model (2) (2).pte"], ["model (3).pte", "model (3).pte"]];
  assert.deepEqual(await names([program("model"), program("model.pte"), program("model (2).pte"), program("model.pte")]), expected);
  const others = await openFiles([program("model.pte")], []);
  assert.deepEqual(await names([program("model"), { name: "model.pte.bin", content: new Blob(["\0\0\0\0FT01"]) }], others), [["model", "model (2).pte"], ["model.pte.bin", "model.pte.bin"]]);
});

test("a report is asked for by the names of the library, and has those of the user", async () => {
  const open = await openFiles([
    { name: "model.pte", content: new Blob(["\0\0\0\0ET12"]) }, { name: "model", content: new Blob(["\0\0\0\0ET12"]) },
    { name: "trace", content: new Blob([readFileSync(new URL("../../../examples/data/linear.etdump", import.meta.url))]) },
  ], []);
  const requests: Request[] = [];
  const answer = { version: 1, name: "model (2).pte", files: [{ name: "model (2).pte", findings: [] }], before: "model.pte", changes: {} };
  const client = { call: (request: Request) => { requests.push(request); return Promise.resolve({ result: answer, files: [] }); } };
  const { document } = await reportOf(client as unknown as Client, subjectOf(open)!);
  assert.deepEqual(requests, [{ command: "report", input: "model (2).pte", before: "model.pte", etdump: "trace" }]);
  assert.deepEqual([document.name, document.files[0]!.name, document.before], ["model", "model", "model.pte"]);
});

test("what files are about", () => {
  const file = (name: string) => ({ name, libraryName: name, kind: kindOf(name, bytes(name.endsWith("png") ? "\0" : "x")), content: new Blob() });
  const about = (...names: string[]) => { const found = subjectOf(names.map(file)); return found && [found.input.name, found.before?.name ?? null, found.with.map(({ name }) => name), found.etdump?.name ?? null]; };
  assert.equal(about(), null);
  assert.deepEqual(about("a.pte"), ["a.pte", null, [], null]);
  assert.deepEqual(about("a.ptd", "t.etdump", "a.pte"), ["a.pte", null, ["a.ptd"], "t.etdump"]);
  assert.deepEqual(about("a.pte", "b.pte"), ["b.pte", "a.pte", [], null]);
  assert.deepEqual(about("a.ptd", "b.ptd"), ["a.ptd", "b.ptd", [], null]);
  assert.deepEqual(about("a.yaml", "w.safetensors"), ["a.yaml", null, [], null]);
  assert.deepEqual(about("x.png"), ["x.png", null, [], null]);
  assert.deepEqual(about("t.etdump"), ["t.etdump", null, [], null]);
});

test("a text is in the address and comes back", async () => {
  for (const text of ["", "methods: {}\n", "é😀\n".repeat(5000)]) {
    const packed = await pack(text);
    assert.match(packed, /^[\w-]*$/);
    assert.equal(await unpack(packed), text);
  }
  for (const wrong of ["%", "AAAA", "_w", "x".repeat(1000)]) assert.equal(await unpack(wrong), null);
  assert.equal(await unpack(await pack("x".repeat(3_000_000))), null, "an address does not unpack to any size");
  assert.equal(partOf("#yaml=abc-_&tab=memory", "yaml"), "abc-_");
  assert.equal(partOf("#tab=yaml", "yaml"), null);
});

test("snippets of the library are those of CodeMirror", () => {
  for (const [text, indent, expected] of [
    ["tensor: $0", "", "tensor: ${}"],
    ["methods:\n  $0", "", "methods:\n  ${}"],
    // CodeMirror adds the indentation of the first line to the others.
    ["inputs:\n      - $0", "    ", "inputs:\n  - ${}"],
    ["aten::add.out, args: [${1:self}, ${2|x,y|}], out: ${3:out}", "    ", "aten::add.out, args: [${1:self}, ${2:x}], out: ${3:out}"],
    ["{graph: [$1], name: $2}", "", "\\{graph: [${1}], name: ${2}\\}"],
    ["a\\$b\\}\\\\", "", "a$b\\}\\"],
  ] as const) assert.equal(templateOf(text, indent), expected);
});

test("descriptions are paragraphs, items and code", () => {
  assert.deepEqual(blocksOf("**x** — value\n\n`f32 [2]`\n- `a: Tensor`, written\n- b\n\n```yaml\n- {kernel: a}\n\n```\nend <b>"), [
    { kind: "paragraph", parts: [["bold", "x"], ["text", " — value"]] }, { kind: "paragraph", parts: [["code", "f32 [2]"]] },
    { kind: "item", parts: [["code", "a: Tensor"], ["text", ", written"]] }, { kind: "item", parts: [["text", "b"]] },
    { kind: "code", text: "- {kernel: a}\n" }, { kind: "paragraph", parts: [["text", "end <b>"]] },
  ]);
  assert.deepEqual(blocksOf("```\nopen"), [{ kind: "code", text: "open" }]);
  assert.deepEqual(blocksOf(""), []);
});

test("changes are in the order of the text, and the cursor stays at its word", () => {
  assert.deepEqual(changesOf([{ range: { start: 5, end: 6 }, text: "b" }, { range: { start: 1, end: 1 }, text: "a" }]), [{ from: 1, to: 1, insert: "a" }, { from: 5, to: 6, insert: "b" }]);
  const before = "a:   {b:  [1]}\nc: 2";
  const after = "a:\n  b: [1]\nc: 2";
  assert.equal(afterLayout(before, 0, after), 0);
  assert.equal(afterLayout("x:   1", 5, "x: 1"), 2);
  assert.equal(afterLayout("x", 1, ""), 0);
});

test("of questions that wait, only the newest ones are asked, and files are given once", async () => {
  const [asked, added]: [unknown[], string[]] = [[], []];
  let release: () => void = () => {};
  const client = {
    addFile: (name: string) => { added.push(name); },
    call: ({ question, at, files }: Record<string, unknown>) => new Promise((resolve) => { asked.push([question, at, files]); release = () => resolve({ result: `${String(question)} ${String(at)}`, files: [] }); }),
    stop: () => {},
  };
  const settled = () => new Promise((resolve) => setTimeout(resolve));
  const language = new Language(client as unknown as Client, () => Promise.resolve([["data/a.bin", new Blob()]]));
  const first = language.ask("hover", "a", { at: 1 });
  await settled();
  const [second, third, other] = [language.ask("hover", "ab", { at: 2 }), language.ask("hover", "abc", { at: 3 }), language.ask("messages", "abc")];
  assert.equal(await second, undefined);
  const answers = [];
  for (const answer of [first, third, other]) { release(); answers.push(await answer); await settled(); }
  assert.deepEqual(answers, ["hover 1", "hover 3", "messages undefined"]);
  assert.deepEqual(asked, [["hover", 1, { "playground.yaml": "a" }], ["hover", 3, { "playground.yaml": "abc" }], ["messages", undefined, { "playground.yaml": "abc" }]]);
  assert.deepEqual(added, ["data/a.bin"]);
  const last = language.ask("tokens", "abc");
  await settled();
  const waiting = language.ask("hints", "abc");
  language.end();
  assert.equal(await waiting, undefined);
  release();
  await last;
});

test("requests have the options that are filled in", () => {
  const subject = { input: "a.pte", name: "a.pte", with: ["a.ptd"], methods: ["forward", "x", "my method", "a, b"] };
  const request = (id: string, values: Record<string, string | boolean>) => requestOf(ACTIONS.find((action) => action.id === id)!, values, subject);
  assert.deepEqual(request("check", { runtime: "", target: "all" }), { command: "check", input: "a.pte", with: ["a.ptd"], target: ["all"] });
  assert.deepEqual(request("check", { runtime: "0.7, 1.0.1", read_data: true }), { command: "check", input: "a.pte", with: ["a.ptd"], runtime: ["0.7", "1.0.1"], read_data: true });
  assert.deepEqual(request("optimize", { max_growth: "4096" }), { command: "optimize", input: "a.pte", with: ["a.ptd"], output: "a-optimized.pte", max_growth: 4096 });
  for (const [text, words] of [
    ["forward x", ["forward", "x"]], ["forward, f*,", ["forward", "f*"]], ["my method", ["my method"]], ["forward, my method", ["forward", "my method"]], ["a, b", ["a, b"]],
  ] as const) assert.deepEqual(request("extract", { method: text })["method"], words);
  assert.equal(requestOf(ACTIONS.find(({ id }) => id === "strip")!, {}, { ...subject, input: "model (2).pte", name: "model" })["output"], "model-stripped.pte");
  assert.deepEqual(request("bound", { inputs: "x=1x4\ny=2", static: false }).inputs, ["x=1x4", "y=2"]);
});

test("the library is restarted if it ends, with its files", async () => {
  const ports: (Port & { sent: Message[]; reply(reply: Reply): void })[] = [];
  const client = new Client(() => {
    const port = { sent: [] as Message[], onmessage: null, onerror: null, postMessage(message: Message) { this.sent.push(message); }, terminate() {}, reply(reply: Reply) { (port as Port).onmessage!({ data: reply }); } };
    ports.push(port);
    return port;
  });
  client.addFile("a", new Uint8Array());
  const first = client.call({ command: "version" });
  assert.deepEqual(ports[0]!.sent, [], "nothing is sent before the worker is ready");
  ports[0]!.reply({ kind: "ready" });
  assert.deepEqual(ports[0]!.sent.map(({ kind }) => kind), ["add", "call"]);
  ports[0]!.reply({ kind: "end", message: "unreachable" });
  await assert.rejects(first, /unreachable/);
  const second = client.call({ command: "version" });
  ports[1]!.reply({ kind: "ready" });
  assert.deepEqual(ports[1]!.sent.map(({ kind }) => kind), ["add", "call"]);
  ports[1]!.reply({ kind: "answer", id: 1, answer: { result: "0.2.0", files: [] } });
  assert.equal((await second).result, "0.2.0");
  const third = client.call({ command: "version" });
  client.stop();
  await assert.rejects(third, Stopped);
});
