// Screenshots for looking at: node shots.mjs FOLDER DOCUMENT.json[#fragment]...
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { tmpdir } from "node:os";
import { chromium } from "playwright-core";
import { pageOf } from "./page.mjs";
import { LAUNCH } from "./browser.mjs";

const [folder, ...targets] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const pages = mkdtempSync(join(tmpdir(), "explorer-"));
const browser = await chromium.launch(LAUNCH);
const sizes = (process.env.SIZES ?? "1400x900").split(",").map((size) => size.split("x").map(Number));
for (const scheme of (process.env.SCHEMES ?? "light").split(",")) {
  for (const [width, height] of sizes) {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: "reduce" });
    for (const target of targets) {
      const [path, fragment = ""] = target.split("#");
      const file = join(pages, `${basename(path, ".json")}.html`);
      writeFileSync(file, pageOf(JSON.parse(readFileSync(path, "utf8"))));
      const page = await context.newPage();
      page.on("console", (message) => console.log(target, message.type(), message.text()));
      page.on("pageerror", (error) => console.log(target, error.stack));
      await page.goto(`file://${file}${fragment ? `#${fragment}` : ""}`);
      await page.waitForTimeout(700);
      const name = `${basename(path, ".json")}${fragment ? `-${fragment.replace(/[^\w.-]+/g, "_")}` : ""}-${scheme}-${width}.png`;
      await page.screenshot({ path: join(folder, name) });
      console.log(name, await page.evaluate(() => window.explorer?.firstView?.()));
      await page.close();
    }
    await context.close();
  }
}
await browser.close();
