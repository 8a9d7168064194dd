// Pages that the command writes, for the tests: node samples.mjs FOLDER. Examples, two files, times, and generated YAML of
// 300, 3,000 and 10,000 instructions. PTE_EMIT is the command, by default that of target/debug.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const command = resolve(process.env.PTE_EMIT ?? join(root, "target/debug/pte-emit"));
const folder = resolve(process.argv[2] ?? join(root, "target/web/pages"));
mkdirSync(folder, { recursive: true });
const examples = join(root, "examples");
const bundle = readFileSync(join(root, "crates/pte-report/page/explorer.js"), "utf8");

function page(name, ...inputs) {
  const output = join(folder, `${name}.html`);
  execFileSync(command, ["report", ...inputs, "-o", output, "--force", "-q"], { stdio: ["ignore", "ignore", "inherit"], maxBuffer: 2 ** 30 });
  const text = readFileSync(output, "utf8");
  if (text.includes(bundle)) return;
  // A command that was built with another page: its document is shown by this one.
  const [, data] = /<script type="application\/json" id="data">([\s\S]*?)<\/script>/.exec(text) ?? [];
  if (data === undefined) throw new Error(`${output} has no document`);
  writeFileSync(join(folder, `${name}.json`), data);
  rmSync(output);
}

/** Residual blocks, with a branch now and then. */
function generated(count) {
  const lines = [];
  let last = "x";
  for (let at = 0; at < count; at++) {
    const next = at === count - 1 ? "y" : `block${Math.floor(at / 5)}_${["scaled", "shifted", "active", "sum", "out"][at % 5]}`;
    const skip = at % 5 === 0 ? last : `block${Math.floor(at / 5)}_scaled`;
    lines.push(at % 5 === 2 ? `      - {kernel: aten::relu.out, args: [${last}], out: ${next}}` : `      - {kernel: aten::${at % 5 === 0 ? "mul" : "add"}.out, args: [${last}, ${at % 5 === 3 ? skip : "w"}${at % 5 === 0 ? "" : ", 1"}], out: ${next}}`);
    last = next;
  }
  return `methods:\n  forward:\n    values:\n      w: {tensor: float32, data: [${Array.from({ length: 8 }, (_, at) => at / 4).join(", ")}]}\n      x: {tensor: float32, sizes: [4, 8]}\n    inputs: [x]\n    outputs: [y]\n    instructions:\n${lines.join("\n")}\n`;
}

for (const name of readdirSync(examples).filter((entry) => entry.endsWith(".yaml"))) page(name.replace(/\.yaml$/, ""), join(examples, name));
page("two_files", join(examples, "add.yaml"), join(examples, "addmul.yaml"));
const optimized = join(folder, "linear-optimized.pte");
execFileSync(command, ["optimize", join(examples, "linear.yaml"), "-o", optimized, "--force", "-q"]);
page("optimized", join(examples, "linear.yaml"), optimized);
page("times", join(examples, "xnnpack_two_delegates.yaml"), "--etdump", join(examples, "data/xnnpack_two_delegates.etdump"));
for (const count of [300, 3000, 10000]) {
  const source = join(folder, `generated${count}.yaml`);
  writeFileSync(source, generated(count));
  page(`generated${count}`, source);
}
console.log(`pages in ${folder}`);
