// Holds the hand-written names of `document.ts` against the types that are generated from the schema: this file does not
// compile if a field that the explorer reads is not what the schema says.
import type { ReportDocument as Generated, Read as GeneratedRead } from "./data";
import type { Read, ReportDocument } from "./document";

/** Without null for keys that may be missing, and for what is read: the schema allows null, the document has none. */
type Present<T> = [GeneratedRead, T] extends [T, GeneratedRead] ? Read : T extends object ? { [Key in keyof T]: object extends Pick<T, Key> ? Present<Exclude<T[Key], null>> : Present<T[Key]> } : T;

export const documentOf = (data: Present<Generated>): ReportDocument => data;
