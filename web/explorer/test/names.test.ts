// Names, numbers, sizes and tokens as they are printed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, clip, clipStart, commonPrefix, compactType, counted, decimal, duration, frequent, grouped, shortName } from "../src/names";
import { tokensOf } from "../src/yaml";

test("names of operators without what they have in common", () => {
  assert.equal(shortName("aten::add.out"), "add");
  assert.equal(shortName("aten::_softmax.out"), "softmax");
  assert.equal(shortName("aten::_native_batch_norm_legit_no_training.out"), "batch_norm");
  assert.equal(shortName("quantized_decomposed::quantize_per_tensor.out"), "quantize_per_tensor");
  assert.equal(shortName("XnnpackBackend"), "XnnpackBackend");
  assert.equal(shortName("an unknown operator"), "an unknown operator");
});
test("numbers, sizes and durations", () => {
  assert.equal(grouped(1234567.5), "1,234,567.5");
  assert.equal(counted(1, "call"), "1 call");
  assert.equal(counted(2, "match"), "2 matches");
  assert.equal(counted(0, "entry"), "0 entries");
  assert.deepEqual([0, 1023, 1024, 1.5 * 2 ** 20, 5 * 2 ** 40].map(bytes), ["0 B", "1023 B", "1 KiB", "1.5 MiB", "5 TiB"]);
  assert.deepEqual([5, 1500, 2.5e6, 3e9].map(duration), ["5 ns", "1.5 µs", "2.5 ms", "3 s"]);
  assert.equal(decimal(2359296), "2.36 M");
});
test("types, clipping and prefixes", () => {
  assert.equal(compactType("float32 [1, 3, 224, 224]"), "f32 1×3×224×224");
  assert.equal(compactType("int64 []"), "i64 scalar");
  assert.equal(compactType("IntList"), "IntList");
  assert.equal(clip("abcdef", 4), "abc…");
  assert.equal(clipStart("abcdef", 4), "…def");
  assert.equal(commonPrefix(["model.layer.weight", "model.layer.bias"]), "model.layer.");
  assert.equal(commonPrefix(["conv", "convolution"]), "");
  assert.equal(frequent(["a", "b", "a", "c", "d", "e"], 2), "2 a, b …");
});
test("tokens of YAML", () => {
  const kinds = (line: string) => tokensOf(line).filter(({ kind }) => kind !== "plain").map(({ kind, text }) => `${kind} ${text}`);
  assert.deepEqual(kinds("  - {kernel: aten::add.out, args: [x, 1.5, true]}  # sum"), ["mark -", "mark {", "key kernel", "mark :", "mark ::", "mark ,", "key args", "mark :", "mark [", "mark ,", "number 1.5", "mark ,", "word true", "mark ]}", "comment # sum"]);
  assert.deepEqual(kinds('"a: b": "c # d"'), ['key "a: b"', "mark :", 'string "c # d"']);
  for (const line of ["", "{{{{[[", '"unclosed', "a#b", "x".repeat(10_000), "\u202e\u0000"]) assert.equal(tokensOf(line).map(({ text }) => text).join(""), line);
});
