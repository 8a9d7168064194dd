// Screenshots for looking at: node shots.mjs FOLDER FILE... shows the start, the files with each panel, and the playground.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { LAUNCH } from "../../explorer/e2e/browser.mjs";
import { serve } from "./server.mjs";

const [folder, ...files] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const server = await serve();
const browser = await chromium.launch(LAUNCH);
for (const scheme of ["light", "dark"]) for (const [width, height] of [[1400, 900], [400, 800]]) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: "reduce" });
  const page = await context.newPage();
  const shot = (name) => page.screenshot({ path: join(folder, `${name}-${scheme}-${width}.png`) });
  await page.goto(server.address);
  await page.waitForSelector(".examples li");
  await shot("start");
  await page.locator("input[type=file]").first().setInputFiles(files);
  await page.waitForFunction(() => window.explorer?.graph()?.isReady());
  await page.waitForTimeout(400);
  await shot("files");
  await page.click("text=Check and edit");
  await page.waitForTimeout(800);
  await page.fill("#panel input >> nth=0", "all");
  await page.click("#panel button[type=submit]");
  await page.waitForSelector(".outcome");
  await shot("check");
  await page.selectOption("#panel select >> nth=0", "optimize");
  await page.click("#panel button[type=submit]");
  await page.waitForSelector(".outcome");
  await page.waitForTimeout(300);
  await shot("optimize");
  await page.goto(`${server.address}#yaml=`);
  await page.waitForFunction(() => document.querySelector(".playground .state")?.textContent === "Assembled");
  await page.waitForTimeout(600);
  await shot("playground");
  await page.click(".cm-line >> nth=16");
  await page.keyboard.press("End");
  await page.keyboard.type("\n- {kernel: aten::ad");
  await page.waitForTimeout(1200);
  await shot("playground-error");
  if (width < 700) { await page.click(".turn"); await page.waitForTimeout(400); await shot("playground-result"); }
  await context.close();
}
await browser.close();
server.close();
