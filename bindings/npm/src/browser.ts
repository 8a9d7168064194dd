/** Entry point for browsers and workers. */

import { PteEmit, type LoadOptions } from "./index.js";
import type { FileSource } from "./wasm.js";

export { Analysis, PteEmit, PteEmitError } from "./index.js";

export async function load({ wasm, maxMemory }: LoadOptions = {}): Promise<PteEmit> {
  wasm ??= new URL("./pte_emit.wasm", import.meta.url);
  if (typeof wasm === "string" || wasm instanceof URL) {
    const response = await fetch(wasm);
    if (!response.ok) throw new Error(`cannot load ${wasm}: ${response.status}`);
    wasm = await response.arrayBuffer();
  }
  const module = wasm instanceof WebAssembly.Module ? wasm : await WebAssembly.compile(wasm);
  return new PteEmit(module, maxMemory);
}

export function openFile(): FileSource & { close(): void } {
  throw new Error("openFile is for Node: pass a File to addFile");
}
