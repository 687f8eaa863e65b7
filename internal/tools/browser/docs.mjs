// Tests the page at /docs in Chromium: reads it, authorises, creates a plant and
// reads the response, in light and dark, on a desktop and on a phone, and below a
// path that a proxy removes. The browser can reach only the service. Every error
// and warning of the browser is a failure.
//
// usage: node docs.mjs PLANTSTORE [FOLDER], the program and the folder for pictures
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import http from "node:http";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const [program, pictures] = process.argv.slice(2);
const token = "only-for-the-browser";
const started = [];
let log = ""; // of the programs, in case something fails

// serve runs the program with a store in memory and returns its address.
async function serve(...args) {
  const child = spawn(program, ["serve", "--addr", "127.0.0.1:0", "--store", "sqlite::memory:", ...args], {
    env: { PLANTSTORE_TOKEN: token },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stderr.on("data", (text) => (log += text));
  started.push(child);
  for await (const line of createInterface({ input: child.stdout })) {
    const announced = /^plantstore listens on (\S+)$/.exec(line);
    if (announced) return announced[1];
  }
  throw new Error("the program ended before it listened");
}

// proxy removes a path from the requests that begin with it, and forwards them to
// to.address, which can be set later. It returns its own address, with the path.
async function proxy(path, to) {
  const server = http.createServer((request, response) => {
    if (!request.url.startsWith(path + "/")) {
      response.writeHead(404).end();
      return;
    }
    const { method, headers } = request;
    const sent = http.request(to.address + request.url.slice(path.length), { method, headers }, (received) => {
      response.writeHead(received.statusCode, received.headers);
      received.pipe(response);
    });
    sent.on("error", () => response.destroy());
    request.pipe(sent);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  started.push({ kill: () => server.close() });
  return `http://127.0.0.1:${server.address().port}${path}`;
}

// complaints returns a list to which it adds every error and warning of the
// browser about a page, and every request to another host.
async function complaints(page, origin) {
  const list = [];
  await page.exposeFunction("complain", (text) => list.push(text));
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (e) => complain(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`));
  });
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) list.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => list.push(`error: ${error.stack}`));
  page.on("requestfailed", (request) => list.push(`failed: ${request.url()} ${request.failure()?.errorText}`));
  page.on("request", (request) => {
    const { protocol, origin: to } = new URL(request.url());
    if (protocol !== "data:" && to !== origin) list.push(`to another host: ${request.url()}`);
  });
  return list;
}

// faint lists the texts of a page with too little contrast to their background:
// less than 4.5 to 1, or 3 to 1 for large text (WCAG 2.2, 1.4.3). Disabled
// elements are exempt.
function faint() {
  const read = (colour) => colour.match(/[\d.]+/g).map(Number);
  const over = ([r, g, b, a = 1], below) => [r, g, b].map((c, i) => c * a + below[i] * (1 - a));
  const luminance = (colour) => {
    const [r, g, b] = colour.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    if (!element) return matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0] : [255, 255, 255];
    return over(read(getComputedStyle(element).backgroundColor), behind(element.parentElement));
  };
  const list = new Set();
  for (const element of document.body.querySelectorAll("*")) {
    const text = [...element.childNodes].map((n) => (n.nodeType === Node.TEXT_NODE ? n.data.trim() : "")).join("");
    if (!text || !element.checkVisibility() || element.closest("svg, script, [disabled], option")) continue;
    const style = getComputedStyle(element);
    const back = behind(element);
    const [a, b] = [luminance(over(read(style.color), back)), luminance(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    if (ratio < (size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5)) {
      list.add(`${ratio.toFixed(1)}: ${element.tagName}.${element.className} ${text.slice(0, 30)} ${style.color} on ${back.map(Math.round)}`);
    }
  }
  return [...list];
}

// long lists the lines of text on a page that have more than 75 characters. Code
// is exempt.
function long() {
  const lines = [];
  const range = document.createRange();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let line = {};
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (!text.parentElement.checkVisibility() || text.parentElement.closest("pre, textarea, option, svg, script")) continue;
    let block = text.parentElement;
    while (getComputedStyle(block).display.startsWith("inline")) block = block.parentElement;
    for (const { 0: word, index } of text.data.matchAll(/\S+/g)) {
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      const { left } = range.getBoundingClientRect();
      if (block !== line.block || left <= line.left) lines.push((line = { block, words: [] }));
      line.left = left;
      line.words.push(word);
    }
  }
  return lines.map(({ words }) => words.join(" ")).filter((words) => words.length > 75);
}

// visit tests the page of the service at an address, and stores one plant.
async function visit(browser, name, address, id, options) {
  const context = await browser.newContext({ reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const wrong = await complaints(page, new URL(address).origin);
  const look = async (what, element) => {
    for (const text of await page.evaluate(faint)) wrong.push(`too faint, in ${what}: ${text}`);
    for (const line of await page.evaluate(long)) wrong.push(`longer than 75 characters, in ${what}: ${line}`);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    if (width > options.viewport.width) wrong.push(`too wide, in ${what}: ${width}`);
    if (pictures) await element.screenshot({ path: `${pictures}/${name}-${what}.png` });
  };

  const described = await (await fetch(`${address}/openapi.json`)).json();
  assert.equal(described.servers[0].variables.base_url.default, address, "the address in the document");
  const operations = Object.values(described.paths).flatMap((path) => Object.values(path));

  await page.goto(`${address}/`);
  assert.equal(page.url(), `${address}/docs`, "where / leads");
  await page.locator(".opblock").nth(operations.length - 1).waitFor();
  assert.deepEqual(
    await page.locator(".opblock-summary-description").allTextContents(),
    operations.map((operation) => operation.summary),
    "the operations, in the order of the document",
  );
  if (!options.isMobile) {
    for (const element of [page.locator(".opblock").first(), page.getByRole("button", { name: "Authorize" })]) {
      const { y, height } = await element.boundingBox();
      if (y + height > options.viewport.height) wrong.push(`not visible without scrolling: ${element} ends at y = ${y + height}`);
    }
    const { y } = await page.locator(".opblock").first().boundingBox();
    console.log(`${name}: the first operation is at y = ${y}`);
  }
  await look("first-screen", page);

  // The sections of the introduction are closed until they are needed.
  const sections = page.locator(".info summary");
  assert.deepEqual(
    await sections.allTextContents(),
    [...described.info.description.matchAll(/^## (.*)$/gm)].map(([, title]) => title),
    "the sections of the introduction",
  );
  for (const section of await sections.all()) await section.click();
  await look("page", page.locator("body"));
  for (const section of await sections.all()) await section.click();

  await page.getByRole("button", { name: "Authorize" }).click();
  const dialog = page.locator(".dialog-ux .modal-ux");
  await dialog.locator("input").fill(token);
  await look("credentials", page);
  await dialog.getByRole("button", { name: "Apply credentials" }).click();
  await dialog.getByRole("button", { name: "Close" }).last().click();

  await page.locator(".models").getByRole("button", { name: "ErrorCode" }).click();
  await look("errors", page.locator(".models"));

  for (const { operationId, parameters: named = [] } of operations) {
    const parameters = named.map((it) => (it.$ref ? described.components.parameters[it.$ref.split("/").pop()] : it));
    const block = page.locator(`#operations-plants-${operationId}`);
    await block.locator(".opblock-summary-control").click();
    await block.getByRole("button", { name: "Try it out" }).click();
    await block.getByRole("button", { name: "Execute" }).waitFor();
    for (const parameter of parameters.filter((it) => !it.required && it.example !== undefined)) {
      const row = block.locator(`tr[data-param-name="${parameter.name}"]`);
      assert.notEqual(await row.locator("input").inputValue(), String(parameter.example), `${operationId}: ${parameter.name} is filled in`);
      assert.match(await row.textContent(), /Example: /, `${operationId}: ${parameter.name} has no example`);
    }
    if (operationId === "createPlant") await create(block, id, name);
    await look(operationId, block);
    await block.locator(".opblock-summary-control").click();
  }

  const stored = await fetch(`${address}/plants/${id}`, { headers: { Authorization: `Bearer ${token}` } });
  const plant = await stored.json();
  assert.deepEqual([stored.status, plant.name, plant.tag], [200, "Ficus lyrata", name], "what is stored");
  assert.deepEqual(wrong, [], "what is wrong with the page");
  await context.close();
  console.log(`${name}: read, authorised, created plant ${id}`);
}

// create creates a plant with the page, and reads the response in the page.
async function create(block, id, tag) {
  await block.locator("textarea").fill(JSON.stringify({ id, name: "Ficus lyrata", tag }));
  await block.getByRole("button", { name: "Execute" }).click();
  const response = block.locator(".live-responses-table .response");
  await response.waitFor();
  const status = (await response.locator(".response-col_status").textContent()).trim();
  const body = await response.locator(".highlight-code code").first().textContent();
  assert.deepEqual([status, JSON.parse(body)], ["200", { name: "Ficus lyrata", tag }], "the response in the page");
}

const chromiums = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = process.env.CHROMIUM ?? chromiums.find(existsSync);
assert.ok(executablePath, "Chromium is not installed: install it, or set CHROMIUM to its path");
const browser = await chromium.launch({
  executablePath,
  args: ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
  chromiumSandbox: process.getuid?.() !== 0, // Chromium does not start with its sandbox as root
});
started.push({ kill: () => browser.close() });
try {
  const address = await serve();
  const desk = { viewport: { width: 1280, height: 900 } };
  const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
  await visit(browser, "light", address, 1, { ...desk, colorScheme: "light" });
  await visit(browser, "dark", address, 2, { ...desk, colorScheme: "dark" });
  await visit(browser, "phone", address, 3, { ...phone, colorScheme: "light" });
  await visit(browser, "phone-dark", address, 4, { ...phone, colorScheme: "dark" });
  const to = {};
  const below = await proxy("/store", to);
  to.address = await serve("--base-url", below);
  await visit(browser, "below-a-path", below, 5, { ...desk, colorScheme: "light" });
} catch (error) {
  console.error(log);
  throw error;
} finally {
  for (const it of started.reverse()) await it.kill();
}
