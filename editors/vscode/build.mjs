// Bundles the extension with the client of the protocol into one file, with the licences of the packages in it, and
// copies the JSON Schema: what the .vsix contains in addition to the files here.
import { copyFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { licencesOf } from "../../web/licences.mjs";

const here = dirname(fileURLToPath(import.meta.url));
// The Node.js of the oldest editor that the manifest allows.
const { metafile } = await build({
  entryPoints: [join(here, "extension.js")], outdir: join(here, "dist"), absWorkingDir: here, bundle: true, minify: true, metafile: true,
  platform: "node", target: "node20", external: ["vscode"], legalComments: "none",
});
writeFileSync(join(here, "dist/licences.txt"), licencesOf(metafile, join(here, "node_modules")));
copyFileSync(join(here, "../../pte-emit.schema.json"), join(here, "pte-emit.schema.json"));
