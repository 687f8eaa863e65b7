// @ts-check
// The table. It knows how to read each page that was seen, but has only those near the window in
// memory: the others are as tall as they were. So a million plants cost no more than some hundred.
import { Failure, send } from "./api.js";
import { $, brief, calm, input, isElsewhere, make, setText, shown, tell, time } from "./dom.js";
import { address, fits, go, hasRead, orderOf, parameters, recount, view } from "./filter.js";
import { token } from "./session.js";
/** @import {Page, Parameters, Plant} from "./types" */

const size = 100; // of a page
const table = /** @type {HTMLTableElement} */ ($("plants"));
const [above, below] = [room(), room()];
let pages = /** @type {Page[]} */ ([]);
/** Those in the table, by id. @type {Map<string, {plant: Plant, row: HTMLTableRowElement}>} */
const rows = new Map();
/** Of plants that have changed, but are not in the table yet. @type {Set<string>} */
const fresh = new Set();
/** Those that are selected, by id; bulk.js changes them. @type {Map<string, Plant>} */
export const chosen = new Map();
/** Selects a plant that is in the table. @type {(id: string) => void} */
export const choose = (id) => void (rows.has(id) && chosen.set(id, /** @type {{plant: Plant}} */ (rows.get(id)).plant));
let controller = new AbortController();
let rowHeight = 44;
let longest = 0; // of the ids, in characters
let byId = false; // the store has no order of names

/** The parameters of the first page. */
export function first() {
  const order = orderOf(view);
  return { limit: size, order: byId && order.startsWith("name") && !view.q ? "id" : order, ...parameters() };
}

/** Shows what the view says, from the first page on. */
export function show() {
  controller.abort();
  controller = new AbortController();
  for (const page of pages.slice(1)) drop(page);
  const body = pages[0]?.body; // stays until the new rows are there
  pages = [{ query: first(), count: size, stale: true, ...(body && { body }) }];
  fresh.clear();
  table.setAttribute("aria-busy", "true");
  const { order } = first();
  const direction = order === "updated" || order.endsWith("_desc") ? "descending" : "ascending";
  input("order").value = order;
  for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (table.querySelectorAll("th button"))) {
    button.disabled = byId && button.value.startsWith("name");
    button.parentElement?.setAttribute("aria-sort", button.value.split(" ").includes(order) ? direction : "none");
  }
  if (scrollY > table.offsetTop) scrollTo(0, 0);
  layout();
}

/** Reads the pages that are shown again: soon, and at most once a second. */
export const refresh = calm(() => {
  for (const page of pages) [page.stale, page.failed] = [page.body !== undefined, false];
  layout();
}, 1000);

/** A part of the table without rows. */
function room() {
  return make("tbody", { "aria-hidden": "true" }, make("tr", {}, make("td", { colspan: "2" })));
}

/** Makes it as tall as some rows. @type {(part: HTMLTableSectionElement, count: number) => void} */
function stretch(part, count) {
  part.hidden = count === 0;
  if (part.rows[0]) part.rows[0].style.height = `${count * rowHeight}px`;
}

/** Has the pages in the table that are within a window of the visible one, and room for the others. */
function layout() {
  const origin = table.getBoundingClientRect().top + 40;
  const [from, to] = [(-innerHeight - origin) / rowHeight, (2 * innerHeight - origin) / rowHeight]; // in rows
  let [at, before, after] = [0, 0, 0];
  if (!above.isConnected) table.append(above, below);
  let last = /** @type {Element} */ (above);
  for (const page of pages) {
    const begin = at;
    at += page.count;
    if (pages.length > 1 && (at < from || begin > to)) {
      drop(page);
      if (at < from) before += page.count;
      else after += page.count;
      continue;
    }
    if (!page.body) {
      [page.body, page.stale] = [room(), true];
      stretch(page.body, page.count);
    }
    if (last.nextElementSibling !== page.body) last.after(page.body);
    last = page.body;
    const isSeen = !document.hidden || page === pages[0]; // a search goes on while a person looks
    if (page.stale && !page.loading && !page.failed && isSeen) void load(page, controller.signal);
  }
  stretch(above, before);
  stretch(below, after);
}

/** @param {Page} page */
function drop(page) {
  for (const { dataset } of page.body?.rows ?? []) rows.delete(dataset["id"] ?? "");
  page.body?.remove();
  delete page.body;
}

/** @type {(page: Page, signal: AbortSignal) => Promise<void>} */
async function load(page, signal) {
  [page.loading, page.stale] = [true, false];
  try {
    const { body, next } = await send("get", "/plants", { query: /** @type {any} */ (page.query), signal });
    fill(page, body, next);
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof Failure)) throw error;
    page.failed = true;
    if (error.isNameless && !byId) {
      byId = true;
      tell("note", `In the order of ids: ${error.message}`);
      if (!view.q) return show();
    }
    fill(page, [], undefined);
    $("empty").hidden = true;
    if (token.get()) tell("message", error.message); // else there is a word about the token
  } finally {
    page.loading = false;
    if (!signal.aborted) layout();
  }
}

/** Shows what a page has now. What has changed is marked.
 *  @type {(page: Page, plants: Plant[], next: Parameters | undefined) => void} */
function fill(page, plants, next) {
  const i = pages.indexOf(page);
  if (i < 0 || !page.body) return;
  for (const dropped of pages.splice(next ? i + 2 : i + 1)) drop(dropped);
  if (next && !pages[i + 1]) pages.push({ query: next, count: size });
  const after = pages[i + 1];
  if (next && after && JSON.stringify(after.query) !== JSON.stringify(next)) {
    Object.assign(after, { query: next, stale: true }); // what is between them has changed
  }
  const [focused, wasBox] = [focusedRow(), isBox()];
  const begin = pages.slice(0, i).reduce((sum, { count }) => sum + count, 2);
  const filled = plants.map((plant, n) => {
    const here = rows.get(plant.id);
    const row = here?.row ?? emptyRow();
    put(row, plant, fresh.delete(plant.id) || (here?.plant.etag ?? plant.etag) !== plant.etag);
    row.setAttribute("aria-rowindex", String(begin + n));
    return row;
  });
  arrange(page.body, filled);
  for (const [id, { row }] of rows) if (!row.isConnected) rows.delete(id);
  page.body.removeAttribute("aria-hidden");
  page.body.style.removeProperty("height");
  page.count = plants.length;
  page.isRead = true;
  const read = pages.filter((it) => it.isRead);
  const [sum, more] = [read.reduce((all, { count }) => all + count, 0), read.length < pages.length];
  if (sum || !more) table.removeAttribute("aria-busy");
  hasRead(sum, more);
  rowHeight = filled[0]?.offsetHeight || rowHeight;
  if (focused !== focusedRow()) focus(focused ?? null, wasBox, true); // its row was out of its place and back
  if (!table.querySelector("[tabindex='0']")) reach(table.querySelector("tr[data-id]"));
  const isAll = Object.keys(parameters()).length === 0;
  table.hidden = sum === 0 && !more;
  $("empty-store").hidden = !table.hidden || !isAll;
  const tag = view.tag !== null ? ` has the tag “${brief(view.tag)}”` : view.begin && ` has a tag that begins with “${brief(view.begin)}”`;
  const name = view.q && ` has “${brief(view.q).replace(/\s+/g, "” and “")}” in its name`;
  tell("empty-text", `No plant${[name, tag].filter((it) => it).join(" and")}.${tag && " Only the beginning of tags is searched, and upper and lower case count."}`);
  $("empty").hidden = !table.hidden || isAll;
}

/** Has a part of the table show some rows. One that has its place already stays in the document: a click whose button
 *  goes down before it is taken out and up after it is put back would be lost.
 *  @type {(body: HTMLTableSectionElement, filled: HTMLTableRowElement[]) => void} */
function arrange(body, filled) {
  for (const row of [...body.rows]) if (!filled.includes(row)) row.remove();
  for (const [i, row] of filled.entries()) if (body.rows[i] !== row) body.insertBefore(row, body.rows[i] ?? null);
}

const emptyRow = () => make("tr", {},
  make("td", {}, make("input", { type: "checkbox", tabindex: "-1" }), make("span")),
  make("th", { scope: "row" }, make("a", { tabindex: "-1" }, make("bdi"))),
  make("td", {}, make("bdi")), make("td", {}, make("time")));

/** Shows a plant, which may be marked.
 *  @type {(row: HTMLTableRowElement, plant: Plant, isMarked: boolean) => void} */
function put(row, plant, isMarked) {
  const box = row.querySelector("input");
  const link = row.querySelector("a");
  if (row.dataset["etag"] !== plant.etag) {
    setText(row.querySelector("span"), plant.id);
    box?.setAttribute("aria-label", `Select ${brief(plant.name) || plant.id}`);
    if (chosen.has(plant.id)) chosen.set(plant.id, plant);
    if (plant.id.length > longest) table.style.setProperty("--id", `${(longest = plant.id.length)}ch`);
    setText(row.querySelector("th bdi"), shown(plant.name).trim() || "(no name)");
    setText(row.querySelector("td bdi"), shown(plant.tag));
    time(plant.updated_at, row.querySelector("time") ?? undefined);
    Object.assign(row.dataset, { id: plant.id, etag: plant.etag });
  }
  if (box) box.checked = chosen.has(plant.id);
  if (link) link.href = address({ ...view, plant: plant.id });
  rows.set(plant.id, { plant, row });
  select(row, plant);
  row.classList.toggle("marked", isMarked);
  if (isMarked) for (const animation of row.getAnimations({ subtree: true })) animation.currentTime = 0;
}

/** Shows whether a plant is opened. @type {(row: HTMLTableRowElement, plant: Plant) => void} */
const select = (row, { id }) => row.querySelector("a")?.setAttribute("aria-current", String(id === view.plant));

export function selected() {
  for (const { plant, row } of rows.values()) select(row, plant);
}

/** Shows changes of the store. Only the service knows the order of names, so a plant that may
 *  have come or moved is read with its page.
 *  @param {{id: string, plant?: Plant}[]} changes */
export function apply(changes) {
  for (const { id, plant } of changes) {
    const here = rows.get(id);
    const isFound = plant !== undefined && fits(plant);
    const order = orderOf(view);
    if (here && isFound && plant.name === here.plant.name) {
      if (plant.etag !== here.plant.etag) put(here.row, plant, true);
      if (order.startsWith("updated") || order.startsWith("tag")) refresh();
      continue;
    }
    if (fresh.size < 2000) fresh.add(id);
    if (here || isFound) refresh();
    if (!here || plant) continue;
    if (here.row.contains(document.activeElement)) void (step(here.row, 1) || step(here.row, -1));
    here.row.remove();
    rows.delete(id);
  }
  recount();
}

/** The plant whose row has the focus. */
const focusedRow = () => document.activeElement?.closest("tr")?.dataset["id"];

/** Whether the checkbox of a row has the focus. */
const isBox = () => document.activeElement?.matches("#plants td input") ?? false;

/** Has Tab come to the checkbox and the link of one row. @param {Element | null} row */
function reach(row) {
  for (const it of table.querySelectorAll("[tabindex='0']")) it.setAttribute("tabindex", "-1");
  for (const it of row?.querySelectorAll("a, input") ?? []) it.setAttribute("tabindex", "0");
}

/** Moves the focus by some rows, or to the first row in the window. Returns whether there is one.
 *  @type {(row: HTMLTableRowElement | null, by: number) => boolean} */
function step(row, by) {
  const all = /** @type {HTMLTableRowElement[]} */ ([...table.querySelectorAll("tr[data-id]")]);
  const to = row ? all[all.indexOf(row) + by] : all.find((other) => other.getBoundingClientRect().top > 0);
  if (to) focus(to.dataset["id"] ?? "", isBox());
  return to !== undefined;
}

/** Gives the focus to the link or the checkbox of a plant, or to the first row in the window. Without a
 *  scroll, the window stays where it is.
 *  @type {(id: string | null, toBox?: boolean, preventScroll?: boolean) => void} */
export function focus(id, toBox = false, preventScroll = false) {
  const row = rows.get(id ?? "")?.row;
  if (!row) return void (step(null, 0) || $("search").focus());
  /** @type {HTMLElement | null} */ (row.querySelector(toBox ? "input" : "a"))?.focus({ preventScroll });
}

export function start() {
  addEventListener("scroll", () => requestAnimationFrame(layout), { passive: true });
  addEventListener("resize", layout);
  document.addEventListener("visibilitychange", layout);
  input("order").onchange = () => go({ order: input("order").value });
  table.addEventListener("focusin", (e) => {
    const row = /** @type {Element} */ (e.target).closest("tr[data-id]");
    if (row) reach(row);
  });
  table.tHead?.addEventListener("click", (e) => {
    const [up, down] = /** @type {HTMLElement} */ (e.target).closest("button")?.value.split(" ") ?? [];
    if (up) go({ order: orderOf(view) === up && down ? down : up });
  });
  $("search").addEventListener("keydown", (e) => e.key === "Enter" && step(null, 0));
  table.addEventListener("click", (e) => {
    const id = /** @type {Element} */ (e.target).closest("tr")?.dataset["id"];
    if (!id || e.target instanceof HTMLInputElement || isElsewhere(e) || getSelection()?.toString()) return;
    e.preventDefault();
    focus(id);
    go({ plant: id });
  });
  addEventListener("keydown", (e) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    const at = document.activeElement;
    const isHere = at === document.body || at === $("search") || table.contains(at);
    if (!by || !isHere || isElsewhere(e) || e.altKey) return;
    e.preventDefault();
    const row = at?.closest("tr") ?? null;
    if (!step(row, by) && row && by < 0) $("search").focus();
  });
}
