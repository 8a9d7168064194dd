// Builds the site in web/site/dist: the page, the worker, the library of bindings/npm, and the examples with their data.
// PTE_EMIT_NPM is the folder of the built npm package, by default bindings/npm/dist.
import { build } from "esbuild";
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { forbid, licencesOf } from "../licences.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const target = join(here, "dist");
const library = resolve(process.env.PTE_EMIT_NPM ?? join(root, "bindings/npm/dist"));
const wasm = join(library, "pte_emit.wasm");
if (!existsSync(wasm)) throw new Error(`${wasm} does not exist: build the npm package of bindings/ first, or set PTE_EMIT_NPM to the folder with pte_emit.wasm`);

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const { metafile } = await build({
  entryPoints: { main: join(here, "src/main.tsx"), worker: join(here, "src/worker.ts"), site: join(here, "src/site.css") }, outdir: target, bundle: true, splitting: true, format: "esm", metafile: true, minify: true, charset: "utf8",
  target: "es2022", jsx: "automatic", jsxImportSource: "preact", legalComments: "none", absWorkingDir: join(here, ".."), alias: { "pte-emit": join(library, "browser.js") }, chunkNames: "part-[hash]",
});
// Names of files are only ever text.
for (const entry of readdirSync(join(here, "src"), { recursive: true }))
  if (/\.tsx?$/.test(entry)) forbid(readFileSync(join(here, "src", entry), "utf8"), /innerHTML|insertAdjacentHTML|document\.write|\beval\(/i, entry);
copyFileSync(join(here, "src/index.html"), join(target, "index.html"));
copyFileSync(wasm, join(target, "pte_emit.wasm"));
writeFileSync(join(target, "licences.txt"), licencesOf(metafile));

// Examples: the first comment that is no directive says what one is.
const examples = [];
mkdirSync(join(target, "examples"));
for (const name of readdirSync(join(root, "examples")).filter((entry) => entry.endsWith(".yaml")).sort()) {
  const text = readFileSync(join(root, "examples", name), "utf8");
  const title = text.split("\n").find((line) => line.startsWith("# ") && !line.startsWith("# yaml-language-server"))?.slice(2) ?? "";
  examples.push({ name, title: title.replace(/:$/, "") });
  copyFileSync(join(root, "examples", name), join(target, "examples", name));
}
const texts = examples.map(({ name }) => readFileSync(join(root, "examples", name), "utf8")).join("\n");
const data = readdirSync(join(root, "examples/data")).map((name) => `data/${name}`).filter((path) => texts.includes(path));
for (const path of data) cpSync(join(root, "examples", path), join(target, "examples", path));
writeFileSync(join(target, "examples/index.json"), JSON.stringify({ examples, data }));

const editor = Object.entries(metafile.outputs).find(([, { inputs }]) => Object.keys(inputs).some((path) => path.includes("@codemirror/view")));
if (!editor || editor[0].endsWith("main.js")) throw new Error("the editor is not a part of its own");
for (const name of readdirSync(target).filter((entry) => statSync(join(target, entry)).isFile())) console.log(`${name} ${statSync(join(target, name)).size}`);
