// Files that are open together: what each is, and what a report of them is about. Pure.

export type Kind = "program" | "data" | "etdump" | "yaml" | "binary" | "text";
export interface OpenFile {
  readonly name: string;
  /** The name by which the library has it, which no other open file has. */
  readonly libraryName: string;
  readonly kind: Kind;
  readonly content: Blob;
}
export interface Subject {
  readonly input: OpenFile;
  /** The older of two. */
  readonly before: OpenFile | null;
  readonly with: readonly OpenFile[];
  readonly etdump: OpenFile | null;
}

/** Bytes that `kindOf` needs. */
export const HEAD = 512;
/** Where an identifier is, and of what. The runtime writes an ETDump with its size before it. */
const IDENTIFIERS: readonly (readonly [number, string, Kind])[] =
  [[4, "ET", "program"], [4, "BP", "program"], [4, "FT", "data"], [4, "ED", "etdump"], [8, "ED", "etdump"]];
const EXTENSIONS: Readonly<Record<string, Kind>> = { pte: "program", bpte: "program", ptd: "data", etdump: "etdump", etdp: "etdump", yaml: "yaml", yml: "yaml", json: "yaml" };

export const extensionOf = (name: string): string => /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";

/** The kind of a file by its identifier, or else its extension: a damaged file is still what its name says. */
export function kindOf(name: string, head: Uint8Array): Kind {
  const text = String.fromCharCode(...head.subarray(0, 12));
  const found = IDENTIFIERS.find(([at, start]) => text.startsWith(start, at) && /^\d\d$/.test(text.slice(at + 2, at + 4)));
  if (found) return found[2];
  return EXTENSIONS[extensionOf(name)] ?? (isText(head) ? "text" : "binary");
}
function isText(head: Uint8Array): boolean {
  if (head.includes(0)) return false;
  try {
    // The last character may be cut.
    new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** What a file is that is none of ours: its first bytes, its name, and what to do. */
const OTHERS: readonly (readonly [number, string, string, string])[] = [
  [0, "\x89PNG", "a PNG image", ""], [0, "\xff\xd8\xff", "a JPEG image", ""], [0, "GIF8", "a GIF image", ""], [0, "%PDF", "a PDF document", ""],
  [0, "PK\x03\x04", "a ZIP archive", "a .pt2 or .pt file of PyTorch is one: export it with executorch.exir.to_edge first; of another archive, unpack the .pte"],
  [0, "\x1f\x8b", "data compressed by gzip", "unpack it first"], [0, "(\xb5\x2f\xfd", "data compressed by Zstandard", "unpack it first"], [0, "GGUF", "a GGUF model of llama.cpp", "it is no ExecuTorch program"],
  [4, "TFL3", "a TensorFlow Lite model", "it is no ExecuTorch program"], [0, "\x7fELF", "an ELF executable or library", ""], [0, "\x89HDF", "an HDF5 file", ""], [0, "\x93NUMPY", "a NumPy array", "YAML can refer to it: open both together"],
  [8, "{\"", "a safetensors file", "YAML can refer to it: open both together"], [0, "version https://git-lfs", "a pointer of Git LFS", "fetch the file with git lfs pull"], [0, "<!DOCTYPE", "an HTML page", "download the file itself"], [0, "<html", "an HTML page", "download the file itself"],
];
export function signatureOf(head: Uint8Array): { found: string; help: string } | null {
  const text = String.fromCharCode(...head.subarray(0, 40));
  const match = OTHERS.find(([at, bytes]) => text.slice(at, at + bytes.length).toLowerCase() === bytes.toLowerCase());
  return match ? { found: match[2], help: match[3] || "choose a .pte, .ptd, .bpte, ETDump or YAML" } : null;
}

/** A name that no other file has: `model (2).pte`. */
export function uniqueName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  const dot = name.lastIndexOf(".");
  const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ""];
  let number = 2;
  while (taken.has(`${stem} (${number})${extension}`)) number++;
  return `${stem} (${number})${extension}`;
}

/** What files are about: one program, or the last two; without one, a YAML, data, or any other file. */
export function subjectOf(files: readonly OpenFile[]): Subject | null {
  const main = files.filter(({ kind }) => kind === "program" || kind === "yaml");
  const only = (kind: Kind) => files.filter((file) => file.kind === kind);
  const data = only("data");
  const input = main[main.length - 1] ?? data[0] ?? files.find(({ kind }) => kind !== "etdump") ?? files[0];
  if (!input) return null;
  const others = data.filter((file) => file !== input && main.length > 0);
  const before = main.length > 1 ? main[main.length - 2]! : main.length === 0 && data.length > 1 ? data[1]! : null;
  return { input, before, with: others, etdump: main.length > 0 ? only("etdump")[0] ?? null : null };
}

/** The name for the library: a file of another format is read as a program, so that its bytes are looked at. */
export const libraryNameOf = (name: string, kind: Kind): string =>
  kind === "binary" || (kind === "program" && !["pte", "bpte"].includes(extensionOf(name))) ? `${name}.pte` : name;
