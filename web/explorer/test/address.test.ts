// Addresses: what is written is read again, and nothing that is read can fail.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Address, formatAddress, parseAddress } from "../src/address";

const empty: Address = { method: null, selection: null, weight: null, tab: null, settings: new Map() };

test("addresses of the documentation", () => {
  assert.deepEqual(parseAddress("#forward/12"), { ...empty, method: "forward", selection: { kind: "instruction", index: 12 } });
  assert.deepEqual(parseAddress("#weight=conv.weight"), { ...empty, weight: "conv.weight" });
  assert.deepEqual(parseAddress("#forward/3.7&tab=memory&heat=time"), { ...empty, method: "forward", selection: { kind: "operation", index: 3, operation: 7 }, tab: "memory", settings: new Map([["heat", "time"]]) });
});
test("addresses are read as they were written", () => {
  const addresses: Address[] = [
    empty,
    { ...empty, method: "decode/step & more=1", selection: { kind: "value", index: 3 } },
    { ...empty, method: "forward", selection: { kind: "group", id: "10-20" }, tab: "size" },
    { ...empty, method: "forward", selection: { kind: "group", id: "3.0-9" }, settings: new Map([["open", "1,2-3"], ["pool", "forward/1"], ["plan", "before"]]) },
    { ...empty, method: "a/3", selection: null },
    { ...empty, method: "a/3", selection: { kind: "instruction", index: 5 }, settings: new Map([["part", "0.12"], ["at", "before-3"], ["form", "flame"], ["size", "dtype-icicle"]]) },
    { ...empty, weight: "a&b=c#d <script>", tab: "weights" },
  ];
  for (const address of addresses) assert.deepEqual(parseAddress(`#${formatAddress(address)}`), address);
});
test("any text is an address", () => {
  for (const text of ["", "#", "#%", "#%E0%A4%A", "#&&==&", "#forward/", "#/", "#forward/99999999999999999999", "#tab", "#unknown=1"]) assert.ok(parseAddress(text));
  assert.equal(parseAddress("#unknown=1").settings.size, 0);
  assert.equal(parseAddress("#q=1&row=-5&line=abc&byte=1e99&size=bad-bad&part=x&at=-1&form=none&plan=none").settings.size, 0);
});
