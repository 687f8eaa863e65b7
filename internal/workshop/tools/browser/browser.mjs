// What the tests in a browser share: the program, a proxy, Chromium, and what is wrong with a page.
// The browser can reach only this machine.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import http from "node:http";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

export const token = "only-for-the-browser"; // is valid for every program that serve runs
export const desk = { viewport: { width: 1280, height: 900 } };
export const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
export let log = ""; // of the programs, in case something fails
const started = [];

// serve runs the program with other arguments, by default with a store in memory. It returns the
// process, with its address and the lines that it prints.
export async function serve(program, ...args) {
  const child = spawn(program, ["serve", "--addr", "127.0.0.1:0", "--store", "sqlite::memory:", ...args], {
    env: { PLANTSTORE_TOKEN: token },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stderr.on("data", (text) => (log += text));
  child.ended = new Promise((resolve) => child.once("exit", resolve));
  child.lines = [];
  started.push(child);
  await new Promise((resolve, reject) => {
    child.once("exit", () => reject(new Error("the program ended before it listened")));
    createInterface({ input: child.stdout }).on("line", (line) => {
      child.lines.push(line);
      const announced = /^plantstore listens on (\S+)$/.exec(line);
      if (announced) resolve((child.address = announced[1]));
    });
  });
  return child;
}

// launch starts Chromium.
export async function launch() {
  const chromiums = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  const executablePath = process.env.CHROMIUM ?? chromiums.find(existsSync);
  assert.ok(executablePath, "Chromium is not installed: install it, or set CHROMIUM to its path");
  const browser = await chromium.launch({
    executablePath,
    args: ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
    chromiumSandbox: process.getuid?.() !== 0, // Chromium does not start with its sandbox as root
  });
  started.push({ kill: () => browser.close() });
  return browser;
}

// stop ends everything that was started.
export async function stop() {
  for (const it of started.reverse()) await it.kill();
}

// proxy removes a path from the requests that begin with it, and forwards them to
// to.address, which can be set later. It shows to.saw each request, and returns its own address,
// with the path.
export async function proxy(path, to) {
  const server = http.createServer((request, response) => {
    if (!request.url.startsWith(path + "/")) {
      response.writeHead(404).end();
      return;
    }
    const { method, headers } = request;
    to.saw?.(request);
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
// browser about a page, and every request to another host than those of the origins. Chromium complains of each response
// that is a failure, and of each request that the page gave up: the test expects those.
export async function complaints(page, origins, expected = /^$/) {
  const list = [];
  const add = (text) => expected.test(text) || list.push(text);
  await page.exposeFunction("complain", (text) => list.push(text));
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (e) => complain(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`));
  });
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) add(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => list.push(`error: ${error.stack}`));
  page.on("requestfailed", (request) => add(`failed: ${request.url()} ${request.failure()?.errorText}`));
  page.on("request", (request) => {
    const { protocol, origin: to } = new URL(request.url());
    if (protocol !== "data:" && ![origins].flat().includes(to)) list.push(`to another host: ${request.url()}`);
  });
  return list;
}

// faint lists the texts of a page with too little contrast to their background:
// less than 4.5 to 1, or 3 to 1 for large text (WCAG 2.2, 1.4.3). Disabled
// elements are exempt.
export function faint() {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const read = (colour) => {
    if (colour.startsWith("rgb")) return colour.match(/[\d.]+/g).map(Number);
    canvas.clearRect(0, 0, 1, 1); // any other notation, as for a mix of colours
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
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
