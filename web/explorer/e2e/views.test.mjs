// Views in Chromium: what an address restores, printing, the keyboard in pictures, and where links lead.
import assert from "node:assert/strict";
import { test } from "node:test";
import { methods, network, twoFiles, unreadable } from "./documents.mjs";
import { SIZES, boxes, hash, open, settled, view } from "./open.mjs";

/** Presses keys one after the other, each after what the one before did is shown. */
async function press(page, ...keys) {
  for (const key of keys) {
    await page.keyboard.press(key);
    await settled(page);
  }
}
const ready = async (page) => {
  await page.waitForFunction(() => window.explorer?.graph()?.isReady());
  await settled(page);
};
const reload = async (page) => {
  await page.reload();
  await ready(page);
};
const title = (page) => page.locator(".side h2").innerText();

test("a page is printed with all rows, in light colours, as wide as paper", async (t) => {
  const document = network(300, { delegated: true, times: true });
  for (const [tab, rows, count] of [["weights", ".tablebox .tr", 183], ["text", ".line", 303], ["memory", "canvas.painted", 1]]) {
    const page = await open(t, document, `#forward/4&tab=${tab}`, { scheme: "dark" });
    await page.evaluate((selector) => addEventListener("beforeprint", () => queueMicrotask(() => {
      const of = (element) => ({ ...Object.fromEntries(["position", "printColorAdjust"].map((key) => [key, getComputedStyle(element)[key]])) });
      window.printed = {
        rows: window.document.querySelectorAll(selector).length, row: of(window.document.querySelectorAll(selector)[0]),
        body: of(window.document.body), page: getComputedStyle(window.document.documentElement).getPropertyValue("--page"),
        canvases: [...window.document.querySelectorAll("canvas:not(.map)")].map(({ width, clientWidth }) => [width, clientWidth]),
        // The first pixel of the graph: its paper.
        paper: [...window.document.querySelector(".drawing").getContext("2d").getImageData(0, 0, 1, 1).data],
      };
    })), rows);
    const screen = await view(page);
    const pages = ((await page.pdf()).toString("latin1").match(/\/Type \/Page\b/g) ?? []).length;
    const { printed } = await page.evaluate(() => ({ printed: window.printed }));
    assert.equal(printed.rows, count, tab);
    if (tab !== "memory") {
      assert.equal(printed.row.position, "static");
      assert.ok(pages > 3, `${pages} pages`);
    }
    assert.equal(printed.body.printColorAdjust, "exact");
    assert.equal(printed.page, "#ffffff");
    assert.deepEqual(printed.paper, [255, 255, 255, 255]);
    for (const [width, shown] of printed.canvases) assert.deepEqual([width, shown], [720, 720]);
    await settled(page);
    assert.deepEqual(await view(page), screen, "the page is as it was");
    assert.ok(tab === "memory" || await page.locator(rows).count() < count);
    await page.close();
  }
});

test("an address restores methods of any name, open groups, parts of sizes, the cursor and the form", async (t) => {
  const slash = await open(t, methods());
  await slash.selectOption(".method select", "1");
  await ready(slash);
  assert.equal(await slash.evaluate(() => location.hash), "#decode%2Fstep");
  await reload(slash);
  assert.equal(await title(slash), "decode/step");

  for (const calls of [300, 3000]) {
    const groups = await open(t, network(calls));
    await groups.click("role=button[name='open all']");
    await ready(groups);
    const count = async () => {
      await press(groups, "0");
      return (await boxes(groups)).length;
    };
    const all = await count();
    assert.equal(await hash(groups), "#open=all");
    await reload(groups);
    assert.equal(await count(), all);
    await groups.click("role=button[name='close all']");
    await ready(groups);
    const none = await count();
    assert.ok(none < all);
    await reload(groups);
    assert.equal(await count(), none);
  }

  const document = network(40, { times: true });
  const size = await open(t, document, "#tab=size");
  await size.locator(".cell rect").first().click({ position: { x: 5, y: 5 } });
  await settled(size);
  const trail = await size.locator(".trail button").allInnerTexts();
  assert.equal(trail.length, 2);
  await reload(size);
  assert.deepEqual(await size.locator(".trail button").allInnerTexts(), trail);

  const time = await open(t, document, "#tab=time");
  await time.click(".tabs.small >> text=flame");
  await settled(time);
  assert.equal(await hash(time), "#tab=time&form=flame");
  await reload(time);
  assert.equal(await time.locator(".tabs.small [aria-pressed=true]").innerText(), "flame");

  const memory = await open(t, document, "#tab=memory");
  await memory.locator("canvas.painted").focus();
  await press(memory, "ArrowRight", "ArrowRight");
  assert.equal(await hash(memory), "#tab=memory&at=5");
  await reload(memory);
  assert.match(await memory.locator(".aside").innerText(), /instruction 4, aten::convolution.out/);
  await memory.locator(".aside .rows .tr").first().click();
  await settled(memory);
  assert.match(await hash(memory), /&at=5$/, "what is alive at the cursor is still listed");
  await press(memory, "Escape");
  await memory.evaluate(() => { location.hash = "#forward/9&tab=memory"; });
  await settled(memory);
  assert.match(await memory.locator(".aside").innerText(), /instruction 9,/);
});

test("what is no address of this page is not in it", async (t) => {
  for (const [fragment, left] of [
    ["#forward/garbage", ""], ["#forward/99-3", ""], ["#nothing/1", ""], ["#heat=time&by=nothing", ""], ["#forward/out7", ""],
    ["#open=zzz,0-1&closed=yyy", ""], ["#size=bad-bad&part=x", ""], ["#tab=findings&row=x&q=1", "#tab=findings"], ["#weight=none", ""],
    ["#tab=text&line=abc", "#tab=text"], ["#tab=memory&pool=zzz&at=-1&plan=none", "#tab=memory"], ["#tab=time&form=flame", "#form=flame"],
  ]) {
    const page = await open(t, network(40), fragment);
    await page.evaluate(() => window.explorer.graph().zoomBy(1));
    await settled(page);
    assert.equal(await title(page), "forward", fragment);
    // The address is written with the next change.
    await page.focus(".drawing");
    await press(page, "ArrowDown", "Escape");
    assert.equal(await hash(page), left, fragment);
  }
});

test("what is selected is of one thing only", async (t) => {
  const page = await open(t, network(40, { statistics: true }), "#weight=layer1.block0.conv.weight");
  await page.fill("#search", "layer2.block0.conv.weight");
  await press(page, "Enter");
  assert.equal(await page.locator(".tr.chosen [role=cell]").first().innerText(), "layer2.block0.conv.weight");
  assert.match(await hash(page), /^#forward\/v\d+&tab=weights$/);
});

test("outputs are selected and walked", async (t) => {
  const page = await open(t, network(8));
  await page.focus(".drawing");
  await page.evaluate(() => { location.hash = "#forward/7"; });
  await settled(page);
  await press(page, "ArrowDown");
  assert.equal(await hash(page), "#forward/out0");
  const output = await title(page);
  assert.equal(output, "layer0_block1_add");
  await reload(page);
  assert.equal(await title(page), output);
  await page.focus(".drawing");
  await press(page, "ArrowDown");
  assert.equal(await hash(page), "#forward/out0");
  await press(page, "ArrowUp");
  assert.equal(await hash(page), "#forward/7");
  const box = (await boxes(page)).find(({ id }) => id === "out0");
  const { x, y } = await view(page);
  await page.mouse.click(x + box.x + 5, y + box.y + box.height / 2);
  await settled(page);
  assert.equal(await hash(page), "#forward/out0");
  await page.click("role=tab[name='Outline']");
  await settled(page);
  assert.equal(await page.locator("[role=treeitem][aria-selected=true]").getAttribute("data-id"), "out0");
});

test("the panel of a value: its pool, its times in words, all that is not listed", async (t) => {
  const document = network(20, { times: true });
  const [pool] = document.memory.methods[0].pools;
  const [first, ...others] = pool.tensors;
  document.memory.methods[0].pools = [{ ...pool, tensors: others }, { ...pool, pool: 2, tensors: [{ ...first, alive: [0, 21] }] }];
  document.profile.methods[0].instructions[0].share = 0.125;
  const page = await open(t, document, "#forward/0&tab=memory&pool=forward%2F1");
  assert.match(await page.locator(".side .facts").innerText(), /time\s+90 µs \(12.5 %\)/);
  await page.click(".links >> text=Memory");
  await settled(page);
  assert.equal(await page.getByRole("combobox", { name: "Pool" }).inputValue(), "forward/2");
  await page.evaluate((value) => { location.hash = `#forward/v${value}`; }, first.value);
  await settled(page);
  assert.match(await page.locator(".side .facts").innerText(), /alive from\s+the inputs are set\s+alive until\s+the outputs are read/);
  const many = await open(t, methods(), "#decode%2Fstep");
  assert.match(await many.locator(".side").innerText(), /and 951 more/);
});

test("a finding leads to bytes of its own file", async (t) => {
  const document = unreadable();
  document.files.push({ ...document.files[0], name: "weights.ptd", findings: [{ ...document.files[0].findings[0], offset: 16 }] });
  const page = await open(t, document, "#tab=findings");
  assert.match(await page.locator(".findings").innerText(), /byte 16 of weights.ptd/);
  assert.deepEqual(await page.locator(".findings button").allInnerTexts(), ["byte 0"]);
  await page.click("text=byte 0");
  await settled(page);
  assert.equal(await hash(page), "#tab=bytes&byte=0");
});

test("methods of one of two files", async (t) => {
  const document = twoFiles(40);
  const old = document.base.graph;
  old.methods.push(network(8, { name: "gone" }).graph.methods[0]);
  document.graph.methods.push(network(8, { name: "new" }).graph.methods[0]);
  document.base.methods.push(null);
  document.base.memory.methods.push({ ...network(8).memory.methods[0], name: "gone" });
  document.memory.methods.push({ ...network(8).memory.methods[0], name: "new" });
  const page = await open(t, document, "#gone/1&tab=memory");
  const options = await page.locator(".method option").allInnerTexts();
  assert.deepEqual(options, ["forward (42)", "new (8, added)", "gone (8, removed)"]);
  assert.match(await page.locator(".side").innerText(), /removed: only in the older file/);
  assert.equal(await page.locator("canvas.painted").count(), 1);
  await page.evaluate(() => { location.hash = "#new/1"; });
  await ready(page);
  assert.match(await page.locator(".side").innerText(), /added: not in the older file/);
});

test("the panel opens on a narrow page with a tab", async (t) => {
  const page = await open(t, network(40), "#forward/0&tab=weights", { size: SIZES[1] });
  const toggle = page.locator(".sidetoggle");
  assert.equal(await toggle.getAttribute("aria-expanded"), "false");
  await toggle.click();
  await settled(page);
  assert.equal(await page.locator(".side").isVisible(), true);
  assert.equal(await toggle.getAttribute("aria-expanded"), "true");
  await page.click("role=tab[name='Weights']");
  await settled(page);
  assert.equal(await page.locator(".side").isVisible(), false);
  assert.equal(await toggle.getAttribute("aria-expanded"), "false");
});

test("the keyboard reaches all tabs and all cells of pictures", async (t) => {
  const page = await open(t, network(40, { times: true }), "#tab=size");
  await page.focus("#tab-size");
  await press(page, "End");
  assert.equal(await page.locator("[role=tab][aria-selected=true]").innerText(), "Outline");
  await press(page, "Home");
  assert.equal(await page.locator("[role=tab][aria-selected=true]").innerText(), "Summary");
  for (const [fragment, chosen] of [["#tab=size", /&part=\d/], ["#tab=time&form=flame", /^#forward\/\d/]]) {
    const picture = await open(t, network(40, { times: true }), fragment);
    assert.equal(await picture.locator(".cell rect[tabindex='0']").count(), 1);
    await picture.locator(".cell rect[tabindex='0']").focus();
    const seen = new Set();
    const here = () => picture.evaluate(() => [...document.querySelectorAll(".cell rect")].indexOf(document.activeElement));
    const count = await picture.locator(".cell rect").count();
    // Along each level, and from the first cell of a level that has cells inside to the next level.
    for (let step = 0; step < 300 && seen.size < count; step++) {
      const at = await here();
      seen.add(at);
      await press(picture, "ArrowRight");
      if (await here() !== at) continue;
      await press(picture, "Home");
      for (let more = 0; more < 40; more++) {
        const first = await here();
        await press(picture, "ArrowDown");
        if (await here() !== first) break;
        await press(picture, "ArrowRight");
      }
    }
    assert.equal(seen.size, count, fragment);
    await press(picture, "Home", "ArrowUp", "ArrowUp", "ArrowUp", "Home", "Enter");
    assert.match(await hash(picture), chosen);
  }
});

test("search in 10,000 instructions does not stop the page", async (t) => {
  const page = await open(t, network(10000, { times: true }));
  for (const query of ["w", "conv.weight", "layer1"]) {
    await page.fill("#search", query);
    await page.waitForFunction(() => document.querySelector(".search .hits")?.textContent.match(/\d/));
    const took = await page.evaluate(async () => {
      const started = performance.now();
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      return performance.now() - started;
    });
    t.diagnostic(`${query}: ${Math.round(took)} ms`);
  }
  const long = await page.evaluate(() => new Promise((done) => {
    const input = document.getElementById("search");
    const started = performance.now();
    input.value = "conv.weigh";
    input.dispatchEvent(new InputEvent("input", { bubbles: true }));
    setTimeout(() => requestAnimationFrame(() => done(performance.now() - started)), 130);
  }));
  t.diagnostic(`typed and painted after ${Math.round(long)} ms`);
  assert.ok(long < 1500);
});
