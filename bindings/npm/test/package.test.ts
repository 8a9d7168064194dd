// Every function of the installed package, hostile files, and a file of 4 GB. The folder of the repository and the
// command of pte-emit are in the environment: PTE_EMIT_REPOSITORY, PTE_EMIT_COMMAND.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type Edited, load, openFile, type PteEmit, PteEmitError, type TextRange } from "pte-emit";

const root = process.env.PTE_EMIT_REPOSITORY ?? "";
const command = process.env.PTE_EMIT_COMMAND ?? "";
const examples = join(root, "examples");
const pte = await load();

/** Adds a file of the examples by its path there. */
function add(name: string): string {
  pte.addFile(name, readFileSync(join(examples, name)));
  return name;
}

/** Adds a file of a result. */
function keep(name: string, edited: Edited<unknown>): string {
  const file = edited.files[0];
  assert.ok(file);
  pte.addFile(name, file.bytes);
  return name;
}

function refused(run: () => unknown): PteEmitError {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof PteEmitError, String(error));
    return error;
  }
  throw assert.fail("expected an error");
}

/** All files of the examples, by their paths there. */
const all = readdirSync(examples, { recursive: true, encoding: "utf8" });
// YAML refers to these.
for (const name of all.filter((name) => /\.(bin|npy|safetensors|ptd|pte|xnnpack|json)$/.test(name))) add(name);

test("assembling writes the bytes of the command", () => {
  const names = all.filter((name) => name.endsWith(".yaml") && !/malformed|targets|golden/.test(name));
  let equal = 0;
  for (const name of names) {
    const folder = mkdtempSync(join(tmpdir(), "pte-emit-"));
    try {
      execFileSync(command, [join(examples, name), "-o", join(folder, "out.pte")], { stdio: "ignore" });
    } catch {
      continue; // Several documents, variables, only data.
    } finally {
      if (readdirSync(folder).length === 0) rmSync(folder, { recursive: true });
    }
    const { files } = pte.assemble(add(name), { output: "out.pte" });
    for (const { name, bytes } of files) assert.ok(readFileSync(join(folder, name)).equals(bytes), name);
    assert.deepEqual(files.map((file) => file.name).sort(), readdirSync(folder).sort(), name);
    rmSync(folder, { recursive: true });
    equal++;
  }
  console.log(`${equal} of ${names.length} examples`);
  assert.ok(equal > 10, `${equal} of ${names.length}`);
});

test("questions", () => {
  const linear = keep("linear.pte", pte.assemble(add("linear.yaml")));
  const checked = pte.check(linear, { runtime: ["1.0.1", "all"], target: "esp32" });
  assert.ok(checked.files.length > 5 && checked.files.every((file) => file.file === linear));
  assert.equal(pte.inspect(linear)[0]?.format, "pte");
  assert.equal(pte.delegation(linear).methods[0]?.name, "forward");
  const [size] = pte.size(linear, { levels: ["kind", "tensor"] });
  assert.equal(size?.bytes, pte.inspect(linear)[0]?.bytes);
  assert.ok(pte.memory(linear, { abi: "arm32" }).total.bytes > 0);
  assert.deepEqual(pte.diff(linear, "linear.yaml").differences, []);
  assert.ok(pte.diff(linear, add("add.yaml")).differences.length > 0);
  assert.equal(pte.weights(linear).weights.length, 2);
  assert.equal(pte.report(linear, { before: "add.yaml" }).files.length, 1);
  assert.ok(pte.explain("0x14").length > 0 && pte.explain("X-4", { input: linear }).length === 1);
  assert.ok(pte.operators("aten::add.out").length === 1 && pte.operators().length > 100);
  assert.ok("$schema" in pte.schema());
  assert.equal(pte.version(), JSON.parse(readFileSync(join(root, "bindings/npm/package.json"), "utf8")).version);
  const yaml = pte.dump(linear, { data: "inline" }).result;
  const again = pte.assemble("again.yaml", { files: { "again.yaml": yaml } });
  assert.deepEqual(again.files[0]?.bytes, pte.assemble("linear.yaml").files[0]?.bytes);
  assert.ok(pte.removeFile("add.yaml") && !pte.removeFile("add.yaml"));
  assert.match(refused(() => pte.check("add.yaml")).message, /no such file/);
});

test("edits", () => {
  const linear = keep("linear.pte", pte.assemble(add("linear.yaml")));
  for (const edited of [pte.optimize(linear), pte.strip(linear), pte.extract(linear, { method: "forward" })]) {
    assert.equal(pte.check(keep("edited.pte", edited)).errors, 0);
  }
  const split = pte.splitWeights(linear);
  assert.deepEqual(split.files.map((file) => file.name), ["linear.pte", "linear.ptd"]);
  for (const { name, bytes } of split.files) pte.addFile(`split/${name}`, bytes);
  const joined = pte.assemble("split/linear.pte", { with: "split/linear.ptd", internal_data: true });
  assert.equal(joined.files.length, 1);
  const dynamic = `methods: {forward: {values: {
    x: {tensor: float32, sizes: [4, 8], dynamism: dynamic_bound},
    y: {tensor: float32, sizes: [4, 8], dynamism: dynamic_bound}},
    inputs: [x], outputs: [y], instructions: [{kernel: aten::relu.out, args: [x], out: y}]}}`;
  const bound = pte.bound("d.yaml", { inputs: "x=2x8", files: { "d.yaml": dynamic } });
  assert.deepEqual(bound.result.bounded.inputs[0]?.after, [2, 8]);
});

test("messages", () => {
  const yaml = readFileSync(join(examples, "add.yaml"), "utf8").replace("inputs:", "inptus:");
  const error = refused(() => pte.assemble("m.yaml", { files: { "m.yaml": yaml } }));
  const found = error.findings?.files[0]?.findings[0];
  assert.ok(found && "source" in found && found.source && "line" in found.source && found.source.line > 1);
  assert.ok("help" in found && found.help === "did you mean `inputs`?");
  assert.match(refused(() => pte.call("check", { input: "m.yaml", runtimes: 1 })).message, /did you mean `runtime`/);
});

test("questions of an editor", () => {
  const text = readFileSync(join(examples, "linear.yaml"), "utf8").replace("methods:", "# \u{1f600}\nmethods:");
  const linear = pte.analysis("linear.yaml", { files: { "linear.yaml": text } });
  const part = ({ start, end }: TextRange) => text.slice(start, end);
  const at = text.indexOf("out: mm") + 5;
  assert.deepEqual(linear.messages(), []);
  const hover = linear.hover(at);
  assert.ok(hover && part(hover.range) === "mm" && hover.text.includes("float32 [1, 3]"));
  assert.deepEqual(linear.references(at).map(({ range, declares }) => [part(range), declares]), [["mm", true], ["mm", false]]);
  assert.equal(linear.definition(at)?.start, at);
  assert.equal(part(linear.renameable(at) ?? { start: 0, end: 0 }), "mm");
  assert.deepEqual(linear.rename(at, "product").map(({ range, text: name }) => [part(range), name]), [["mm", "product"], ["mm", "product"]]);
  assert.match(refused(() => linear.rename(at, "x")).message, /x/);
  const signature = linear.signature(at);
  const active = signature?.arguments[signature.active ?? -1];
  assert.equal(active && signature.label.slice(active.start, active.end), "out: Tensor");
  assert.ok(linear.completions(text.indexOf("[x, wt") + 1 || at).length > 0);
  assert.ok(linear.hints().some(({ at: offset, label }) => offset === at + 2 && label === ": float32 [1, 3]"));
  assert.equal(linear.symbols()[0]?.children[0]?.name, "forward");
  assert.deepEqual(linear.tokens().slice(0, 2).map(({ range, kind }) => [part(range), kind]), [["methods", "key"], ["forward", { name: "method" }]]);
  assert.deepEqual(linear.actions(at, at).map(({ title }) => title), ["declare this result", "declare all results"]);
  assert.deepEqual(linear.formatting(), []);
  const wrong = pte.analysis("w.yaml", { files: { "w.yaml": text.replace("tensor:", "tensro:") } });
  const [message] = wrong.messages();
  assert.deepEqual([message?.code, message?.replacement, message?.range.start], ["Y-5", "tensor", text.indexOf("tensor:")]);
  assert.deepEqual(wrong.actions().map(({ edits }) => edits[0]?.text), ["tensor"]);
  assert.match(refused(() => pte.analysis("missing.yaml").messages()).message, /no such file/);
});

test("what is no file is a type error that says what it is", () => {
  for (const [content, found] of [
    [new DataView(new ArrayBuffer(8)), /expected a string, Uint8Array.*found a DataView$/],
    [new Uint16Array(4), /found a Uint16Array$/],
    [new SharedArrayBuffer(4), /found a SharedArrayBuffer$/],
    [null, /found null$/],
    [5, /found 5$/],
    [{ length: 3 }, /found an Object$/],
    [{ length: NaN, read: () => undefined }, /expected a non-negative integer, found NaN$/],
    [{ length: 2 ** 60, read: () => undefined }, /expected a non-negative integer, found 1152921504606847000$/],
  ] as const) {
    const add = () => pte.addFile("wrong.pte", content as never);
    assert.throws(add, (error) => error instanceof TypeError && found.test(error.message));
  }
  for (const [text, found] of [
    [new Uint8Array(3), /^files\[m\.yaml\]: expected a string, found a Uint8Array$/],
    [5, /found 5$/],
    [["a"], /found an Array$/],
  ] as const) {
    const check = () => pte.check("m.yaml", { files: { "m.yaml": text as never } });
    assert.throws(check, (error) => error instanceof TypeError && found.test(error.message));
  }
  assert.match(refused(() => pte.call("version", { files: 5 })).message, /expected an object of texts by name, found 5/);
});

/** Asks all questions about a file, of which each may be an error. */
function ask(library: PteEmit, name: string): void {
  for (const question of ["check", "inspect", "size", "memory", "weights", "report", "dump", "optimize", "strip"]) {
    try {
      library.call(question, { input: name });
    } catch (error) {
      assert.ok(error instanceof PteEmitError, `${name}: ${question}: ${String(error)}`);
      assert.ok(error.findings, `${name}: ${question}: ${error.message}`);
    }
  }
}

test("hostile files are errors", () => {
  const bytes = pte.assemble(add("linear.yaml")).files[0]?.bytes ?? new Uint8Array();
  assert.ok(bytes.length > 100);
  let seed = 1;
  const random = (below: number) => (seed = (seed * 48271) % 0x7fffffff) % below;
  for (let round = 0; round < 60; round++) {
    pte.addFile("hostile.pte", bytes.slice(0, random(bytes.length)));
    ask(pte, "hostile.pte");
    const changed = bytes.slice();
    for (let count = 0; count <= round % 8; count++) changed[random(changed.length)] = random(256);
    pte.addFile("hostile.pte", changed);
    ask(pte, "hostile.pte");
    pte.addFile("hostile.pte", Uint8Array.from({ length: random(500) }, () => random(256)));
    ask(pte, "hostile.pte");
  }
});

test("malformed examples are errors or findings", () => {
  const names = all.filter((name) => name.startsWith("malformed") && name.endsWith(".yaml"));
  assert.ok(names.length > 100);
  for (const name of names) {
    try {
      for (const { name: file, bytes } of pte.assemble(add(name)).files) {
        pte.addFile(file, bytes);
        ask(pte, file);
      }
    } catch (error) {
      assert.ok(error instanceof PteEmitError && error.findings, `${name}: ${String(error)}`);
    }
  }
});

test("a file that changes, or whose reader fails, is an error", () => {
  const bytes = pte.assemble("linear.yaml").files[0]?.bytes ?? new Uint8Array();
  pte.addFile("gone.pte", { length: bytes.length, read: () => assert.fail("gone") });
  assert.match(refused(() => pte.check("gone.pte")).message, /cannot read/);
});

test("a program of 4 GB is opened in a second, with little memory", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pte-emit-"));
  const path = join(folder, "large.pte");
  const size = 4 * 2 ** 30;
  // A small program whose weight becomes large by overrides. The file is extended without its zeros on disk.
  const yaml = `
methods:
  forward:
    values:
      x: {tensor: float32, sizes: [1, 4]}
      w: {tensor: float32, sizes: [1, 4], data: {fill: 0}}
      y: {tensor: float32, sizes: [1, 4]}
      n: {int: 0}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::add.out, args: [x, x, 1], out: y}
      - {kernel: aten::sym_size.int, args: [w, 0], out: n}
raw:
  set:
    segments[0].size: ${size}
    header.segment_data_size: ${size}
    methods.forward.values.w.sizes[0]: 1024
    methods.forward.values.w.sizes[1]: ${size / 4096}
`;
  const [small] = pte.assemble("large.yaml", { files: { "large.yaml": yaml } }).files;
  assert.ok(small);
  try {
    writeFileSync(path, small.bytes);
    truncateSync(path, small.bytes.length - 16 + size);
    const file = openFile(path);
    assert.ok(file.length > size);
    const read = { bytes: 0 };
    const counted = {
      length: file.length,
      read(offset: number, out: Uint8Array) {
        read.bytes += out.length;
        file.read(offset, out);
      },
    };
    const library = await load();
    library.addFile("large.pte", counted);
    const start = performance.now();
    const [inspection] = library.inspect("large.pte");
    const opened = performance.now() - start;
    assert.equal(inspection?.bytes, file.length);
    assert.equal(library.check("large.pte").errors, 0);
    const [tree] = library.size("large.pte");
    assert.ok(tree && tree.bytes > size);
    library.memory("large.pte");
    library.report("large.pte");
    const all = performance.now() - start;
    console.log(`opened in ${opened.toFixed(0)} ms, all in ${all.toFixed(0)} ms, ${read.bytes} bytes read, memory ${library.memoryBytes}`);
    assert.ok(opened < 1000 && read.bytes < 1e6 && library.memoryBytes < 64 * 2 ** 20);
    assert.match(refused(() => library.extract("large.pte", { method: "forward" })).message, /more than|memory/);
    file.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
