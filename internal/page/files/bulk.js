// @ts-check
// Several plants at once: select rows or all that are found, give them a tag, or delete them. Either can be taken back.
import { all } from "./api.js";
import { each, isStale, offer, remove, restore, store } from "./done.js";
import { $, brief, choice, counted, input, number, tell } from "./dom.js";
import { hasCounted } from "./filter.js";
import { choose, chosen, first } from "./table.js";
/** @import {Plant} from "./types" */

const most = 10_000; // of a selection
const named = 5; // of the plants that stay as they are; more are deleted only after a question
let last = ""; // the row that was selected last
let asked = 0;
let isAll = false; // that were found then

function draw() {
  for (const box of /** @type {NodeListOf<HTMLInputElement>} */ ($("plants").querySelectorAll("td input"))) {
    box.checked = chosen.has(box.closest("tr")?.dataset["id"] ?? "");
  }
  const box = input("select-all");
  [box.checked, box.indeterminate] = [isAll, chosen.size > 0 && !isAll];
  $("bulk").hidden = chosen.size === 0;
  if (chosen.size) $("toast").hidden = true; // it would cover the buttons, and the list has its step, too
  tell("bulk-text", `${counted(chosen.size, "plant")} selected`);
}

/** Selects nothing. Returns whether something was. */
export function clear() {
  const had = chosen.size > 0;
  asked++;
  isAll = false;
  input("bulk-tag").value = "";
  chosen.clear();
  draw();
  return had;
}

/** Selects all that are found, also those that are not in the table. */
async function selectAll() {
  clear();
  const mine = asked;
  try {
    const { plants, isMore } = await all(first(), most, (n) => mine === asked && tell("message", `Selecting: ${counted(n, "plant")} …`));
    if (mine !== asked) return; // something else is selected or shown
    for (const plant of plants) chosen.set(plant.id, plant);
    isAll = plants.length > 0;
    if (!isMore) hasCounted({ count: plants.length, more: false }); // one number, of one time
    tell("message", isMore ? `${number.format(most)} plants can be selected at once: search, or choose a tag, to select the others.` : "");
  } catch (error) {
    tell("message", /** @type {Error} */ (error).message);
  }
  draw();
}

/** Names the plants that were not changed, and says why. @type {(left: {plant: Plant, error: Error}[]) => string} */
function rest(left) {
  if (!left.length) return "";
  const names = left.slice(0, named).map(({ plant }) => `“${brief(plant.name) || plant.id}”`).join(", ");
  const more = left.length > named ? ` and ${number.format(left.length - named)} more` : "";
  const error = left.find((it) => !isStale(it.error))?.error;
  return ` ${counted(left.length, "plant")} ${left.length === 1 ? "stays as it is" : "stay as they are"}, ${names}${more}: ` +
    (error ? error.message : "changed or deleted by someone else meanwhile.");
}

/** Changes what is selected, and offers to take it back. @type {(done: string, change: (plant: Plant) => Promise<Plant | void>) => Promise<void>} */
async function run(done, change) {
  if ($("bulk").hasAttribute("aria-busy")) return;
  const plants = [...chosen.values()];
  const left = /** @type {{plant: Plant, error: Error}[]} */ ([]);
  let n = 0;
  $("bulk").setAttribute("aria-busy", "true"); // not inert: that would take the focus away
  const changed = await each(plants, async (plant) => {
    if (n++ % 10 === 0) tell("bulk-text", `${number.format(n - 1)} of ${counted(plants.length, "plant")} …`);
    return { plant, to: await change(plant) };
  }, (plant, error) => left.push({ plant, error }));
  $("bulk").removeAttribute("aria-busy");
  clear();
  offer(`${done} ${counted(changed.length, "plant")}.${rest(left)}`, async () => {
    const stay = /** @type {{plant: Plant, error: Error}[]} */ ([]);
    const returned = await each(changed, ({ plant, to }) => restore(plant, to ?? undefined), ({ plant }, error) => stay.push({ plant, error }));
    return `${counted(returned.length, "plant")} of ${number.format(changed.length)} ${returned.length === 1 ? "is" : "are"} as before.${rest(stay)}`;
  });
}

export function start() {
  $("plants").addEventListener("click", (e) => {
    const box = e.target;
    if (!(box instanceof HTMLInputElement) || box.id) return;
    const rows = /** @type {HTMLTableRowElement[]} */ ([...$("plants").querySelectorAll("tr[data-id]")]);
    const at = rows.findIndex((row) => row.contains(box));
    const from = rows.findIndex((row) => row.dataset["id"] === last);
    const range = e.shiftKey && from >= 0 ? rows.slice(Math.min(at, from), Math.max(at, from) + 1) : rows.slice(at, at + 1);
    for (const { dataset: { id = "" } } of range) box.checked ? choose(id) : chosen.delete(id);
    last = rows[at]?.dataset["id"] ?? "";
    [asked, isAll] = [asked + 1, false];
    draw();
  });
  input("select-all").onchange = () => void (input("select-all").checked ? selectAll() : clear());
  $("bulk").addEventListener("submit", (e) => {
    e.preventDefault();
    const tag = input("bulk-tag").value || undefined;
    void run(tag ? `Tagged “${tag}”:` : "Removed the tag of", ({ id, name, etag }) => store(id, { name, ...(tag !== undefined && { tag }) }, etag, ["tag"]));
  });
  $("bulk-delete").onclick = async () =>
    (chosen.size <= named || (await choice("many")) === "delete") && run("Deleted", async (plant) => void (await remove(plant)));
  $("bulk-clear").onclick = clear;
}
