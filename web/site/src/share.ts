// The YAML of the playground in the address of the page: deflated, as base64 for addresses.

/** A longer text is not put in the address. */
export const LONGEST = 200_000;
/** An address from elsewhere unpacks to no more than this. */
const MOST_UNPACKED = 2_000_000;

export async function pack(text: string): Promise<string> {
  const bytes = await read(new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw")), Infinity);
  let binary = "";
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
/** The text, or null if it is not one that `pack` wrote. */
export async function unpack(packed: string): Promise<string | null> {
  try {
    const binary = atob(packed.replace(/-/g, "+").replace(/_/g, "/"));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    const text = await read(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")), MOST_UNPACKED);
    return new TextDecoder("utf-8", { fatal: true }).decode(text);
  } catch {
    return null;
  }
}
async function read(stream: ReadableStream<Uint8Array>, most: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw new Error("too long");
    }
    parts.push(value);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const part of parts) { all.set(part, at); at += part.length; }
  return all;
}

/** A part of an address that is `key=...`, or null. */
export function partOf(fragment: string, key: string): string | null {
  for (const part of fragment.replace(/^#/, "").split("&")) if (part.startsWith(`${key}=`)) return part.slice(key.length + 1);
  return null;
}
