// Headless Chromium, and what the tests do in a page.
import { existsSync } from "node:fs";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "puppeteer-core";

const PATHS = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export async function startBrowser() {
  const executablePath = PATHS.find((path) => path && existsSync(path));
  if (!executablePath) throw new Error("no Chromium: install the package chromium, or name its path in CHROMIUM");
  const profile = mkdtempSync(join(tmpdir(), "lowtide-browser-"));
  const browser = await launch({ executablePath, userDataDir: profile, args: ["--no-sandbox"] });
  return {
    open: (path, view) => open(browser, path, view),
    close: async () => {
      await browser.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

export const WIDE = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

// Opens a page from its file. `faults` collects console errors, exceptions and network requests.
async function open(browser, path, { viewport = WIDE, dark = false, script = true, media } = {}) {
  const page = await browser.newPage();
  const faults = [];
  page.on("console", (message) => ["error", "warn"].includes(message.type()) && faults.push(message.text()));
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("request", (request) => {
    const url = request.url();
    if (url !== pathToFileURL(path).href && !url.startsWith("blob:")) faults.push(`requested ${url.slice(0, 80)}`);
  });
  await page.setViewport(viewport);
  await page.setJavaScriptEnabled(script);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
  if (media) await page.emulateMediaType(media);
  await page.goto(pathToFileURL(path).href, { waitUntil: "load" });
  if (script) await page.waitForSelector(".theme");
  return Object.assign(page, { faults });
}

// Scrolls through the page until every figure is interactive.
export async function drawAll(page) {
  await page.evaluate(async () => {
    for (const figure of document.querySelectorAll("figure")) {
      figure.scrollIntoView({ block: "center" });
      for (let i = 0; i < 200 && !figure.classList.contains("live"); i++) {
        await new Promise((done) => setTimeout(done, 20));
      }
    }
  });
}

// Returns the number of figures, and of those that are interactive.
export const counts = (page) =>
  page.$$eval("figure", (all) => [all.length, all.filter((figure) => figure.querySelector(".chart svg")).length]);

// Brings a chart into view and returns its box.
export async function boxOf(page, selector) {
  await page.$eval(selector, (element) => element.scrollIntoView({ block: "center", behavior: "instant" }));
  await new Promise((done) => setTimeout(done, 100));
  return (await page.$(selector)).boundingBox();
}

export const texts = (page, selector) => page.$$eval(`${selector} text`, (all) => all.map((text) => text.textContent));

// Returns the middle of the text `name` in a chart.
export const placeOf = (page, selector, name) =>
  page.$$eval(
    `${selector} text`,
    (all, name) => {
      const box = all.find((text) => text.textContent === name).getBoundingClientRect();
      return [box.x + box.width / 2, box.y + box.height / 2];
    },
    name,
  );

// Returns the visible tip of a chart.
export const tipIn = (page, selector) =>
  page.$eval(selector, (chart) => {
    const tip = chart.querySelector(".tip");
    return tip && getComputedStyle(tip.parentElement).visibility !== "hidden" && getComputedStyle(tip.parentElement).opacity !== "0" ? tip.innerText : "";
  });

// Returns visible texts smaller than `least` pixels on the screen.
export const smallTexts = (page, least) =>
  page.evaluate((least) => {
    const found = [];
    for (const element of document.body.querySelectorAll("*")) {
      const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
      if (!own || element.matches("script, style") || !element.checkVisibility()) continue;
      const matrix = element.ownerSVGElement && element.getScreenCTM();
      const scale = matrix ? Math.hypot(matrix.a, matrix.b) : 1;
      const size = parseFloat(getComputedStyle(element).fontSize) * scale;
      if (size < least - 0.01) found.push(`${size.toFixed(1)} px: ${element.textContent.trim().slice(0, 40)}`);
    }
    return found;
  }, least);

export const settle = () => new Promise((done) => setTimeout(done, 150));
