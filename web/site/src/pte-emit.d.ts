// What the site uses of the npm package in bindings/npm, which is built later than this is checked.
declare module "pte-emit" {
  export class PteEmitError extends Error { readonly findings: unknown }
  export interface PteEmit {
    addFile(name: string, content: Uint8Array | Blob): void;
    removeFile(name: string): boolean;
    call(command: string, options?: object): { result: unknown; files: { name: string; bytes: Uint8Array<ArrayBuffer> }[] };
  }
  export function load(): Promise<PteEmit>;
}
