// Completion of keys and values by the JSON Schema of the YAML. Pure.
import { type Path, placeAt } from "./place";

export interface Schema {
  readonly $ref?: string; readonly $defs?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[]; readonly oneOf?: readonly Schema[]; readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>; readonly additionalProperties?: Schema | boolean; readonly required?: readonly string[];
  readonly items?: Schema | boolean; readonly prefixItems?: readonly Schema[];
  readonly enum?: readonly unknown[]; readonly const?: unknown; readonly type?: string | readonly string[]; readonly description?: string;
}
export interface Choice { readonly label: string; readonly insert: string; readonly kind: "property" | "enum" | "variable"; readonly info: string }
export interface Choices { readonly from: number; readonly list: readonly Choice[] }

/** A schema without references and alternatives. */
function parts(root: Schema, schema: Schema, depth = 0): Schema[] {
  if (depth > 12) return [];
  const named = schema.$ref?.startsWith("#/$defs/") ? root.$defs?.[schema.$ref.slice(8)] : undefined;
  return [schema, ...(named ? parts(root, named, depth + 1) : []), ...[schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) => (list ?? []).flatMap((part) => parts(root, part, depth + 1)))];
}
/** The schemas of a place. */
export function schemasAt(root: Schema, path: Path): Schema[] {
  let found = parts(root, root);
  for (const step of path) {
    found = found.flatMap((schema) => {
      const next = typeof step === "number" ? schema.prefixItems?.[step] ?? schema.items : schema.properties?.[step] ?? (schema.properties && step in schema.properties ? undefined : schema.additionalProperties);
      return next !== undefined && typeof next === "object" ? parts(root, next) : [];
    });
  }
  return found;
}
const isStructured = (root: Schema, schema: Schema): "map" | "list" | null => {
  const all = parts(root, schema);
  if (all.some(({ type }) => type === "string" || type === "boolean" || type === "number" || type === "integer" || Array.isArray(type))) return null;
  return all.some(({ type }) => type === "object") ? "map" : null;
};

/** Keys that name values, where names of values are written. */
const NAMING = new Set(["args", "inputs", "outputs", "out", "view", "view_of", "move", "free", "input", "output"]);

export function choicesAt(root: Schema, text: string, offset: number): Choices | null {
  const place = placeAt(text, offset);
  if (!place) return null;
  const { path, isKey, from, keys, names } = place;
  const schemas = schemasAt(root, path);
  const list = new Map<string, Choice>();
  const add = (label: string, insert: string, kind: Choice["kind"], info: string) => { if (!list.has(label)) list.set(label, { label, insert, kind, info }); };
  if (isKey) {
    for (const schema of schemas) for (const [name, own] of Object.entries(schema.properties ?? {})) {
      if (!keys.includes(name)) add(name, isStructured(root, own) === "map" && !isInLine(text, offset) ? `${name}:` : `${name}: `, "property", own.description ?? "");
    }
  }
  // The item of a block list is a map, or a value.
  if (!isKey || typeof path[path.length - 1] === "number") {
    for (const { enum: values, const: value, type, description } of schemas) {
      for (const item of [...(values ?? []), ...(value === undefined ? [] : [value])]) if (item !== null) add(String(item), String(item), "enum", description ?? "");
      if (type === "boolean" || (Array.isArray(type) && type.includes("boolean"))) for (const item of ["true", "false"]) add(item, item, "enum", description ?? "");
    }
    if (path.some((step) => typeof step === "string" && NAMING.has(step))) for (const name of names) add(name, name, "variable", "a value");
  }
  return list.size === 0 ? null : { from, list: [...list.values()] };
}
const isInLine = (text: string, offset: number): boolean => /[{[,]/.test(text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset));

export interface Operator { readonly name: string; readonly arguments: readonly { name: string; type: string; role: string; default?: unknown }[]; readonly example?: string | null }
/** `aten::add.out(Tensor self, Tensor other, Scalar alpha=1, Tensor out!)` and an instruction that calls it. */
export function signatureText({ name, arguments: list, example }: Operator): string {
  const text = list.map(({ name: own, type, role, default: value }) => `${type} ${own}${role === "out" ? "!" : ""}${value === undefined || value === null ? "" : `=${typeof value === "string" ? value : JSON.stringify(value)}`}`).join(", ");
  return `${name}(${text})${example ? `\n\n${example}` : ""}`;
}

/** The line, from 1, of a path such as `methods.forward.instructions[2]`: of as much of it as the text has. */
export function lineOfPath(text: string, path: string): number | null {
  const lines = text.split("\n");
  let found: number | null = null;
  let [from, indent] = [0, -1];
  for (const step of path.match(/[^.[\]]+/g) ?? []) {
    const isIndex = /^\d+$/.test(step) && found !== null;
    let count = isIndex ? Number(step) : 0;
    let own: number | null = null;
    let hit = -1;
    for (let at = from; at < lines.length; at++) {
      const line = lines[at]!;
      const depth = /^ */.exec(line)![0].length;
      const rest = line.slice(depth);
      if (rest === "" || rest.startsWith("#")) continue;
      if (depth <= indent && !(isIndex && depth === indent && rest.startsWith("-"))) break;
      own ??= depth;
      if (depth !== own) continue;
      if (isIndex ? rest.startsWith("-") && count-- === 0 : rest.startsWith(`${step}:`) || rest.startsWith(`"${step}":`)) { hit = at; break; }
    }
    if (hit < 0) break;
    found = hit + 1;
    from = hit + 1;
    indent = own!;
  }
  return found;
}
