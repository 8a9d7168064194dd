/** Entry point for Node. */

import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { PteEmit, type LoadOptions } from "./index.js";
import type { FileSource } from "./wasm.js";

export { Analysis, PteEmit, PteEmitError } from "./index.js";

export async function load({ wasm, maxMemory }: LoadOptions = {}): Promise<PteEmit> {
  wasm ??= new URL("./pte_emit.wasm", import.meta.url);
  if (typeof wasm === "string" || wasm instanceof URL) wasm = readFileSync(wasm);
  const module = wasm instanceof WebAssembly.Module ? wasm : await WebAssembly.compile(wasm);
  return new PteEmit(module, maxMemory);
}

export function openFile(path: string): FileSource & { close(): void } {
  const file = openSync(path, "r");
  return {
    length: fstatSync(file).size,
    read(offset, out) {
      for (let at = 0; at < out.length; ) {
        const count = readSync(file, out, at, out.length - at, offset + at);
        if (count === 0) throw new RangeError("the file became shorter");
        at += count;
      }
    },
    close: () => closeSync(file),
  };
}
