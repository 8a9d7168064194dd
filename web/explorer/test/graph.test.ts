// Grouping, first views, edges and layouts of models of all sizes.
import assert from "node:assert/strict";
import { test } from "node:test";
// @ts-expect-error: a module without types, which the tests in the browser use, too.
import { methods, network, twoFiles } from "../e2e/documents.mjs";
import { edgesOf } from "../src/edges";
import { type Box, type Scene, sceneOf } from "../src/graph/scene";
import { ENTRY, EXIT, layoutLevel, skipsOf } from "../src/graph/layout";
import { clamp, fit, zoom } from "../src/graph/camera";
import { measurementOf } from "../src/heat";
import { mainKind } from "../src/kinds";
import { type Method, argumentsOf, attributesOf, methodsOf, parametersOf, roleOf } from "../src/model";
import { periodOf } from "../src/period";
import { hitCounts, search } from "../src/search";
import { chainTo, chainToId, groupingsOf, openFirst, pathsOf, summaryOf, treeOf } from "../src/tree";

const measure = (text: string) => text.length * 7;
function sceneFor(method: Method, open: ReadonlySet<string>): Scene {
  const steps = sceneOf(method, treeOf(method, groupingsOf(method).first), open, measure, { width: 1060, height: 820 }, new Map());
  for (;;) { const step = steps.next(); if (step.done) return step.value; }
}
const inside = (inner: Box, outer: Box) => inner.x >= outer.x && inner.y >= outer.y && inner.x + inner.width <= outer.x + outer.width + 0.01 && inner.y + inner.height <= outer.y + outer.height + 0.01;
function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width - 0.01 && b.x < a.x + a.width - 0.01 && a.y < b.y + b.height - 0.01 && b.y < a.y + a.height - 0.01;
}

for (const count of [1, 20, 300, 3000, 10000]) {
  for (const delegated of [false, true]) {
    test(`the first view of ${count} instructions${delegated ? ", delegated" : ""}`, () => {
      const method = methodsOf(network(count, { delegated }))[0]!;
      const tree = treeOf(method, groupingsOf(method).first);
      const scene = sceneFor(method, openFirst(tree, 130));
      assert.ok(scene.boxes.length <= 150, `${scene.boxes.length} boxes`);
      if (count >= 300) assert.ok(scene.boxes.length >= 30, `${scene.boxes.length} boxes`);
      // Each call is in exactly one box that is drawn.
      const leaves = scene.boxes.filter((box) => !box.children && box.part.kind !== "input" && box.part.kind !== "output" && !box.part.id.includes("."));
      const payloads = scene.boxes.filter((box) => box.children && box.part.kind === "call").length;
      assert.equal(leaves.reduce((sum, { part }) => sum + part.end - part.start, 0) + payloads, count);
      for (const box of scene.boxes) if (box.parent) assert.ok(inside(box, box.parent), `${box.part.id} is inside of ${box.parent.part.id}`);
      const levels = [null, ...scene.boxes].map((parent) => scene.boxes.filter((box) => box.parent === parent));
      for (const level of levels) level.forEach((box, at) => level.slice(at + 1).forEach((other) => assert.ok(!overlap(box, other), `${box.part.id} and ${other.part.id} do not overlap`)));
      for (const { points } of scene.routes) for (const { x, y } of points) assert.ok(Number.isFinite(x) && Number.isFinite(y));
    });
  }
}
test("a payload is opened in place, and its edges lead to its operations", () => {
  const method = methodsOf(network(20, { delegated: true }))[0]!;
  const call = method.calls.find(({ data }) => data.delegate !== undefined)!;
  const edges = edgesOf(method, new Set([String(call.index)]));
  const targets = edges.filter(({ from }) => from === String(call.index - 1)).map(({ to }) => to);
  assert.deepEqual(targets.filter((to) => to.startsWith(`${call.index}.`)), [`${call.index}.0`, `${call.index}.3`]);
  assert.ok(edges.some(({ from, to }) => from === `${call.index}.3` && to === String(call.index + 1)));
  assert.ok(!edges.some(({ from, to }) => from === String(call.index) || to === String(call.index)));
});
test("groups by module, delegate and block", () => {
  const method = methodsOf(network(300, { delegated: true }))[0]!;
  assert.deepEqual(groupingsOf(method).possible, ["module", "name", "delegate", "block"]);
  assert.deepEqual(pathsOf(method, "module")[0], ["self", "self.layer0", "self.layer0.block0"]);
  const tree = treeOf(method, "module");
  const group = tree.find(({ kind }) => kind === "group")!;
  assert.equal(group.title, "layer0");
  assert.match(summaryOf(method, group), /^10 calls: 2 XnnpackBackend, 2 convolution, /);
  const chain = chainTo(tree, method, 4, 2);
  assert.deepEqual(chain.map(({ id }) => id), ["0-9", "4", "4.2"]);
  assert.deepEqual(chainToId(tree, "4.2").map(({ id }) => id), ["0-9", "4", "4.2"]);
  assert.deepEqual(chainToId(tree, "no such id"), []);
});
test("a level that fits the first view is not divided, a longer one into blocks that say what is in them", () => {
  const short = methodsOf(network(120))[0]!;
  assert.equal(treeOf(short, "block").filter(({ kind }) => kind === "call").length, 120);
  const document = network(200);
  // Without a repetition: some calls are left out.
  const [method] = methodsOf(document);
  const order = method!.order.filter((index) => (Math.imul(index, index * 2654435) >>> 9) % 5 > 0);
  const blocks = treeOf({ ...method!, order }, "block").filter(({ kind }) => kind === "group");
  assert.ok(blocks.length >= 28 && blocks.length <= 130, `${blocks.length} blocks`);
  assert.ok(blocks.some(({ title }) => title === "conv · 16 · 32×32"), blocks.map(({ title }) => title).join("; "));
  for (const { title } of blocks) assert.doesNotMatch(title, /^\d+ to \d+$/);
});
test("a repetition is layers, which are opened together", () => {
  const [method] = methodsOf(network(10000));
  const tree = treeOf(method!, "block");
  const names = tree.filter(({ kind }) => kind === "group").map(({ title }) => title);
  assert.match(names[0]!, /^layers 1 to \d+ of 1250$/);
  assert.equal(chainTo(tree, method!, 9)[1]!.title, "layer 2 of 1250");
  const open = openFirst(tree, 130);
  const levels = tree.filter(({ kind }) => kind === "group").map(({ id }) => open.has(id));
  assert.equal(new Set(levels).size, 1, "all or none");
  assert.deepEqual(periodOf([..."a0123456789bb0123456789bb0123456789bbz"]), [1, 13, 25, 37]);
  assert.equal(periodOf(new Array(100).fill("add")), null);
  assert.equal(periodOf([..."the quick brown fox jumps over the lazy dog"]), null);
});
test("groups with changes are opened first", () => {
  const [method] = methodsOf(network(300));
  const tree = treeOf(method!, "module");
  const changed = tree[5]!;
  assert.deepEqual([...openFirst(tree, tree.length + 5, (part) => part === changed)], [changed.id]);
  assert.deepEqual([...openFirst(tree, tree.length + 5)], []);
});
test("a group has the kind of its work, and boxes have the shapes of results", () => {
  const shape = { name: "reshape", kind: "shape", macs: 0, constant: 0 };
  assert.equal(mainKind([shape, shape, { name: "relu", kind: "activation", macs: 0, constant: 0 }]), "activation");
  assert.equal(mainKind([shape, shape, { name: "relu", kind: "activation", macs: 0, constant: 0 }, { name: "mm", kind: "matmul", macs: 5, constant: 0 }]), "matmul");
  assert.equal(mainKind([shape]), "shape");
  const scene = sceneFor(methodsOf(network(40))[0]!, new Set(["0-15", "0-3"]));
  assert.equal(scene.byId.get("0")!.lines[0], "1×16×32×32 layer0_block0_conv");
  assert.equal(scene.byId.get("4-7")!.lines[0], "1×16×32×32");
});
test("operations of XNNPACK have what is not usual", () => {
  const attributes: [string, string][] = [["padding", "0 0 0 0"], ["kernel", "3 3"], ["stride", "2 2"], ["dilation", "1 1"], ["group_input_channels", "3"], ["groups", "1"], ["adjustment", "0 0"], ["output_min", "0"], ["output_max", "6"]];
  const node = { name: "conv2d", reads: [0, 1, 2], writes: [3], roles: ["input1", "filter", "bias"], attributes };
  assert.deepEqual(attributesOf(node), ["clamp 0…6", "stride 2 2"]);
  assert.deepEqual(attributesOf({ ...node, attributes: [["kernel", "3 3"], ["stride", "1 1"], ["padding", "1 1 1 1"]], roles: ["input"] }), ["kernel 3 3", "padding 1 1 1 1"]);
  assert.deepEqual([0, 1].map((at) => roleOf(node, at)), ["input", "filter"]);
  assert.equal(roleOf({ ...node, roles: ["input1", "input2"] }, 0), "input1");
});
test("many inputs are one box", () => {
  const method = methodsOf(methods())[1]!;
  assert.equal(method.name, "decode/step");
  const inputs = treeOf(method, "module").filter(({ kind }) => kind === "input");
  assert.deepEqual(inputs.map(({ title }) => title), ["991 inputs"]);
});
test("arguments have names and values, and the box has the parameters", () => {
  const method = methodsOf(network(4))[0]!;
  const args = argumentsOf(method, method.calls[0]!);
  assert.deepEqual(args.map(({ name }) => name), ["input", "weight", "bias", "stride", "padding", "dilation", "transposed", "output_padding", "groups", "out"]);
  assert.equal(args[3]!.text, "[1, 1]");
  assert.equal(parametersOf(method, method.calls[0]!), "weight 16×16×3×3, bias 16, stride 1 1, padding 1 1");
});
test("what an older file had is after what it followed", () => {
  const method = methodsOf(twoFiles(40))[0]!;
  const changes = method.order.map((index) => method.calls[index]!.change);
  assert.equal(changes[0], null);
  assert.equal(changes[1], "removed");
  assert.equal(method.calls[method.order[1]!]!.name, "batch_norm");
  assert.equal(method.calls[3]!.change, "changed");
  assert.equal(method.calls[39]!.change, "added");
  assert.deepEqual(argumentsOf(method, method.calls[method.order[1]!]!).map(({ name }) => name), ["self", "weight", "eps", "out"]);
});
test("what was removed has numbers in the older file, and views there", () => {
  const document = twoFiles(40);
  const old = document.base.graph.methods[0];
  old.values[old.values.length - 1].base = 0;
  const { older, calls, values } = methodsOf(document)[0]!;
  assert.deepEqual([older!.calls.length, older!.values.length], [calls.length, values.length]);
  assert.deepEqual([older!.calls[0], older!.calls[39], older!.calls[40]], [0, null, 1]);
  assert.deepEqual([older!.values.at(-1), values.at(-1)!.base], [old.values.length - 1, 0]);
});
test("heat of a group is the sum of its calls", () => {
  const document = network(40, { times: true });
  const method = methodsOf(document)[0]!;
  const time = measurementOf(document, method, "time");
  const [first] = treeOf(method, "module").filter(({ kind }) => kind === "group");
  assert.equal(time.of(first!), 4 * (90000 + 3 * 9000));
  assert.equal(time.text(time.of(first!)), "468 µs");
  assert.equal(measurementOf(document, method, "MACs").of(first!), 4 * 2359296);
});
test("search finds operators, values and operations; whole names are first", () => {
  const all = methodsOf(network(40, { delegated: true }));
  const hits = search(all, "add", 0);
  assert.equal(hits[0]!.title, "add");
  assert.ok(hits.some(({ selection }) => selection.kind === "operation"));
  assert.deepEqual(search(all, "layer0.block2.conv.weight", 0).map(({ selection }) => selection.kind), ["value"]);
  assert.deepEqual(search(all, "  ", 0), []);
  const count = hitCounts(all[0]!, "relu");
  const groups = treeOf(all[0]!, "module").filter(({ kind }) => kind === "group");
  assert.equal(groups.reduce((sum, part) => sum + count(part), 0), all[0]!.calls.filter(({ name }) => name === "relu").length);
});
test("hits are counted without a look at all calls for each value", () => {
  const method = methodsOf(network(10000))[0]!;
  const started = performance.now();
  const count = hitCounts(method, "weight");
  assert.ok(performance.now() - started < 2000);
  const groups = treeOf(method, "module").filter(({ kind }) => kind === "group");
  // Each convolution and normalization has a weight.
  assert.ok(groups.reduce((sum, part) => sum + count(part), 0) >= 5000);
});
test("a chain is folded into columns, and edges leave at the borders", () => {
  const sizes = Array.from({ length: 30 }, () => ({ width: 100, height: 40 }));
  const edges = [...sizes.slice(1).map((_, at) => ({ from: at, to: at + 1 })), { from: 29, to: EXIT }];
  const { width, height, boxes, routes } = layoutLevel({ sizes, edges, aspect: 1.5, room: 500 });
  assert.ok(width / height > 0.8 && width / height < 3, `${width} x ${height}`);
  assert.equal(routes.length, edges.length);
  assert.ok(new Set(boxes.map(({ x }) => Math.round(x))).size > 1);
  assert.deepEqual(layoutLevel({ sizes: [], edges: [], aspect: 1, room: 500 }).boxes, []);
});
test("edges leave boxes at the bottom and enter them at the top", () => {
  const sizes = [{ width: 100, height: 40 }, { width: 240, height: 60 }, { width: 60, height: 30 }, { width: 100, height: 40 }];
  const edges = [{ from: 0, to: 1 }, { from: 0, to: 2 }, { from: 1, to: 3 }, { from: 2, to: 3 }, { from: 0, to: 3 }];
  const { boxes, routes } = layoutLevel({ sizes, edges, aspect: 1, room: 1000 });
  routes.forEach((route, at) => {
    const { from, to } = edges[at]!;
    const [first, last] = [route[0]!, route[route.length - 1]!];
    assert.equal(first.y, boxes[from]!.y + sizes[from]!.height);
    assert.equal(last.y, boxes[to]!.y);
    assert.ok(first.x > boxes[from]!.x && first.x < boxes[from]!.x + sizes[from]!.width);
    assert.ok(last.x > boxes[to]!.x && last.x < boxes[to]!.x + sizes[to]!.width);
    if (at < 4) assert.equal(route.length, 2, "neighbouring ranks have no corner between them");
  });
});
test("an edge that skips boxes of a group leads from its border to the box", () => {
  const method = methodsOf(network(300))[0]!;
  const scene = sceneFor(method, new Set(["0-15", "4-7"]));
  const [block, add] = [scene.byId.get("4-7")!, scene.byId.get("7")!];
  const skip = scene.routes.find(({ parent, edges }) => parent === block && edges.some((at) => scene.edges[at]!.from === "3" && scene.edges[at]!.to === "7"))!;
  assert.equal(skip.cut, null);
  assert.equal(skip.points[0]!.y, block.y);
  assert.ok(Math.abs(skip.points[skip.points.length - 1]!.y - add.y) < 1);
  // The part outside ends where the part inside begins.
  const outer = scene.routes.find(({ parent, edges }) => parent === block.parent && edges.some((at) => scene.edges[at]!.to === "7"))!;
  assert.ok(Math.abs(outer.points[outer.points.length - 1]!.x - skip.points[0]!.x) < 1);
});
test("many edges that skip boxes are short ends", () => {
  const edges = [{ from: 0, to: 1 }, { from: 1, to: 2 }, { from: 2, to: 3 }, ...[1, 2, 3].map((to) => ({ from: ENTRY, to }))];
  assert.deepEqual(skipsOf(edges), [null, null, null, "stub", "stub", "stub"]);
  assert.deepEqual(skipsOf(edges.slice(0, 5)), [null, null, null, "lane", "lane"]);
});
test("loops and edges back are laid out", () => {
  const sizes = Array.from({ length: 3 }, () => ({ width: 100, height: 40 }));
  const { boxes, routes } = layoutLevel({ sizes, edges: [{ from: 0, to: 1 }, { from: 1, to: 2 }, { from: 2, to: 0, isBack: true }, { from: 1, to: 1, isBack: true }], aspect: 1, room: 500 });
  assert.ok(boxes[0]!.y < boxes[2]!.y);
  assert.ok(routes.every((route) => route.length >= 2));
});
test("zooming keeps the point under the pointer", () => {
  const camera = fit({ x: 0, y: 0, width: 1000, height: 500 }, { width: 800, height: 600 });
  const at = { x: 200, y: 100 };
  const next = zoom(camera, 2, at);
  assert.ok(Math.abs(camera.x + at.x / camera.scale - (next.x + at.x / next.scale)) < 1e-9);
});
test("a camera does not leave the picture", () => {
  const [area, view] = [{ x: 0, y: 0, width: 1000, height: 500 }, { width: 400, height: 300 }];
  assert.equal(clamp({ scale: 1, x: -500, y: 0 }, area, view).x, -40);
  assert.equal(clamp({ scale: 1, x: 5000, y: 0 }, area, view).x, 1040 - 400);
  assert.equal(clamp({ scale: 1, x: 300, y: 100 }, area, view).x, 300);
  assert.equal(clamp({ scale: 0.1, x: 300, y: 0 }, area, view).x, 500 - 2000);
});
