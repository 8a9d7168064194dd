// Writes the types of a report's document from its JSON Schema: npm run types.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { compile } from "json-schema-to-typescript";

const here = dirname(fileURLToPath(import.meta.url));
const schema = JSON.parse(readFileSync(process.argv[2] ?? join(here, "../../docs/report.schema.json"), "utf8"), (key, value) => {
  // The compiler knows tuples as older drafts write them.
  if (value === null || typeof value !== "object" || !Array.isArray(value.prefixItems)) return value;
  const { prefixItems, items, ...rest } = value;
  return { ...rest, items: prefixItems, additionalItems: items ?? false };
});
const text = await compile(schema, "ReportDocument", {
  additionalProperties: false, bannerComment: "// The document of a report. Generated from docs/report.schema.json by `npm run types`.", cwd: here,
});
writeFileSync(join(here, "src/data.ts"), text);
