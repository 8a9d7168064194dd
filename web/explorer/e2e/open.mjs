// What tests in Chromium share: pages that fail a test if they write to the console, throw, or ask for anything.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { chromium } from "playwright-core";
import { LAUNCH } from "./browser.mjs";
import { pageOf } from "./page.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "explorer-"));
export const SIZES = [[1400, 900], [400, 800]];
let browser;
before(async () => { browser = await chromium.launch(LAUNCH); });
after(() => browser.close());

let number = 0;
/** Opens a page, and fails if it writes to the console, throws, or asks for anything but itself. */
export async function open(t, document, fragment = "", { size = SIZES[0], scheme = "light" } = {}) {
  const file = join(folder, `${number++}.html`);
  writeFileSync(file, typeof document === "string" ? document : pageOf(document));
  const context = await browser.newContext({ viewport: { width: size[0], height: size[1] }, colorScheme: scheme, reducedMotion: "reduce" });
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => problems.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => problems.push(String(error.stack)));
  page.on("request", (request) => { if (!request.url().startsWith("file:")) problems.push(request.url()); });
  t.after(async () => {
    await context.close();
    assert.deepEqual(problems, []);
  });
  await page.goto(`file://${file}${fragment}`);
  if (await page.locator(".graph .message").count() === 0) await page.waitForFunction(() => window.explorer?.graph()?.isReady());
  await settled(page);
  return page;
}
/** Waits until what was requested is painted. */
export const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))));
export const boxes = (page) => page.evaluate(() => window.explorer.graph().boxes());
export const labels = (page) => page.evaluate(() => window.explorer.graph().labels());
export const hash = (page) => page.evaluate(() => decodeURIComponent(location.hash));
export const view = (page) => page.evaluate(() => { const { x, y, width, height } = document.querySelector(".drawing").getBoundingClientRect(); return { x, y, width, height }; });
const overlaps = (a, b) => a.x < b.x + b.width - 0.5 && b.x < a.x + a.width - 0.5 && a.y < b.y + b.height - 0.5 && b.y < a.y + a.height - 0.5;
export function noOverlap(list) {
  list.forEach((a, at) => list.slice(at + 1).forEach((b) => assert.ok(!overlaps(a, b), `${JSON.stringify(a)} and ${JSON.stringify(b)}`)));
}
export async function accessible(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html, any }) => `${html.slice(0, 160)} ${any[0]?.message ?? ""}`).join("; ")}`), []);
}
