// Sizes, memory plans, and links between views.
import assert from "node:assert/strict";
import { test } from "node:test";
// @ts-expect-error: a module without types, which the tests in the browser use, too.
import { network, twoFiles } from "../e2e/documents.mjs";
import { lineOf, marksOf, severitiesOf, targetOfPath, targetsOfLines } from "../src/links";
import { differenceText, methodsOf } from "../src/model";
import {
  addressScale, aliveAt, eventName, eventText, fullOf, ownOf, ownValues, ownersOf, plansOf, scaleFor, shownOf, timeIn,
} from "../src/plan";
import { firstMode, sizeModes, sizeRole, sizeTree } from "../src/sizes";
import { regionAt } from "../src/regions";

test("trees of sizes add up, by each mode", () => {
  const { files } = network(40);
  for (const mode of ["tensor", "module", "kind", "segment"] as const) {
    const tree = sizeTree(files, mode);
    assert.equal(tree.children!.reduce((sum, { bytes }) => sum + bytes, 0), tree.bytes, mode);
  }
  assert.equal(firstMode(files), "module");
  assert.deepEqual(sizeTree(files, "module").children!.slice(0, 2).map(({ name }) => name), ["layer0", "layer1"]);
});
test("names of a level begin with what differs", () => {
  const names = ["model.encoder.a", "model.encoder.b", "model.encoder.c"];
  const files = [{ name: "m.pte", tensors: { name: "", bytes: 3, children: names.map((name, at) => ({ name: `${name} (methods.forward.values[${at}])`, bytes: 1 })) } }];
  assert.deepEqual(sizeTree(files, "tensor").children!.map(({ name }) => name), ["a", "b", "c"]);
});
test("more than 250 parts are 250 and the rest", () => {
  const files = [{ name: "m.pte", tensors: { name: "", bytes: 3000, children: Array.from({ length: 3000 }, (_, at) => ({ name: `t${at} (methods.f.values[${at}])`, bytes: 1 })) } }];
  const { children } = sizeTree(files, "tensor");
  assert.equal(children!.length, 251);
  assert.equal(children![250]!.bytes, 2750);
  assert.equal(children![250]!.children, undefined, "no tree in the tree");
});
test("what is not listed is a part of its own", () => {
  const children = [["a.b.weight (methods.f.values[0])", 5], ["methods.f.values", 3], ["(5,826 more)", 7]].map(([name, bytes]) => ({ name: String(name), bytes: Number(bytes) }));
  const files = [{ name: "m.pte", tensors: { name: "", bytes: 15, children } }];
  for (const mode of ["module", "dtype", "tensor"] as const) {
    const part = sizeTree(files, mode).children!.find(({ name }) => name === "5,826 more");
    assert.deepEqual([part?.bytes, part?.children], [7, undefined], mode);
  }
  const structure = sizeTree(files, "module").children!.find(({ name }) => name.startsWith("structure of the file"))!;
  assert.equal(structure.bytes, 3);
});
test("sizes by dtype and by delegate", () => {
  const document = network(40, { delegated: true });
  const methods = methodsOf(document);
  const [file] = document.files;
  file.tensors.children.push({ name: "filter, part0 (methods.forward.delegates[0].payload.values[2])", bytes: 100 }, { name: "methods.forward.delegates[0]", bytes: 20 });
  file.tensors.bytes += 120;
  document.graph.methods[0].values[1].type = "int8 [16, 16, 3, 3]";
  const of = (mode: "dtype" | "delegate") => sizeTree(document.files, mode, methodsOf(document)).children!.map(({ name, bytes }) => [name, bytes]);
  assert.deepEqual(new Set(of("dtype").map(([name]) => name)), new Set(["int8", "float32", "fp32", "structure of the file"]));
  assert.deepEqual(of("dtype").find(([name]) => name === "int8"), ["int8", 9216]);
  assert.deepEqual(of("delegate").map(([name]) => name), ["not delegated", "structure of the file", "part0 (XnnpackBackend)"]);
  assert.deepEqual(of("delegate")[2], ["part0 (XnnpackBackend)", 120]);
  assert.deepEqual(sizeModes(methods), ["tensor", "module", "dtype", "delegate", "kind", "segment"]);
  assert.deepEqual(sizeModes(methodsOf(network(4))), ["tensor", "module", "dtype", "kind", "segment"]);
});
test("methods of one of two files, with their plans", () => {
  const document = twoFiles(40);
  document.graph.methods.push(network(8, { name: "new" }).graph.methods[0]);
  document.base.graph.methods.push(network(8, { name: "gone" }).graph.methods[0]);
  document.base.methods.push(null);
  document.base.memory.methods.push({ ...network(8).memory.methods[0], name: "gone" });
  const methods = methodsOf(document);
  assert.deepEqual(methods.map(({ name, index, isRemoved }) => [name, index, isRemoved]), [["forward", 0, false], ["new", 1, false], ["gone", 2, true]]);
  assert.ok(methods[1]!.calls.every(({ change }) => change === "added"));
  assert.ok(methods[2]!.calls.every(({ change }) => change === "removed"));
  const plans = plansOf(document, methods).find(({ key }) => key === "gone/1")!;
  assert.deepEqual([plans.method, plans.plans.map(({ side }) => side)], [2, ["before"]]);
  assert.deepEqual([...ownValues(plans.plans[0]!, methods[2]!, [3])], [3]);
});
test("a plan: what is alive, by whom it is written, and scales", () => {
  const document = network(20);
  const pool = document.memory.methods[0].pools[0];
  const owners = ownersOf(methodsOf(document)[0]);
  assert.equal(owners.get(pool.tensors[0].value)!.kind, "convolution");
  assert.deepEqual(aliveAt(pool, 1).map(({ name }) => name), ["layer0_block0_conv"]);
  assert.equal(scaleFor([pool], 400), "linear");
  for (const kind of ["linear", "logarithmic"] as const) {
    const scale = addressScale([pool], kind);
    assert.equal(scale(0), 0);
    assert.ok(Math.abs(scale(196608) - 1) < 1e-9);
    assert.ok(scale(1000) < scale(100000));
  }
  assert.deepEqual([0, 1, 21].map((time) => eventText(document.memory.methods[0].instructions, time)), ["the inputs are set", "instruction 0, aten::convolution.out", "the outputs are read"]);
});
test("the plans of two files, whose numbers lead to each other", () => {
  const document = twoFiles(40);
  const [method] = methodsOf(document);
  const [{ key, plans }] = plansOf(document, [method!]) as [ReturnType<typeof plansOf>[0]];
  const [before, after] = plans as [(typeof plans)[0], (typeof plans)[0]];
  assert.deepEqual([key, before.side, after.side], ["forward/1", "before", "after"]);
  assert.equal(fullOf(plans.map(({ pool }) => pool)), 262144);
  // Instruction 1 of the older file was removed, so that the next ones of the newer file have lower numbers.
  assert.deepEqual([0, 1, 2, 40, 41].map((time) => timeIn(method!, after, before, time)), [0, 1, 3, null, 42]);
  assert.deepEqual([0, 1, 2, 3, 42].map((time) => timeIn(method!, before, after, time)), [0, 1, null, 2, 41]);
  const removed = method!.order[1]!;
  assert.deepEqual([ownOf(method!, "before", "calls", removed), ownOf(method!, "after", "calls", removed)], [1, -1]);
  assert.equal(shownOf(method!, "before", "calls", 1), removed);
  assert.deepEqual([...ownValues(after, method!, [3, method!.values.length - 1])], [3]);
  assert.deepEqual(["before", "after"].map((_, at) => eventName(plans[at]!.memory.instructions, 41)), ["convolution", "outputs"]);
  const [single] = plansOf(network(20), methodsOf(network(20)));
  assert.deepEqual(single!.plans.map(({ side }) => side), ["after"]);
});
test("a plan of one file only", () => {
  const document = twoFiles(40);
  document.memory.methods[0].pools = [];
  assert.deepEqual(plansOf(document, methodsOf(document)).map(({ plans }) => plans.map(({ side }) => side)), [["before"]]);
});
test("paths, lines and marks lead to what they are about", () => {
  const document = network(20, { delegated: true });
  const methods = methodsOf(document);
  assert.deepEqual(targetOfPath(methods, "weight (methods.forward.values[1])"), { method: 0, selection: { kind: "value", index: 1 } });
  assert.deepEqual(targetOfPath(methods, "methods.forward.delegates[0].payload.nodes[2]"), { method: 0, selection: { kind: "operation", index: 4, operation: 2 } });
  assert.equal(targetOfPath(methods, "methods.forward.instructions[99]"), null);
  assert.equal(targetOfPath(methods, "methods.<script>.values[0]"), null);
  assert.equal(lineOf(document, methods[0]!, { kind: "instruction", index: 3 }), 7);
  assert.deepEqual(targetsOfLines(document, methods).get(7)!.selection, { kind: "instruction", index: 3 });
  assert.deepEqual(marksOf(methods[0]!, { kind: "instruction", index: 0 }, "findings"), [0]);
});
test("the region of a byte", () => {
  const regions: [number, number, number, number, number, null][] = [[0, 4, 0, 0, 0, null], [4, 8, 0, 0, 0, null], [16, 4, 0, 0, 0, null]];
  assert.deepEqual([0, 3, 4, 11, 12, 16, 20].map((offset) => regionAt(regions, offset)), [0, 0, 1, 1, -1, 2, -1]);
  assert.equal(regionAt([], 0), -1);
});
test("the highest severity of findings about a range of calls", () => {
  const document = network(20);
  document.files[0].findings.push({ rule: "G-02", severity: "malformed", found: "", expected: "" });
  const method = methodsOf(document)[0]!;
  method.values[method.calls[5]!.data.writes![0]!]!.findings = [1];
  const severities = severitiesOf(document, method);
  assert.deepEqual([[0, 1], [1, 5], [5, 6], [0, 20]].map(([start, end]) => severities.most(start!, end!)), ["suspicious", null, "malformed", "malformed"]);
});
test("differences of numbers of calls have the name of the operator once", () => {
  assert.equal(differenceText({ left: { value: "aten::hardtanh.out: 35 calls" }, right: { value: "aten::hardtanh.out: 32 calls" } }), "hardtanh 35 → 32 calls");
  assert.equal(differenceText({ left: null, right: { value: "aten::mul.out: 1 call" } }), "mul 1 call");
  assert.equal(differenceText({ left: { value: "relu" }, right: { value: "gelu" } }), "relu → gelu");
});
test("what is no tensor is one part", () => {
  const files = [{ name: "m.pte", tensors: { name: "", bytes: 6, children: [{ name: "a.weight (methods.f.values[0])", bytes: 1 }, { name: "methods.f.values", bytes: 2 }, { name: "methods.f.chains", bytes: 3 }] } }];
  const { children } = sizeTree(files, "tensor");
  assert.deepEqual(children!.map(({ name, bytes }) => [name, bytes]), [["structure of the file", 5], ["a.weight", 1]]);
  assert.deepEqual(children!.map(sizeRole), ["structure of the file", "weight"]);
});
