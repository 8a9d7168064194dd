// Bundles the explorer into one script and one style sheet, which reports contain, and collects the licences of all
// packages in it. The result is checked for what would not be allowed in a page: text that ends a script, addresses, eval.
import { build } from "esbuild";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "../../crates/pte-report/page");
/** Most bytes of a page without data. */
const MOST = 600_000;

const { outputFiles, metafile } = await build({
  entryPoints: { explorer: join(here, "src/main.ts") }, outdir: target, bundle: true, write: false, metafile: true, minify: true, charset: "ascii", format: "iife",
  target: "es2022", jsx: "automatic", jsxImportSource: "preact", legalComments: "none", absWorkingDir: join(here, ".."),
});
const styles = await build({ entryPoints: { explorer: join(here, "src/explorer.css") }, outdir: target, write: false, minify: true, absWorkingDir: join(here, "..") });

const script = outputFiles[0].text.replace(/<\/(?=[a-z!])/gi, "<\\/").replace(/<!--/g, "<\\!--");
const style = styles.outputFiles[0].text;
const forbid = (text, pattern, what) => { if (pattern.test(text)) throw new Error(`the ${what} has ${pattern}: ...${text.slice(Math.max(0, text.search(pattern) - 60), text.search(pattern) + 60)}...`); };
forbid(script, /<\//, "script");
forbid(script, /<!--/, "script");
forbid(script, /\beval\(|new Function\b|\bFunction\(["'`]/, "script");
forbid(script, /\bfetch\(|XMLHttpRequest|WebSocket|importScripts|sendBeacon/, "script");
// Preact can set markup, which no component asks for.
for (const entry of readdirSync(join(here, "src"), { recursive: true }))
  if (/\.tsx?$/.test(entry)) forbid(readFileSync(join(here, "src", entry), "utf8"), /innerHTML|insertAdjacentHTML|document\.write/i, entry);
forbid(style, /url\(|</, "style sheet");
if (script.length + style.length > MOST) throw new Error(`${script.length + style.length} bytes: more than ${MOST}`);

// Packages are folders of node_modules that have a part of the bundle.
const packages = new Set();
for (const input of Object.keys(metafile.inputs)) {
  const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
  if (match) packages.add(match[1]);
}
// dagre contains the packages it depends on.
for (const name of [...packages]) for (const dependency of Object.keys(JSON.parse(readFileSync(join(here, "../node_modules", name, "package.json"), "utf8")).dependencies ?? {})) packages.add(dependency);
const licences = [...packages].sort().map((name) => {
  const folder = join(here, "../node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} has no licence file`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
}).join(`\n${"-".repeat(80)}\n\n`);

forbid(licences, /<[/!]/, "licences");

mkdirSync(target, { recursive: true });
writeFileSync(join(target, "explorer.js"), script);
writeFileSync(join(target, "explorer.css"), style);
writeFileSync(join(target, "licences.txt"), licences);
console.log(`explorer.js ${script.length}, explorer.css ${style.length} bytes; ${[...packages].sort().join(", ")}`);
