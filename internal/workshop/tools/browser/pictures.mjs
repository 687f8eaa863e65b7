// Renews the pictures in the README: of the page at /, with some thousand plants, and of /docs.
//
// usage: node pictures.mjs PLANTSTORE FOLDER
import { readFile } from "node:fs/promises";
import { desk, launch, serve, stop, token } from "./browser.mjs";

const [program, folder] = process.argv.slice(2);
const species = await readFile(new URL("../../../../cmd/plantstore/species.csv", import.meta.url), "utf8");
const plants = species.trim().split("\n").slice(1).filter((line) => !line.includes('"')).map((line) => {
  const [id, name, tag] = line.split(",");
  return { id: Number(id), name, ...(tag && { tag }) };
});
const sorts = ["Alba", "Aurea", "Compacta", "Nana", "Pendula", "Variegata"];
const cultivars = plants.flatMap(({ id, name, tag }) => // some have one, some two, some none
  sorts.filter((_, i) => (id * 7 + i * 5) % 11 < 2).map((sort, i) => ({ id: id * 10 + 1000 + i, name: `${name} ‘${sort}’`, tag })));
try {
  const { address } = await serve(program);
  const store = async (path, body) => {
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const response = await fetch(address + path, { method: "POST", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(await response.text());
  };
  for (const some of [plants, cultivars]) await store("/plants:batch", { plants: some });
  const browser = await launch();
  const page = await (await browser.newContext({ ...desk, colorScheme: "light", reducedMotion: "reduce", timezoneId: "UTC" })).newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(`${address}/#token=${token}`);
  await page.locator("#tag-bars li").nth(9).waitFor();
  await page.locator('#live[data-state="live"]').waitFor();
  await page.screenshot({ path: `${folder}/page.png` });
  await page.goto(`${address}/docs`);
  await page.locator(".opblock").last().waitFor();
  await page.screenshot({ path: `${folder}/docs.png` });
} finally {
  await stop();
}
