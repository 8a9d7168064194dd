// What the site computes without a page.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { ACTIONS, requestOf } from "../src/actions";
import { Client, type Port, Stopped } from "../src/client";
import { type Schema, choicesAt, lineOfPath, schemasAt, signatureText } from "../src/completion";
import { type OpenFile, kindOf, libraryNameOf, signatureOf, subjectOf, uniqueName } from "../src/files";
import { diagnosticsOf } from "../src/findings";
import { type Message, type Reply, type Request } from "../src/library";
import { placeAt } from "../src/place";
import { openFiles, reportOf } from "../src/report";
import { pack, partOf, unpack } from "../src/share";

const schema = JSON.parse(readFileSync(new URL("../../../pte-emit.schema.json", import.meta.url), "utf8")) as Schema;
const bytes = (text: string) => new TextEncoder().encode(text);
/** Choices where `|` is. */
function choices(text: string): string[] {
  const at = text.indexOf("|");
  return choicesAt(schema, text.slice(0, at) + text.slice(at + 1), at)?.list.map(({ label }) => label) ?? [];
}
const place = (text: string) => placeAt(text.replace("|", ""), text.indexOf("|"));

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

test("places in YAML", () => {
  assert.deepEqual(place("me|")?.path, []);
  assert.deepEqual(place("methods:\n  forward:\n    in|")?.path, ["methods", "forward"]);
  assert.deepEqual(place("methods:\n  forward:\n    values:\n      x: {tensor: fl|")?.path, ["methods", "forward", "values", "x", "tensor"]);
  assert.deepEqual(place("methods:\n  forward:\n    instructions:\n      - {kernel: a, args: [x]}\n      - {kernel: a, args: [x, |")?.path, ["methods", "forward", "instructions", 1, "args", 1]);
  assert.deepEqual(place("methods:\n  forward:\n    instructions:\n    - kernel: a\n      ou|")?.path, ["methods", "forward", "instructions", 0]);
  assert.deepEqual(place("methods:\n  forward:\n    instructions:\n      - {kernel: a,\n         o|")?.keys, ["kernel"]);
  assert.deepEqual(place("methods:\n  forward:\n    instructions:\n      - {kernel: a}\n    out|")?.path, ["methods", "forward"]);
  assert.equal(place("a: 1 # x|"), null);
  assert.deepEqual(place("methods:\n  f:\n    values:\n      x: {tensor: float32}\n    instructions:\n      - {kernel: k, args: [x], out: y}\n    outputs: [|")?.names, ["x", "y"]);
  for (const text of ["- - - |", "{{{{|", "]|", "a: [}|", "'|", ": |", "\t|", "? |"]) place(text);
});

test("completion of keys, enumerations, operators and values", () => {
  assert.ok(choices("|").includes("methods"));
  const keys = choices("methods:\n  forward:\n    inputs: [x]\n    |");
  assert.ok(keys.includes("instructions") && keys.includes("values") && !keys.includes("inputs"), keys.join());
  assert.ok(choices("methods:\n  f:\n    values:\n      x: {te|}").includes("tensor"));
  assert.ok(choices("methods:\n  f:\n    values:\n      x: {tensor: |}").includes("float32"));
  assert.ok(choices("methods:\n  f:\n    instructions:\n      - {kernel: aten::|}").includes("aten::add.out"));
  assert.ok(choices("methods:\n  f:\n    instructions:\n      - |").includes("kernel"));
  assert.ok(choices("methods:\n  f:\n    values:\n      weight: {tensor: float32}\n    instructions:\n      - {kernel: k, args: [|]}").includes("weight"));
  assert.deepEqual(choices("layout: {builder: |").slice(0, 2), ["exir", "flatc"]);
  assert.deepEqual(choices("nothing:\n  |"), []);
  assert.ok(schemasAt(schema, ["methods", "any", "instructions", 3]).some(({ properties }) => properties?.["kernel"]));
});

test("places in the examples have their keys in the schema, and any text is read", () => {
  const folder = new URL("../../../examples/", import.meta.url);
  let count = 0;
  for (const name of readdirSync(folder).filter((entry) => entry.endsWith(".yaml"))) {
    const text = readFileSync(new URL(name, folder), "utf8");
    for (const { index, 1: key } of text.matchAll(/(?<=[\s{,])([a-z_]\w*):(?=\s)/g)) {
      const found = placeAt(text, index + 1);
      if (!found?.isKey || found.from !== index) continue;
      count++;
      const known = schemasAt(schema, found.path).some(({ properties, additionalProperties }) => properties?.[key!] !== undefined || typeof additionalProperties === "object");
      assert.ok(known, `${name}, ${text.slice(0, index).split("\n").length}: ${key} at ${found.path.join("/")}`);
    }
    for (let at = 0; at < text.length; at += 13) choicesAt(schema, text.slice(0, at) + text.slice(at + 40), at);
  }
  assert.ok(count > 300, String(count));
});

test("signatures of operators", () => {
  assert.equal(signatureText({ name: "a", arguments: [{ name: "x", type: "Tensor", role: "in" }, { name: "alpha", type: "Scalar", role: "in", default: 1 }, { name: "out", type: "Tensor", role: "out" }], example: "- {kernel: a}" }), "a(Tensor x, Scalar alpha=1, Tensor out!)\n\n- {kernel: a}");
});

test("lines of paths", () => {
  const text = "# a\nmethods:\n  forward:\n    values:\n      x: {tensor: float32}\n    instructions:\n    - {kernel: a}\n    # b\n    - {kernel: b}\n";
  assert.equal(lineOfPath(text, "methods.forward.instructions[1].args[0]"), 9);
  assert.equal(lineOfPath(text, "methods.forward.values.x"), 5);
  assert.equal(lineOfPath(text, "delegates[0]"), null);
});

test("diagnostics have the range of the text", () => {
  const text = "é: 1\nwrong: 2\n";
  const entry = (extra: object) => ({ files: [{ file: "a", findings: [{ level: "error" as const, message: "m", ...extra }], errors: 1, warnings: 0, notes: 0 }], errors: 1, warnings: 0, notes: 0 });
  const [first] = diagnosticsOf(entry({ source: { line: 2, column: 1, start: 6, end: 11 }, help: "h" }), text, () => null);
  assert.deepEqual([first!.line, text.slice(first!.from, first!.to), first!.help], [2, "wrong", "h"]);
  const [second] = diagnosticsOf(entry({ path: "x" }), text, () => 2);
  assert.equal(text.slice(second!.from, second!.to), "wrong: 2");
  const [third] = diagnosticsOf(entry({ source: { line: 99, column: 99, start: 0, end: 999 } }), text, () => null);
  assert.ok(third!.to <= text.length);
  assert.deepEqual(diagnosticsOf(null, text, () => null), []);
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
