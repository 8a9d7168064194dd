// The site in Chromium, served from localhost. PTE_EMIT is the native command, whose outputs are compared.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, copyFileSync, ftruncateSync, mkdtempSync, openSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { LAUNCH } from "../../explorer/e2e/browser.mjs";
import { serve } from "./server.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const native = process.env.PTE_EMIT ?? join(root, "target/debug/pte-emit");
const examples = join(root, "examples");
const folder = mkdtempSync(join(tmpdir(), "site-"));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let browser, server;
before(async () => {
  server = await serve();
  browser = await chromium.launch({ ...LAUNCH, args: [...LAUNCH.args, "--enable-precise-memory-info"] });
});
after(async () => {
  await browser.close();
  server.close();
  rmSync(folder, { recursive: true });
});

/** Assembles an example with the native command. */
function assembled(yaml, name, ...options) {
  const file = join(folder, name);
  execFileSync(native, [join(examples, yaml), "-o", file, "--force", "-q", ...options]);
  return file;
}
async function open(t, fragment = "", { size = [1400, 900], scheme = "light", allowed = [] } = {}) {
  const context = await browser.newContext({ viewport: { width: size[0], height: size[1] }, colorScheme: scheme, reducedMotion: "reduce", acceptDownloads: true, permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => problems.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => problems.push(String(error.stack)));
  context.on("request", (request) => { if (!request.url().startsWith(server.address) && !/^(blob|data):/.test(request.url())) problems.push(request.url()); });
  t.after(async () => {
    await context.close();
    assert.deepEqual(problems.filter((text) => !allowed.some((pattern) => pattern.test(text))), []);
  });
  await page.goto(`${server.address}${fragment}`);
  return page;
}
const choose = (page, ...files) => page.locator("input[type=file]").first().setInputFiles(files);
async function shown(page) {
  await page.waitForFunction(() => document.querySelector(".explorer") && (document.querySelector(".graph .message") || window.explorer?.graph()?.isReady()), null, { timeout: 60_000 });
  await page.waitForFunction(() => !document.querySelector(".sitebar [role=status] button"));
}
/** Drops files as a file manager does. */
async function drop(page, ...files) {
  const data = files.map((path) => ({ name: path.split("/").pop(), base64: readFileSync(path).toString("base64") }));
  await page.evaluate((list) => {
    const transfer = new DataTransfer();
    for (const { name, base64 } of list) transfer.items.add(new File([Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))], name));
    for (const type of ["dragover", "drop"]) document.body.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: transfer }));
  }, data);
}
async function saved(page, locator) {
  const [download] = await Promise.all([page.waitForEvent("download"), locator.click()]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}
async function accessible(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html, any }) => `${html.slice(0, 160)} ${any[0]?.message ?? ""}`).join("; ")}`), []);
}
const narrow = async (page, width) => assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= width);
const dialogue = (page) => page.locator("#panel");
async function act(page, title) {
  if (await dialogue(page).count() === 0) await page.click("text=Check and edit");
  await page.selectOption("#panel select >> nth=0", { label: title });
}
const editorText = (page) => page.evaluate(() => document.querySelector(".cm-content").cmTile.view.state.doc.toString());
async function type(page, text) {
  await page.click(".cm-content");
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}
const assembledState = (page) => page.waitForFunction(() => document.querySelector(".playground .state")?.textContent === "Assembled" && window.explorer?.graph()?.isReady(), null, { timeout: 60_000 });

test("a file is dropped, and closed", async (t) => {
  const page = await open(t);
  await drop(page, assembled("linear.yaml", "linear.pte"));
  await shown(page);
  assert.match(await page.locator(".toolbar h1").innerText(), /linear\.pte/);
  assert.ok((await page.evaluate(() => window.explorer.graph().boxes())).some(({ title }) => title === "addmm"));
  for (const tab of await page.locator("[role=tab]").allInnerTexts()) await page.click(`role=tab[name="${tab}"]`);
  assert.match(page.url(), /#file=linear\.pte&tab=/);
  await page.goBack();
  await page.click("role=button[name='Close linear.pte']");
  await page.waitForSelector(".drop");
});

test("two files are one graph with what differs, and can be swapped", async (t) => {
  const page = await open(t);
  const [a, b] = [assembled("linear.yaml", "a.pte"), join(folder, "b.pte")];
  execFileSync(native, ["strip", a, "-o", b, "--force", "-q"]);
  await drop(page, a, b);
  await shown(page);
  assert.match(await page.locator(".toolbar h1").innerText(), /a\.pte → b\.pte/);
  await page.click("role=tab[name='Differences']");
  await page.click("text=Swap");
  await page.waitForFunction(() => document.querySelector(".toolbar h1")?.textContent.startsWith("b.pte"));
});

test("a program, its data and its times", async (t) => {
  const page = await open(t);
  const program = assembled("linear.yaml", "split.pte", "--external-data");
  await choose(page, program, program.replace(".pte", ".ptd"));
  await shown(page);
  assert.equal(await page.locator(".notice").count(), 0);
  const timed = await open(t);
  await choose(timed, assembled("linear.yaml", "timed.pte"), join(examples, "data/linear.etdump"));
  await shown(timed);
  assert.equal(await timed.locator(".notice").count(), 0);
  await timed.click("role=tab[name='Time']");
  const alone = await open(t);
  await choose(alone, join(examples, "data/linear.etdump"));
  await alone.waitForSelector(".graph .message");
  assert.match(await alone.locator(".graph .message").innerText(), /add the \.pte/);
});

test("files that the library would have by the same name are compared", async (t) => {
  const [older, newer] = [join(folder, "model.pte"), join(folder, "model")];
  copyFileSync(assembled("linear.yaml", "linear.pte"), older);
  copyFileSync(assembled("add.yaml", "add.pte"), newer);
  const page = await open(t);
  await choose(page, older, newer);
  await shown(page);
  assert.equal(await page.locator(".toolbar h1").innerText(), "model.pte → model");
  assert.ok((await page.evaluate(() => window.explorer.graph().boxes())).some(({ title }) => title === "addmm"), "what was removed");
  await page.click("role=button[name='Close model.pte']");
  await page.waitForFunction(() => document.querySelector(".toolbar h1")?.textContent === "model");
  await shown(page);
  assert.ok(!(await page.evaluate(() => window.explorer.graph().boxes())).some(({ title }) => title === "addmm"));
  await act(page, "Strip");
  await page.click("#panel button[type=submit]");
  await page.waitForSelector("a.download[href^=blob]");
  assert.match(await page.locator("a.download").first().innerText(), /^model-stripped\.pte/);
});

test("an ETDump is one by its content", async (t) => {
  const trace = join(folder, "trace");
  copyFileSync(join(examples, "data/linear.etdump"), trace);
  const page = await open(t);
  await choose(page, assembled("linear.yaml", "linear.pte"), trace);
  await shown(page);
  assert.equal(await page.locator(".notice").count(), 0);
  assert.equal(await page.locator("role=tab[name='Time']").count(), 1);
});

/** Requests of reports are not answered, or end the library. */
const breakReports = (page, isEnd) => page.evaluate((ends) => {
  const send = Worker.prototype.postMessage;
  window.mend = () => { Worker.prototype.postMessage = send; };
  Worker.prototype.postMessage = function (message, ...rest) {
    if (message.kind !== "call" || message.request.command !== "report") send.call(this, message, ...rest);
    else if (ends) this.onerror(new ErrorEvent("error", { message: "the library ended" }));
  };
}, isEnd);
test("a report that is stopped or fails leaves the files as they were", async (t) => {
  const page = await open(t);
  await choose(page, assembled("linear.yaml", "linear.pte"));
  await shown(page);
  const hash = await page.evaluate(() => location.hash);
  const other = assembled("add.yaml", "add.pte");
  for (const isEnd of [false, true]) {
    await breakReports(page, isEnd);
    await choose(page, other);
    if (isEnd) await page.waitForSelector(".notice");
    else await page.click(".sitebar [role=status] button");
    await page.waitForFunction(() => !document.querySelector(".sitebar [role=status] button"));
    assert.deepEqual(await page.locator(".chips bdi").allInnerTexts(), ["linear.pte"]);
    assert.equal(await page.locator(".notice").count(), isEnd ? 1 : 0);
    assert.equal(await page.evaluate(() => location.hash), hash);
    await page.evaluate(() => window.mend());
  }
  await act(page, "Size");
  assert.equal(await page.locator("#panel .quiet bdi").first().innerText(), "linear.pte");
  await page.click("#panel button[type=submit]");
  await page.waitForSelector(".outcome .json");
  await choose(page, other);
  await page.waitForFunction(() => /→ add/.test(document.querySelector(".toolbar h1")?.textContent ?? ""));
});

test("a file that is chosen again has the rest of the address", async (t) => {
  const page = await open(t, "#file=linear.pte&forward/1&tab=memory");
  assert.match(await page.locator(".drop").innerText(), /Choose linear\.pte again/);
  await choose(page, assembled("linear.yaml", "linear.pte"));
  await shown(page);
  assert.equal(await page.locator("[role=tab][aria-selected=true]").innerText(), "Memory");
  assert.equal(await page.evaluate(() => location.hash), "#file=linear.pte&forward/1&tab=memory");
  const other = await open(t, "#file=linear.pte&forward/1&tab=memory");
  await choose(other, assembled("add.yaml", "add.pte"));
  await shown(other);
  assert.equal(await other.evaluate(() => location.hash), "#file=add.pte");
});

test("data of a YAML are found by their names, until they are closed", async (t) => {
  for (const path of ["data/linear.safetensors", "linear.safetensors"]) {
    const page = await open(t);
    const yaml = join(folder, "checkpoint.yaml");
    writeFileSync(yaml, readFileSync(join(examples, "checkpoint.yaml"), "utf8").replaceAll("data/linear.safetensors", path));
    await choose(page, yaml, join(examples, "data/linear.safetensors"));
    await shown(page);
    assert.equal(await page.locator(".graph .message").count(), 0, path);
    await page.click("role=button[name='Close linear.safetensors']");
    await page.waitForSelector(".graph .message");
    assert.match(await page.locator(".graph .message").innerText(), /no such file/);
  }
});

test("YAML with the data that it refers to", async (t) => {
  const page = await open(t);
  await choose(page, join(examples, "data_sources.yaml"), ...readdirSync(join(examples, "data")).map((name) => join(examples, "data", name)).filter((path) => !path.endsWith(".etdump")));
  await shown(page);
  assert.ok((await page.evaluate(() => window.explorer.graph().boxes())).length > 0, await page.locator(".graph").innerText());
});

test("of a truncated file, what can be read is shown", async (t) => {
  const page = await open(t);
  const whole = readFileSync(assembled("linear.yaml", "whole.pte"));
  const cut = join(folder, "cut.pte");
  writeFileSync(cut, whole.subarray(0, whole.length * 0.6));
  await choose(page, cut);
  await shown(page);
  assert.ok(await page.locator("role=tab[name=/Findings \\d/]").count() === 1);
  await page.click("role=tab[name='Bytes']");
  assert.match(await page.locator(".hexrow >> nth=0").innerText(), /ET12|00/);
  await accessible(page);
});

test("malformed files are shown", async (t) => {
  const malformed = readdirSync(join(examples, "malformed")).filter((name) => name.endsWith(".yaml"));
  const page = await open(t);
  let count = 0;
  for (const name of malformed.filter((_, at) => at % Number(process.env.PTE_EMIT_EVERY ?? 12) === 0)) {
    const file = join(folder, name.replace(/\.yaml$/, name.startsWith("bpte") ? ".bpte" : ".pte"));
    try {
      execFileSync(native, [join(examples, "malformed", name), "-o", file, "--force", "-q"], { stdio: "ignore" });
    } catch { continue; }
    await page.goto(`${server.address}`);
    await page.reload();
    await choose(page, file);
    await shown(page);
    assert.ok(await page.locator("[role=tab]").count() > 1, name);
    count++;
  }
  t.diagnostic(`${count} files`);
  assert.ok(count > 5);
});

test("of something else, the page says what it is", async (t) => {
  const png = join(folder, "picture.png");
  writeFileSync(png, Buffer.concat([Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"), Buffer.alloc(400, 7)]));
  const page = await open(t);
  await choose(page, png);
  await shown(page);
  assert.match(await page.locator(".explorer").innerText(), /PNG/);
  assert.match(await page.locator(".toolbar h1").innerText(), /^picture\.png$/);
  await page.click("role=tab[name='Bytes']");
  assert.match(await page.locator(".hexrow >> nth=0").innerText(), /89/);
  for (const [name, content] of [["empty.pte", ""], ["notes.txt", "hello\n"], ["broken.yaml", "methods: {forward: [}\n"], ["<img src=x onerror=window.hacked=1>.pte", "nothing at all, nothing"]]) {
    const file = join(folder, "other");
    writeFileSync(file, content);
    const other = await open(t);
    await other.locator("input[type=file]").first().setInputFiles({ name, mimeType: "", buffer: Buffer.from(content) });
    await shown(other);
    assert.ok((await other.locator(".graph .message").innerText()).length > 10, name);
    assert.equal(await other.evaluate(() => window.hacked), undefined);
  }
});

test("check with releases and a target", async (t) => {
  const page = await open(t);
  await choose(page, assembled("xnnpack_linear.yaml", "xnnpack.pte"));
  await shown(page);
  await act(page, "Check");
  await page.waitForFunction(() => document.querySelectorAll("#list-target option").length > 1);
  assert.ok(await page.locator("#list-runtime option").count() > 3);
  const targets = await page.locator("#list-target option").evaluateAll((list) => list.map(({ value }) => value));
  const wheel = targets.find((name) => name.startsWith("wheel"));
  await page.fill("#panel input[list=list-target]", wheel);
  await page.fill("#panel input[list=list-runtime]", "all");
  await page.click("#panel button[type=submit]");
  await page.waitForSelector(".outcome details");
  assert.match(await page.locator(".outcome").innerText(), /ExecuTorch 1\.\d/);
  await page.fill("#panel input[list=list-target]", "nonsense");
  await page.click("#panel button[type=submit]");
  await page.waitForSelector(".outcome [role=alert]");
  assert.match(await page.locator(".outcome").innerText(), /unknown target/);
  await accessible(page);
});

test("edits are downloaded, and have the bytes of the native command", async (t) => {
  const page = await open(t);
  const file = assembled("linear.yaml", "model.pte");
  await choose(page, file);
  await shown(page);
  for (const [title, command, name] of [["Strip", "strip", "model-stripped.pte"], ["Optimize", "optimize", "model-optimized.pte"]]) {
    await act(page, title);
    await page.click("#panel button[type=submit]");
    await page.waitForSelector("a.download[href^=blob]");
    const output = join(folder, name);
    execFileSync(native, [command, file, "-o", output, "--force", "-q"]);
    const found = await saved(page, page.locator("a.download", { hasText: ".pte" }).first());
    assert.equal(found.name, name);
    assert.ok(found.bytes.equals(readFileSync(output)), title);
  }
  await page.click("text=Compare with model.pte");
  await page.waitForFunction(() => /→/.test(document.querySelector(".toolbar h1")?.textContent ?? ""));
  assert.equal(await page.locator("canvas.painted").count(), 2, "both plans of memory");
  assert.match(await page.evaluate(() => location.hash), /^#file=model-optimized\.pte&tab=memory$/);
  await page.click("role=button[name='Close model-optimized.pte']");
  await page.waitForFunction(() => !/→/.test(document.querySelector(".toolbar h1")?.textContent ?? ""));
  for (const title of ["Memory", "Size"]) {
    await act(page, title);
    await page.click("#panel button[type=submit]");
    await page.waitForSelector(".outcome .json");
  }
  await act(page, "Split weights");
  await page.click("#panel button[type=submit]");
  await page.waitForFunction(() => document.querySelectorAll("a.download[href^=blob]").length === 2);
  await page.click("text=Show it");
  await page.waitForFunction(() => document.querySelectorAll(".chips li").length === 2);
  await shown(page);
  await act(page, "YAML");
  await page.click("#panel button[type=submit]");
  await page.waitForSelector(".outcome pre");
  const dynamic = await open(t);
  await choose(dynamic, assembled("dynamic_batch.yaml", "dynamic.pte"));
  await shown(dynamic);
  await act(dynamic, "Bound");
  await dynamic.check("#panel input[type=checkbox]");
  await dynamic.click("#panel button[type=submit]");
  await dynamic.waitForSelector("a.download[href^=blob]");
  const methods = await open(t);
  await choose(methods, assembled("methods.yaml", "methods.pte"));
  await shown(methods);
  await act(methods, "Extract methods");
  await methods.fill("#panel input", "nonsense");
  await methods.click("#panel button[type=submit]");
  await methods.waitForSelector(".outcome [role=alert]");
});

test("playground: an error is at its line, and goes away", async (t) => {
  const page = await open(t, "#yaml=");
  await assembledState(page);
  const text = await editorText(page);
  await type(page, text.replace("tensor: float32, sizes", "tensro: float32, sizes"));
  await page.waitForSelector(".problems li");
  const line = text.split("\n").findIndex((found) => found.includes("tensor: float32, sizes")) + 1;
  assert.match(await page.locator(".problems").innerText(), new RegExp(`line ${line}`));
  assert.ok(await page.locator(".cm-lintRange-error").count() > 0);
  await page.click(".problems button");
  assert.ok(await page.locator(".cm-focused").count() > 0);
  await accessible(page);
  await type(page, text);
  await page.waitForFunction(() => !document.querySelector(".problems"));
  // What check finds is at its line, too, and the file can be downloaded nevertheless.
  const checked = readFileSync(join(examples, "malformed/dimension_out_of_range.yaml"), "utf8");
  await type(page, checked);
  await page.waitForFunction(() => /line (?!1:)\d+/.test(document.querySelector(".problems")?.textContent ?? ""));
  await page.waitForFunction(() => document.querySelectorAll(".sitebar a.download").length === 1);
});

test("playground: completion of keys and operators", async (t) => {
  const page = await open(t, "#yaml=");
  await assembledState(page);
  await type(page, "methods:\n  forward:\n    ");
  await page.waitForTimeout(500);
  await page.keyboard.type("instr");
  await page.waitForSelector(".cm-tooltip-autocomplete");
  assert.match(await page.locator(".cm-tooltip-autocomplete").innerText(), /instructions/);
  // The editor ignores keys that are pressed before the list can be seen.
  await page.waitForTimeout(300);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".cm-content").textContent.includes("instructions:"));
  // The first item has begun, and its keys are offered.
  await page.waitForFunction(() => /kernel/.test(document.querySelector(".cm-tooltip-autocomplete")?.textContent ?? ""));
  await page.keyboard.type("{kernel: aten::addm");
  await page.waitForFunction(() => /aten::addmm\.out/.test(document.querySelector(".cm-tooltip-autocomplete")?.textContent ?? ""));
  // That of the item before may still be shown.
  await page.waitForFunction(() => /mat1: Tensor/.test(document.querySelector(".cm-completionInfo .description")?.textContent ?? ""));
  await page.waitForTimeout(300);
  await page.keyboard.press("Enter");
  // The fields of the call, one after the other; the signature has the argument of the cursor.
  await page.keyboard.type("bias");
  await page.keyboard.press("Tab");
  await page.waitForTimeout(300);
  await page.keyboard.type("x");
  await page.waitForFunction(() => document.querySelector(".cm-content").textContent.includes("{kernel: aten::addmm.out, args: [bias, x, mat2], out: out}"));
  await page.keyboard.press("Control+Shift+Space");
  await page.waitForFunction(() => document.querySelector(".cm-signature strong")?.textContent === "mat1: Tensor");
  // The list of names, if one is open, and the signature.
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector(".cm-signature"));
  await type(page, "methods:\n  forward:\n    instructions:\n      - {kernel: aten::add.out, args: ");
  await page.keyboard.type("[x, ");
  await page.waitForFunction(() => document.querySelector(".cm-signature strong")?.textContent === "other: Tensor");
});

test("playground: corrections, descriptions, hints, names and layout", async (t) => {
  const page = await open(t, "#yaml=");
  await assembledState(page);
  const text = await editorText(page);
  const becomes = (expected) => page.waitForFunction((wanted) => document.querySelector(".cm-content").cmTile.view.state.doc.toString() === wanted, expected);
  const at = (offset) => page.evaluate((anchor) => { const { view } = document.querySelector(".cm-content").cmTile; view.dispatch({ selection: { anchor }, scrollIntoView: true }); view.focus(); }, offset);
  const head = () => page.evaluate(() => document.querySelector(".cm-content").cmTile.view.state.selection.main.head);
  // Inferred types, and names of literals.
  await page.waitForFunction(() => [...document.querySelectorAll(".cm-hint")].map(({ textContent }) => textContent).join("|") === "dims: |: float32 [4, 3]|beta: |alpha: |: float32 [1, 3]|: float32 [1, 3]");
  assert.equal(await page.locator(".tok-operator").first().innerText(), "aten::permute_copy.out");
  // A correction in the list of messages.
  await type(page, text.replace("tensor: float32, sizes", "tensro: float32, sizes"));
  await page.click("text=replace by `tensor`");
  await becomes(text);
  await page.waitForFunction(() => !document.querySelector(".problems"));
  // The description of the name at the pointer, and its uses at the cursor.
  const use = text.indexOf("[mm]") + 1;
  await at(use);
  await page.waitForFunction(() => document.querySelectorAll(".cm-use").length === 2);
  const { x, y } = await page.locator(".cm-use").last().boundingBox();
  await page.mouse.move(x + 3, y + 5);
  await page.waitForSelector(".cm-tooltip-hover .description");
  assert.match(await page.locator(".cm-tooltip-hover").innerText(), /mm — value[^]*float32 \[1, 3\][^]*written by instruction 1/);
  await page.mouse.move(700, 5);
  // Definition, and a new name.
  await page.keyboard.press("F12");
  await page.waitForFunction((wanted) => document.querySelector(".cm-content").cmTile.view.state.selection.main.head === wanted, text.indexOf("out: mm") + 5);
  await page.keyboard.press("F2");
  await page.waitForSelector(".cm-rename input");
  await page.keyboard.type("x");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".cm-rename [role=status]").textContent !== "");
  await accessible(page);
  await page.fill(".cm-rename input", "product");
  await page.keyboard.press("Enter");
  await becomes(text.replace("out: mm", "out: product").replace("[mm]", "[product]"));
  await page.keyboard.press("Control+z");
  await becomes(text);
  // Another way to write the same.
  await at(text.indexOf("out: mm") + 5);
  await page.keyboard.press("Control+.");
  await page.waitForSelector(".cm-offered button:focus");
  await accessible(page);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".cm-content").textContent.includes("mm: {tensor: float32, sizes: [1, 3]}"));
  await page.keyboard.press("Control+z");
  await becomes(text);
  // The layout of the command, with the cursor at its word.
  const wide = text.replace("inputs: [x]", "inputs:   [ x ]");
  await type(page, wide);
  await at(wide.indexOf("outputs: [y]") + 5);
  await page.click("text=Format");
  await becomes(execFileSync(native, ["fmt", "-"], { input: text, encoding: "utf8" }));
  assert.equal((await editorText(page)).slice(await head()).slice(0, 8), "ts: [y]\n");
  await page.click("text=Format");
  await page.waitForFunction(() => /laid out already/.test(document.querySelector(".state").textContent));
});

test("playground: the time from a key to the messages", async (t) => {
  const page = await open(t, "#yaml=");
  await assembledState(page);
  for (const name of ["linear.yaml", "kv_cache.yaml", "xnnpack_linear.yaml"]) {
    await type(page, readFileSync(join(examples, name), "utf8"));
    await assembledState(page);
    await page.waitForFunction(() => !document.querySelector(".problems li .error"));
    const times = [];
    for (let round = 0; round < 9; round++) {
      // A key of the map that the grammar does not have, at the end, and without it.
      times.push(await page.evaluate(() => new Promise((done) => {
        const { view } = document.querySelector(".cm-content").cmTile;
        const { length } = view.state.doc;
        const observer = new MutationObserver(() => {
          if (!document.querySelector(".problems")?.textContent.includes("unknown key `zz`")) return;
          observer.disconnect();
          done(performance.now() - start);
        });
        observer.observe(document.querySelector(".source"), { childList: true, subtree: true, characterData: true });
        const start = performance.now();
        view.dispatch({ changes: { from: length, insert: "\nzz: 1" }, userEvent: "input.type" });
      })));
      await page.evaluate(() => { const { view } = document.querySelector(".cm-content").cmTile; view.dispatch({ changes: { from: view.state.doc.length - 6, to: view.state.doc.length } }); });
      await page.waitForFunction(() => !document.querySelector(".problems")?.textContent.includes("unknown key `zz`"));
    }
    times.sort((a, b) => a - b);
    t.diagnostic(`${name}: ${times.map(Math.round).join(" ")} ms`);
    assert.ok(times[4] < 2000, `${name}: ${times[4]} ms`);
  }
});

test("playground: an example, its address, and its bytes", async (t) => {
  const page = await open(t, "#yaml=");
  await assembledState(page);
  for (const name of ["xnnpack_linear.yaml", "data_sources.yaml", "checkpoint.yaml", "kv_cache.yaml"]) {
    await page.selectOption(".sitebar select", name);
    await page.waitForFunction((expected) => [...document.querySelectorAll(".cm-content")].some((content) => content.textContent.includes(expected)), readFileSync(join(examples, name), "utf8").split("\n")[1].slice(0, 30));
    await page.waitForTimeout(400);
    await assembledState(page);
    const found = await saved(page, page.locator(".sitebar a.download").first());
    const output = assembled(name, "expected.pte");
    const expected = found.name.endsWith(".pte") ? output : output.replace(/pte$/, "ptd");
    assert.ok(found.bytes.equals(readFileSync(expected)), name);
  }
  await page.click("text=Share");
  await page.waitForFunction(() => /address/.test(document.querySelector(".state").textContent));
  const address = await page.evaluate(() => navigator.clipboard.readText());
  const other = await open(t, new URL(address).hash);
  await assembledState(other);
  assert.equal(await editorText(other), readFileSync(join(examples, "kv_cache.yaml"), "utf8"));
  await other.click("role=tab[name='Memory']");
  await other.reload();
  await assembledState(other);
  assert.equal(await other.locator("[role=tab][aria-selected=true]").innerText(), "Memory");
  const wrong = await open(t, "#yaml=%%%");
  await wrong.waitForFunction(() => /cannot be read|no YAML/.test(document.querySelector(".playground .state")?.textContent ?? ""));
  await wrong.waitForSelector(".cm-content");
  await type(wrong, `${await editorText(wrong)}\n`);
  await assembledState(wrong);
});

test("the policy forbids connections, also in the worker", async (t) => {
  const page = await open(t, "", { allowed: [/Content Security Policy|example\.invalid/] });
  await page.waitForSelector(".examples li");
  await page.waitForFunction(() => true);
  const attempt = () => Promise.all([fetch("https://example.invalid/"), fetch("http://127.0.0.1:9/")].map((answer) => answer.then(() => "connected", (error) => error.name)));
  assert.deepEqual(await page.evaluate(attempt), ["TypeError", "TypeError"]);
  const violations = page.workers().map((worker) => worker.evaluate(() => new Promise((done) => {
    addEventListener("securitypolicyviolation", ({ effectiveDirective }) => done(effectiveDirective));
    fetch("https://example.invalid/").catch(() => setTimeout(done, 2000, "none"));
  })));
  assert.ok(violations.length > 0);
  assert.deepEqual(await Promise.all(violations), violations.map(() => "connect-src"));
});

test("the start page: examples, and the way back", async (t) => {
  const page = await open(t);
  await page.waitForSelector(".examples li");
  assert.ok(await page.locator(".examples li").count() > 20);
  await page.click("role=button[name='look at it: add.yaml']");
  await shown(page);
  await page.goBack();
  await page.waitForSelector(".drop");
  await page.click(".examples a >> nth=0");
  await assembledState(page);
  await page.goto(`${server.address}#file=model.pte`);
  await page.reload();
  assert.match(await page.locator(".drop").innerText(), /Choose model\.pte again/);
});

for (const scheme of ["light", "dark"]) {
  for (const size of [[1400, 900], [400, 800]]) {
    test(`no serious violation of accessibility, ${scheme}, ${size[0]}`, async (t) => {
      const page = await open(t, "", { scheme, size });
      await page.waitForSelector(".examples li");
      await accessible(page);
      await narrow(page, size[0]);
      await choose(page, assembled("linear.yaml", "linear.pte"));
      await shown(page);
      await act(page, "Check");
      await page.click("#panel button[type=submit]");
      await page.waitForSelector(".outcome");
      await accessible(page);
      await narrow(page, size[0]);
      const play = await open(t, "#yaml=", { scheme, size });
      await play.waitForFunction(() => document.querySelector(".playground .state")?.textContent === "Assembled");
      await accessible(play);
      await narrow(play, size[0]);
      if (size[0] < 700) {
        await play.click(".turn");
        await accessible(play);
        await narrow(play, size[0]);
      }
    });
  }
}

test("a file of 4 GB is opened with little memory", async (t) => {
  // A program that is followed by a hole.
  const file = join(folder, "large.pte");
  const small = readFileSync(assembled("linear.yaml", "small.pte"));
  const handle = openSync(file, "w");
  writeSync(handle, small);
  ftruncateSync(handle, 4 * 2 ** 30);
  closeSync(handle);
  const page = await open(t);
  await page.waitForSelector(".examples li");
  await page.waitForTimeout(1000);
  const before = memoryOf();
  const start = Date.now();
  await choose(page, file);
  await shown(page);
  const time = Date.now() - start;
  const used = memoryOf() - before;
  t.diagnostic(`${time} ms, ${Math.round(used / 2 ** 20)} MiB more in all processes of the browser`);
  assert.match(await page.locator(".toolbar h1").innerText(), /large\.pte/);
  assert.ok((await page.evaluate(() => window.explorer.graph().boxes())).some(({ title }) => title === "addmm"));
  assert.ok(used < 300 * 2 ** 20, "memory");
  assert.ok(time < 20_000, "time");
  rmSync(file);
});
/** Resident memory of the processes that this one started, without what they share. */
function memoryOf() {
  const children = new Map();
  for (const id of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const parent = Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${id}/stat`, "utf8"))[1]);
      children.set(parent, [...(children.get(parent) ?? []), Number(id)]);
    } catch { /* ended */ }
  }
  const sum = (id) => (children.get(id) ?? []).reduce((total, child) => {
    let own = 0;
    try { own = Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${child}/smaps_rollup`, "utf8"))?.[1] ?? 0) * 1024; } catch { /* ended */ }
    return total + own + sum(child);
  }, 0);
  return sum(process.pid);
}

test("the size of the site", (t) => {
  const dist = join(dirname(fileURLToPath(import.meta.url)), "../dist");
  const sizes = Object.fromEntries(readdirSync(dist).filter((name) => /\.(js|css|wasm|html)$/.test(name)).map((name) => [name, statSync(join(dist, name)).size]));
  t.diagnostic(JSON.stringify(sizes));
  assert.ok(sizes["main.js"] < 600_000);
});
