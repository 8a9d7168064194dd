// Writes the types of documents from their JSON Schemas: npm run types.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { compile } from "json-schema-to-typescript";

const here = dirname(fileURLToPath(import.meta.url));
for (const [name, type, target, what] of [
  ["report", "ReportDocument", "src/data.ts", "The document of a report"],
  ["language", "LanguageAnswer", "../site/src/answers.ts", "Answers of the library about a text that is being written"],
]) {
  const schema = JSON.parse(readFileSync(join(here, `../../docs/${name}.schema.json`), "utf8"), (key, value) => {
    // The compiler knows tuples as older drafts write them.
    if (value === null || typeof value !== "object" || !Array.isArray(value.prefixItems)) return value;
    const { prefixItems, items, ...rest } = value;
    return { ...rest, items: prefixItems, additionalItems: items ?? false };
  });
  // The type has the name that is given, or that of the only definition.
  if (schema.anyOf.length > 1) delete schema.title;
  const text = await compile(schema, type, {
    additionalProperties: false, bannerComment: `// ${what}. Generated from docs/${name}.schema.json by \`npm run types\`.`, cwd: here,
  });
  writeFileSync(join(here, target), text);
}
