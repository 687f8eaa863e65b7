// Tests the page at /docs in Chromium: reads it, authorises, creates a plant and
// reads the response, in light and dark, on a desktop and on a phone, and below a
// path that a proxy removes. The browser can reach only the service. Every error
// and warning of the browser is a failure.
//
// usage: node docs.mjs PLANTSTORE [FOLDER], the program and the folder for pictures
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { complaints, desk, faint, launch, log, phone, proxy, serve, stop, token } from "./browser.mjs";

const [program, pictures] = process.argv.slice(2);
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

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
  const mended = async (what) => {
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    for (const { id, impact, nodes } of violations) {
      wrong.push(`${impact}, ${id}, in ${what}, ${nodes.length} times: ${nodes.map(({ html }) => html.slice(0, 200)).join(", ")}`);
    }
  };

  const described = await (await fetch(`${address}/openapi.json`)).json();
  assert.equal(described.servers[0].variables.base_url.default, address, "the address in the document");
  const { "/plants": { post, ...others }, ...paths } = described.paths;
  const operations = [post, ...Object.values(others), ...Object.values(paths).flatMap((path) => Object.values(path))];

  await page.goto(`${address}/docs`);
  assert.equal(await page.locator("nav a").evaluate((a) => a.href), `${address}/`, "the link to the page for people");
  await page.locator(".opblock").nth(operations.length - 1).waitFor();
  assert.deepEqual(
    await page.locator(".opblock-summary-description").allTextContents(),
    operations.map((operation) => operation.summary),
    "the operations, first the one that creates a plant, then in the order of the document",
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
  await mended("first-screen");

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
  await mended("credentials");
  await dialog.getByRole("button", { name: "Apply credentials" }).click();
  await dialog.locator("button", { hasText: "Logout" }).waitFor();
  await mended("signed-in");
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
      assert.notEqual(await row.locator("input, select").inputValue(), String(parameter.example), `${operationId}: ${parameter.name} is filled in`);
      assert.match(await row.textContent(), /Example: /, `${operationId}: ${parameter.name} has no example`);
    }
    if (operationId === "createPlant") await create(block, id, name);
    await look(operationId, block);
    if (operationId === "createPlant" || operationId === operations.at(-1).operationId) await mended(operationId);
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

// takesToken fails unless the page sends the token of the page for people, without asking for it again.
async function takesToken(browser, address) {
  const page = await browser.newPage();
  const wrong = await complaints(page, new URL(address).origin);
  await page.goto(`${address}/#token=${token}`);
  await page.locator("nav a").click();
  const block = page.locator("#operations-plants-getToken");
  await block.locator(".opblock-summary-control").click();
  await block.getByRole("button", { name: "Try it out" }).click();
  await block.getByRole("button", { name: "Execute" }).click();
  const status = block.locator(".live-responses-table .response .response-col_status");
  await status.waitFor();
  assert.equal((await status.textContent()).trim(), "200", "the status of a request without another sign-in");
  assert.deepEqual(wrong.filter((it) => !it.includes("ERR_ABORTED")), [], "what is wrong with the page");
  await page.close();
  console.log("takes the token over");
}

const browser = await launch();
try {
  const { address } = await serve(program);
  await takesToken(browser, address);
  await visit(browser, "light", address, 1, { ...desk, colorScheme: "light" });
  await visit(browser, "dark", address, 2, { ...desk, colorScheme: "dark" });
  await visit(browser, "phone", address, 3, { ...phone, colorScheme: "light" });
  await visit(browser, "phone-dark", address, 4, { ...phone, colorScheme: "dark" });
  const to = {};
  const below = await proxy("/store", to);
  to.address = (await serve(program, "--base-url", below)).address;
  await visit(browser, "below-a-path", below, 5, { ...desk, colorScheme: "light" });
  await takesToken(browser, below);
} catch (error) {
  console.error(log);
  throw error;
} finally {
  await stop();
}
