// Measures the page at / with many plants in a SQLite file: the time to the first rows and the count,
// and what scrolling through 10,000 rows leaves in memory. It is not a test: it prints figures.
//
// usage: node figures.mjs PLANTSTORE PLANTS
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { desk, launch, serve, stop, token } from "./browser.mjs";

const [program, plants] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), "plantstore-figures-"));
try {
  const { address } = await serve(program, "--store", join(folder, "plants.db"));
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const begin = Date.now();
  for (let at = 0; at < plants; at += 1000) {
    const batch = Array.from({ length: Math.min(1000, plants - at) }, (_, i) => at + i).map((n) =>
      ({ id: n + 1, name: `Plant ${(n * 7919) % plants}`, tag: `family ${n % 400}` }));
    const response = await fetch(`${address}/plants:batch`, { method: "POST", headers, body: JSON.stringify({ plants: batch }) });
    if (!response.ok) throw new Error(await response.text());
  }
  console.log(`${plants} plants stored in ${((Date.now() - begin) / 1000).toFixed(1)} s`);

  const page = await (await (await launch()).newContext(desk)).newPage();
  page.setDefaultTimeout(120_000);
  const devtools = await page.context().newCDPSession(page);
  const memory = async (when) => {
    await devtools.send("HeapProfiler.collectGarbage");
    const { jsHeapUsedSize, nodes } = Object.fromEntries([
      ["jsHeapUsedSize", (await devtools.send("Runtime.getHeapUsage")).usedSize],
      ["nodes", (await devtools.send("Memory.getDOMCounters")).nodes],
    ]);
    const rows = await page.locator("#plants tr[data-id]").count();
    console.log(`${when}: ${(jsHeapUsedSize / 2 ** 20).toFixed(1)} MiB of JavaScript, ${nodes} nodes, ${rows} rows in the document`);
  };
  for (const what of ["first visit", "second visit"]) {
    await page.goto("about:blank");
    const at = performance.now();
    await page.goto(`${address}/#token=${token}`);
    await page.locator("#plants tr[data-id]").first().waitFor();
    const first = performance.now() - at;
    await page.locator("#count").filter({ hasText: "plants" }).waitFor();
    console.log(`${what}: the first rows after ${first.toFixed(0)} ms, the count after ${(performance.now() - at).toFixed(0)} ms`);
  }
  await memory("at the beginning");
  const from = performance.now();
  for (let most = 0; most < 10_000; ) {
    const before = await page.evaluate(() => scrollY);
    await page.evaluate(() => scrollBy(0, innerHeight * 2));
    // A boolean: a handle of each row would keep it, and the rows around it, in memory.
    await page.waitForFunction((y) => scrollY > y &&
      !!document.elementFromPoint(300, innerHeight - 60)?.closest("tr[data-id]"), before, { polling: "raf" });
    most = await page.locator("#plants tr[data-id]").last().evaluate((row) => Number(row.ariaRowIndex));
  }
  console.log(`scrolled through 10,000 rows in ${((performance.now() - from) / 1000).toFixed(1)} s`);
  await memory("after 10,000 rows");
} finally {
  await stop();
  await rm(folder, { recursive: true });
}
