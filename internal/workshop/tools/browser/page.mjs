// Tests the page at / in Chromium, with the program and a SQLite file for each test. The hooks in the
// page are listed in index.html. The browser can reach only this machine; every error and warning of
// the browser that a test does not expect is a failure, and so is a fault that axe finds.
//
// usage: node page.mjs PLANTSTORE [FOLDER], the program and the folder for pictures
// ONLY=text runs the tests whose names contain the text, and ONLY="text|other" also others
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { isDeepStrictEqual, promisify } from "node:util";
import { complaints, desk, faint, launch, phone, proxy, serve, stop, token } from "./browser.mjs";

const [program, pictures] = process.argv.slice(2);
const run = promisify(execFile);
const repository = new URL("../../../../", import.meta.url);
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const deadline = Number(process.env.DEADLINE ?? 60_000);
const only = process.env.ONLY ?? "";

const species = (await readFile(new URL("cmd/plantstore/species.csv", repository), "utf8"))
  .trim().split("\n").slice(1).map((line) => {
    const [id, name, tag] = line.split(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/).map((it) => it.replace(/^"|"$/g, "").replaceAll('""', '"'));
    return { id, name, ...(tag && { tag }) };
  });
const ficus = species.filter(({ name }) => /ficus/i.test(name)).sort((a, b) => (a.name < b.name ? -1 : 1));
const figs = `${ficus.length} plants`;

// until waits for a condition: for a value to be what it should be.
async function until(get, wanted, what) {
  for (const begin = Date.now(); ; await new Promise((resolve) => setTimeout(resolve, 30))) {
    const got = await get();
    if (typeof wanted === "function" ? wanted(got) : isDeepStrictEqual(got, wanted)) return got;
    if (Date.now() > begin + deadline) {
      if (typeof wanted === "function") assert.fail(`${what ?? ""} ${wanted}: ${JSON.stringify(got)}`);
      assert.deepEqual(got, wanted, what);
    }
  }
}

// freePort returns a port that nothing listens on.
async function freePort() {
  const server = createServer();
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return port;
}

// What a page shows.
const text = (page, of) => page.locator(of).evaluate((it) => (it.checkVisibility() ? it.textContent.replace(/\s+/g, " ").trim() : ""));
const isShown = (page, of) => page.locator(of).isVisible();
const rows = (page) => page.locator("#plants tr[data-id]").evaluateAll((all) =>
  all.map(({ cells }) => [cells[0], cells[1], cells[2]].map((cell) => cell.textContent)));
const ids = async (page) => (await rows(page)).map(([id]) => id);
const row = (page, id) => page.locator(`#plants tr[data-id="${id}"]`);
const focused = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.closest("tr")?.dataset.id);
const state = (page) => page.locator("#live").getAttribute("data-state");
const isIdle = (page) => until(() => page.locator("#plants").getAttribute("aria-busy"), null);

// Ids are text here, too.
const textual = (json) => JSON.parse(json.replace(/"id":(-?\d+)/g, '"id":"$1"'));
const numeric = (value) => JSON.stringify(value).replace(/"id":"(-?\d+)"/g, '"id":$1');

// look fails if a person could not use what a page shows now, and keeps pictures of it in three widths.
async function look(page, what) {
  await page.evaluate(axe);
  const wrong = [];
  for (const colorScheme of ["dark", "light"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    wrong.push(...(await page.evaluate(faint)).map((it) => `too faint, in ${what}, ${colorScheme}: ${it}`));
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    wrong.push(...violations.flatMap(({ id, nodes }) => nodes.map((it) => `${id}, in ${what}, ${colorScheme}: ${it.html}`)));
    const { width: given, height } = page.viewportSize();
    for (const width of pictures ? [1280, 768, 390] : [given]) {
      if (pictures) await page.setViewportSize({ width, height });
      const [needed, wide] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      if (needed > wide) wrong.push(`too wide, in ${what}: ${needed} in ${wide}`);
      if (pictures) await page.screenshot({ path: `${pictures}/page-${what}-${width}-${colorScheme}.png` });
    }
    if (pictures) await page.setViewportSize({ width: given, height });
  }
  assert.deepEqual(wrong, []);
}

// check is a test. What the browser may complain of is the statuses of responses, and if the service
// is down that it does not respond. The page may send requests to the service, and to others.
function check(name, { statuses = [], isDown = false, options = desk, others = [] }, tested) {
  if (!only.split("|").some((part) => name.includes(part))) return;
  const expected = new RegExp(`status of (${[0, ...statuses].join("|")}) |net::ERR_ABORTED` +
    (isDown ? "|net::ERR_(CONNECTION_(REFUSED|RESET|CLOSED)|SOCKET_NOT_CONNECTED|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING)" : ""));
  test(name, { timeout: 5 * deadline }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "plantstore-page-"));
    const store = join(folder, "plants.db");
    const context = await browser.newContext({ reducedMotion: "reduce", colorScheme: "light", ...options });
    context.setDefaultTimeout(deadline);
    const wrong = [];
    const services = [];

    // visit opens an address in a tab of its own.
    const visit = async (address) => {
      const page = await context.newPage();
      wrong.push(await complaints(page, [new URL(address).origin, ...others], expected));
      await page.goto(address);
      return page;
    };

    // start starts a service on the store, with some plants.
    const start = async (args = [], plants = []) => {
      const service = await serve(program, "--store", store, ...args);
      services.push(service);
      const api = async (method, path, body, headers = {}) => {
        const sent = { Authorization: `Bearer ${token}`, "Content-Type": "application/json", ...headers };
        const response = await fetch(service.address + path, { method, headers: sent, ...(body && { body: numeric(body) }) });
        const received = await response.text();
        if (method === "GET" && response.status === 404) return null;
        assert.ok(response.ok, `${method} ${path}: ${received}`);
        return received && textual(received);
      };
      for (let at = 0; at < plants.length; at += 1000) await api("POST", "/plants:batch", { plants: plants.slice(at, at + 1000) });
      const open = (query = "", mine = token) => visit(`${service.address}/${query}#token=${mine}`);
      return Object.assign(service, { api, open });
    };

    // create creates a token.
    const create = async (scope, name = "tested") => {
      const { stdout, stderr } = await run(program, ["token", "create", "--store", store, "--name", name, "--scope", scope]);
      return { value: stdout.trim(), stderr };
    };
    try {
      await tested({ context, create, folder, start, store, visit });
      assert.deepEqual(wrong.flat(), [], "what is wrong with the page");
    } catch (error) {
      for (const [i, page] of context.pages().entries()) {
        console.error(`${name}: ${page.url()}\n${await page.locator("body").innerText().catch(String)}`.slice(0, 1500));
        if (pictures) await page.screenshot({ path: `${pictures}/failed-${i}-${name}.png` }).catch(() => {});
      }
      console.error(wrong.flat().join("\n"));
      throw error;
    } finally {
      await context.close();
      for (const service of services) service.kill("SIGKILL");
      await Promise.all(services.map(({ ended }) => ended));
      await rm(folder, { recursive: true });
    }
  });
}

// edit opens a plant and changes a field.
async function edit(page, id, field, value) {
  if (!(await isShown(page, "#panel"))) await page.locator("#plant-id").evaluate((it) => (it.value = "")); // not that of last time
  await row(page, id).locator("a").click();
  await until(() => page.locator("#plant-id").inputValue(), id);
  await page.locator(field).fill(value);
}

// pick chooses a suggested tag, for which Chromium sends one event that is no InputEvent.
const pick = (page, tag) => page.locator("#tag").evaluate((it, value) => {
  it.value = value;
  it.dispatchEvent(new Event("input", { bubbles: true }));
}, tag);

// save saves what is in the panel, and waits for what the page says then.
async function save(page, wanted = "Saved.") {
  await page.locator("#panel-note").evaluate((it) => (it.textContent = "")); // not that of last time
  await page.locator("#save").click();
  await until(() => text(page, "#panel-note"), wanted);
}

// keyboard returns what presses keys, and what presses Tab until something has the focus, which must be visible.
function keyboard(page) {
  const press = (...keys) => keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
  const tab = async (to) => {
    for (let i = 0; (await focused(page)) !== to; i++) {
      assert.ok(i < 20, `Tab does not reach ${to}`);
      await press("Tab");
      const { tag, style } = await page.evaluate(() => {
        const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
        return { tag: document.activeElement.outerHTML.slice(0, 60), style: `${outlineStyle} ${outlineWidth}` };
      });
      assert.match(style, /^solid [2-9]px$/, `the focus is not visible on ${tag}`);
    }
  };
  return { press, tab };
}

// hold stops the requests to an address, and returns a function that lets them go on.
async function hold(page, url) {
  let release;
  const released = new Promise((resolve) => (release = resolve));
  const held = [];
  await page.route(url, async (route) => {
    held.push(route.request());
    await released;
    await route.continue();
  });
  return { held, release };
}

// leave clicks a button that changes plant 101, and opens plant 102 before the response comes.
async function leave(page, button) {
  const { held, release } = await hold(page, /\/plants\/101$/);
  await page.locator(button).click();
  await until(() => held.length, 1);
  await row(page, "102").locator("a").click();
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(await page.locator("#plant-id").inputValue(), "101", "the panel keeps its plant until then");
  release();
}

// change changes some members of a plant.
const change = (api, id, members) => api("PATCH", `/plants/${id}`, members, { "Content-Type": "application/merge-patch+json" });

// meanwhile does something again and again, until the function that it returns is called and has waited for the last time.
function meanwhile(every, act) {
  let isOver = false;
  const acting = (async () => {
    for (let i = 0; !isOver; i++) {
      await act(i);
      await new Promise((resolve) => setTimeout(resolve, every));
    }
  })();
  acting.catch(() => {}); // of a test that has failed before; the one that waits for the last time gets the error
  return () => ((isOver = true), acting);
}

// counter counts the responses with plants from now on.
function counter(page) {
  let n = 0;
  page.on("response", (it) => it.url().includes("/plants?") && n++);
  return () => n;
}

async function drop(page, content, name = "plants.csv") {
  const dataTransfer = await page.evaluateHandle(([bytes, called]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([new Uint8Array(bytes)], called, { type: "text/csv" }));
    return transfer;
  }, [[...Buffer.from(content)], name]);
  await page.dispatchEvent("main", "dragover", { dataTransfer });
  assert.ok(await page.evaluate(() => document.body.classList.contains("dropping")), "a file over the page");
  await page.dispatchEvent("main", "drop", { dataTransfer });
}
const imported = (page) => page.locator("#import-rows tr").evaluateAll((all) =>
  Object.fromEntries(all.map(({ cells, dataset }) => [cells[0].textContent, dataset.state])));

const browser = await launch();
after(stop);

const providerPort = await freePort();
const provider = `http://127.0.0.1:${providerPort}`;
const fonts = "https://fonts.googleapis.com"; // the pages of the provider ask for one

describe("the page", { concurrency: 2 }, () => {
  check("the link that the program prints shows the plants, and its token goes nowhere else", {}, async ({ start, visit }) => {
    const requests = [];
    const to = { saw: ({ url, headers }) => requests.push({ url, headers }) };
    const below = await proxy("/a/store", to);
    const service = await start(["--print-token", "--base-url", below], species);
    to.address = service.address;
    const line = await until(() => service.lines.find((it) => it.startsWith("See the plants")), Boolean);
    const [, link, secret] = /(http\S*#token=(pst_\w+))$/.exec(line);
    assert.equal(link, `${service.address}/#token=${secret}`);

    // So that the page is not the first in the history. A file without an icon of its own makes Chromium ask
    // for /favicon.ico, which is not there.
    const shown = await visit(`${below}/docs`);
    const requestsHeld = await hold(shown, /\/plants\?/);
    await shown.goto(`${below}/#token=${secret}`);
    await until(() => requestsHeld.held.length, (n) => n > 0);
    assert.equal(shown.url(), `${below}/`, "the address before the first response");
    requestsHeld.release();
    await until(async () => (await rows(shown)).length, (n) => n > 50);
    assert.equal(await text(shown, "#count"), "457 plants");
    await until(() => state(shown), "live");

    await shown.locator("#search").fill("ficus ly");
    await until(() => ids(shown), ["101"]);
    await row(shown, "101").locator("a").click();
    await until(() => shown.locator("#plant-name").inputValue(), "Ficus lyrata");
    assert.equal(shown.url(), `${below}/?q=ficus+ly&plant=101`);
    await shown.reload();
    await until(() => shown.locator("#plant-name").inputValue(), "Ficus lyrata", "after a reload");

    const stored = await shown.evaluate(() => ({ session: Object.values(sessionStorage), local: localStorage.length, cookies: document.cookie }));
    assert.deepEqual(stored, { session: [secret], local: 0, cookies: "" });
    for (const { url, headers: { authorization = "", ...others } } of requests) {
      assert.ok(!(url + JSON.stringify(others)).includes(secret.slice(4)), `the token is in a request for ${url}`);
      assert.ok(!("referer" in others), `a request for ${url} has a Referer`);
      assert.ok(["", `Bearer ${secret}`].includes(authorization));
    }
    assert.ok(!(await shown.content()).includes(secret), "the token is in the document");
    await shown.goBack(); // closes nothing that has the token
    await shown.waitForURL((url) => !url.href.includes("plant=101"));
    assert.ok(!shown.url().includes(secret));
  });

  check("without a token there is a field", { statuses: [401] }, async ({ start, visit, context }) => {
    const { address } = await start([], species);
    const page = await visit(`${address}/?q=Ficus`);
    await until(() => focused(page), "token");
    assert.match(await text(page, "#token-form"), /Ask the person who runs this service for a token/);
    assert.equal(await isShown(page, "#operator p"), false, "commands are for the operator");
    assert.equal(await isShown(page, "#sign-in"), false, "there is no provider");
    assert.equal(await isShown(page, "#store"), false);
    await look(page, "token");
    await page.locator("#operator summary").click();
    assert.match(await text(page, "#operator"), /plantstore token create/);
    assert.equal(await text(page, "#token-message"), "", "a complaint before there is a token");
    await page.locator("#token").fill("pst_wrong");
    await page.keyboard.press("Enter");
    await until(() => text(page, "#token-message"), (it) => /token/.test(it));
    assert.equal(await page.locator("#token").inputValue(), "pst_wrong", "what was typed stays, to be corrected");
    await page.locator("#token").fill(token);
    await page.keyboard.press("Enter");
    await until(() => text(page, "#count"), figs, "the search stays");
    assert.equal(await focused(page), "search", "where a person continues");
    await page.reload();
    await until(() => text(page, "#count"), figs, "after a reload");
    const other = await visit(address);
    await until(() => isShown(other, "#token-form"), true, "another tab");
    await page.locator("#account summary").click();
    await page.locator("#forget").click();
    await until(() => isShown(page, "#token-form"), true);
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
    assert.equal(context.pages().length, 2);
  });

  check("a token can be remembered, and Sign out forgets it in every tab", {}, async ({ create, start, visit }) => {
    const { address, open } = await start([], species);
    const { value } = await create("read,write");
    const stored = (page) => page.evaluate(() => [...Object.values(sessionStorage), "|", ...Object.values(localStorage)].join(""));
    const one = await open("", value);
    await until(() => text(one, "#account-name"), "tested");
    assert.equal(await stored(one), `${value}|`, "off by default");
    await one.locator("#account summary").click();
    const day = new Date(Date.now() + 90 * 24 * 3600_000).toLocaleDateString("en", { dateStyle: "long" });
    assert.equal(await text(one, "#account-expires"), `The token expires on ${day}.`);
    await look(one, "account");
    await one.locator("#remembered").check();
    assert.equal(await stored(one), `|${value}`);
    const two = await visit(address);
    await until(() => text(two, "#count"), "457 plants", "another tab has the token, too");
    await one.locator("#forget").click();
    for (const page of [one, two]) await until(() => isShown(page, "#token-form"), true, "both have signed out");
    assert.equal(await text(two, "#token-message"), "You have signed out in another tab.");
    assert.equal(await stored(two), "|");
    await two.locator("#token").fill(value);
    await two.locator("#remember").check();
    await two.keyboard.press("Enter");
    await until(() => text(two, "#count"), "457 plants");
    assert.equal(await stored(two), `|${value}`);
    const three = await visit(address);
    await until(() => text(three, "#account-name"), "tested");
    await two.locator("#account summary").click();
    await two.locator("#remembered").uncheck();
    await until(() => isShown(three, "#token-form"), true, "a tab that has lost its token asks for one");
    assert.equal(await isShown(two, "#store"), true);
  });

  check("a link with a token signs nobody out", { statuses: [401] }, async ({ create, start, visit }) => {
    const { address } = await start([], species);
    const [flora, otto] = [await create("read,write", "Flora"), await create("read", "Otto")].map(({ value }) => value);
    const stored = (page) => page.evaluate(() => [...Object.values(sessionStorage), "|", ...Object.values(localStorage)].join(""));
    const bad = ["x", "", "ü€", "pst_wrong", `${otto.slice(0, -1)}_`];
    const fragment = (value) => `#token=${encodeURIComponent(value)}`;

    // Nobody is signed in: a bad token is not kept.
    for (const value of bad) {
      const page = await visit(`${address}/${fragment(value)}`);
      await until(() => text(page, "#token-message"), (it) => it.startsWith("The token of the link was not taken: "), value);
      assert.deepEqual([await stored(page), page.url()], ["|", `${address}/`]);
      await page.close();
    }

    // Somebody is, in two tabs. The link comes in one of them, or in a third one.
    const one = await visit(`${address}/${fragment(flora)}`);
    await until(() => text(one, "#account-name"), "Flora");
    await one.locator("#account summary").click();
    await one.locator("#remembered").check();
    await one.keyboard.press("Escape");
    const two = await visit(`${address}/?q=Ficus`);
    await until(() => text(two, "#account-name"), "Flora");
    const isFlora = async (page) => {
      await until(() => text(page, "#account-name"), "Flora");
      await until(async () => (await rows(page)).length, (n) => n > 2);
      assert.deepEqual([await isShown(page, "#token-form"), await stored(page)], [false, `|${flora}`]);
    };
    for (const value of bad) {
      for (const page of [one, await visit(`${address}/${fragment(value)}`)]) {
        if (page === one) await page.evaluate((to) => (location.hash = to), fragment(value));
        await until(() => text(page, "#message"), (it) => it.startsWith("The token of the link was not taken: "), value);
        assert.equal(page.url(), `${address}/`);
        for (const it of [page, one, two]) await isFlora(it);
        if (page !== one) await page.close();
      }
    }
    await one.evaluate((to) => (location.hash = to), fragment(flora));
    await until(() => one.url(), `${address}/`);
    await isFlora(one);
    assert.equal(await isShown(one, "#other"), false, "a question about the token that is used");

    const three = await visit(`${address}/?q=Ficus${fragment(otto)}`);
    for (const stay of [() => three.locator("#other-stay").click(), () => three.keyboard.press("Escape")]) {
      await until(() => text(three, "#other-text"), "You are signed in as “Flora”. This link is for “Otto”: what you change would be logged as theirs.");
      await look(three, "other-token");
      await stay();
      for (const it of [one, two, three]) await isFlora(it);
      assert.equal(three.url(), `${address}/?q=Ficus`);
      await three.evaluate((to) => (location.hash = to), fragment(otto));
    }
    await three.locator("#other-take").click();
    await until(() => text(three, "#account-name"), "Otto");
    assert.equal(await stored(three), `${otto}|`);
    await until(() => text(three, "#count"), figs, "the search stays");
    assert.equal(await isShown(three, "#new"), false, "Otto only reads");
    for (const it of [one, two]) await until(() => isShown(it, "#token-form"), true, "the other tabs have lost their token");

    await one.evaluate((to) => (location.hash = to), fragment(flora));
    await until(() => text(one, "#account-name"), "Flora", "nobody is asked who is not signed in");
  });

  check("a person signs in at an identity provider", { others: [provider, fonts], statuses: [401, 404, 503] }, async ({ context, start, visit }) => {
    await context.route(`${fonts}/**`, (route) => route.fulfill({ contentType: "text/css", body: "" }));
    const oidc = ["--oidc-issuer", provider, "--oidc-audience", "https://plants.example.com", "--oidc-client-id", "page"];
    const { address, api } = await start(oidc, species);
    const child = spawn("node", [new URL("../oidc/provider.mjs", import.meta.url).pathname, String(providerPort), `${address}/`], { stdio: ["ignore", "pipe", "inherit"] });
    try {
      await new Promise((resolve) => child.stdout.once("data", resolve));
      await until(async () => (await (await fetch(address)).text()).includes("data-client"), true, "the service asks again for the provider");
      const page = await visit(`${address}/?q=Ficus`);
      await until(() => focused(page), "sign-in");
      assert.match((await page.request.get(`${address}/`)).headers()["content-security-policy"], new RegExp(`connect-src 'self' ${provider};`));
      await look(page, "sign-in");
      const tokens = [];
      page.on("request", (it) => it.url() === `${provider}/token` && it.method() === "POST" && tokens.push(new URLSearchParams(it.postData())));
      await page.locator("#sign-in").click();
      await page.locator("input[name=login]").fill("Flora");
      await page.locator("input[name=password]").fill("anything");
      await page.locator("button[type=submit]").click();
      await page.locator("button[type=submit]").click(); // consents
      await until(() => text(page, "#count"), figs, "the search stays");
      assert.equal(page.url(), `${address}/?q=Ficus`, "nothing of the provider stays in the address");
      assert.equal(await focused(page), "search", "where a person continues");
      assert.equal(tokens[0].get("grant_type"), "authorization_code");
      assert.ok(tokens[0].get("code_verifier").length >= 43);
      assert.equal(await page.evaluate(() => JSON.stringify([sessionStorage, localStorage]).includes("ey")), false, "tokens are in memory only");
      await until(() => isShown(page, "#new"), true, "the scope write");
      await edit(page, "101", "#plant-tag", "signed");
      await save(page);
      assert.equal((await api("GET", "/plants/101")).tag, "signed");

      await until(() => tokens.length, (n) => n > 1, "a refresh");
      assert.equal(tokens[1].get("grant_type"), "refresh_token");
      await page.locator("#plant-tag").fill("refreshed");
      await save(page);

      // A laptop has slept: the service refuses the token, and the provider responds at the second time.
      const expire = () => page.route(`${address}/plants/101`, (route) =>
        route.continue({ headers: { ...route.request().headers(), authorization: "Bearer expired" } }), { times: 1 });
      await expire();
      await page.route(`${provider}/token`, (route) => route.fulfill({ status: 503, json: {} }), { times: 1 });
      await page.locator("#plant-tag").fill("slept");
      await page.locator("#save").click();
      await until(() => text(page, "#panel-note"), (it) => it.includes("The identity provider does not answer"));
      await expire();
      await save(page);
      assert.equal((await api("GET", "/plants/101")).tag, "slept", "nothing that was typed is lost");

      await page.reload(); // the provider knows the person
      await until(() => text(page, "#count"), figs, "after a reload");
      await page.evaluate((value) => (location.hash = `token=${value}`), token);
      await until(() => text(page, "#other-text"), (it) => it.startsWith("You are signed in with your account. This link is for “"));
      await page.locator("#other-stay").click();
      await until(() => text(page, "#account-name"), "Signed in", "a link with a token signs nobody out");
      const renewal = await hold(page, `${provider}/token`);
      await until(() => renewal.held.length, 1, "a refresh");
      await page.locator("#account summary").click();
      await page.locator("#forget").click();
      await until(() => isShown(page, "#token-form"), true);
      const renewed = page.waitForResponse(`${provider}/token`);
      renewal.release();
      await (await renewed).finished();
      await page.evaluate(() => (location.hash = "again"));
      await new Promise((resolve) => setTimeout(resolve, 300));
      assert.equal(await isShown(page, "#token-form"), true, "a refresh that ends after signing out");
      await page.reload();
      await until(() => focused(page), "sign-in", "it stays signed out");
      await page.goto(`${address}/?code=stolen&state=forged`);
      await until(() => focused(page), "sign-in", "a code that nobody asked for");
      assert.equal(context.pages().length, 1);
    } finally {
      child.kill();
    }
  });

  check("the table is in the order of names, and finds plants", {}, async ({ start }) => {
    const { address, api, open } = await start([], species);
    const page = await open();
    const wanted = (await api("GET", "/plants?order=name&limit=60")).map(({ name }) => name);
    await until(async () => (await rows(page)).slice(0, 60).map(([, name]) => name), wanted);
    assert.deepEqual(wanted.slice(0, 4), ["Abies alba", "Abies nordmanniana", "Acacia dealbata", "Acer campestre"]);
    assert.equal(await text(page, "#count"), "457 plants");
    assert.deepEqual(await page.locator("#plants thead th").allTextContents(), ["Id", "Name", "Tag", "Changed"]);
    assert.equal(await text(page, "#note"), "", "a note in a store with an order of names");
    await look(page, "table");

    await page.locator("#search").pressSequentially("fICUS", { delay: 10 });
    await until(async () => (await rows(page)).map(([, name]) => name), ficus.map(({ name }) => name));
    await until(() => text(page, "#count"), figs);
    await until(() => page.url(), `${address}/?q=fICUS`);

    await page.locator("#tag").pressSequentially("aster");
    await until(() => page.locator("#tag-options option").evaluateAll((all) => all.map(({ value }) => value)), ["Asteraceae"], "suggestions");
    await until(() => text(page, "#empty-text"), "No plant has “fICUS” in its name and has a tag that begins with “Aster”. Only the beginning of tags is searched, and upper and lower case count.");
    await page.locator("#search").fill("");
    const asters = species.filter(({ tag }) => tag === "Asteraceae");
    await until(() => ids(page), asters.map(({ id }) => id), "the plants with half a tag, in the order of tags");
    assert.equal(page.url(), `${address}/?tag_prefix=Aster`);
    assert.equal(await page.locator("#tag").inputValue(), "aster", "what is typed stays");
    await page.locator("#tag").fill("Asteraceae");
    await until(() => page.url(), `${address}/?tag_prefix=Asteraceae`, "typed letters are a beginning");
    await pick(page, "Asteraceae");
    await until(() => page.url(), `${address}/?tag=Asteraceae`);
    await until(() => ids(page), asters.map(({ id }) => id), "in the order of ids");
    await until(() => text(page, "#count"), `${asters.length} plants`);

    await page.goto(`${address}/?q=fICUS`);
    await pick(page, "Moraceae");
    await until(() => page.url(), `${address}/?q=fICUS&tag=Moraceae`);
    const figTrees = ficus.filter(({ tag }) => tag === "Moraceae").map(({ name }) => name);
    await until(async () => (await rows(page)).map(([, name]) => name), figTrees, "a part of the name together with a tag");
    assert.ok(figTrees.length < ficus.length);
    await page.goBack();
    await until(async () => (await ids(page)).length, ficus.length, "after the back button");
    assert.equal(await page.locator("#search").inputValue(), "fICUS");
    await page.reload();
    await until(async () => (await ids(page)).length, ficus.length, "after a reload");

    await page.locator("#search").fill("LYRATA fic");
    await until(() => text(page, "#count"), "1 plant");
    assert.deepEqual((await rows(page)).map(([, name]) => name), ["Ficus lyrata"], "parts of the name in any order");
    await page.locator("#search").fill("Zz y");
    await until(() => text(page, "#empty-text"), "No plant has “Zz” and “y” in its name.");
    await until(() => text(page, "#count"), "0 plants");
    await look(page, "none");

    await page.goto(`${address}/`);
    const bars = await until(() => page.locator("#tag-bars li").evaluateAll((all) =>
      all.map((it) => [it.querySelector("a").dataset.tag, it.querySelector(".amount").textContent])), (it) => it.length === 10);
    for (const [tag, amount] of bars) assert.equal(amount, String(species.filter((it) => it.tag === tag).length), tag);
    assert.equal(await text(page, "#tags-title"), "The first ten tags, by name", "the picture says what it shows");
    const [common, amount] = bars.find(([, it]) => it !== "1");
    await page.locator(`#tag-bars a[data-tag="${common}"]`).click();
    await until(() => text(page, "#count"), `${amount} plants`);
    assert.equal(await page.locator("nav a").evaluate((a) => a.href), `${address}/docs`);
  });

  check("half a tag finds all that begin with it, also if it is a tag itself", {}, async ({ start }) => {
    const tags = ["bed-1", "bed-12", "bed-13", "bed-17", "bed-2"];
    const { address, open } = await start([], tags.map((tag, i) => ({ id: String(9 - i), name: `Rosa ${i}`, tag })));
    const page = await open();
    await until(() => text(page, "#count"), "5 plants");
    assert.equal(await page.locator("#tag").getAttribute("placeholder"), "Tag begins with");
    await page.locator("#tag").pressSequentially("bed-1", { delay: 20 });
    await until(() => ids(page), ["9", "8", "7", "6"], "the exact tag first");
    assert.equal(page.url(), `${address}/?tag_prefix=bed-1`);
    await page.locator("#search").fill("3 ros");
    await until(() => ids(page), ["6"]);
    await page.locator("#search").fill("");
    await until(async () => (await ids(page)).length, 4);
    await page.locator("#tag").fill("");
    await until(async () => (await ids(page)).length, 5);
    await page.locator("#tag").pressSequentially("bed");
    await until(() => page.locator("#tag-options option").count(), 5);
    await pick(page, "bed-1");
    await until(() => ids(page), ["9"], "the suggestion that was chosen");
    assert.equal(page.url(), `${address}/?tag=bed-1`);
  });

  check("a hundred thousand plants are like a hundred", {}, async ({ start }) => {
    const plants = Array.from({ length: 100_001 }, (_, i) => ({ id: String(i + 1), name: `Plant ${String(i).padStart(6, "0")}` }));
    const { open } = await start([], plants);
    const page = await open();
    await until(() => text(page, "#count"), "more than 100,000 plants");
    const seen = new Map();
    let most = 0;
    const collect = async () => {
      const now = await page.locator("#plants tr[data-id]").evaluateAll((all) => all.map((it) => [it.ariaRowIndex, it.dataset.id]));
      most = Math.max(most, now.length);
      for (const [index, id] of now) seen.set(Number(index), id);
    };
    // The table has loaded what the window shows when its lowest point is a row.
    const arrived = () => until(() => page.evaluate(() =>
      Boolean(document.elementFromPoint(300, innerHeight - 60)?.closest("tr[data-id]"))), true, "the lowest row in the window");
    while (seen.size < 2000) {
      await arrived();
      await collect();
      await page.mouse.move(300, 600);
      const before = await page.evaluate(() => scrollY);
      await page.mouse.wheel(0, 1600);
      await until(() => page.evaluate(() => scrollY), (y) => y > before);
    }
    const wanted = plants.slice(0, seen.size).map(({ id }, i) => [i + 2, id]);
    assert.deepEqual([...seen].sort(([a], [b]) => a - b), wanted, "every row, in order");
    assert.ok(most <= 500, `${most} rows in the document`);
    await page.keyboard.press("Home");
    await until(async () => {
      await page.evaluate(() => scrollTo(0, 0)); // again, if the wheel or the key still moves the page
      return (await ids(page))[0];
    }, "1", "back at the top");
    await page.evaluate(() => scrollTo(0, 1000 * 44));
    await arrived();
    await until(() => ids(page), (it) => it.length <= 500);
    let empty = 0;
    page.on("response", async (it) => { if (/\/plants\?.*q=/.test(it.url()) && (await it.text()).trim() === "[]") empty++; });
    await page.locator("#search").fill("100000 plant");
    await until(() => ids(page), ["100001"], "the last name of all");
    await until(() => text(page, "#count"), "1 plant");
    await until(() => empty, (n) => n > 0, "pages that end before the service has found the plant");
  });

  check("no click is lost while others change the store", {}, async ({ start }) => {
    const { api, open } = await start([], species);
    const page = await open();
    await until(async () => (await rows(page)).length, (n) => n > 50);
    await until(() => state(page), "live");
    const places = await page.locator("#plants tr[data-id]").evaluateAll((all) =>
      all.slice(0, 12).map((it) => ({ id: it.dataset.id, x: it.cells[1].getBoundingClientRect().x + 40, y: it.getBoundingClientRect().y + 20 })));
    const stop = meanwhile(1000, (i) => change(api, "506", { tag: `Changed ${i}` })); // Zelkova, far below
    const refreshes = counter(page);
    const lost = [];
    for (let i = 0; i < 360; i++) {
      const { id, x, y } = places[i % places.length];
      await page.mouse.move(x, y);
      await page.mouse.down();
      await new Promise((resolve) => setTimeout(resolve, 100));
      await page.mouse.up();
      if (await page.evaluate(() => new URLSearchParams(location.search).get("plant")) !== id) lost.push(i);
    }
    await stop();
    assert.ok(refreshes() > 20, `the page has read the plants ${refreshes()} times meanwhile`);
    assert.deepEqual(lost, [], `${lost.length} of 360 clicks are lost`);
  });

  check("a selection, a scrolled place and an open menu survive a refresh", {}, async ({ start }) => {
    const { api, open } = await start([], species);
    const page = await open();
    await until(async () => (await rows(page)).length, (n) => n > 50);
    await until(() => state(page), "live");
    await until(() => page.locator("#tag-bars li").count(), 10);
    const shown = (await ids(page))[3];
    const stop = meanwhile(200, (i) => change(api, "506", { tag: `Changed ${i}` }));
    const refreshes = counter(page);
    const refreshed = (n) => until(refreshes, (now) => now >= n, "refreshes");
    const selected = () => page.evaluate(() => getSelection().toString());
    const select = (of) => page.locator(of).evaluate((it) => (getSelection().selectAllChildren(it), getSelection().toString()));

    for (const of of [`#plants tr[data-id="${shown}"] th`, "#count"]) {
      const before = await select(of);
      assert.notEqual(before, "");
      await refreshed(refreshes() + 3);
      assert.equal(await selected(), before, `the selection in ${of}`);
    }
    const name = await select(`#plants tr[data-id="${shown}"] bdi >> nth=0`);
    await change(api, shown, { tag: "Other" });
    await row(page, shown).filter({ hasText: "Other" }).waitFor();
    await refreshed(refreshes() + 3);
    assert.equal(await selected(), name, "the name, while the tag of its plant changes");

    await page.keyboard.press("/");
    await page.keyboard.press("ArrowDown");
    assert.notEqual(await page.evaluate(() => document.activeElement.closest("tr")), null);
    await page.mouse.move(300, 600);
    await page.mouse.wheel(0, 1200);
    await until(() => page.evaluate(() => scrollY), 1200);
    await refreshed(refreshes() + 4);
    assert.equal(await page.evaluate(() => scrollY), 1200, "the scrolled place");
    await page.evaluate(() => scrollTo(0, 0));

    await page.locator("#account summary").click();
    await page.locator("#separator").focus();
    await refreshed(refreshes() + 4);
    assert.equal(await page.locator("#account").evaluate((it) => it.open), true, "the menu is open");
    assert.equal(await focused(page), "separator");
    await stop();
  });

  check("the page shows what others change", {}, async ({ start }) => {
    const { api, open } = await start([], species);
    const page = await open("?q=Ficus");
    await page.waitForRequest(/\/changes:stream\?after=/);
    await until(async () => (await ids(page)).length, ficus.length);
    await until(() => state(page), "live");
    assert.equal(await text(page, "#live"), "live");
    await api("PUT", "/plants/101", { name: "Ficus lyrata", tag: "Fig" });
    await row(page, "101").and(page.locator(".marked")).filter({ hasText: "Fig" }).waitFor();
    assert.equal(await page.locator("#plants tr.marked").count(), 1);
    await api("POST", "/plants", { id: "5000", name: "Ficus aaa" });
    await until(async () => (await ids(page))[0], "5000", "a new plant has its place");
    await until(() => text(page, "#count"), `${ficus.length + 1} plants`);
    assert.ok(await row(page, "5000").and(page.locator(".marked")).count(), "a new plant is marked");
    await api("PUT", "/plants/5000", { name: "Zz ficus" });
    await until(async () => (await ids(page)).at(-1), "5000", "a renamed plant moves");
    await api("DELETE", "/plants/102");
    await row(page, "102").waitFor({ state: "detached" });
    await api("PUT", "/plants/5000", { name: "Not a fig" });
    await row(page, "5000").waitFor({ state: "detached" });
    await api("POST", "/plants", { id: "5001", name: "Elsewhere" });
    await until(() => text(page, "#count"), `${ficus.length - 1} plants`);
    await until(() => text(page, "#changes-line"), (it) => /^6 changes since \d\d:\d\d$/.test(it));
    assert.ok(!(await ids(page)).includes("5001"), "a plant that the search does not find");

    await row(page, "101").locator("a").click();
    await until(() => page.locator("#plant-name").inputValue(), "Ficus lyrata");
    await api("PUT", "/plants/101", { name: "Ficus lyrata Warb." });
    await until(() => page.locator("#plant-name").inputValue(), "Ficus lyrata Warb.");
    assert.equal(await text(page, "#panel-note"), "Someone has just changed this plant.");
    await api("DELETE", "/plants/101");
    await until(() => text(page, "#panel-note"), "Someone has deleted this plant.");
  });

  check("a plant is edited", { statuses: [400, 404] }, async ({ start }) => {
    const { address, api, open } = await start([], species);
    const page = await open("?q=Ficus");
    await edit(page, "101", "#plant-name", "Ficus lyrata Warb.");
    assert.equal(page.url(), `${address}/?q=Ficus&plant=101`);
    await look(page, "plant");
    const patch = page.waitForRequest((it) => it.method() === "PATCH");
    await page.locator("#save").click();
    assert.match((await patch).headers()["if-match"], /^"\w+"$/);
    await until(() => text(page, "#panel-note"), "Saved.");
    await until(async () => (await rows(page)).find(([id]) => id === "101"), ["101", "Ficus lyrata Warb.", "Moraceae"]);
    assert.equal((await api("GET", "/plants/101")).name, "Ficus lyrata Warb.");
    await page.locator("#plant-tag").fill("");
    await save(page);
    assert.equal((await api("GET", "/plants/101")).tag, undefined, "no tag");

    await page.locator("#plant-tag").fill("late");
    await leave(page, "#save");
    await until(() => page.locator("#plant-id").inputValue(), "102");
    assert.equal((await api("GET", "/plants/101")).tag, "late");

    const reads = await hold(page, /\/plants\/101$/);
    await row(page, "101").locator("a").click();
    await until(() => reads.held.length, 1);
    await page.locator("#plant-name").focus();
    assert.notEqual(await focused(page), "plant-name", "nobody edits a plant while the next one is read");
    reads.release();
    await edit(page, "101", "#plant-name", "x".repeat(1001));
    await save(page, (it) => /name.*1,?000/.test(it));
    assert.equal(await focused(page), "plant-name", "the field that is wrong has the focus");
    assert.ok(await page.locator("#panel-note.wrong").count(), "a failure looks like one");
    await look(page, "wrong");
    await page.locator("#panel-close").click();
    await page.locator("#leave-drop").click();
    await until(() => isShown(page, "#panel"), false);
    assert.equal(await focused(page), "101");
    await page.goBack();
    await until(() => isShown(page, "#panel"), true, "the back button opens it again");
    await page.goto(`${address}/?plant=99404`);
    await until(() => text(page, "#panel-note"), (it) => /plant/.test(it), "a plant that does not exist");
    await look(page, "missing");
  });

  check("edits are never lost", {}, async ({ start }) => {
    const { address, api, open } = await start([], species);
    const page = await open("?q=Ficus");
    const asked = (what) => until(() => isShown(page, "#leave"), true, `the page asks: ${what}`);
    const stays = async (what) => {
      await asked(what);
      await page.locator("#leave-stay").click();
      await until(() => isShown(page, "#leave"), false);
      assert.equal(page.url(), `${address}/?q=Ficus&plant=101`, what);
      assert.equal(await page.locator("#plant-name").inputValue(), "Half written", what);
      assert.equal(await page.locator("#search").inputValue(), "Ficus", what);
    };
    await edit(page, "101", "#plant-name", "Half written");
    for (const [what, step] of Object.entries({
      "another row": () => row(page, "102").locator("a").click(),
      "Back": () => page.evaluate(() => history.back()),
      "the close button": () => page.locator("#panel-close").click(),
      "Escape": () => page.keyboard.press("Escape"),
      "New": () => page.locator("#new").click(),
      "Import": () => page.locator("#import").click(),
      "Sign out": async () => {
        if (!(await isShown(page, "#forget"))) await page.locator("#account summary").click();
        await page.locator("#forget").click();
      },
    })) {
      await step();
      await stays(what);
    }
    for (const search of ["Ficus elas", "Ficus"]) { // which takes nothing from the panel
      await page.locator("#search").fill(search);
      await until(() => page.url(), `${address}/?q=${search.replace(" ", "+")}&plant=101`);
      assert.equal(await page.locator("#plant-name").inputValue(), "Half written", search);
    }
    await row(page, "102").locator("a").click();
    await asked();
    assert.equal(await text(page, "#leave-text"), "Your changes to “Ficus lyrata” are not saved yet.");
    await look(page, "leave");
    await page.keyboard.press("Escape");
    await until(() => isShown(page, "#leave"), false, "Escape keeps editing");
    assert.equal(await page.locator("#plant-name").inputValue(), "Half written");

    for (const [what, step] of Object.entries({
      "a closed tab": () => page.close({ runBeforeUnload: true }),
      "a reload": () => page.evaluate(() => void setTimeout(() => location.reload())),
    })) {
      const asks = page.waitForEvent("dialog");
      await step();
      const dialog = await asks;
      assert.equal(dialog.type(), "beforeunload", what);
      await dialog.dismiss();
      assert.equal(await page.locator("#plant-name").inputValue(), "Half written", what);
    }

    await row(page, "102").locator("a").click();
    await asked();
    await page.locator("#leave-save").click();
    await until(() => page.locator("#plant-id").inputValue(), "102");
    assert.equal((await api("GET", "/plants/101")).name, "Half written", "Save saves, and goes on");
    await page.locator("#plant-name").fill("Dropped");
    await page.evaluate(() => history.back());
    await asked();
    await page.locator("#leave-drop").click();
    await until(() => page.locator("#plant-id").inputValue(), "101");
    assert.equal(page.url(), `${address}/?q=Ficus&plant=101`, "Discard goes on");
    assert.equal((await api("GET", "/plants/102")).name, "Ficus elastica");
    await page.reload(); // nobody asks when nothing is edited
    await until(() => page.locator("#plant-id").inputValue(), "101");
  });

  check("what is typed in the search goes nowhere else, whatever the panel has", {}, async ({ start }) => {
    const { api, open } = await start([], species);
    const page = await open();
    await until(() => isShown(page, "#new"), true);
    await row(page, species.find(({ name }) => name === "Abies alba").id).locator("a").click();
    await until(() => page.locator("#plant-name").inputValue(), "Abies alba");
    const type = async (field, letters) => {
      await page.locator(field).fill("");
      await page.locator(field).click();
      await page.keyboard.type(letters, { delay: 30 });
      await new Promise((resolve) => setTimeout(resolve, 500));
      assert.equal(await page.locator(field).inputValue(), letters);
      assert.equal(await focused(page), field.slice(1), "the focus stays");
      assert.equal(await isShown(page, "#leave"), false, "no question amid a word");
      await until(() => page.evaluate(() => scrollY), 0);
    };
    for (const field of ["#search", "#tag"]) {
      await type(field, "n an nn");
      await page.locator(field).fill("");
      assert.equal(await page.locator("#plant-name").inputValue(), "Abies alba", "the panel stays");
    }
    await page.locator("#plant-name").fill("Half written");
    await type("#search", "picea n");
    assert.equal(await page.locator("#plant-name").inputValue(), "Half written");
    await page.locator("#plant-name").fill("Abies alba");
    await page.locator("#search").fill("");
    await page.locator("#new").click();
    await until(() => focused(page), "plant-name");
    await page.keyboard.type("Another");
    await type("#tag", "pin nn");
    assert.equal(await page.locator("#plant-name").inputValue(), "Another");
    await page.locator("#tag").fill("");

    // The panel saves, or closes, while a search is typed.
    const { held, release } = await hold(page, /\/plants\/\d+$/);
    await page.locator("#save").click();
    await until(() => held.length, 1);
    await page.locator("#search").click();
    await page.keyboard.type("f");
    release();
    for (let i = 0; i < 10; i++) await page.keyboard.type("n ", { delay: 20 });
    await until(() => text(page, "#panel-note"), "Created.");
    assert.equal(await page.locator("#search").inputValue(), `f${"n ".repeat(10)}`, "no letter is lost");
    await page.locator("#search").fill("");
    await page.locator("#search").press("Escape");
    await until(() => isShown(page, "#panel"), false);
    assert.equal(await focused(page), "search");
    assert.equal((await api("GET", "/plants:count")).count, species.length + 1, "nothing else is created");
  });

  check("what is typed while a change is being saved stays", {}, async ({ start }) => {
    const { address, api, open } = await start([], species);
    const page = await open("?q=Ficus");
    for (const [at, begin, member, url] of [
      ["101", () => edit(page, "101", "#plant-name", "First"), "name", `${address}/?q=Ficus&plant=101`],
      ["9001", async () => {
        await page.locator("#new").click();
        await until(() => page.locator("#plant-id").inputValue(), Boolean);
        await page.locator("#plant-id").fill("9001");
        await page.locator("#plant-name").fill("First");
      }, "name", `${address}/?q=Ficus&plant=9001`],
    ]) {
      await until(() => isShown(page, "#new"), true);
      await begin();
      const { held, release } = await hold(page, new RegExp(`/plants/${at}$`));
      await page.locator("#save").click();
      await until(() => held.length, 1);
      await page.locator("#plant-name").fill("First and second");
      release();
      await until(() => text(page, "#panel-note"), (it) => /^(Saved|Created)\.$/.test(it));
      assert.equal((await api("GET", `/plants/${at}`))[member], "First");
      await until(() => page.url(), url);
      assert.equal(await page.locator("#plant-name").inputValue(), "First and second");
      assert.equal(await isShown(page, "#leave"), false);
      await save(page);
      assert.equal((await api("GET", `/plants/${at}`))[member], "First and second");
    }
  });

  check("a conflict keeps what each of two people has changed", { statuses: [412] }, async ({ start }) => {
    const { api, open } = await start([], species);
    const page = await open("?q=Ficus");
    await edit(page, "101", "#plant-name", "Ficus mine");
    await until(() => state(page), "live");
    await api("PUT", "/plants/101", { name: "Ficus lyrata", tag: "their tag" });
    await until(() => text(page, "#panel-note"), (it) => it.includes("you see both versions"));
    await page.locator("#save").click();
    await until(() => isShown(page, "#conflict"), true);
    assert.deepEqual([await isShown(page, "#name-differs"), await isShown(page, "#tag-differs")], [true, true]);
    assert.equal(await text(page, "#conflict-means"), "Keep mine stores your name, with their tag.");
    const patch = page.waitForRequest((it) => it.method() === "PATCH");
    await page.locator("#keep-mine").click();
    assert.deepEqual(JSON.parse((await patch).postData()), { name: "Ficus mine" }, "only what the person has changed");
    await until(() => text(page, "#panel-note"), "Saved.");
    assert.equal(await focused(page), "panel-title");
    const { name, tag } = await api("GET", "/plants/101");
    assert.deepEqual([name, tag], ["Ficus mine", "their tag"]);
    await page.locator("#plant-name").fill("Ficus other");
    await api("PUT", "/plants/101", { name: "Ficus theirs", tag: "their tag" });
    await until(() => text(page, "#panel-note"), (it) => it.includes("you see both versions"));
    await page.locator("#save").click();
    await until(() => isShown(page, "#conflict"), true);
    assert.deepEqual([await isShown(page, "#name-differs"), await isShown(page, "#tag-differs")], [true, false]);
    await look(page, "conflict-one");
  });

  check("two tabs edit the same plant", { statuses: [404, 412] }, async ({ start, context }) => {
    const { api, open } = await start([], species);
    const [one, two] = [await open("?q=Ficus"), await open("?q=Ficus")];
    const conflict = async (mine, theirs, send = () => two.locator("#save").click()) => {
      await edit(two, "101", "#plant-name", mine);
      await edit(one, "101", "#plant-name", theirs);
      await one.locator("#save").click();
      await until(() => text(one, "#panel-note"), "Saved.");
      await until(() => text(two, "#panel-note"), (it) => it.includes("you see both versions"));
      assert.equal(await two.locator("#plant-name").inputValue(), mine, "what is not saved");
      await send();
      await until(() => isShown(two, "#conflict"), true);
      assert.deepEqual(await Promise.all(["#mine-name", "#theirs-name", "#mine-tag", "#theirs-tag"].map((it) => text(two, it))),
        [mine, theirs, "Moraceae", "Moraceae"]);
      assert.equal((await api("GET", "/plants/101")).name, theirs, "nothing is overwritten");
    };
    await conflict("mine", "theirs");
    await look(two, "conflict");
    await two.locator("#keep-mine").click();
    await until(() => text(two, "#panel-note"), "Saved.");
    assert.equal((await api("GET", "/plants/101")).name, "mine");
    await until(() => one.locator("#plant-name").inputValue(), "mine", "the other tab sees it");
    await one.goto("about:blank");
    await one.goBack();
    await two.goBack();
    await until(() => isShown(two, "#panel"), false);
    await api("PUT", "/plants/101", { name: "Ficus", tag: "Moraceae" });
    for (const page of [one, two]) {
      await until(async () => (await rows(page)).find(([id]) => id === "101")?.[1], "Ficus");
      await until(() => state(page), "live");
    }
    await conflict("my second", "their second", () => leave(two, "#save"));
    assert.equal(new URL(two.url()).searchParams.get("plant"), "101", "a change that fails keeps its plant");
    await two.locator("#take-theirs").click();
    await until(() => two.locator("#plant-name").inputValue(), "their second");
    assert.equal((await api("GET", "/plants/101")).name, "their second");

    await two.locator("#plant-name").fill("my third");
    await api("DELETE", "/plants/101");
    await until(() => text(two, "#panel-note"), "Someone has deleted this plant.");
    await two.locator("#save").click();
    await until(() => text(two, "#panel-note"), (it) => it.startsWith("Someone has deleted this plant. Save"));
    await two.locator("#save").click();
    await until(async () => (await api("GET", "/plants/101"))?.name, "my third");
    assert.equal(context.pages().length, 2);
  });

  check("a plant is deleted, and is back", { statuses: [412] }, async ({ start }) => {
    const { api, open } = await start([], species);
    const page = await open("?q=Ficus");
    await page.clock.install();
    const remove = async () => {
      await edit(page, "101", "#plant-tag", "Moraceae");
      await page.locator("#delete").click();
      assert.equal(await text(page, "#confirm-text"), "Delete “Ficus lyrata”?");
    };
    await remove();
    await look(page, "confirm");
    await page.locator("#confirm-keep").click();
    assert.ok(await api("GET", "/plants/101"), "it is kept");
    await page.locator("#delete").click();
    await page.locator("#confirm-delete").click();
    await until(() => focused(page), "undo");
    assert.equal(await api("GET", "/plants/101"), null);
    await row(page, "101").waitFor({ state: "detached" });
    if (pictures) await page.screenshot({ path: `${pictures}/page-undo-light.png` });
    await page.locator("#undo").click();
    await until(() => text(page, "#toast-text"), "“Ficus lyrata” is back.");
    await look(page, "deleted"); // later, because the toast ends after twenty seconds
    assert.equal((await api("GET", "/plants/101")).tag, "Moraceae");
    await row(page, "101").waitFor();

    await remove();
    await api("PUT", "/plants/101", { name: "Ficus lyrata", tag: "newer" });
    await until(() => text(page, "#plants tr[data-id='101']"), (it) => it.includes("newer"));
    await leave(page, "#confirm-delete");
    await until(() => text(page, "#panel-note"), (it) => it.startsWith("Not deleted: someone has just changed it"));
    assert.equal((await api("GET", "/plants/101")).tag, "newer");
    await page.locator("#delete").click();
    await leave(page, "#confirm-delete");
    await until(() => isShown(page, "#undo"), true);
    await until(() => page.locator("#plant-id").inputValue(), "102");
    await page.clock.fastForward(15_000);
    assert.equal(await isShown(page, "#undo"), true, "after fifteen seconds");
    await page.clock.fastForward(5_000);
    await until(() => isShown(page, "#toast"), false, "after twenty seconds");
  });

  check("a plant is created", { statuses: [412] }, async ({ start }) => {
    const { address, api, open } = await start([], species);
    const page = await open();
    await page.locator("#new").click();
    await until(() => focused(page), "plant-name");
    const largest = Math.max(...species.map(({ id }) => Number(id)));
    const proposed = await until(() => page.locator("#plant-id").inputValue(), String(largest + 1));
    await look(page, "new");
    await page.locator("#plant-name").fill("Aaa");
    for (const wrong of ["", "1.5", "abc", "9223372036854775808", "-9223372036854775809", "007"]) {
      await page.locator("#plant-id").fill(wrong);
      await page.locator("#save").click();
      assert.match(await text(page, "#panel-note"), /id (must be a whole number|is out of range)/, wrong);
    }
    await page.locator("#plant-id").fill("101");
    await page.locator("#save").click();
    await until(() => text(page, "#panel-note"), "The id is taken: choose another one.");
    assert.equal(await focused(page), "plant-id");
    assert.equal((await api("GET", "/plants/101")).name, "Ficus lyrata");
    await page.locator("#plant-id").fill(proposed);
    const put = page.waitForRequest((it) => it.method() === "PUT");
    await page.locator("#save").click();
    assert.equal((await put).headers()["if-none-match"], "*");
    await until(() => text(page, "#panel-note"), "Created.");
    assert.equal((await api("GET", `/plants/${proposed}`)).name, "Aaa");
    await until(async () => (await ids(page))[0], proposed);
    assert.equal(page.url(), `${address}/?plant=${proposed}`);
    await until(() => text(page, "#count"), "458 plants");

    await page.locator("#new").click();
    await until(() => page.locator("#plant-id").inputValue(), String(largest + 2));
    await page.locator("#plant-name").fill("Aab");
    await api("PUT", `/plants/${largest + 2}`, { name: "Someone was faster" });
    await save(page, "Created.");
    await page.locator("#new").click();
    await page.reload();
    await until(() => page.locator("#plant-id").inputValue(), String(largest + 4));
    await until(() => page.locator("#plant-name").evaluate((it) => it.readOnly), false, "the address of a new plant");
    assert.equal((await api("GET", `/plants/${largest + 3}`)).name, "Aab", "the next id, if somebody has taken the one that was proposed");
  });

  check("a plant without a name is asked for once", {}, async ({ start }) => {
    const { api, open } = await start([], species);
    const page = await open("?q=Ficus");
    await page.locator("#new").click();
    await until(() => page.locator("#plant-id").inputValue(), (it) => it !== "");
    await page.locator("#plant-id").fill("7000");
    await page.locator("#plant-name").fill(" ");
    await page.locator("#save").click();
    await until(() => text(page, "#nameless-text"), "Save this plant without a name?");
    assert.equal(await focused(page), "nameless-stay");
    await look(page, "nameless-plant");
    await page.keyboard.press("Escape");
    await until(() => focused(page), "plant-name");
    assert.equal(await api("GET", "/plants/7000"), null, "nothing is stored before the choice");
    await page.locator("#plant-name").fill("");
    await page.locator("#save").click();
    await page.locator("#nameless-save").click();
    await until(() => text(page, "#panel-note"), "Created.");
    assert.equal((await api("GET", "/plants/7000")).name, "");
    await page.locator("#plant-tag").fill("nameless");
    await save(page);
    assert.equal((await api("GET", "/plants/7000")).tag, "nameless", "a change of another field asks nothing");
    await edit(page, "101", "#plant-name", "");
    await page.locator("#save").click();
    await page.locator("#nameless-stay").click();
    await until(() => focused(page), "plant-name");
    assert.equal((await api("GET", "/plants/101")).name, "Ficus lyrata");
  });

  check("the panel says who changed what, and brings a state back", { statuses: [404] }, async ({ create, start }) => {
    const { api, open } = await start([], [{ id: "1", name: "Ficus", tag: "fig" }]);
    const ann = await create("read,write", "Ann");
    await api("PUT", "/plants/1", { name: "Ficus lyrata" }, { Authorization: `Bearer ${ann.value}` });
    const page = await open("?plant=1", ann.value);
    const first = "Ann changed the name from “Ficus” to “Ficus lyrata” and removed the tag “fig”, ";
    await until(() => text(page, "#past-changes"), (it) => it.startsWith(first));
    await look(page, "the last changes");
    const bring = () => page.locator("#past-changes button").allTextContents();
    assert.deepEqual(await bring(), ["Bring back “Ficus” with the tag “fig”"]);
    const patch = page.waitForRequest((it) => it.method() === "PATCH");
    await page.locator("#past-changes button").click();
    assert.match((await patch).headers()["if-match"], /^"[0-9a-v]+"$/);
    await until(() => text(page, "#panel-note"), "Brought back.");
    assert.equal(await focused(page), "panel-title");
    const back = await api("GET", "/plants/1");
    assert.deepEqual([back.name, back.tag, back.changed_by], ["Ficus", "fig", "Ann"]);
    await until(() => page.locator("#past-changes li").count(), 2);
    assert.deepEqual(await bring(), ["Bring back “Ficus lyrata” without a tag"]);
    const long = "Paeonia lactiflora ‘Snow Queen’ of the long bed, ";
    await api("PUT", "/plants/1", { name: `${long}No. 1587`, tag: "fig" });
    await api("PUT", "/plants/1", { name: `${long}No. 1588`, tag: "fig" });
    const cut = (it) => it.includes("changed the name from “…bed, No. 1587” to “…bed, No. 1588”, ");
    await until(() => text(page, "#past-changes"), cut, "what differs is seen");
    assert.equal((await bring())[0], "Bring back “…bed, No. 1587”");
    await api("PUT", "/plants/1", { name: "Ficus", tag: "fig" });
    await until(async () => (await bring()).length, 3);

    await api("DELETE", "/plants/1");
    const rights = await hold(page, /\/token$/);
    await page.reload();
    await until(() => text(page, "#past-changes"), (it) => it.startsWith("static deleted “Ficus”, "));
    assert.equal(await page.locator("#past-changes button", { hasText: "Bring" }).count(), 0, "before the page knows that the token may write");
    rights.release();
    await page.locator("#past-changes button").first().click();
    await until(() => text(page, "#panel-note"), "Brought back.");
    assert.equal((await api("GET", "/plants/1")).name, "Ficus");
    await until(() => text(page, "#past-changes"), (it) => it.startsWith("static deleted “Ficus” (it was brought back later), "));

    for (let i = 1; i <= 60; i++) await api("PUT", "/plants/1", { name: `Ficus ${i}` });
    const lines = () => page.locator("#past-changes li").allTextContents();
    await until(async () => (await lines())[0], (it) => it.startsWith("static changed the name from “Ficus 59” to “Ficus 60”, "));
    const further = page.locator("#past-changes").getByText("Show earlier changes");
    await look(page, "earlier changes");
    await further.click();
    await until(async () => (await lines()).length, 56, "five lines, 50 earlier ones, and the button");
    assert.match((await lines())[5], /from “Ficus 54” to “Ficus 55”, .*Bring back “Ficus 54”$/);
    assert.match(await page.evaluate(() => document.activeElement.textContent), /from “Ficus 54”/, "the focus goes on with them");
    await further.click();
    await until(async () => (await lines()).at(-1), (it) => it.startsWith("Ann changed the name from “Ficus” to “Ficus lyrata”"));
    assert.equal(await further.count(), 0);
  });

  check("the table is sorted by each column, and says so", {}, async ({ start }) => {
    const { address, api, open } = await start([], species);
    const page = await open();
    const sorts = () => page.locator("#plants thead th").evaluateAll((all) => all.map((it) => it.ariaSort));
    const click = (head) => page.locator("#plants thead button", { hasText: head }).click();
    const first = (n) => ids(page).then((all) => all.slice(0, n));
    const wanted = async (query) => (await api("GET", `/plants?limit=5&${query}`)).map(({ id }) => id);
    await until(() => first(5), await wanted("order=name"));
    assert.deepEqual(await sorts(), ["none", "ascending", "none", "none"]);
    await click("Name");
    await until(() => first(5), await wanted("order=name_desc"));
    assert.deepEqual(await sorts(), ["none", "descending", "none", "none"]);
    assert.equal(page.url(), `${address}/?order=name_desc`);
    await click("Id");
    await until(() => first(5), await wanted("order=id"));
    await click("Id");
    await until(() => first(5), await wanted("order=id_desc"));
    for (const order of ["tag", "tag_desc"]) {
      await click("Tag");
      await until(() => first(5), await wanted(`order=${order}`));
    }
    assert.deepEqual(await sorts(), ["none", "none", "descending", "none"]);
    await click("Changed");
    await until(() => first(5), await wanted("order=updated"));
    assert.deepEqual(await sorts(), ["none", "none", "none", "descending"]);
    await click("Changed");
    await until(() => first(5), await wanted("order=updated_asc"));
    await click("Changed");
    await until(() => state(page), "live");
    await api("PUT", "/plants/101", { name: "Ficus lyrata", tag: "just now" });
    await until(() => first(1), ["101"], "what has just changed comes first");
    await page.reload();
    await until(() => first(1), ["101"], "after a reload");
    await page.locator("#search").fill("Ficus");
    await until(async () => (await ids(page)).length, ficus.length);
    await until(() => first(1), ["101"], "a search in the order of changes");
    await click("Id");
    await until(() => ids(page), ficus.map(({ id }) => id).sort((a, b) => a - b), "a search in the order of ids");
    await page.locator("#search").press("Enter");
    assert.equal(await focused(page), (await ids(page))[0], "Enter goes to the first plant");
    await page.locator("#search").fill("");
    await page.goto(`${address}/?tag=Moraceae&order=id_desc`);
    await until(() => first(5), await wanted("tag=Moraceae&order=id_desc"));
    assert.equal(await isShown(page, "#order"), false, "the heads of the table are enough");
    await page.setViewportSize({ width: 390, height: 844 });
    await page.locator("#order").selectOption("Changed, oldest first");
    await until(() => first(5), await wanted("tag=Moraceae&order=updated_asc"), "on a phone");
    assert.equal(page.url(), `${address}/?tag=Moraceae&order=updated_asc`);
    assert.equal(await page.locator("#plants time").first().isVisible(), true, "by what they are sorted");
    const [needed, given] = await page.locator("#plants td:has(time)").first().evaluate((it) => [it.scrollWidth, it.clientWidth]);
    assert.ok(needed <= given, `the time is not cut: ${needed} in ${given}`);
    await look(page, "sorted");
    await page.locator("#order").selectOption("Name, A to Z");
    await until(() => first(5), await wanted("tag=Moraceae&order=name"));
    assert.equal(await page.locator("#plants time").first().isVisible(), false);
    await page.setViewportSize(desk.viewport);
    const { x, y, width, height } = await page.locator("#plants th", { hasText: "Changed" }).boundingBox();
    await page.mouse.click(x + width - 16, y + height - 4);
    await until(() => first(5), await wanted("tag=Moraceae&order=updated"), "the whole title is a button");
  });

  check("several plants get a tag, and are deleted, and both can be taken back", { statuses: [412, 500] }, async ({ start }) => {
    const { api, open } = await start([], species);
    const page = await open("?q=Ficus");
    await until(async () => (await ids(page)).length, ficus.length);
    await until(() => isShown(page, "#new"), true);
    await until(() => state(page), "live");
    const all = await ids(page);
    const box = (id) => row(page, id).locator("input");
    assert.equal(await isShown(page, "#bulk"), false);
    await box(all[0]).click();
    await until(() => text(page, "#bulk-text"), "1 plant selected");
    await box(all[2]).click({ modifiers: ["Shift"] });
    await until(() => text(page, "#bulk-text"), "3 plants selected");
    assert.equal(await isShown(page, "#panel"), false, "a box opens no plant");
    await look(page, "selected");
    await page.locator("#bulk-tag").fill("Figs");
    await page.keyboard.press("Enter");
    await until(() => text(page, "#toast-text"), "Tagged “Figs”: 3 plants.");
    const tags = () => Promise.all(all.slice(0, 3).map(async (id) => (await api("GET", `/plants/${id}`))?.tag));
    assert.deepEqual(await tags(), ["Figs", "Figs", "Figs"]);
    await page.locator("#undo").click();
    await until(() => text(page, "#toast-text"), "3 plants of 3 are as before.");
    assert.deepEqual(await tags(), ["Moraceae", "Moraceae", "Moraceae"]);

    await box(all[0]).click();
    await box(all[1]).click();
    await page.locator("#bulk-delete").click();
    await until(() => text(page, "#toast-text"), "Deleted 2 plants.");
    await row(page, all[1]).waitFor({ state: "detached" });
    assert.equal(await api("GET", `/plants/${all[0]}`), null);
    await page.locator("#undo").click();
    await until(() => text(page, "#toast-text"), "2 plants of 2 are as before.");
    assert.equal((await api("GET", `/plants/${all[0]}`)).tag, "Moraceae");
    await row(page, all[0]).waitFor();

    for (const id of all.slice(0, 6)) await box(id).click();
    const [tag, remove] = await Promise.all(["Set tag", "Delete selected"].map((name) => page.getByRole("button", { name }).boundingBox()));
    assert.ok(remove.x - tag.x - tag.width > 24, "a click beside Set tag deletes nothing");
    await page.locator("#bulk-delete").click();
    await until(() => focused(page), "many-keep");
    await look(page, "many");
    await page.keyboard.press("Enter");
    await until(() => isShown(page, "#many"), false);
    assert.ok(await api("GET", `/plants/${all[0]}`), "more than five plants are deleted after a question only");
    await page.locator("#bulk-delete").click();
    await page.locator("#many-delete").click();
    await until(() => text(page, "#toast-text"), "Deleted 6 plants.");
    await page.locator("#undo").click();
    await until(() => text(page, "#toast-text"), "6 plants of 6 are as before.");
    await row(page, all[3]).waitFor();

    await box(all[3]).click();
    const route = await hold(page, new RegExp(`/plants/${all[3]}$`));
    await page.locator("#bulk-delete").click();
    await until(() => route.held.length, 1);
    await api("PUT", `/plants/${all[3]}`, { name: "Ficus changed" });
    route.release();
    const called = (id) => `“${species.find((it) => it.id === id).name}”`;
    await until(() => text(page, "#toast-text"), `Deleted 0 plants. 1 plant stays as it is, ${called(all[3])}: changed or deleted by someone else meanwhile.`);
    assert.equal((await api("GET", `/plants/${all[3]}`)).name, "Ficus changed");

    await page.route(new RegExp(`/plants/${all[4]}$`), (it) => it.fulfill({ status: 500, json: { error: 50000, message: "the disk is full" } }));
    await box(all[4]).click();
    await page.locator("#bulk-delete").click();
    await until(() => text(page, "#toast-text"), `Deleted 0 plants. 1 plant stays as it is, ${called(all[4])}: the disk is full`);
    await box(all[4]).click();
    assert.equal(await isShown(page, "#bulk"), true);
    await page.locator("#account summary").click();
    await page.locator("#forget").click();
    await until(() => isShown(page, "#token-form"), true);
    for (const of of ["#bulk", "#toast"]) assert.equal(await isShown(page, of), false, `${of} without a token`);
  });

  check("twenty plants are added in a row", {}, async ({ start }) => {
    const { api, open } = await start([], species);
    const page = await open();
    await until(() => isShown(page, "#new"), true);
    await page.locator("#new").click();
    await until(() => focused(page), "plant-name");
    await page.locator("#plant-tag").fill("Rosaceae");
    await page.locator("#plant-name").focus();
    const largest = Math.max(...species.map(({ id }) => Number(id)));
    for (let i = 1; i <= 20; i++) {
      await page.keyboard.type(`Rosa ${i}`);
      await page.keyboard.press("Enter");
      await until(() => text(page, "#panel-note"), `Created “Rosa ${i}”, with the id ${largest + i}.`);
      await until(() => page.locator("#plant-name").inputValue(), "");
    }
    const stored = await api("GET", "/plants?name_prefix=Rosa%20&limit=100");
    for (let i = 1; i <= 20; i++) assert.equal(stored.find(({ name }) => name === `Rosa ${i}`)?.tag, "Rosaceae", `Rosa ${i}`);
    await look(page, "next");
    await page.keyboard.type("The last one");
    await page.locator("#save").click();
    await until(() => text(page, "#panel-note"), "Created.");
    assert.equal(await page.locator("#panel").getAttribute("data-mode"), "edit", "Create stays at the plant");
    assert.equal(await isShown(page, "#save-next"), false);
  });

  // late has a page wait for each plant that it stores, and for what it reads of the plants meanwhile.
  const late = (page, wait) => page.route(/\/plants(\/\d+|\?order=id_desc.*)$/, async (route) => {
    await new Promise((resolve) => setTimeout(resolve, wait));
    await route.continue();
  });

  for (const wait of [150, 400, 1000]) {
    check(`five names typed without a pause are five plants: ${wait} ms`, {}, async ({ start }) => {
      const { api, open } = await start([], species);
      const page = await open();
      await until(() => isShown(page, "#new"), true);
      await page.locator("#new").click();
      await until(() => page.locator("#plant-id").inputValue(), Boolean);
      await page.locator("#plant-tag").fill("Rosaceae");
      await page.locator("#plant-name").focus();
      await late(page, wait);
      const names = ["Rosa alba", "Rosa rugosa", "Rosa gallica", "Rosa", "Rosa canina"];
      for (const name of names) await page.keyboard.type(`${name}\n`, { delay: 40 });
      await page.keyboard.type("Half", { delay: 40 });
      await until(() => text(page, "#panel-note"), (it) => it.startsWith("Created “Rosa canina”, with the id "));
      const largest = Math.max(...species.map(({ id }) => Number(id)));
      const stored = (await api("GET", `/plants?limit=100&after=${largest}`)).map(({ name, tag }) => `${name}, ${tag}`);
      assert.deepEqual(stored, names.map((name) => `${name}, Rosaceae`));
      assert.deepEqual([await page.locator("#plant-name").inputValue(), await focused(page)], ["Half", "plant-name"]);
      await until(() => page.locator("#plant-id").inputValue(), String(largest + 6));
      await page.locator("#done summary").click();
      await page.locator("#done-list button").last().click();
      await until(() => text(page, "#done-list"), (it) => it.includes("“Rosa alba” is deleted again."));
      assert.equal(await page.locator("#plant-name").inputValue(), "Half");
    });
  }

  check("a plant of a row that is not stored is not lost, and is not the next one", { statuses: [400, 412, 500] }, async ({ start }) => {
    const { api, open } = await start([], species);
    const page = await open();
    await until(() => isShown(page, "#new"), true);
    await page.locator("#new").click();
    const largest = Math.max(...species.map(({ id }) => Number(id)));
    await until(() => page.locator("#plant-id").inputValue(), String(largest + 1));
    await page.locator("#plant-tag").fill("Rosaceae");
    let isStored = false; // a plant whose response is lost
    await page.route(/\/plants\/\d+$/, async (route) => {
      if (isStored) await route.fetch();
      await new Promise((resolve) => setTimeout(resolve, 200));
      await route.fulfill({ status: 500, json: { error: 50000, message: "it is out of order" } });
    });
    await page.locator("#plant-name").focus();
    const said = (wanted) => until(() => text(page, "#panel-note"), wanted);
    const fields = () => Promise.all(["#plant-name", "#plant-tag", "#plant-id"].map((it) => page.locator(it).inputValue()));

    // Nothing is typed meanwhile: the fields are as they were.
    isStored = true;
    await page.keyboard.type("Rosa alba\n");
    assert.equal((await fields())[0], "", "the name makes room for the next one at once");
    await said("Not created: “Rosa alba”. it is out of order");
    assert.deepEqual(await fields(), ["Rosa alba", "Rosaceae", String(largest + 1)]);
    await look(page, "not created");
    await page.unrouteAll({ behavior: "wait" });
    await page.keyboard.press("Enter");
    await said(`Created “Rosa alba”, with the id ${largest + 1}.`);
    assert.equal((await api("GET", "/plants?name_prefix=Rosa%20alba")).length, 1, "the response was lost, not the plant");

    // Something is: it stays, and so does the name that was sent, and the focus.
    await page.locator("#plant-name").fill("x".repeat(1001));
    await late(page, 300);
    await page.keyboard.type("\nRosa nova", { delay: 10 });
    await said((it) => /^Not created: “x{40}…”\. The name .*1,?000/.test(it));
    assert.deepEqual([(await fields())[0], await focused(page)], ["Rosa nova", "plant-name"]);
    await page.keyboard.press("Enter");
    await said((it) => /^Not created: “x{40}…”\. Created “Rosa nova”, with the id \d+\.$/.test(it));

    // An id that a person has chosen is taken.
    await until(() => page.locator("#plant-id").inputValue(), Boolean);
    await page.locator("#plant-id").fill("101");
    await page.locator("#plant-name").fill("Rosa of an id");
    await page.locator("#plant-name").press("Enter");
    await said((it) => it.endsWith("“Rosa of an id”. The id is taken: choose another one."));
    assert.deepEqual(await fields(), ["Rosa of an id", "Rosaceae", "101"]);
    await page.locator("#plant-id").fill("100000");
    await page.locator("#plant-name").press("Enter");
    await said((it) => it.endsWith("Created “Rosa of an id”, with the id 100000."));

    // An id that was only proposed is taken meanwhile.
    await until(() => page.locator("#plant-id").inputValue(), "100001");
    await api("PUT", "/plants/100001", { name: "Someone was faster" });
    await page.keyboard.type("Rosa of the next id\n");
    await said((it) => it.endsWith("Created “Rosa of the next id”, with the id 100002."));

    // A person who leaves sees the plant that was opened, and what was typed stays.
    await page.keyboard.type("Rosa last\nRosa typed");
    await row(page, species.find(({ name }) => name === "Abies alba").id).locator("a").click();
    await until(async () => (await api("GET", "/plants?name_prefix=Rosa%20last")).length, 1);
    await until(async () => (await fields())[0], "Rosa typed");
    await until(() => new URL(page.url()).search, "?plant=new");
  });

  for (const [what, options] of Object.entries({ desk, phone })) {
    check(`all that are found are selected: ${what}`, { options, statuses: [404, 412] }, async ({ start }) => {
      const many = Array.from({ length: 220 }, (_, i) => ({ id: String(10_000 + i), name: `Acer ${String(i).padStart(3, "0")}` }));
      const { api, open } = await start([], [...species, ...many]);
      const page = await open("?q=Acer%20");
      const found = 220 + species.filter(({ name }) => name.startsWith("Acer ")).length;
      await until(() => text(page, "#count"), `${found} plants`);
      await until(() => isShown(page, "#new"), true);
      await page.locator("#select-all").click();
      await until(() => text(page, "#bulk-text"), `${found} plants selected`);
      await look(page, `all-${what}`);
      const widths = () => page.locator("#plants").evaluate((it) => [it.offsetWidth, it.querySelector("tr[data-id]").offsetWidth]);
      assert.equal(...(await widths()), "the rows are as wide as the table");
      await api("PUT", "/plants/10210", { name: "Acer 210", tag: "theirs" }); // not in the table
      await api("DELETE", "/plants/10211");
      await page.locator("#bulk-tag").fill("mine");
      const { held, release } = await hold(page, /\/plants\/\d+$/);
      await page.locator("#bulk button").first().click();
      await until(() => held.length, 4);
      assert.equal(await text(page, "#bulk-text"), `0 of ${found} plants …`, "a sign of work at once");
      assert.equal(await page.locator("#bulk-delete").evaluate((it) => getComputedStyle(it).cursor), "progress");
      release();
      await page.unrouteAll({ behavior: "wait" });
      await until(() => text(page, "#toast-text"), (it) => it.startsWith("Tagged"));
      const said = await text(page, "#toast-text");
      assert.match(said, new RegExp(`^Tagged “mine”: ${found - 2} plants. 2 plants stay as they are, “Acer 21[01]”, “Acer 21[10]”: changed or deleted by someone else meanwhile.$`));
      assert.equal((await api("GET", "/plants/10210")).tag, "theirs");
      assert.equal((await api("GET", "/plants:count?tag=mine")).count, found - 2);
      assert.equal(await page.locator("#select-all").isChecked(), false);
      await page.locator("#done summary").click();
      const { x, width } = await page.locator("#done > div").boundingBox();
      assert.ok(x >= 0 && x + width <= options.viewport.width, `the list is from ${x} to ${x + width}`);
      await look(page, `done-${what}`);
      await page.locator("#done-list button").click();
      await until(() => text(page, "#done-list"), `${found - 2} plants of ${found - 2} are as before.`);
      assert.equal((await api("GET", "/plants:count?tag=mine")).count, 0);

      await page.keyboard.press("Escape");
      await page.locator("#plants tr[data-id] input").first().click();
      await until(() => text(page, "#bulk-text"), "1 plant selected");
      assert.equal(await page.locator("#select-all").evaluate((it) => it.indeterminate), true);
      await page.locator("#select-all").click();
      await until(() => text(page, "#bulk-text"), `${found - 1} plants selected`);
      await page.locator("#select-all").click();
      await until(() => isShown(page, "#bulk"), false);
    });
  }

  check("how many are selected and how many are found do not contradict each other", {}, async ({ start }) => {
    const many = Array.from({ length: 150 }, (_, i) => ({ id: String(i + 1), name: `Acer ${i}` }));
    const { api, open } = await start([], many);
    const page = await open();
    await until(() => isShown(page, "#new"), true);
    await until(() => state(page), "live");
    let isShort = true; // a search that ends early, as that of a large store
    await page.route(/plants:count/, (route) => (isShort ? route.fulfill({ json: { count: 120, more: true } }) : route.continue()));
    await page.locator("#search").fill("Acer");
    await until(() => text(page, "#count"), "at least 120 plants");
    await page.locator("#select-all").click();
    await until(() => text(page, "#bulk-text"), "150 plants selected");
    await until(() => text(page, "#count"), "150 plants", "the heading has the number that was selected");
    isShort = false;
    await api("PUT", "/plants/200", { name: "Acer of someone else" });
    await until(() => text(page, "#count"), "151 plants");
    assert.equal(await text(page, "#bulk-text"), "150 plants selected", "not all");
  });

  check("ten thousand plants are selected at most, and the page says so", {}, async ({ start }) => {
    const { open } = await start([], Array.from({ length: 10_050 }, (_, i) => ({ id: String(i + 1), name: `Acer ${i}` })));
    const page = await open();
    await until(() => isShown(page, "#new"), true);
    await page.locator("#select-all").click();
    await until(() => text(page, "#bulk-text"), "10,000 plants selected");
    assert.equal(await text(page, "#message"), "10,000 plants can be selected at once: search, or choose a tag, to select the others.");
    assert.ok((await rows(page)).length < 400, "the table has only the rows near the window");
    await page.locator("#plants td input").first().click();
    await until(() => text(page, "#bulk-text"), "9,999 plants selected");
  });

  check("what was done here is taken back for an hour", { statuses: [412] }, async ({ start }) => {
    const { api, open } = await start([], species);
    const page = await open("?q=Ficus");
    await page.clock.install();
    assert.equal(await isShown(page, "#done"), false, "before anything is done");
    await edit(page, "101", "#plant-name", "Ficus mistaken");
    await save(page);
    await edit(page, "102", "#plant-tag", "wrong");
    await save(page);
    await page.locator("#new").click();
    await until(() => page.locator("#plant-id").inputValue(), (it) => it !== "");
    await page.locator("#plant-name").fill("Ficus nova");
    await page.locator("#save").click();
    await until(() => text(page, "#panel-note"), "Created.");
    const made = await page.locator("#plant-id").inputValue();
    await page.locator("#done summary").click();
    const lines = () => page.locator("#done-list li span").allTextContents();
    assert.deepEqual(await lines(), ["Created “Ficus nova”.", "Changed “Ficus elastica”.", "Changed “Ficus mistaken”."]);
    await look(page, "done");
    const undo = (n) => page.locator("#done-list li").nth(n).locator("button").click();
    await undo(0);
    await until(async () => (await lines())[0], "“Ficus nova” is deleted again.");
    assert.equal(await api("GET", `/plants/${made}`), null);
    await until(() => isShown(page, "#panel"), false);
    await change(api, "102", { tag: "theirs" });
    await undo(1);
    await until(async () => (await lines())[1], "Someone has changed “Ficus elastica” since: it stays as it is.");
    assert.equal((await api("GET", "/plants/102")).tag, "theirs");
    await page.clock.fastForward(59 * 60_000);
    await undo(2);
    await until(async () => (await lines())[2], "“Ficus lyrata” is as before.");
    assert.equal((await api("GET", "/plants/101")).name, "Ficus lyrata");
    assert.equal(await page.locator("#done-list button").count(), 0, "each once");
    await page.clock.fastForward(61_000);
    await until(() => isShown(page, "#done"), false, "after an hour");
  });

  check("ids are text", {}, async ({ start }) => {
    const ends = ["-9223372036854775808", "9007199254740993", "9223372036854775806"];
    const { api, open } = await start([], ends.map((id, i) => ({ id, name: `n${i}` })));
    const page = await open();
    await until(() => ids(page), ends);
    for (const id of ends) {
      await edit(page, id, "#plant-tag", `tag of ${id}`);
      await save(page);
      assert.equal((await api("GET", `/plants/${id}`)).tag, `tag of ${id}`);
    }
    await page.locator("#delete").click();
    await page.locator("#confirm-delete").click();
    await page.locator("#undo").click();
    await until(async () => (await api("GET", `/plants/${ends[2]}`))?.name, "n2");
    await until(() => isShown(page, "#panel"), false);
    await page.locator("#new").click();
    await page.locator("#plant-id").fill("9223372036854775807");
    await page.locator("#plant-name").fill("the largest");
    await save(page, "Created.");
    assert.equal((await api("GET", "/plants/9223372036854775807")).name, "the largest");
    await drop(page, `id,name,tag\n${ends[0]},n0,\n9223372036854775807,the largest,\n9223372036854775805,new,\n`);
    await until(() => imported(page), { 2: "changed", 3: "equal", 4: "new" });
    await page.locator("#import-start").click();
    await until(async () => (await api("GET", "/plants/9223372036854775805"))?.name, "new");
  });

  check("any text is a name", {}, async ({ start }) => {
    const texts = ["نخلة التمر", "🌵👩🏽‍🌾", "<script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'>", "x".repeat(1000),
      "nul\0and\ttab", "  spaces  ", "&amp; \"quoted\" 'text'", "‮right to left", `"id":5, \\"id\\":6`, "two\r\nlines"];
    const plants = texts.map((name, i) => ({ id: String(i + 1), name, tag: name.slice(0, 200) }));
    const { address, api, open } = await start([], plants);
    const page = await open();
    const shown = (it) => it.replace(/[\0-\x1f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)));
    await until(async () => (await rows(page)).sort(([a], [b]) => a - b), plants.map(({ id, name, tag }) => [id, shown(name).trim(), shown(tag)]));
    await look(page, "texts");
    for (const { id, name } of plants) {
      await edit(page, id, "#plant-tag", "edited");
      assert.equal(await text(page, "#panel-title"), shown(name).trim());
      await save(page);
      const stored = await api("GET", `/plants/${id}`);
      assert.deepEqual([stored.name, stored.tag], [name, "edited"], "only the tag has changed");
    }
    await look(page, "text");
    for (const [i, name] of ["نخلة", "🌵👩🏽‍🌾", "<script>window.harmed = 1</script>", "y".repeat(1000)].entries()) {
      await page.locator("#new").click();
      await until(() => page.locator("#panel").getAttribute("data-mode"), "new");
      await page.locator("#plant-id").fill(String(100 + i));
      await page.locator("#plant-name").fill(name);
      await save(page, "Created.");
      assert.equal((await api("GET", `/plants/${100 + i}`)).name, name);
    }
    for (const prefix of ["نخل", "🌵", "<script>"]) {
      await page.goto(`${address}/?q=${encodeURIComponent(prefix)}`);
      await until(() => text(page, "#count"), "2 plants", prefix);
    }
    assert.equal(await page.evaluate(() => window.harmed), undefined);
  });

  check("a file of plants that need several pages is compared with all of them", {}, async ({ start }) => {
    const large = Array.from({ length: 120 }, (_, i) => ({ id: String(i + 1), name: "🌵".repeat(1000) })); // of 4 kB
    const { open } = await start([], large);
    const page = await open();
    await until(() => isShown(page, "#import"), true);
    await drop(page, ["id,name", ...large.map(({ id, name }) => `${id},${name}`), "121,new"].join("\n"));
    await until(() => text(page, "#import-note"), "plants.csv: 121 rows: 1 new, 120 already there.");
  });

  check("a file is looked at, and imported", { statuses: [400] }, async ({ start }) => {
    const { api, open } = await start([], species);
    const page = await open();
    await until(() => isShown(page, "#import"), true);
    const lines = [
      "id,name,tag", "101,Ficus lyrata,Moraceae", "102,Something else,", '9001,"new, ""quoted""",Neu', "9002,<script>window.harmed = 1</script>,",
      ",,neither", "9001,twice,", "9223372036854775808,too large,", '9223372036854775807,largest,""', `9003,${"x".repeat(1001)},`, "9004,too,many,fields",
      '9005,"not closed',
    ];
    await drop(page, lines.join("\r\n"));
    await until(() => imported(page), {
      2: "equal", 3: "changed", 4: "new", 5: "new", 6: "wrong", 7: "wrong", 8: "wrong", 9: "new", 10: "wrong", 11: "wrong", 12: "wrong",
    });
    assert.match(await text(page, "#import-note"), /^plants\.csv: 11 rows: 6 wrong, 1 changed, 3 new, 1 already there\.$/);
    assert.match(await text(page, "#import-rows"), /name: “Ficus elastica” → “Something else”; tag: “Moraceae” → none/);
    assert.match(await text(page, "#import-rows"), /id is missing, and so is the name[^]*line 4 has this id, too[^]*more than 1,000 characters/);
    assert.equal((await api("GET", "/plants:count")).count, 457, "nothing is stored before the import");
    await look(page, "import");
    await page.locator("#import-start").click();
    await until(() => text(page, "#import-note"), "3 new, 1 already there, 6 refused, 1 not updated.");
    assert.equal((await api("GET", "/plants/9001")).name, 'new, "quoted"');
    assert.equal((await api("GET", "/plants/9223372036854775807")).tag, "");
    assert.equal((await api("GET", "/plants/102")).name, "Ficus elastica");
    await until(() => text(page, "#count"), "460 plants");

    await drop(page, "id|name\n1|a", "other.csv");
    await until(() => text(page, "#import-note"), (it) => it.startsWith('other.csv: the column "name" is missing: the first line of a CSV file must name its columns'));
    await drop(page, "id,name\n", "none.csv");
    await until(() => text(page, "#import-note"), (it) => it.startsWith("none.csv: 0 rows"));

    const many = Array.from({ length: 10_001 }, (_, i) => (i === 1500 ? "103,taken" : `${20_000 + i},Many ${i}`));
    await page.locator("#file").setInputFiles({ name: "many.csv", mimeType: "text/csv", buffer: Buffer.from(`id,name\n${many.join("\n")}\n`) });
    await until(() => text(page, "#import-start"), "Import 10,001 plants");
    const stopped = await hold(page, /plants:batch$/);
    await page.locator("#import-start").click();
    await until(() => stopped.held.length, 1);
    assert.deepEqual(await page.locator("#import-progress").evaluate(({ value, max }) => [value, max]), [0, 10_001]);
    await look(page, "importing");
    stopped.release();
    await until(() => text(page, "#import-note"), "10,000 new, 0 already there, 1 refused.");
    assert.deepEqual(await imported(page), { 1502: "taken" });
    await until(() => text(page, "#count"), "10,460 plants");
    await page.keyboard.press("Escape");
    await until(() => isShown(page, "#import-panel"), false);
    assert.equal(await page.evaluate(() => window.harmed), undefined);
  });

  check("the files of spreadsheet programs are read, or refused with what to do", {}, async ({ start }) => {
    const { api, open } = await start([], species);
    const page = await open();
    await until(() => isShown(page, "#import"), true);
    const wide = (order, it) => Buffer.from(it, "utf16le")[order === "be" ? "swap16" : "subarray"]();
    const lines = (separator) => ["id", "name", "tag"].join(separator) + "\r\n" + ["9001", "Möhre, rot; süß", ""].map((it) => `"${it}"`).join(separator).replace(/""$/, "") + "\r\n";
    for (const [what, file] of Object.entries({
      "commas": lines(","), "semicolons": lines(";"), "tabs": lines("\t"), "UTF-8 with a mark": "\ufeff" + lines(";"),
      "the separator by name": "sep=;\r\n" + lines(";"), "another separator by name": '"SEP=|"\n' + lines("|"), "a tab by name": "sep=\t\n" + lines("\t"),
      "UTF-16LE": wide("le", "\ufeff" + lines("\t")), "UTF-16BE": wide("be", "\ufeff" + lines("\t")),
      "UTF-16LE without a mark": wide("le", lines(",")), "UTF-16BE without a mark": wide("be", lines(",")),
    })) {
      await drop(page, file, `${what}.csv`);
      await until(() => text(page, "#import-note"), `${what}.csv: 1 row: 1 new.`);
      assert.match(await text(page, "#import-rows"), /Möhre, rot; süß/, what);
    }
    for (const [name, file, wanted] of [
      ["latin.csv", Buffer.from("id;name\n1;caf\xe9", "latin1"), "latin.csv: the file is not UTF-8: in Excel, save it as “CSV UTF-8 (Comma delimited)”"],
      ["plants.xlsx", "PK\x03\x04\x14\0", "plants.xlsx: the file is a spreadsheet (.xlsx, .ods, .xls) or an archive: in Excel, save it as “CSV UTF-8 (Comma delimited)”"],
      ["empty.csv", "", "empty.csv: the file is empty: the first line of a CSV file must name its columns, as in id,name,tag"],
    ]) {
      await drop(page, file, name);
      await until(() => text(page, "#import-note"), wanted);
      assert.equal(await isShown(page, "#import-start"), false);
    }
    await look(page, "refused");
    for (const [what, row] of Object.entries({ "in a row": '9001,"a"\rb,', "before a separator": '9001,"a"\r,b' })) {
      await drop(page, `id,name,tag\n${row}\n`, "returns.csv");
      await until(() => text(page, "#import-note"), "returns.csv: 1 row: 1 wrong.");
      assert.match(await text(page, "#import-rows"), /text after a closing quote/, `a carriage return ${what}`);
    }

    await drop(page, "id;colour;name;height\n9002;red;Rosa;1\n101;green;Ficus lyrata;2\n", "garden.csv");
    await until(() => text(page, "#import-note"), 'garden.csv: unknown columns "colour", "height": the columns are id,name,tag.');
    assert.equal(await isShown(page, "#import-start"), false, "nothing is imported before the choice");
    await look(page, "columns");
    assert.equal(await text(page, "#import-ignore"), "Continue without “colour”, “height”");
    await page.locator("#import-ignore").click();
    await until(() => text(page, "#import-note"), "garden.csv: 2 rows: 1 new, 1 already there.");
    await until(() => focused(page), "import-start");
    await page.locator("#import-start").click();
    await until(() => text(page, "#import-note"), "1 new, 1 already there, 0 refused.");
    assert.equal((await api("GET", "/plants/9002")).name, "Rosa");
    assert.equal((await api("GET", "/plants/101")).tag, "Moraceae", "a column that the file does not have changes nothing");

    // Titles in another language, and the encoding of an old spreadsheet program.
    await drop(page, Buffer.from("Nr;Name;Familie\n9003;M\xf6hre;Doldenbl\xfctler\n;Petersilie;Doldenbl\xfctler\n", "latin1"), "garten.csv");
    await until(() => text(page, "#import-note"), (it) => it.startsWith("garten.csv: the file is not UTF-8: "));
    await page.locator("#import-latin").click();
    await until(() => text(page, "#import-note"), 'garten.csv, read as Windows-1252: unknown columns "nr", "familie": the columns are id,name,tag.');
    assert.deepEqual(await page.locator("#import-columns select").evaluateAll((all) => all.map(({ value }) => value)), ["", "name", ""]);
    assert.equal(await text(page, "#import-ignore"), "Continue without “Nr”, “Familie”: each row becomes a new plant");
    await look(page, "titles");
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 900 });
      for (const line of await page.locator("#import-fields .choice").all()) {
        const [label, select, all] = await Promise.all([line.locator("label"), line.locator("select"), line].map((it) => it.boundingBox()));
        assert.ok(label.height < 30 && select.x + select.width <= all.x + all.width + 1, `a title on one line, in ${width}: ${JSON.stringify([label, select, all])}`);
      }
    }
    await page.setViewportSize(desk.viewport);
    const choices = page.locator("#import-columns select").first().locator("option");
    assert.deepEqual(await choices.allTextContents(), ["leave out", "id", "name", "tag", "etag: the state when it was downloaded"]);
    await page.getByLabel("Nr").selectOption("id");
    await page.getByLabel("Familie").selectOption("name");
    await page.locator("#import-ignore").click();
    await until(() => text(page, "#import-note"), 'duplicate column "name".');
    await page.getByLabel("Familie").selectOption("tag");
    assert.equal(await text(page, "#import-ignore"), "Continue");
    await page.locator("#import-ignore").click();
    await until(() => text(page, "#import-note"), "garten.csv, read as Windows-1252: 2 rows: 2 new.");
    await page.locator("#import-start").click();
    await until(() => text(page, "#import-note"), "2 new, 0 already there, 0 refused.");
    const stored = await api("GET", "/plants?after=9002&limit=5");
    assert.deepEqual(stored.map(({ id, name, tag }) => [id, name, tag]), [["9003", "Möhre", "Doldenblütler"], ["9004", "Petersilie", "Doldenblütler"]]);
  });

  check("a download is edited as a spreadsheet and comes back, and no work is lost", { statuses: [400, 412] }, async ({ start }) => {
    const { api, open } = await start([], species);
    const page = await open("?tag=Rosaceae");
    await until(() => text(page, "#count"), (it) => /^\d+ plants$/.test(it));
    await until(() => isShown(page, "#import"), true);
    await page.locator("#separator").selectOption(";");
    const downloaded = page.waitForEvent("download");
    await page.locator("#download").click();
    const lines = (await readFile(await (await downloaded).path(), "utf8")).trim().split("\n");
    const all = lines.slice(1).map((line) => line.split(";"));
    assert.equal(all[0][3], (await api("GET", `/plants/${all[0][0]}`)).etag);

    // Six are edited in the file, and three are added. Someone else changes one of the six, and one of the others.
    const edited = all.map(([id, name, tag, etag], i) => [id, name, i < 6 ? "edited" : tag, etag]);
    const [theirs, other, late] = [all[5][0], all[7][0], all[4][0]];
    await change(api, theirs, { name: "Ficus of someone else" });
    await change(api, other, { name: "Ficus other" });
    const added = [1, 2, 3].map((n) => ["", `Ficus nova ${n}`, "new", ""]);
    const wrong = ["x", "Ficus", "", ""];
    await drop(page, [["id", "name", "tag", "etag"], ...edited, ...added, wrong].map((it) => it.join(";")).join("\r\n"));
    const equal = all.length - 7;
    await until(() => text(page, "#import-note"),
      `plants.csv: ${all.length + 4} rows: 1 wrong, 2 changed since the download, 5 changed, 3 new, ${equal} already there.`);
    assert.match(await text(page, "#import-rows"), /tag: “Rosaceae” → “edited”/);
    assert.match(await text(page, "#import-rows"), /changed since the download\. name: “Ficus of someone else” → /);
    assert.equal(await text(page, "#import-start"), "Import 3 plants, update 5");
    assert.deepEqual(await page.locator("#import-rows :checked").evaluateAll((boxes) => boxes.map((it) => it.closest("tr").dataset.state)), Array(5).fill("changed"));
    await look(page, "update");
    await page.locator(`#import-rows tr[data-state=changed] input`).first().uncheck();
    assert.equal(await text(page, "#import-start"), "Import 3 plants, update 4");

    // Someone takes the next id, and changes another of the plants, before the import comes to them.
    const largest = Math.max(...species.map(({ id }) => Number(id)));
    await api("PUT", `/plants/${largest + 1}`, { name: "Someone was faster" });
    const { held, release } = await hold(page, new RegExp(`/plants/${late}$`));
    await page.locator("#import-start").click();
    await until(() => held.length, 1);
    await change(api, late, { name: "Ficus late" });
    release();
    await until(() => text(page, "#import-note"), `3 new, 3 updated, ${equal} already there, 1 refused, 4 not updated.`);
    const stored = async (id) => (({ name, tag }) => [name, tag])(await api("GET", `/plants/${id}`));
    assert.deepEqual(await stored(theirs), ["Ficus of someone else", "Rosaceae"]);
    assert.deepEqual(await stored(other), ["Ficus other", "Rosaceae"]);
    assert.deepEqual(await stored(late), ["Ficus late", "Rosaceae"]);
    assert.deepEqual(await stored(all[0][0]), [all[0][1], "Rosaceae"], "what was not chosen");
    for (const i of [1, 2, 3]) assert.deepEqual(await stored(all[i][0]), [all[i][1], "edited"]);
    assert.equal((await api("GET", `/plants/${largest + 1}`)).name, "Someone was faster");
    assert.deepEqual(await Promise.all([2, 3, 4].map(async (n) => (await stored(largest + n))[0])), added.map(([, name]) => name), "the next ids");
    assert.match(await text(page, "#import-rows"), /changed by someone else meanwhile/);

    await page.locator("#done summary").click();
    await page.locator("#done-list button").click();
    await until(() => text(page, "#done-list"), "3 plants of 3 are as before.");
    assert.deepEqual(await stored(all[1][0]), [all[1][1], "Rosaceae"]);
  });

  for (const [what, options] of Object.entries({ desk, phone })) {
    check(`a file without versions says what an update would overwrite: ${what}`, { options, statuses: [412] }, async ({ create, start }) => {
      const name = "Paeonia lactiflora ‘Snow Queen’ of the old garden, No. 1587";
      const { api, open } = await start([], [{ id: "1", name, tag: "bed-1" }, { id: "2", name: "Rosa" }, { id: "3", name: "Acer" }]);
      const bert = { Authorization: `Bearer ${(await create("read,write", "Bert Ott")).value}` };
      await api("PUT", "/plants/1", { name: `${name}, moved`, tag: "bed-1" }, bert);
      const page = await open();
      await until(() => isShown(page, "#import"), true);
      await page.locator("#import").click();
      const choose = (lines) => page.locator("#file").setInputFiles({ name: "a.csv", mimeType: "text/csv", buffer: Buffer.from(lines.join("\n")) });
      await choose(["id,name,tag", `1,"${name}",bed-1`, "2,Rosa alba,", "3,Acer,"]);
      await until(() => text(page, "#import-note"), "a.csv: 3 rows: 2 changed, 1 already there.");
      assert.match(await text(page, "#import-unguarded"), /column etag.*overwrites also what others have changed/);
      const first = () => text(page, "#import-rows tr:first-child");
      assert.match(await first(), /bed-1.*name: “…en, No. 1587, moved” → “…en, No. 1587”\. Last changed \d{4}-\S+ \S+ by Bert Ott$/);
      await look(page, `unguarded-${what}`);

      // Someone changes a plant before the update comes to it: the row shows that, and can be chosen again.
      await page.locator("#import-rows input").first().check();
      const { held, release } = await hold(page, /\/plants\/1$/);
      await page.locator("#import-start").click();
      await until(() => held.length, 1);
      await api("PUT", "/plants/1", { name, tag: "bed-2" }, bert);
      release();
      await until(() => text(page, "#import-note"), "0 new, 1 already there, 0 refused, 2 not updated.");
      await until(first, (it) => /changed by someone else meanwhile\. tag: “bed-2” → “bed-1”\. Last changed .* by Bert Ott$/.test(it));
      assert.equal(await focused(page), "import-title");
      await page.locator("#import-rows input").first().check();
      await page.locator("#import-start").click();
      await until(() => text(page, "#import-note"), "0 new, 1 updated, 1 already there, 0 refused, 1 not updated.");
      assert.equal((await api("GET", "/plants/1")).tag, "bed-1", "the second confirmation is of what was shown");
      assert.match(await first(), /Rosa/);

      const { etag } = await api("GET", "/plants/3");
      await choose(["id,name,etag", `3,Acer rubrum,${etag}`]);
      await until(() => text(page, "#import-note"), "a.csv: 1 row: 1 changed.");
      assert.deepEqual([await isShown(page, "#import-unguarded"), /Last changed/.test(await first())], [false, false]);
    });
  }

  check("a large file of new plants shows the first of them", {}, async ({ start }) => {
    const { open } = await start();
    const page = await open();
    await until(() => isShown(page, "#import"), true);
    await drop(page, ["name,tag", ...Array.from({ length: 2000 }, (_, i) => `Acer ${i},bed-${i}`)].join("\n"));
    await until(() => text(page, "#import-note"), "plants.csv: 2,000 rows: 2,000 new.");
    assert.equal(await page.locator("#import-rows tr").count(), 20);
    assert.match(await text(page, "#import-rows tr:first-child"), /^2Acer 01 · bed-0new$/);
    await page.locator("#import-start").click();
    await until(() => text(page, "#import-note"), "2,000 new, 0 already there, 0 refused.");
    assert.equal(await focused(page), "import-title");
  });

  check("an empty store says how to begin", {}, async ({ start }) => {
    const { api, open } = await start();
    const page = await open();
    await until(() => text(page, "#empty-store"), (it) => it.includes("species.csv"));
    await until(() => text(page, "#count"), "0 plants");
    await look(page, "empty");
    assert.equal(await isShown(page, "#example"), true);
    await page.locator("#example").click();
    await until(() => text(page, "#import-note"), "457 new, 0 already there, 0 refused.");
    assert.equal((await api("GET", "/plants:count")).count, 457);
    await until(async () => (await rows(page)).length, (n) => n > 50, "the rows");
    assert.equal(await isShown(page, "#empty-store"), false);
    await until(() => text(page, "#count"), "457 plants");
    const page2 = await open("?plant=101");
    await page2.locator("#delete").click();
    await page2.locator("#confirm-delete").click();
    await row(page, "101").waitFor({ state: "detached" });
  });

  check("what is shown is downloaded", {}, async ({ start }) => {
    const texts = ["=1+1", "+1", "-1", "@a", "\tb", "＝1+1", "＋1", "－1", "＠a", "\nb", "'＝c", "''\nd", "'=c", "''d", "a,\"b\"", "two\nlines", "plain", "'single"];
    const dangerous = texts.map((name, i) => ({ id: String(7000 + i), name, tag: ["", name, undefined][i % 3] }));
    const { api, open } = await start([], [...species, ...dangerous]);
    const page = await open("?q=Ficus");
    await until(() => text(page, "#count"), figs);
    const download = async () => {
      const downloaded = page.waitForEvent("download");
      await page.locator("#download").click();
      assert.equal((await downloaded).suggestedFilename(), "plants.csv");
      const content = await readFile(await (await downloaded).path(), "utf8");
      assert.ok(content.startsWith("\ufeff"), "a byte order mark, for Excel");
      return content.slice(1);
    };
    const separate = (by) => page.locator("#separator").selectOption(by);
    await separate(";");
    assert.match(await download(), /^id;name;tag;etag\n\d+;Ficus /);
    await separate(",");
    const begins = (await download()).replace(/^((?:[^,\n]*,){2}[^,\n]*).*$/gm, "$1"); // without later columns
    assert.equal(begins, `id,name,tag\n${ficus.map(({ id, name, tag }) => `${id},${name},${tag}\n`).join("")}`);
    await page.locator("#search").fill("");
    await until(() => text(page, "#count"), "475 plants");
    const all = await download();
    assert.match(all, /^7000,'=1\+1,""(,|$)/m);
    assert.match(all, /^7001,'\+1,'\+1(,|$)/m);
    for (const field of all.matchAll(/(?:^|,)"?([=+\-@\t＝＋－＠])/gm)) assert.fail(`a cell begins with ${field[1]}: ${all.slice(field.index, field.index + 30)}`);

    for (const { id } of dangerous) await api("DELETE", `/plants/${id}`);
    await drop(page, all);
    await until(() => text(page, "#import-note"), "plants.csv: 475 rows: 18 changed since the download, 457 already there.");
    assert.match(await text(page, "#import-rows"), /deleted since the download/);
    assert.equal(await isShown(page, "#import-start"), false, "what someone has deleted is not stored again without a choice");
    await page.locator("#import-all").check();
    await page.locator("#import-start").click();
    await until(() => text(page, "#import-note"), "0 new, 18 updated, 457 already there, 0 refused.");
    for (const { id, name, tag } of dangerous) {
      const stored = await api("GET", `/plants/${id}`);
      assert.deepEqual([stored.name, stored.tag], [name, tag], "a download that is imported");
    }
  });

  check("what is found is printed, also the rows that are not in the table", {}, async ({ start }) => {
    const many = Array.from({ length: 5100 }, (_, i) => ({ id: String(10_000 + i), name: `Acer ${i}`, tag: "maple" }));
    const { open } = await start([], [...species, ...many]);
    const page = await open("?q=Ficus");
    await until(() => text(page, "#count"), figs);
    await page.evaluate(() => {
      window.print = () => (document.body.dataset.printed = String(Number(document.body.dataset.printed ?? 0) + 1)); // a dialog that no one closes
    });
    const isPrinted = (n) => until(() => page.evaluate(() => document.body.dataset.printed), String(n));
    const paper = () => page.locator("#printed-rows tr").evaluateAll((all) => all.map(({ cells }) => [cells[0], cells[1], cells[2]].map((it) => it.textContent)));
    await page.locator("#print").click();
    await isPrinted(1);
    assert.deepEqual(await paper(), ficus.map(({ id, name, tag }) => [id, name, tag]));
    assert.equal(await isShown(page, "#printed"), false, "only on paper");
    await page.emulateMedia({ media: "print" });
    assert.equal(await text(page, "#printed-title"), `${figs}, “Ficus”`);
    for (const of of ["#top", "#plants", "#new", "#print"]) assert.equal(await isShown(page, of), false, of);
    if (pictures) await page.pdf({ path: `${pictures}/page-print.pdf` });
    await page.emulateMedia({ media: "screen" });
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    assert.equal(await page.locator("#printed-rows tr").count(), 0);

    await page.locator("#search").fill("");
    await until(() => text(page, "#count"), "5,557 plants");
    await page.emulateMedia({ media: "print" });
    assert.match(await page.locator("#count").evaluate((it) => getComputedStyle(it, "::after").content), /those that were loaded\. The button Print/);
    const sheets = (await page.pdf()).toString("latin1").match(/\/Type\s*\/Page\b/g).length;
    assert.ok(sheets < 20, `${sheets} sheets, of which most are blank`);
    assert.equal(await page.locator("button:visible:not(thead button), input:visible, select:visible").count(), 0, "with the command of the browser, what is in the table, without buttons");
    await page.emulateMedia({ media: "screen" });
    await page.locator("#print").click();
    await isPrinted(2);
    assert.equal((await paper()).length, 5000);
    await until(() => text(page, "#message"), "Only the first 5,000 plants are printed: search, or choose a tag, to print fewer.");
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    await look(page, "printed");
  });

  check("a token without write sees no buttons that would fail", {}, async ({ create, start }) => {
    const { open } = await start([], species);
    const page = await open("?plant=101", (await create("read")).value);
    await until(() => page.locator("#plant-name").inputValue(), "Ficus lyrata");
    await until(() => state(page), "live");
    await until(async () => (await rows(page)).length, (n) => n > 50);
    for (const button of ["#new", "#import", "#save", "#delete"]) assert.equal(await isShown(page, button), false, button);
    for (const field of ["#plant-id", "#plant-name", "#plant-tag"]) assert.ok(await page.locator(field).evaluate((it) => it.readOnly), field);
    assert.ok(await isShown(page, "#download"));
    assert.equal(await isShown(page, "#banner"), false);
    await look(page, "read");
  });

  check("a read-only service has a banner", {}, async ({ start }) => {
    const first = await start([], species);
    first.kill("SIGTERM");
    await first.ended;
    const { open } = await start(["--read-only"]);
    const page = await open();
    await until(() => text(page, "#banner"), (it) => it.includes("read-only"));
    await until(() => text(page, "#count"), "457 plants");
    for (const button of ["#new", "#import"]) assert.equal(await isShown(page, button), false, button);
    await look(page, "read-only");
  });

  check("the service is killed and started again under the page", { isDown: true }, async ({ start }) => {
    const first = await start([], species);
    const page = await first.open("?q=Ficus");
    await until(() => state(page), "live");
    await until(async () => (await ids(page)).length, ficus.length);
    first.kill("SIGKILL");
    await first.ended;
    await until(() => state(page), "reconnecting");
    assert.equal(await text(page, "#live"), "reconnecting");
    assert.equal((await ids(page)).length, ficus.length, "the rows stay");
    await look(page, "reconnecting");
    await page.locator("#search").fill("Ficus ly");
    await until(() => text(page, "#message"), (it) => it.includes("does not answer"));
    const second = await start(["--addr", new URL(first.address).host]);
    await second.api("POST", "/plants", { id: "5000", name: "Ficus lyngbyana" });
    await until(() => state(page), "live");
    await until(async () => (await rows(page)).map(([, name]) => name), ["Ficus lyngbyana", "Ficus lyrata"]);
    await until(() => text(page, "#message"), "");
    await until(() => text(page, "#count"), "2 plants");
    await second.api("DELETE", "/plants/5000");
    await row(page, "5000").waitFor({ state: "detached" });
  });

  check("a token is revoked meanwhile", { statuses: [401] }, async ({ create, start, store }) => {
    const { open } = await start([], species);
    const { value, stderr } = await create("read,write");
    const page = await open("?q=Ficus", value);
    await until(() => state(page), "live");
    const { stdout } = await run(program, ["token", "list", "--store", store]);
    const id = stdout.split("\n")[1].split(" ")[0];
    assert.ok(stderr.includes(id));
    await run(program, ["token", "revoke", "--store", store, id]);
    // The wait for changes ends now, too, and then the focus goes to the token. So this types in one step.
    await page.locator("#search").evaluate((it) => ((it.value = "Ficus elas"), it.dispatchEvent(new Event("input"))));
    await until(() => text(page, "#token-message"), (it) => it.includes("revoked"));
    assert.equal(await isShown(page, "#store"), false);
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
    await look(page, "revoked");
    await page.locator("#token").fill(token);
    await page.keyboard.press("Enter");
    await until(async () => (await rows(page)).map(([, name]) => name), ["Ficus elastica"]);
    await until(() => state(page), "live");
  });

  check("edits outlive the token", { statuses: [401] }, async ({ create, start, store }) => {
    const { api, open } = await start([], species);
    const { value } = await create("read,write");
    const page = await open("?q=Ficus", value);
    await until(() => state(page), "live");
    await edit(page, "101", "#plant-name", "Half written");
    const { stdout } = await run(program, ["token", "list", "--store", store]);
    await run(program, ["token", "revoke", "--store", store, stdout.split("\n")[1].split(" ")[0]]);
    await until(() => isShown(page, "#token-form"), true);
    await page.locator("#token").fill(token);
    await page.keyboard.press("Enter");
    await until(() => page.locator("#plant-name").inputValue(), "Half written");
    assert.equal(await focused(page), "plant-name", "the field that was edited");
    await until(() => isShown(page, "#save"), true);
    await save(page);
    assert.equal((await api("GET", "/plants/101")).name, "Half written");
  });

  check("a keyboard is enough", {}, async ({ start }) => {
    const { api, open } = await start([], species);
    const page = await open();
    const { press, tab } = keyboard(page);
    await until(async () => (await rows(page)).length, (n) => n > 50);
    await until(() => isShown(page, "#new"), true);
    await press("/");
    assert.equal(await focused(page), "search");
    await page.keyboard.type("Ficus ly");
    await until(() => ids(page), ["101"]);
    await press("Escape");
    await until(() => page.locator("#search").inputValue(), "");
    await page.keyboard.type("Ficus");
    await until(async () => (await ids(page)).length, ficus.length);
    const [a, b] = await ids(page);
    await press("ArrowDown");
    assert.equal(await focused(page), a);
    await press("ArrowDown");
    assert.equal(await focused(page), b);
    await press("ArrowUp", "ArrowUp");
    assert.equal(await focused(page), "search");
    await press("ArrowDown", "Enter");
    await until(() => page.locator("#plant-id").inputValue(), a);
    await until(() => focused(page), "panel-title");
    await tab("plant-name");
    await press("End");
    await page.keyboard.type(" by keys/");
    await press("Enter");
    await until(() => text(page, "#panel-note"), "Saved.");
    assert.match((await api("GET", `/plants/${a}`)).name, / by keys\/$/, "a slash in a field is a slash");
    await press("Escape");
    await until(() => isShown(page, "#panel"), false);
    await until(() => focused(page), a);
    await press("Enter");
    await until(() => focused(page), "panel-title");
    await tab("delete");
    await press("Enter");
    assert.equal(await focused(page), "confirm-delete");
    await press("Escape");
    assert.equal(await focused(page), "delete");
    await press("Enter", "Enter");
    await until(() => focused(page), "undo");
    assert.equal(await api("GET", `/plants/${a}`), null);
    await press("Enter");
    await until(async () => Boolean(await api("GET", `/plants/${a}`)), true);
    await until(() => page.evaluate(() => Boolean(document.activeElement.closest("#plants tr"))), true, "the focus is in the table");
    await press("/");
    await tab("new");
    await press("Enter");
    await until(() => focused(page), "plant-name");
    await page.keyboard.type("Typed");
    await press("Enter");
    await until(() => text(page, "#panel-note"), (it) => it.startsWith("Created “Typed”, with the id "));
    assert.equal(await focused(page), "plant-name", "for the next one");
    await press("Escape");
    await until(() => isShown(page, "#panel"), false);
    await press("n");
    await until(() => focused(page), "plant-name", "a shortcut for a new plant");
    await page.keyboard.type("n");
    assert.equal(await page.locator("#plant-name").inputValue(), "n", "in a field it is a letter");
  });

  check("the focus goes on with the work", { statuses: [404] }, async ({ start }) => {
    const { api, open } = await start([], species);
    const page = await open("?q=Ficus+lyrata");
    await until(() => ids(page), ["101"]);
    await until(() => isShown(page, "#new"), true);
    await row(page, "101").locator("a").click();
    await page.locator("#delete").click();
    await page.locator("#confirm-delete").click();
    await until(() => isShown(page, "#empty"), true);
    await page.locator("#undo").click();
    await until(() => ids(page), ["101"]);
    assert.ok(["101", "search"].includes(await focused(page)), "after Undo, in a table that was empty");
    await page.locator("#search").fill("zzz");
    await page.locator("#empty-clear").click();
    await until(async () => (await ids(page)).length, (n) => n > 50);
    assert.equal(await focused(page), "search", "after Show all plants");

    // While a tag is set, its field keeps the focus, and what is typed elsewhere stays there.
    await page.locator("#plants td input").first().click();
    await page.locator("#bulk-tag").fill("new");
    const { held, release } = await hold(page, /\/plants\/\d+$/);
    await page.keyboard.press("Enter");
    await until(() => held.length, 1);
    await page.keyboard.type("nnn");
    assert.deepEqual([await focused(page), await isShown(page, "#panel")], ["bulk-tag", false]);
    await page.keyboard.press("Enter");
    await page.locator("#search").focus();
    release();
    await until(() => text(page, "#toast-text"), "Tagged “new”: 1 plant.");
    assert.deepEqual([held.length, await focused(page)], [1, "search"]);
    assert.equal((await api("GET", "/plants:count?tag=new")).count, 1);

    // Undo takes the only row out of the table.
    const [tagged] = await ids(page);
    await page.locator("#tag").fill("new");
    await until(() => ids(page), (it) => it.length === 1);
    await page.locator("#plants td input").first().click();
    await page.locator("#bulk-tag").fill("newer");
    await page.keyboard.press("Enter");
    await until(() => text(page, "#toast-text"), "Tagged “newer”: 1 plant.");
    assert.equal(await focused(page), "undo");
    await page.locator("#tag").fill("newer");
    await until(() => ids(page), [tagged]);
    await page.locator("#undo").click();
    await until(() => ids(page), []);
    await until(() => focused(page), "search", "after Undo");

    await page.locator("#import").click();
    const buffer = Buffer.from("id;name\n101;caf\xe9", "latin1");
    await page.locator("#file").setInputFiles({ name: "latin.csv", mimeType: "text/csv", buffer });
    await until(() => isShown(page, "#import-latin"), true);
    await page.locator("#import-latin").click();
    await until(() => text(page, "#import-note"), (it) => it.includes("1 changed"));
    assert.equal(await focused(page), "import-title", "after Read it as Windows-1252");
    assert.match(await page.locator("#file").evaluate((it) => it.value), /latin\.csv$/, "the field says which file");
  });

  check("rows are selected with the keyboard", {}, async ({ start }) => {
    const { api, open } = await start([], species);
    const page = await open("?q=Ficus");
    const { press, tab } = keyboard(page);
    const isBox = () => page.evaluate(() => document.activeElement.matches("#plants td input"));
    await until(async () => (await ids(page)).length, ficus.length);
    await until(() => isShown(page, "#new"), true);
    await until(() => state(page), "live");
    const [a, b, c, d, e] = await ids(page);
    await page.locator("#search").focus();
    await tab(a);
    assert.equal(await isBox(), true, "Tab comes to the checkbox of the first row");
    await press("Space");
    await until(() => text(page, "#bulk-text"), "1 plant selected");
    await press("ArrowDown");
    assert.deepEqual([await focused(page), await isBox()], [b, true], "an arrow goes to the next checkbox");
    await press("ArrowDown", "Space", "ArrowDown", "ArrowDown", "Shift+Space");
    await until(() => text(page, "#bulk-text"), "4 plants selected");
    assert.deepEqual(await page.locator("#plants tr:has(:checked)").evaluateAll((all) => all.map((it) => it.dataset.id)), [a, c, d, e]);
    await look(page, "selected-by-keys");
    await row(page, e).locator("input").focus(); // a picture of a phone has no checkboxes
    await api("PUT", `/plants/${b}`, { name: "Ficus aaa" });
    await until(async () => (await rows(page))[0][1], "Ficus aaa");
    assert.deepEqual([await focused(page), await isBox()], [e, true], "also after a change of the table");
    await press("Shift+Tab", "Tab", "Tab");
    assert.deepEqual([await focused(page), await isBox()], [e, false], "the name comes after the checkbox");
    await tab("bulk-tag");
    await page.keyboard.type("Figs");
    await press("Enter");
    await until(() => text(page, "#toast-text"), "Tagged “Figs”: 4 plants.");
    assert.equal(await focused(page), "undo");
    await press("Enter");
    await until(() => text(page, "#toast-text"), "4 plants of 4 are as before.");
    await until(() => page.evaluate(() => Boolean(document.activeElement.closest("#plants tr"))), true, "the focus is in the table");
  });

  const zoomed = { viewport: { width: 640, height: 450 }, deviceScaleFactor: 2 }; // as 1280 × 900 at 200 %
  for (const [name, options] of Object.entries({ phone, zoomed })) {
    check(`everything fits: ${name}`, { options }, async ({ start }) => {
      const long = [{ id: "-9223372036854775808", name: `Aa${"x".repeat(998)}`, tag: "t".repeat(256) }, { id: "1", name: "Aa b" }];
      const { api, open } = await start([], [...species, ...long]);
      const page = await open();
      await until(() => text(page, "#count"), "459 plants");
      await until(() => isShown(page, "#new"), true);
      await look(page, name);
      const { y } = await row(page, "1").boundingBox();
      if (name === "phone") {
        assert.ok(y < options.viewport.height, `the first row is at y = ${y}`);
        const cut = await page.locator("#plants tbody th").evaluateAll((all) =>
          all.filter((it) => it.scrollWidth > it.clientWidth || it.querySelector("bdi").scrollHeight > it.querySelector("bdi").clientHeight + 1).length);
        assert.ok(cut <= 2, `${cut} names are cut`); // one has 1,000 characters
        const heights = await page.locator("#plants tr[data-id]").evaluateAll((all) => [...new Set(all.map((it) => it.offsetHeight))]);
        assert.equal(heights.length, 1, `rows with the heights ${heights}`);
      }
      await edit(page, "1", "#plant-name", "edited");
      await look(page, `${name}-plant`);
      await save(page);
      assert.equal((await api("GET", "/plants/1")).name, "edited");
      await page.locator("#panel-close").click();
      await until(() => isShown(page, "#panel"), false);
      await row(page, "-9223372036854775808").locator("a").click();
      await until(() => page.locator("#plant-id").inputValue(), "-9223372036854775808");
      await look(page, `${name}-long`);
      await page.locator("#panel-close").click();
      await page.locator("#import").click();
      await page.locator("#file").setInputFiles({ name: "a.csv", mimeType: "text/csv", buffer: Buffer.from(`id,name\n5,${"y".repeat(1000)}\n1,z\n`) });
      await until(() => imported(page), { 2: "new", 3: "changed" });
      await look(page, `${name}-import`);
    });
  }

  check("the titles of panels are read in every window", {}, async ({ start }) => {
    const long = { id: "7", name: `Aa ${"long ".repeat(190)}`, tag: "t" };
    const { open } = await start([], [...species, long]);
    const page = await open();
    await until(() => isShown(page, "#new"), true);
    const bad = [];
    // measure notes a title that shows less than its text, or less than four lines of it.
    const measure = async (what, title) => {
      for (const [width, height] of [[640, 400], [844, 390], [390, 844], [320, 256], [1280, 900], [1280, 300]]) {
        await page.setViewportSize({ width, height });
        const { shown, wanted } = await page.locator(title).evaluate((it) => {
          const line = parseFloat(getComputedStyle(it).lineHeight);
          return { shown: it.getBoundingClientRect().height, wanted: Math.min(it.scrollHeight, 4 * line) };
        });
        if (shown < wanted - 1 || shown < 20) bad.push(`${what}, ${width} × ${height}: ${shown} of ${wanted} px`);
      }
      await page.setViewportSize(desk.viewport);
    };
    for (const id of ["101", "7"]) {
      await page.locator("#search").fill(id === "7" ? "Aa" : "Ficus ly");
      await row(page, id).locator("a").click();
      await until(() => page.locator("#plant-id").inputValue(), id);
      await measure(`plant ${id}`, "#panel-title");
      await page.locator("#delete").click();
      await measure(`delete plant ${id}`, "#panel-title");
      await page.locator("#confirm-keep").click();
    }
    await page.locator("#new").click();
    await until(() => text(page, "#panel-title"), "New plant");
    await measure("a new plant", "#panel-title");
    await page.locator("#panel-close").click();
    await page.locator("#import").click();
    const lines = Array.from({ length: 100 }, (_, i) => `${9000 + i},new`).join("\n");
    await page.locator("#file").setInputFiles({ name: "a.csv", mimeType: "text/csv", buffer: Buffer.from(`id,name\n${lines}\n`) });
    await until(async () => Object.keys(await imported(page)).length, (n) => n > 10);
    await measure("an import", "#import-title");
    assert.deepEqual(bad, []);
  });

  check("the help is at hand, and what a low window shows of a plant is low", {}, async ({ start }) => {
    const { open } = await start([], species);
    const page = await open("?plant=101");
    await until(() => page.locator("#plant-id").inputValue(), "101");
    const times = () => page.locator("#plant-times dt").evaluateAll((all) => all.map((it) => it.getBoundingClientRect().y));
    await page.locator("#plant-name").fill("Ficus"); // so that it has both times
    await save(page);
    let [created, changed] = await times();
    assert.ok(created < changed, "one below the other");
    await page.setViewportSize({ width: 844, height: 390 });
    [created, changed] = await times();
    assert.equal(created, changed, "side by side on a phone that lies");
    await page.locator("#panel-close").click();
    for (const viewport of [desk.viewport, { width: 844, height: 390 }, phone.viewport]) {
      await page.setViewportSize(viewport);
      await page.locator("#help summary").click();
      const { x, y, width, height } = await page.locator("#help ul").boundingBox();
      assert.ok(x >= 0 && x + width <= viewport.width && y + height <= viewport.height, `the help is in the window of ${viewport.width}: ${[x, y, width, height]}`);
      await look(page, `help-${viewport.width}`);
      await page.keyboard.press("Escape");
      await until(() => isShown(page, "#help ul"), false);
    }
    const room = await page.locator("#tag").evaluate((it) => {
      const [style, canvas] = [getComputedStyle(it), new OffscreenCanvas(1, 1).getContext("2d")];
      canvas.font = style.font;
      return it.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - canvas.measureText(it.placeholder).width;
    });
    assert.ok(room >= 0, `a phone shows what the field is for: ${room}`);
  });

  check("a store with the order of names of another Unicode is shown by id", { statuses: [503] }, async ({ start, store }) => {
    const wanted = ["-5", "1", "2", "30"];
    const first = await start([], wanted.map((id) => ({ id, name: `first ${-id}` })));
    first.kill("SIGTERM");
    await first.ended;
    await run("python3", ["-c", "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('UPDATE name_keys SET version = 1'); c.commit()", store]);
    const { open } = await start();
    const page = await open();
    await until(() => ids(page), wanted);
    assert.match(await text(page, "#note"), /^In the order of ids: .*plantstore copy/);
    await until(() => state(page), "live");
    await look(page, "nameless");
    await page.locator("#search").fill("first");
    await until(() => text(page, "#message"), (it) => it.includes("plantstore copy"));
  });

  check("there may be no page", {}, async ({ start }) => {
    const service = await start(["--page", "off", "--print-token"]);
    const page = await fetch(`${service.address}/`, { redirect: "manual" });
    assert.deepEqual([page.status, page.headers.get("location")], [307, "docs"]);
    assert.equal((await fetch(`${service.address}/page/main.js`)).status, 404);
    await until(() => service.lines.length, (n) => n > 4);
    assert.ok(!service.lines.join().includes("#token"), "a link to no page");
  });
});
