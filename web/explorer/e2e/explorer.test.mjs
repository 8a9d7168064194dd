// The explorer in Chromium: what is visible of models of all sizes, addresses, keyboard, accessibility, and that a page
// asks for nothing. Times are printed; they fail only far beyond what is aimed at, because machines differ.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { methods, network, twoFiles, unreadable } from "./documents.mjs";
import { SIZES, accessible, boxes, hash, labels, noOverlap, open, settled, view } from "./open.mjs";
import { pageOf } from "./page.mjs";

for (const count of [1, 20, 300, 3000, 10000]) {
  for (const delegated of [false, true]) {
    for (const size of SIZES) {
      test(`the first view of ${count}${delegated ? " delegated" : ""} at ${size[0]} x ${size[1]}`, async (t) => {
        const page = await open(t, network(count, { delegated }), "", { size });
        const [shown, { width, height }, written] = [await boxes(page), await view(page), await labels(page)];
        assert.ok(shown.length <= 150, `${shown.length} boxes`);
        // A small window has no room for the next level.
        if (count >= 300) assert.ok(shown.length >= (size[0] > 700 ? 30 : 20), `${shown.length} boxes`);
        for (const box of shown) assert.ok(box.x >= -1 && box.y >= -1 && box.x + box.width <= width + 1 && box.y + box.height <= height + 1, `${box.id} is in the window`);
        assert.ok(written.length > 0);
        for (const label of written) assert.ok(label.height >= 8, `${label.text} can be read`);
        const titled = new Set(written.map(({ id }) => id));
        for (const box of shown) assert.ok(titled.has(box.id), `${box.id} has a text`);
        noOverlap(written);
        for (const label of written.filter(({ isEdge }) => !isEdge)) {
          const box = shown.find(({ id }) => id === label.id);
          assert.ok(label.x + label.width <= box.x + box.width + 1, `${label.text} is inside of its box`);
        }
        const first = await page.evaluate(() => window.explorer.firstView());
        t.diagnostic(`${Math.round(first)} ms to the first view, ${shown.length} boxes`);
        assert.ok(first < 15000);
      });
    }
  }
}

test("all of a convolution's arguments are in the panel", async (t) => {
  const page = await open(t, network(20), "#forward/4");
  noOverlap(await labels(page));
  assert.ok((await labels(page)).some(({ text }) => text === "layer0_block0_add: f32 1×16×32×32"), "the type of an edge");
  const names = await page.locator(".arguments th bdi").allTextContents();
  assert.deepEqual(names, ["input", "weight", "bias", "stride", "padding", "dilation", "transposed", "output_padding", "groups", "out"]);
  const text = await page.locator(".arguments").innerText();
  for (const part of ["layer0.block1.conv.weight", "[1, 1]", "[0, 0]", "false", "float32 [16, 16, 3, 3]"]) assert.ok(text.includes(part), part);
});

test("edges have the types of what they pass, also those that skip boxes of a group", async (t) => {
  const page = await open(t, network(20));
  assert.ok((await labels(page)).some(({ text, isEdge }) => isEdge && text === "f32 1×16×32×32"));
  const skip = await page.evaluate(() => window.explorer.graph().edges().find(({ from, to }) => from === "3" && to === "7"));
  assert.ok(skip.points.length > 2 && !skip.isCut);
  const { width, height } = await view(page);
  for (const { x, y } of skip.points) assert.ok(x >= 0 && y >= 0 && x <= width && y <= height);
});

test("findings have a mark at their boxes, and their number is in the toolbar", async (t) => {
  const page = await open(t, network(300));
  assert.deepEqual((await boxes(page)).filter(({ severity }) => severity !== null).map(({ id, severity }) => [id, severity]), [["0-15", "suspicious"], ["0-3", "suspicious"]]);
  await page.click(".toolbar .marks");
  assert.match(await page.locator(".findings").innerText(), /G-01/);
  assert.match(await page.locator(".toolbar .marks").innerText(), /1 finding/);
});

test("search finds, centres, and goes on", async (t) => {
  const page = await open(t, network(3000));
  await page.keyboard.press("/");
  await page.keyboard.type("layer100_block2_relu");
  await page.locator("#hits li").first().waitFor();
  await page.keyboard.press("Enter");
  await settled(page);
  await page.waitForFunction(() => window.explorer.graph().isReady());
  await settled(page);
  assert.match(await hash(page), /^#forward\/1610/);
  const chosen = (await boxes(page)).find(({ id }) => id === "1610");
  const { width, height } = await view(page);
  assert.ok(Math.abs(chosen.x + chosen.width / 2 - width / 2) < 2 && Math.abs(chosen.y + chosen.height / 2 - height / 2) < 2);
  assert.ok(chosen.height > 20);
  await page.keyboard.press("Escape");
  assert.equal(await page.inputValue("#search"), "");
});

test("addresses restore the view, and Back goes back", async (t) => {
  const document = network(300, { delegated: true, times: true });
  const page = await open(t, document);
  const { x, y } = await view(page);
  const box = (await boxes(page)).find(({ id }) => id === "10-19");
  await page.mouse.click(x + box.x + 20, y + box.y + box.height / 2);
  await settled(page);
  assert.equal(await hash(page), "#forward/10-19");
  await page.click("role=tab[name='Memory']");
  await settled(page);
  assert.equal(await hash(page), "#forward/10-19&tab=memory");
  await page.goBack();
  await settled(page);
  assert.equal(await hash(page), "#forward/10-19");
  assert.equal(await page.locator(".tabpanel:visible").count(), 0);
  const other = await open(t, document, "#forward/4.2&tab=time&heat=time");
  assert.ok((await boxes(other)).some(({ id }) => id === "4.2"));
  assert.equal(await other.inputValue("select >> nth=1"), "time");
  assert.equal(await other.locator(".side h2 bdi").innerText(), "conv2d");
  assert.equal(await other.locator("[role=tab][aria-selected=true]").innerText(), "Time");
  const weight = await open(t, network(40, { statistics: true }), "#weight=layer1.block0.conv.weight");
  assert.equal(await weight.locator(".tr.chosen [role=cell]").first().innerText(), "layer1.block0.conv.weight");
  const last = await open(t, network(300, { statistics: true }), "#weight=layer14.block3.bn.weight");
  const [row, table] = await Promise.all([last.locator(".tr.chosen").boundingBox(), last.locator(".table").boundingBox()]);
  assert.ok(row.y >= table.y && row.y + row.height <= table.y + table.height + 1, "the row is in view");
  for (const fragment of ["#%", "#forward/999999", "#nothing/1&tab=nothing", "#forward/v99999&pool=9", "#weight=none"]) {
    const strange = await open(t, network(20), fragment);
    assert.ok((await boxes(strange)).length > 0);
  }
});

test("opening a group keeps its place and the zoom", async (t) => {
  const page = await open(t, network(300));
  const { x, y } = await view(page);
  const before = (await boxes(page)).find(({ id }) => id === "64-67");
  assert.equal(before.isOpen, false);
  await page.mouse.dblclick(x + before.x + 16, y + before.y + 10);
  await settled(page);
  const now = (await boxes(page)).find(({ id }) => id === "64-67");
  assert.equal(now.isOpen, true);
  assert.ok(Math.abs(now.x - before.x) < 1 && Math.abs(now.y - before.y) < 1, JSON.stringify({ before, now }));
  assert.ok((await boxes(page)).some(({ id }) => id === "64"));
});

test("the keyboard walks, opens, zooms and helps", async (t) => {
  const page = await open(t, network(20));
  await page.focus(".drawing");
  const at = async (key) => { await page.keyboard.press(key); await settled(page); return hash(page); };
  assert.equal(await at("ArrowDown"), "#forward/0");
  assert.equal(await at("ArrowDown"), "#forward/1");
  assert.equal(await at("ArrowUp"), "#forward/0");
  assert.match(await page.locator(".explorer > [role=status]").innerText(), /convolution, instruction 0/);
  const scale = async () => (await boxes(page)).find(({ id }) => id === "0").width;
  const first = await scale();
  await page.keyboard.press("+");
  await settled(page);
  assert.ok(await scale() > first);
  await page.keyboard.press("0");
  await settled(page);
  assert.equal(await at("Escape"), "");
  await page.keyboard.press("?");
  await settled(page);
  assert.equal(await page.locator("dialog[open]").count(), 1);
  assert.match(await page.locator("dialog pre").textContent(), /preact .* \(MIT\)/);
  await page.keyboard.press("Escape");
  await settled(page);
  assert.equal(await page.locator("dialog[open]").count(), 0);
  await page.focus("[role=tab] >> nth=0");
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.locator("[role=tab][aria-selected=true]").innerText(), "Memory");
});

test("views lead to each other", async (t) => {
  const page = await open(t, network(40, { times: true, statistics: true }), "#forward/4");
  await page.click(".links >> text=YAML line 8");
  await settled(page);
  assert.equal(await page.locator(".line.chosen .linenumber").innerText(), "8");
  await page.locator(".line >> nth=9").click();
  await settled(page);
  assert.match(await hash(page), /^#forward\/6&/);
  await page.click("role=tab[name='Findings 1']");
  await page.click(".findings .inline >> nth=0");
  await settled(page);
  assert.match(await hash(page), /^#forward\/0&/);
  assert.ok(await page.locator(".side .finding").count() === 1);
  await page.click("role=tab[name='Weights']");
  await page.locator(".rows .tr >> nth=2").click();
  await settled(page);
  assert.match(await hash(page), /^#weight=layer0\.block2\.conv\.weight&forward\/v/);
  await page.click("role=tab[name='Time']");
  assert.match(await page.locator(".rows .tr >> nth=0").innerText(), /convolution/);
  await page.click("text=timeline");
  await page.locator("canvas.painted").waitFor();
  await page.click("text=flame");
  await settled(page);
  assert.ok(await page.locator(".cell").count() > 10);
  await page.click("role=tab[name='Size']");
  assert.match(await page.locator(".cell text >> nth=0").textContent(), /^layer\d/);
  await page.click("role=tab[name='Memory']");
  assert.match(await page.locator(".aside").innerText(), /alive/);
  await page.click("role=tab[name='Outline']");
  await page.locator("[role=treeitem] >> nth=1").click();
  await settled(page);
  assert.match(await hash(page), /^#forward\/0-15&/);
});

test("times are colours of the graph unless others are chosen", async (t) => {
  const page = await open(t, network(40, { times: true }));
  assert.match(await page.locator(".legend.over").innerText(), /time: 0\s*468 µs|time: 0\s*90 µs/);
  await page.selectOption(".toolbar select >> nth=-1", "kind");
  await settled(page);
  assert.equal(await hash(page), "#heat=kind");
  assert.match(await page.locator(".legend.over").innerText(), /convolution/);
});

test("events of the timeline are chosen by the keyboard", async (t) => {
  const page = await open(t, network(40, { delegated: true, times: true }), "#tab=time");
  await page.click("text=timeline");
  await page.locator("canvas.painted").focus();
  const walked = [];
  for (const key of ["ArrowUp", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowDown", "ArrowRight"]) {
    await page.keyboard.press(key);
    await settled(page);
    walked.push(/^#forward\/([\w.]*)&/.exec(await hash(page))[1]);
  }
  assert.match(walked[0], /^\d+$/);
  assert.equal(walked[1], String(Number(walked[0]) + 1));
  assert.equal(walked[3], walked[1]);
  assert.match(walked[4], /^\d+\.0$/, "an event of a delegate");
  assert.equal(walked[5], walked[4].replace(/0$/, "1"));
});

test("several methods, and many inputs as one box", async (t) => {
  const page = await open(t, methods(), "#decode%2Fstep");
  assert.ok((await boxes(page)).some(({ title }) => title === "991 inputs"));
  await page.selectOption(".method select", "0");
  await page.waitForFunction(() => window.explorer.graph().isReady());
  await settled(page);
  assert.ok((await boxes(page)).some(({ title }) => title === "x"));
});

test("two files are one graph with what differs", async (t) => {
  const page = await open(t, twoFiles(40), "#tab=differences");
  assert.ok((await boxes(page)).some(({ id }) => id === "40"), "an instruction that was removed");
  assert.deepEqual(await page.locator(".legend.over").innerText().then((text) => text.trim().split(/\s+/)), ["added", "removed", "changed"]);
  assert.match(await page.locator(".side .facts").innerText(), /41 → 40: 10 convolution/);
  assert.equal(await page.locator(".toolbar select >> nth=-1").locator("option").first().innerText(), "by change");
  assert.match(await page.locator(".totals").innerText(), /instructions\s+41\s+40\s+−1/);
});

test("the plans of two files are beside each other, and one value is chosen in both", async (t) => {
  const page = await open(t, twoFiles(40), "#forward/v9&tab=memory");
  const canvas = (side) => page.locator(`canvas[aria-label*=", ${side}:"]`);
  const facts = await page.locator(".aside").innerText();
  assert.match(facts, /planned\s+262,144 → 196,608 B: −65,536 \(−25.0 %\)/);
  assert.match(facts, /peak at\s+add → relu/);
  const [before, after] = [await canvas("before").boundingBox(), await canvas("after").boundingBox()];
  assert.ok(after.x >= before.x + before.width && after.y === before.y && Math.abs(after.width - before.width) <= 1);
  for (const side of ["before", "after"]) {
    await canvas(side).focus();
    await page.keyboard.press("ArrowLeft");
    await settled(page);
    assert.equal(await page.locator(".aside .facts >> nth=1").locator("dt >> nth=0").innerText(), side);
    assert.equal(await page.locator(".tr.chosen").count(), 1, side);
  }
  await accessible(page);
  await page.selectOption("text=Plan", "before");
  await settled(page);
  assert.equal(await hash(page), "#forward/v9&tab=memory&at=1&plan=before");
  assert.deepEqual([await canvas("before").count(), await canvas("after").count()], [1, 0]);
  const narrow = await open(t, twoFiles(40), "#tab=memory&plan=after", { size: SIZES[1] });
  assert.equal(await narrow.locator("canvas.painted").count(), 1);
  await narrow.selectOption("text=Plan", "both");
  await settled(narrow);
  const [upper, lower] = await narrow.locator("canvas.painted").evaluateAll((list) => list.map((one) => one.getBoundingClientRect().toJSON()));
  assert.ok(lower.top >= upper.bottom && lower.left === upper.left);
  const single = await open(t, network(40), "#tab=memory&plan=before");
  assert.equal(await single.locator("canvas.painted").count(), 1);
});

test("of an unreadable file, the page says what it is", async (t) => {
  const page = await open(t, unreadable());
  assert.match(await page.locator(".graph .message").innerText(), /this is a JPEG image/);
  await page.click("role=tab[name='Bytes']");
  assert.match(await page.locator(".hexrow >> nth=0").innerText(), /00 01 02|000102/);
  await page.click("role=tab[name='Findings 1']");
  assert.match(await page.locator(".findings").innerText(), /ET12 at offset 4/);
  await accessible(page);
});

test("hostile names are text in all views", async (t) => {
  // Markup, text from right to left that is not ended, lines, characters without a width, and a name that fits nowhere.
  const hostile = `<img src=x onerror=window.hacked=1>"'&</script>\u202e\u2066RTL\n\t\r\0\u2028\u200b${"long".repeat(200)}`;
  const document = network(40, { hostile, name: hostile, delegated: true, times: true, statistics: true });
  document.name = hostile;
  for (const size of SIZES) {
    for (const tab of ["summary", "memory", "size", "time", "weights", "findings", "text", "outline"]) {
      const page = await open(t, document, `#${encodeURIComponent(hostile)}/0&tab=${tab}`, { size });
      assert.equal(await page.evaluate(() => window.hacked), undefined);
      assert.equal(await page.locator("img").count(), 0);
      const shown = await page.locator(".tabpanel").evaluate((panel) => panel.textContent + [...panel.querySelectorAll("[aria-label]")].map((one) => one.ariaLabel).join());
      // Names of the method, of a value, or in a finding; sizes and times have names of constants and operators.
      if (!["size", "time", "weights"].includes(tab)) assert.ok(shown.includes("<img src=x") || shown.includes('\\"\'&</script>'), tab);
      // What a name does to the direction of text ends with the name.
      const open202e = await page.evaluate(() => [...window.document.querySelectorAll(".explorer *")].filter((one) =>
        !one.closest("bdi, code, canvas, option, [role=status]") && [...one.childNodes].some((node) => node.nodeType === 3 && node.data.includes("\u202e"))).map(({ outerHTML }) => outerHTML.slice(0, 80)));
      assert.deepEqual(open202e, [], tab);
      // A narrow page with a tab has no panel.
      if (size === SIZES[0]) assert.equal(await page.locator(".side h2 bdi").textContent(), "convolution");
      const { x, y, width, height } = await view(page);
      assert.ok(x >= 0 && y >= 0 && x + width <= size[0] && y + height <= size[1], `${tab}: the graph is in the window`);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= size[0], `${tab} is not wider than the window`);
      for (const label of await labels(page)) assert.ok(!/[\n\r\u2028]/.test(label.text), "labels have one line");
      await page.close();
    }
  }
});

for (const scheme of ["light", "dark"]) {
  for (const size of SIZES) {
    test(`no serious violation of accessibility, ${scheme}, ${size[0]}`, async (t) => {
      const document = network(40, { delegated: true, times: true, statistics: true });
      document.bytes = unreadable().bytes;
      for (const tab of ["", "summary", "memory", "size", "time", "weights", "findings", "text", "bytes", "outline"]) {
        const page = await open(t, document, `#forward/0${tab && `&tab=${tab}`}`, { scheme, size });
        await accessible(page);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= size[0], `${tab} is ${wide} wide`);
        await page.close();
      }
    });
  }
}

test("10,000 open instructions are panned", async (t) => {
  const page = await open(t, network(10000));
  await page.click("role=button[name='open all']");
  await page.waitForFunction(() => window.explorer.graph().isReady(), null, { timeout: 120_000 });
  await settled(page);
  const { x, y, width, height } = await view(page);
  for (const zoom of [0, 6, 14]) {
    for (let step = 0; step < zoom; step++) await page.keyboard.press("+");
    await settled(page);
    const start = await page.evaluate(() => window.explorer.graph().frames().length);
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.mouse.down();
    for (let step = 0; step < 40; step++) await page.mouse.move(x + width / 2 - step * 5, y + height / 2 - step * 3);
    await page.mouse.up();
    const frames = (await page.evaluate(() => window.explorer.graph().frames())).slice(start).sort((a, b) => a - b);
    const median = frames[Math.floor(frames.length / 2)];
    t.diagnostic(`zoom ${zoom}: ${frames.length} frames, median ${median.toFixed(1)} ms, longest ${frames[frames.length - 1].toFixed(1)} ms`);
    assert.ok(median < 100);
  }
});

// Pages that `pte-emit report` wrote, or their documents: PTE_EMIT_PAGES is their folder.
for (const name of process.env.PTE_EMIT_PAGES ? readdirSync(process.env.PTE_EMIT_PAGES).filter((entry) => /\.(html|json)$/.test(entry) && !entry.includes("schema")) : []) {
  for (const size of SIZES) {
    test(`${name} at ${size[0]} x ${size[1]}`, async (t) => {
      const content = readFileSync(join(process.env.PTE_EMIT_PAGES, name), "utf8");
      const page = await open(t, name.endsWith(".json") ? JSON.parse(content) : content, "", { size });
      noOverlap(await labels(page));
      for (const tab of await page.locator("[role=tab]").all()) {
        await tab.click();
        await settled(page);
      }
      // Of the others, the elements are the same.
      if (/^(linear|times|two_files|optimized|generated300)\./.test(name)) await accessible(page);
    });
  }
}

test("a page without data has at most 600 kB", (t) => {
  const { length } = pageOf({});
  t.diagnostic(`${length} bytes`);
  assert.ok(length <= 600_000);
});
