// @ts-check
// Several plants at once: select rows, give them a tag, or delete them. Either can be taken back.
import { send } from "./api.js";
import { $, counted, input, tell } from "./dom.js";
import { offer, store } from "./plant.js";
import { apply, choose, chosen } from "./table.js";
/** @import {Plant} from "./types" */

/** @type {(name: string, tag: string | undefined) => import("./types").Content} */
const content = (name, tag) => ({ name, ...(tag !== undefined && { tag }) });
let last = ""; // the row that was selected last

function draw() {
  for (const box of /** @type {NodeListOf<HTMLInputElement>} */ ($("plants").querySelectorAll("td input"))) {
    box.checked = chosen.has(box.closest("tr")?.dataset["id"] ?? "");
  }
  $("bulk").hidden = chosen.size === 0;
  tell("bulk-text", `${counted(chosen.size, "plant")} selected`);
}

/** Selects nothing. Returns whether something was. */
export function clear() {
  const had = chosen.size > 0;
  chosen.clear();
  draw();
  return had;
}

/** Why a plant was not changed. @param {import("./api.js").Failure} error */
const reason = ({ code, message }) => ([40401, 41200].includes(code) ? "changed or deleted by someone else meanwhile." : message);

/** Changes what is selected, four at a time, and offers to take it back.
 *  @type {<T>(done: string, change: (plant: Plant) => Promise<T>, back: (plant: Plant, changed: T) => Promise<unknown>) => Promise<void>} */
async function each(done, change, back) {
  let why = ""; // the last failure
  /** Calls a function with each item; returns what came of those that did not fail. @type {<I, O>(items: I[], call: (item: I) => Promise<O>) => Promise<O[]>} */
  const all = async (items, call) => {
    const results = /** @type {any[]} */ ([]);
    const worker = async () => {
      for (let item; (item = items.shift()); ) results.push(...(await call(item).then((it) => [it], (error) => ((why = reason(error)), []))));
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
    return results;
  };
  const plants = [...chosen.values()];
  const wanted = plants.length;
  $("bulk").inert = true;
  const changed = await all(plants, async (plant) => ({ plant, to: await change(plant) }));
  $("bulk").inert = false;
  clear();
  const rest = wanted - changed.length;
  offer(`${done} ${counted(changed.length, "plant")}.${rest ? ` ${counted(rest, "plant")} ${rest === 1 ? "stays as it is" : "stay as they are"}: ${why}` : ""}`, async () => {
    const amount = changed.length;
    why = "";
    const returned = await all(changed, ({ plant, to }) => back(plant, to));
    return `${counted(returned.length, "plant")} of ${amount} ${returned.length === 1 ? "is" : "are"} as before.${why && ` Of the others: ${why}`}`;
  });
}

export function start() {
  $("plants").addEventListener("click", (e) => {
    const box = e.target;
    if (!(box instanceof HTMLInputElement)) return;
    const rows = /** @type {HTMLTableRowElement[]} */ ([...$("plants").querySelectorAll("tr[data-id]")]);
    const at = rows.findIndex((row) => row.contains(box));
    const from = rows.findIndex((row) => row.dataset["id"] === last);
    const range = e.shiftKey && from >= 0 ? rows.slice(Math.min(at, from), Math.max(at, from) + 1) : rows.slice(at, at + 1);
    for (const { dataset } of range) {
      const id = dataset["id"] ?? "";
      if (box.checked) choose(id);
      else chosen.delete(id);
    }
    last = rows[at]?.dataset["id"] ?? "";
    draw();
  });
  $("bulk").addEventListener("submit", (e) => {
    e.preventDefault();
    const tag = input("bulk-tag").value || undefined;
    void each(tag ? `Tagged “${tag}”:` : "Removed the tag of",
      ({ id, name, etag }) => store(id, content(name, tag), etag, ["tag"]),
      (plant, to) => store(plant.id, content(plant.name, plant.tag), to.etag, ["tag"]));
    input("bulk-tag").value = "";
  });
  $("bulk-delete").onclick = () => void each("Deleted", async ({ id, etag }) => {
    await send("delete", "/plants/{id}", { id, headers: { "If-Match": `"${etag}"` } });
    apply([{ id }]);
  }, (plant) => store(plant.id, content(plant.name, plant.tag)));
  $("bulk-clear").onclick = clear;
}
