// Pages of each kind in headless Chromium, from file://. LOWTIDE_PAGES names a directory to keep
// them in, and to take them from if it has them.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { PHONE, boxOf, counts, drawAll, placeOf, settle, smallTexts, startBrowser, texts, tipIn } from "./browser.mjs";
import { lowtide, makePages } from "./make-pages.mjs";

const KINDS = ["run", "matrix", "share", "reproduction", "analysis", "plot"];
// Limit on the page of README's main job, bytes.
const LIMIT = 600_000;
// Least size of a text on a phone, pixels.
const READABLE = 11;

let browser, pages, root;

before(async () => {
  root = process.env.LOWTIDE_PAGES ?? mkdtempSync(join(tmpdir(), "lowtide-pages-"));
  pages = makePages(root);
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  if (!process.env.LOWTIDE_PAGES) rmSync(root, { recursive: true, force: true });
});

// Opens a page, runs `act` in it, and demands that nothing failed and nothing was requested.
async function inPage(kind, view, act) {
  const page = await browser.open(pages[kind], view);
  try {
    await act(page);
    assert.deepEqual(page.faults, []);
  } finally {
    await page.close();
  }
}

for (const kind of KINDS) {
  describe(`the ${kind} page`, () => {
    test("has only interactive figures", () =>
      inPage(kind, {}, async (page) => {
        await drawAll(page);
        const [all, live] = await counts(page);
        assert.ok(all > 0);
        assert.equal(live, all);
        const shown = await page.$$eval(".still", (all) => all.filter((still) => still.checkVisibility()).length);
        assert.equal(shown, 0);
      }));

    test("is readable on a phone", () =>
      inPage(kind, { viewport: PHONE }, async (page) => {
        await drawAll(page);
        await page.$$eval("details", (all) => all.forEach((details) => (details.open = true)));
        assert.deepEqual(await smallTexts(page, READABLE), []);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= PHONE.width);
      }));

    test("shows SVG without script", () =>
      inPage(kind, { viewport: PHONE, script: false }, async (page) => {
        const [all, svg] = await page.evaluate(() => [
          document.querySelectorAll("figure").length,
          [...document.querySelectorAll("figure .still svg")].filter((svg) => svg.checkVisibility()).length,
        ]);
        assert.equal(svg, all);
        assert.deepEqual(await smallTexts(page, READABLE), []);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= PHONE.width);
        assert.equal((await page.$$("button, .filter")).length, 0);
      }));

    test("prints SVG", () =>
      inPage(kind, {}, async (page) => {
        await drawAll(page);
        await page.emulateMediaType("print");
        const visible = (selector) =>
          page.$$eval(selector, (all) => all.filter((element) => element.checkVisibility()).length);
        assert.equal(await visible("figure .still svg"), (await counts(page))[0]);
        assert.equal(await visible(".chart, button, .filter, .frames"), 0);
      }));

    test("follows the system's colours and the reader's choice", () =>
      inPage(kind, { dark: true }, async (page) => {
        await drawAll(page);
        const look = () =>
          page.evaluate(() => {
            const light = (color) => color.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 765;
            const text = [...document.querySelectorAll(".chart text")].find((text) => text.textContent.length > 4);
            return {
              page: light(getComputedStyle(document.body).backgroundColor),
              text: light(getComputedStyle(document.body).color),
              chart: light(getComputedStyle(text).fill),
            };
          });
        const dark = await look();
        assert.ok(dark.page < 0.2 && dark.text > 0.8 && dark.chart > 0.6, JSON.stringify(dark));
        await page.click(".theme");
        await settle();
        const light = await look();
        assert.ok(light.page > 0.9 && light.text < 0.3 && light.chart < 0.5, JSON.stringify(light));
        assert.equal(await page.$eval(".theme", (button) => button.textContent), "Colours: light");
        await page.evaluate(() => localStorage.removeItem("lowtide-theme"));
      }));
  });
}

describe("a figure with axes", () => {
  const figure = "#transfer-time-short";
  const chart = `${figure} .chart`;
  const disabled = (page) => page.$eval(`${figure} .tools button:last-child`, (button) => button.disabled);

  test("shows values and intervals under the pointer", () =>
    inPage("run", {}, async (page) => {
      const box = await boxOf(page, figure);
      await page.waitForSelector(`${chart} svg`);
      await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
      await settle();
      const tip = await tipIn(page, chart);
      for (const wanted of ["Flow size", "sack", "ecn", "dctcp", "95 %:"]) assert.ok(tip.includes(wanted), tip);
      const csv = readFileSync(join(dirname(pages.run), "figures/transfer-time-short.csv"), "utf8");
      const size = /Flow size.*\(kB\): (\d+)/.exec(tip)[1];
      const row = csv.split("\n").map((line) => line.split(",")).find((row) => row[1] === "dctcp" && Number(row[3]) === size * 1000);
      assert.ok(tip.includes(String(Number(Number(row[4]).toPrecision(5)))), `${tip} has ${row}`);
    }));

  test("zooms by wheel after a click, moves by drag, and is reset", () =>
    inPage("run", {}, async (page) => {
      const box = await boxOf(page, figure);
      await page.waitForSelector(`${chart} svg`);
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      const whole = await texts(page, chart);
      await page.mouse.move(x, y);
      const top = await page.evaluate(() => scrollY);
      await page.mouse.wheel({ deltaY: 60 });
      await settle();
      assert.notEqual(await page.evaluate(() => scrollY), top, "before a click the wheel scrolls the page");
      assert.equal(await disabled(page), true);
      const again = await boxOf(page, figure);
      const middle = again.y + again.height / 2;
      await page.mouse.click(x, middle);
      for (let i = 0; i < 4; i++) await page.mouse.wheel({ deltaY: -120 });
      await settle();
      assert.equal(await disabled(page), false);
      const zoomed = await texts(page, chart);
      assert.notDeepEqual(zoomed, whole);
      await page.mouse.move(x, middle);
      await page.mouse.down();
      await page.mouse.move(x + 150, middle, { steps: 8 });
      await page.mouse.up();
      await settle();
      const lines = () => page.$$eval(`${chart} path`, (all) => all.map((path) => path.getAttribute("d")).join());
      const moved = await lines();
      await page.mouse.down();
      await page.mouse.move(x, middle, { steps: 8 });
      await page.mouse.up();
      await settle();
      assert.notEqual(await lines(), moved);
      await page.click(`${figure} .tools button:last-child`);
      await page.mouse.move(5, 5);
      await settle();
      assert.equal(await disabled(page), true);
      assert.deepEqual(await texts(page, chart), whole);
    }));

  test("zooms by buttons and by pinch", () =>
    inPage("run", { viewport: PHONE }, async (page) => {
      await boxOf(page, figure);
      await page.waitForSelector(`${chart} svg`);
      const box = await boxOf(page, chart);
      await page.tap(`${figure} .tools button:first-child`);
      await settle();
      assert.equal(await disabled(page), false);
      await page.tap(`${figure} .tools button:last-child`);
      await settle();
      assert.equal(await disabled(page), true);
      const session = await page.createCDPSession();
      const [x, y] = [Math.round(box.x + box.width / 2), Math.round(box.y + box.height / 2)];
      const touch = (type, distance) =>
        session.send("Input.dispatchTouchEvent", {
          type,
          touchPoints: distance === null ? [] : [{ x: x - distance, y, id: 1 }, { x: x + distance, y, id: 2 }],
        });
      await touch("touchStart", 20);
      for (let distance = 25; distance <= 100; distance += 5) await touch("touchMove", distance);
      await touch("touchEnd", null);
      await settle();
      assert.equal(await disabled(page), false);
    }));

  test("hides a series by its legend entry", () =>
    inPage("run", {}, async (page) => {
      const box = await boxOf(page, figure);
      await page.waitForSelector(`${chart} svg`);
      await page.mouse.click(...(await placeOf(page, chart, "sack")));
      await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
      await settle();
      const tip = await tipIn(page, chart);
      assert.ok(tip.includes("dctcp") && !tip.includes("sack"), tip);
      await page.click(".theme");
      await settle();
      await page.mouse.move(box.x + box.width / 2 + 40, box.y + box.height / 2);
      await settle();
      assert.ok(!(await tipIn(page, chart)).includes("sack"), "a change of colours keeps the choice");
      await page.evaluate(() => localStorage.removeItem("lowtide-theme"));
    }));

  test("saves the values of its CSV file", () =>
    inPage("run", {}, async (page) => {
      await drawAll(page);
      for (const [id, text] of await page.evaluate(async () => {
        const out = [];
        for (const link of document.querySelectorAll("a.data")) {
          const id = link.closest("figure").id;
          out.push([id, await new Promise((done) => {
            const request = new XMLHttpRequest();
            request.open("GET", link.href);
            request.onload = () => done(request.responseText);
            request.send();
          })]);
        }
        return out;
      })) {
        const rows = (csv) => csv.trim().split("\n").map((line) => line.split(","));
        const [saved, file] = [rows(text), rows(readFileSync(join(dirname(pages.run), `figures/${id}.csv`), "utf8"))];
        assert.equal(saved.length, file.length, id);
        saved.forEach((row, i) =>
          row.forEach((value, j) => {
            const other = file[i][j];
            if (value === other) return;
            assert.ok(Math.abs(Number(value) - Number(other)) <= Math.abs(Number(other)) * 1e-6, `${id}: ${value} for ${other}`);
          }));
      }
    }));

  test("shows the point of the sweep that the slider chooses", () =>
    inPage("run", {}, async (page) => {
      const queue = "#queue-over-time";
      await boxOf(page, queue);
      await page.waitForSelector(`${queue} .chart svg`);
      const shown = async () => [
        await page.$eval(`${queue} output`, (output) => output.textContent),
        await page.$eval(`${queue} .caption`, (caption) => caption.textContent),
        (await texts(page, `${queue} .chart`)).join(),
      ];
      const last = await shown();
      await page.focus(`${queue} .frames input`);
      await page.keyboard.press("Home");
      await settle();
      const first = await shown();
      assert.ok(last[0].includes("800 kB") && last[1].includes("800 kB"), last.join());
      assert.ok(first[0].includes("10 kB") && first[1].includes("10 kB"), first.join());
      assert.notEqual(first[2], last[2]);
    }));

  test("has lanes with tips for captures", () =>
    inPage("analysis", {}, async (page) => {
      const box = await boxOf(page, "figure");
      await page.waitForSelector("figure .chart svg");
      await page.mouse.move(box.x + box.width / 2, box.y + 150);
      await settle();
      const tip = await tipIn(page, "figure .chart");
      assert.match(tip, /Time since the capture began \(\w+\): [\d.]+/);
      assert.ok(tip.includes("Sequence") && tip.includes("Goodput"), tip);
    }));
});

describe("a heat map", () => {
  const figure = "#verdict-beside";
  const chart = `${figure} .chart`;

  test("names a cell under the pointer", () =>
    inPage("matrix", {}, async (page) => {
      await boxOf(page, "#goodput-alone");
      await page.waitForSelector("#goodput-alone .chart svg");
      const value = (await texts(page, "#goodput-alone .chart")).find((text) => /^9\d\d$/.test(text));
      await page.mouse.move(...(await placeOf(page, "#goodput-alone .chart", value)));
      await settle();
      const tip = await tipIn(page, "#goodput-alone .chart");
      assert.match(tip, /sender \w+\s+receiver \w+\s+Goodput of the pair \(Mbit\/s\).*: 9\d\d/);
    }));

  test("keeps the tip within a phone", () =>
    inPage("matrix", { viewport: PHONE }, async (page) => {
      const share = "#share-beside .chart";
      await boxOf(page, "#share-beside");
      await page.waitForSelector(`${share} svg`);
      const box = await boxOf(page, share);
      await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
      await settle();
      const said = await tipIn(page, share);
      assert.match(said, /next to sack\s+The pair's share of the goodput \(%\).*: (0|1|100|[1-9][\d.]*) \(95 %: -?[\d.]+ to [\d.]+\)$/);
      const tip = await (await page.$(`${share} .tip`)).boundingBox();
      assert.ok(tip.x >= 0 && tip.x + tip.width <= box.x + box.width, JSON.stringify([tip, box]));
    }));

  test("shows the grid that the slider chooses", () =>
    inPage("matrix", {}, async (page) => {
      await boxOf(page, figure);
      await page.waitForSelector(`${chart} svg`);
      const shown = async () => [await page.$eval(`${figure} output`, (output) => output.textContent), (await texts(page, chart)).join()];
      const first = await shown();
      await page.focus(`${figure} .frames input`);
      await page.keyboard.press("ArrowRight");
      await settle();
      const second = await shown();
      assert.equal(first[0], "next to sack");
      assert.equal(second[0], "next to dctcp");
      assert.notEqual(first[1], second[1]);
    }));

  test("hides the cells of a kind", () =>
    inPage("matrix", {}, async (page) => {
      await boxOf(page, figure);
      await page.waitForSelector(`${chart} svg`);
      const count = async () => (await texts(page, chart)).filter((text) => text === "blind").length;
      assert.ok((await count()) > 0);
      await page.mouse.click(...(await placeOf(page, chart, "blind-to-congestion (bl)")));
      await settle();
      assert.equal(await count(), 0);
    }));
});

describe("a table", () => {
  const column = (page, i) =>
    page.$eval("table", (table, i) => [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => row.cells[i].textContent), i);

  test("is sorted by the numbers of a column", () =>
    inPage("run", {}, async (page) => {
      const sorted = async () => {
        await page.click("table th:nth-child(2)");
        return (await column(page, 1)).map(parseFloat);
      };
      const [one, other] = [await sorted(), await sorted()];
      const ascending = [...one].sort((a, b) => a - b);
      assert.deepEqual([one, other].sort((a, b) => a[0] - b[0]), [ascending, [...ascending].reverse()]);
      assert.ok(await page.$("table th[aria-sort]"));
      // Sizes are sorted by their bytes, not by their letters.
      await page.click("table th:nth-child(1)");
      const sizes = await column(page, 0);
      assert.ok([sizes[0], sizes.at(-1)].sort().join() === "10 kB,800 kB", sizes.join());
    }));

  test("shows the rows that match the filter", () =>
    inPage("run", {}, async (page) => {
      const all = (await column(page, 0)).length;
      const [first] = await page.$$eval("table tbody tr:first-child", ([row]) => [[...row.cells].map((cell) => cell.textContent)]);
      await page.type(".filter", first.join(" "));
      assert.deepEqual(await column(page, 0), [first[0]]);
      assert.ok(all > 1);
      await page.$eval(".filter", (input) => {
        input.value = "";
        input.dispatchEvent(new Event("input"));
      });
      assert.equal((await column(page, 0)).length, all);
    }));
});

describe("a page as a file", () => {
  test("of README's main job stays small", () => {
    assert.ok(statSync(pages.run).size < LIMIT, `${statSync(pages.run).size} bytes`);
  });

  test("has the same bytes when it is made again", () => {
    const digest = () => createHash("sha256").update(readFileSync(pages.run)).digest("hex");
    const first = digest();
    lowtide("report", dirname(pages.run));
    assert.equal(digest(), first);
  });
});
