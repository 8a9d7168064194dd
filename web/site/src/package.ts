// The library of bindings/npm as the site uses it.
import { PteEmitError, load as loadPackage } from "pte-emit";
import { type Findings, type Library, LibraryError } from "./library";

export async function load(): Promise<Library> {
  const found = await loadPackage();
  return {
    addFile: (name, content) => found.addFile(name, content),
    removeFile: (name) => { found.removeFile(name); },
    call({ command, ...options }) {
      try {
        return found.call(command, options);
      } catch (error) {
        if (!(error instanceof PteEmitError)) throw error;
        throw new LibraryError({ message: error.message, findings: (error.findings as Findings | undefined) ?? null });
      }
    },
  };
}
