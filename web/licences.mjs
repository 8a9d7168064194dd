// Licences of the packages that a bundle contains, and a check of text.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const own = join(dirname(fileURLToPath(import.meta.url)), "node_modules");

export const forbid = (text, pattern, what) => { if (pattern.test(text)) throw new Error(`the ${what} has ${pattern}: ...${text.slice(Math.max(0, text.search(pattern) - 60), text.search(pattern) + 60)}...`); };

/** Names of the packages in a bundle: folders of node_modules that have a part of it, and what these contain themselves. */
export function packagesOf(metafile, modules = own) {
  const packages = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match && existsSync(join(modules, match[1]))) packages.add(match[1]);
  }
  // dagre contains the packages it depends on.
  for (const name of [...packages]) for (const dependency of Object.keys(JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8")).dependencies ?? {})) packages.add(dependency);
  return [...packages].sort();
}
export const licencesOf = (metafile, modules = own) => packagesOf(metafile, modules).map((name) => {
  const folder = join(modules, name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} has no licence file`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
}).join(`\n${"-".repeat(80)}\n\n`);
