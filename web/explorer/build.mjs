// Bundles the explorer into one script and one style sheet, which reports contain, and collects the licences of all
// packages in it. The result is checked for what would not be allowed in a page: text that ends a script, addresses, eval.
import { build } from "esbuild";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { forbid, licencesOf, packagesOf } from "../licences.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "../../crates/pte-report/page");
/** Most bytes of a page without data. */
const MOST = 600_000;

const { outputFiles, metafile } = await build({
  entryPoints: { explorer: join(here, "src/main.ts") }, outdir: target, bundle: true, write: false, metafile: true, minify: true, charset: "ascii", format: "iife",
  target: "es2022", jsx: "automatic", jsxImportSource: "preact", legalComments: "none", absWorkingDir: join(here, ".."),
});
const styles = await build({ entryPoints: { explorer: join(here, "src/explorer.css") }, outdir: target, write: false, minify: true, absWorkingDir: join(here, "..") });

// Control characters of a library, which terminals and editors must not get, are in its strings.
const escaped = (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
const script = outputFiles[0].text.replace(/<\/(?=[a-z!])/gi, "<\\/").replace(/<!--/g, "<\\!--").replace(/[^\n\x20-\x7e]/g, escaped);
const style = styles.outputFiles[0].text;
forbid(script, /<\//, "script");
forbid(script, /<!--/, "script");
forbid(script, /\beval\(|new Function\b|\bFunction\(["'`]/, "script");
forbid(script, /\bfetch\(|XMLHttpRequest|WebSocket|importScripts|sendBeacon/, "script");
// Preact can set markup, which no component asks for.
for (const entry of readdirSync(join(here, "src"), { recursive: true }))
  if (/\.tsx?$/.test(entry)) forbid(readFileSync(join(here, "src", entry), "utf8"), /innerHTML|insertAdjacentHTML|document\.write/i, entry);
forbid(style, /url\(|</, "style sheet");
if (script.length + style.length > MOST) throw new Error(`${script.length + style.length} bytes: more than ${MOST}`);

const licences = licencesOf(metafile);
forbid(licences, /<[/!]/, "licences");

mkdirSync(target, { recursive: true });
writeFileSync(join(target, "explorer.js"), script);
writeFileSync(join(target, "explorer.css"), style);
writeFileSync(join(target, "licences.txt"), licences);
console.log(`explorer.js ${script.length}, explorer.css ${style.length} bytes; ${packagesOf(metafile).join(", ")}`);
