// Writes what tsc does not: the types of results, from the schemas in docs/, and the WebAssembly, optimized by binaryen.
// The path of the WebAssembly that cargo built is an argument; with `--fast`, it is taken as it is.

import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import binaryen from "binaryen";
import { compile } from "json-schema-to-typescript";

const root = new URL("../../", import.meta.url);
const here = new URL("./", import.meta.url);

mkdirSync(new URL("src/results", here), { recursive: true });
for (const name of ["check", "diff", "edit", "explain", "inspect", "language", "ops", "report", "weights"]) {
  const schema = JSON.parse(readFileSync(new URL(`docs/${name}.schema.json`, root), "utf8"));
  // The name of the type is that of the file.
  delete schema.title;
  for (const definition of Object.values(schema.$defs)) {
    // Other properties have another type, which an index of TypeScript cannot have.
    if (definition.properties && typeof definition.additionalProperties === "object") {
      definition.additionalProperties = true;
    }
  }
  const text = await compile(schema, "Document", {
    bannerComment: `// Generated from docs/${name}.schema.json.`,
    unreachableDefinitions: true,
    additionalProperties: false,
    format: false,
  });
  writeFileSync(new URL(`src/results/${name}.ts`, here), text);
}

mkdirSync(new URL("dist", here), { recursive: true });
const [path, fast] = process.argv.slice(2);
if (fast === "--fast") copyFileSync(path, new URL("dist/pte_emit.wasm", here));
else writeFileSync(new URL("dist/pte_emit.wasm", here), optimized(readFileSync(path)));
for (const licence of ["LICENSE-APACHE", "LICENSE-MIT"]) copyFileSync(new URL(licence, root), new URL(licence, here));

function optimized(built) {
  const module = binaryen.readBinary(built);
  // Those that Rust uses: with further ones, the result may need what no browser has.
  const { BulkMemory, BulkMemoryOpt, CallIndirectOverlong, Multivalue, MutableGlobals, NontrappingFPToInt, ReferenceTypes, SignExt } =
    binaryen.Features;
  module.setFeatures(
    BulkMemory | BulkMemoryOpt | CallIndirectOverlong | Multivalue | MutableGlobals | NontrappingFPToInt | ReferenceTypes | SignExt,
  );
  binaryen.setOptimizeLevel(2);
  binaryen.setShrinkLevel(2);
  module.optimize();
  return module.emitBinary();
}
