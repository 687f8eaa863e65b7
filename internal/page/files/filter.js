// @ts-check
// What is looked for: the search, the tag and the opened plant. The address has them, so that it
// can be shared and the back button works.
import { Failure, send } from "./api.js";
import { $, calm, counted as inWords, input, make, setText, tell } from "./dom.js";
import { token } from "./session.js";
/** @import {View} from "./types" */

export let view = fromAddress();
let isPicked = false; // what the tag is, of the suggestions
let [searching, choosing] = [false, false]; // one search is one step of the history, however many letters it has
/** @type {(before: View) => void} */
let changed = () => {};

/** Edits that a step to another plant would lose; plant.js sets both. */
export const edits = {
  /** Whether it would. @type {(to: string | null) => boolean} */
  hold: () => false,
  /** Asks the person, and then goes or stays. @type {(go: () => void) => void} */
  ask() {},
};

/** @returns {View} */
function fromAddress() {
  const parameters = new URLSearchParams(location.search);
  const [tag, begin] = [parameters.get("tag"), parameters.get("tag_prefix") ?? ""];
  return {
    q: (parameters.get("q") ?? "").trim().slice(0, 100), tag, begin: tag === null ? begin : "",
    plant: parameters.get("plant"), order: parameters.get("order") ?? "",
  };
}

const orders = [...$("order").querySelectorAll("option")].map(({ value }) => value);

/** The order of a view. If none is chosen, it is the one in which the plants are found soonest.
 *  @type {(of: View) => string} */
export const orderOf = ({ q, tag, begin, order }) =>
  orders.includes(order) ? order : q ? "name" : tag !== null ? "id" : begin ? "tag" : "name";

/** Whether a plant is among what is looked for. A pattern without case compares letters as the API does.
 *  @type {(plant: {name: string, tag?: string | undefined}) => boolean} */
export function fits({ name, tag }) {
  if (view.tag !== null ? tag !== view.tag : !(tag ?? "").startsWith(view.begin)) return false;
  const parts = view.q.normalize("NFC").split(/\s+/).map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  return parts.every((part) => new RegExp(part, "iu").test(name.normalize("NFC")));
}

/** The address of a view, relative to the page. @type {(to: View) => string} */
export function address(to) {
  const { plant, order } = to;
  const all = new URLSearchParams({ ...parameters(to), ...(order && { order }), ...(plant !== null && { plant }) });
  return all.size ? `?${all}` : location.pathname;
}

/** Whether two views show the same plants in the same order. @type {(one: View, other: View) => boolean} */
export const isAlike = (one, other) => address({ ...one, plant: null }) === address({ ...other, plant: null });

/** Goes to another view, as a step of the history or in place of the last one; then may do more.
 *  @type {(to: Partial<View>, replace?: boolean, then?: () => void) => void} */
export function go(to, replace = false, then = () => {}) {
  const next = { ...view, ...to };
  const step = () => {
    if (address(next) !== address(view)) history[replace ? "replaceState" : "pushState"](null, "", address(next));
    arrive(next);
    then();
  };
  if (edits.hold(next.plant)) edits.ask(step);
  else step();
}

/** Writes what has changed into the fields. What is being typed in the other one stays. @param {View} [before] */
function fields(before) {
  const [tag, had] = [view, before].map((it) => it?.tag ?? it?.begin);
  if (view.q !== before?.q && input("search").value.trim() !== view.q) input("search").value = view.q;
  if (tag !== had && input("tag").value.toLowerCase() !== tag?.toLowerCase()) input("tag").value = tag ?? "";
}

/** @param {View} next */
function arrive(next) {
  const before = view;
  view = next;
  if (!isAlike(before, next)) [counted, read] = [unknown, unknown];
  fields(before);
  changed(before);
}

/** The history has gone a step. A step that would lose edits is taken back until the person has chosen. */
function stepped() {
  const next = fromAddress();
  if (!edits.hold(next.plant)) return arrive(next);
  history.pushState(null, "", address(view));
  edits.ask(() => history.back());
}

/** The parameters of the requests that list and count what is looked for. */
export const parameters = ({ q, tag, begin } = view) => ({
  ...(q && { q }), ...(tag !== null ? { tag } : begin && { tag_prefix: begin }),
});

const unknown = { count: 0, more: true };
let [counted, read] = [unknown, unknown]; // by the service, and by the table; more: there may be more plants

/** Counts again, at most once a second; very many plants, once in ten. */
export const recount = calm(count, () => (counted.more ? 10_000 : 1000));

/** The table has read so many plants. @type {(count: number, more: boolean) => void} */
export function hasRead(count, more) {
  read = { count, more };
  if (counted !== unknown) showCount();
}

/** How many there are is known. @param {{count: number, more: boolean}} all */
export function hasCounted(all) {
  counted = all;
  showCount();
}

function showCount() {
  const { count, more } = !counted.more ? counted : !read.more ? read : { count: Math.max(counted.count, read.count), more: true };
  const atLeast = view.q || view.begin ? "at least" : "more than"; // a search may end at the last plant
  setText($("count"), !more ? inWords(count, "plant") : count ? `${atLeast} ${inWords(count, "plant")}` : "Searching …");
  $("plants").setAttribute("aria-rowcount", more ? "-1" : String(count + 1));
}

export async function count() {
  const sent = parameters();
  try {
    const { body } = await send("get", "/plants:count", { query: sent });
    if (JSON.stringify(sent) !== JSON.stringify(parameters())) return;
    hasCounted(body);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    setText($("count"), "Plants");
    if (!error.isNameless && token.get()) tell("message", error.message);
  }
}

/** A text, and the same with a capital as its first letter. @type {(text: string) => string[]} */
const beginnings = (text) => [...new Set([text, text.charAt(0).toUpperCase() + text.slice(1)])];

/** Offers the tags that begin with what is typed, and returns them; its first letter may also be a capital.
 *  @param {string} field */
async function suggest(field) {
  const typed = input(field).value;
  const pages = beginnings(typed).map((prefix) => send("get", "/tags", { query: { limit: 10, prefix } }));
  const tags = [...new Set((await Promise.all(pages)).flatMap(({ body }) => body).filter((tag) => tag))];
  const options = tags.slice(0, 10).map((value) => make("option", { value }));
  if (typed === input(field).value) $(`${field}-options`).replaceChildren(...options);
  return tags;
}

/** Goes to the plants with a tag that begins with what is typed, or with the tag that is chosen of the suggestions. */
async function choose() {
  const text = input("tag").value;
  const tags = text ? await suggest("tag").catch(() => /** @type {string[]} */ ([])) : [];
  if (text !== input("tag").value) return; // more is typed
  const tag = isPicked && tags.includes(text) ? text : null;
  const begin = tag !== null ? "" : beginnings(text).find((it) => tags.some((other) => other.startsWith(it))) ?? text;
  if (tag === view.tag && begin === view.begin) return;
  go({ tag, begin }, choosing);
  choosing = true;
}

/** @param {(before: View) => void} listener gets the view before, and sees the new one */
export function start(listener) {
  view = fromAddress(); // after signing in, it is another one than at first
  fields();
  changed = listener;
  addEventListener("popstate", stepped);
  $("empty-clear").onclick = () => go({ q: "", tag: null, begin: "" }, false, () => $("search").focus());

  const [search, tag] = [input("search"), input("tag")];
  const seek = () => {
    const q = search.value.trim();
    if (q === view.q) return;
    go({ q }, searching); // a plant that is open stays, with its edits
    searching = true;
  };
  search.addEventListener("input", calm(seek, 200));
  search.addEventListener("focus", () => (searching = false));

  tag.addEventListener("input", (e) => (isPicked = ["insertReplacementText", "", undefined].includes(/** @type {InputEvent} */ (e).inputType)));
  tag.addEventListener("input", calm(choose, 200));
  tag.addEventListener("focus", () => (choosing = false));
  for (const [field, event] of /** @type {const} */ ([["tag", "focus"], ["plant-tag", "focus"], ["plant-tag", "input"]])) {
    input(field).addEventListener(event, calm(() => suggest(field).catch(() => {}), 200));
  }
}
