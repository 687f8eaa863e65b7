// @ts-check
// What is looked for: the search, the tag and the opened plant. The address has them, so that it
// can be shared and the back button works.
import { Failure, send } from "./api.js";
import { $, calm, counted, input, make, number, setText, tell } from "./dom.js";
import { token } from "./session.js";
/** @import {View} from "./types" */

export let view = fromAddress();
let [hasMany, searching] = [false, false]; // one search is one step of the history, however many letters it has
/** @type {(before: View) => void} */
let changed = () => {};

/** Edits that a step to another plant would lose; plant.js sets both. */
export const edits = {
  /** Whether it would. @type {(to: string | null) => boolean} */
  hold: () => false,
  /** Asks the person, and then goes or stays. @type {(go: () => void, stay?: () => void) => void} */
  ask() {},
};

/** @returns {View} */
function fromAddress() {
  const parameters = new URLSearchParams(location.search);
  const q = (parameters.get("q") ?? "").slice(0, 50);
  return { q, tag: q ? null : parameters.get("tag"), plant: parameters.get("plant"), order: parameters.get("order") ?? "" };
}

/** The orders that the API has for a view, first the one that is shown if no other is chosen. @type {(of: View) => string[]} */
export const orders = ({ q, tag }) =>
  q ? ["name", "name_desc"] : tag !== null ? ["id", "id_desc"] : ["name", "name_desc", "id", "id_desc", "updated"];

/** @type {(of: View) => string} */
export const orderOf = (of) => (orders(of).includes(of.order) ? of.order : (orders(of)[0] ?? ""));

/** The address of a view, relative to the page. @type {(to: View) => string} */
export function address({ q, tag, plant, order }) {
  const parameters = new URLSearchParams();
  if (q) parameters.set("q", q);
  if (tag !== null) parameters.set("tag", tag);
  if (order) parameters.set("order", order);
  if (plant !== null) parameters.set("plant", plant);
  return parameters.size ? `?${parameters}` : location.pathname;
}

/** Goes to another view, as a step of the history or in place of the last one; then may do more.
 *  @type {(to: Partial<View>, replace?: boolean, then?: () => void) => void} */
export function go(to, replace = false, then = () => {}) {
  const next = { ...view, ...to };
  const step = () => {
    if (address(next) !== address(view)) history[replace ? "replaceState" : "pushState"](null, "", address(next));
    arrive(next);
    then();
  };
  if (edits.hold(next.plant)) edits.ask(step, fields);
  else step();
}

function fields() {
  if (input("search").value.trimStart() !== view.q) input("search").value = view.q;
  input("tag").value = view.tag ?? "";
}

/** @param {View} next */
function arrive(next) {
  const before = view;
  view = next;
  fields();
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
export const parameters = () => (view.q ? { name_prefix: view.q } : view.tag !== null ? { tag: view.tag } : {});

/** Counts again, at most once a second; very many plants, once in ten. */
export const recount = calm(count, () => (hasMany ? 10_000 : 1000));

export async function count() {
  const sent = parameters();
  try {
    const { body } = await send("get", "/plants:count", { query: sent });
    if (JSON.stringify(sent) !== JSON.stringify(parameters())) return;
    hasMany = body.more;
    setText($("count"), hasMany ? `more than ${number.format(body.count)} plants` : counted(body.count, "plant"));
    $("plants").setAttribute("aria-rowcount", hasMany ? "-1" : String(body.count + 1));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    setText($("count"), "Plants");
    if (!error.isNameless && token.get()) tell("message", error.message);
  }
}

/** Offers the tags that begin with what is typed; its first letter may also be a capital.
 *  @param {string} field */
async function suggest(field) {
  const typed = input(field).value;
  const beginnings = [...new Set([typed, typed.charAt(0).toUpperCase() + typed.slice(1)])];
  const pages = beginnings.map((prefix) => send("get", "/tags", { query: { limit: 10, prefix } }));
  const tags = (await Promise.all(pages)).flatMap(({ body }) => body).filter((tag) => tag);
  const options = [...new Set(tags)].slice(0, 10).map((value) => make("option", { value }));
  if (typed === input(field).value) $(`${field}-options`).replaceChildren(...options);
}

/** @param {(before: View) => void} listener gets the view before, and sees the new one */
export function start(listener) {
  arrive(fromAddress()); // after signing in, it is another one than at first
  changed = listener;
  addEventListener("popstate", stepped);
  $("empty-clear").onclick = () => go({ q: "", tag: null });

  const [search, tag] = [input("search"), input("tag")];
  const seek = () => {
    const q = search.value.trimStart();
    if (q === view.q) return;
    go({ q, tag: null, plant: null }, searching);
    searching = true;
  };
  search.addEventListener("input", calm(seek, 200));
  search.addEventListener("focus", () => (searching = false));

  const choose = () => go({ q: "", tag: tag.value || null, plant: null });
  tag.addEventListener("change", choose);
  tag.addEventListener("input", () => {
    const isOption = [...$("tag-options").children].some((option) => option.getAttribute("value") === tag.value);
    if (!tag.value || isOption) choose();
  });
  for (const field of ["tag", "plant-tag"]) {
    const offer = calm(() => suggest(field).catch(() => {}), 200);
    for (const event of ["focus", "input"]) input(field).addEventListener(event, offer);
  }
}
