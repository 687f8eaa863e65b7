// @ts-check
// What was done here in the last hour, and the way back: in a toast for twenty seconds, and in a list.
import { $, isTyping, make, setText, tell } from "./dom.js";
import { apply, focus } from "./table.js";
import { Failure, send } from "./api.js";
/** @import {Content, Each, Plant, Step} from "./types" */

const [toasted, listed] = [20_000, 60 * 60_000];
export const members = /** @type {const} */ (["name", "tag"]);

/** The step of the toast. @type {Step | undefined} */
let last;
let timer = 0;

/** Changes members of a plant, if it still has the version, or stores one, if there is none.
 *  @type {(at: string, mine: Content, version?: string, changed?: (typeof members)[number][]) => Promise<Plant>} */
export async function store(at, mine, version, changed = [...members]) {
  const headers = { "If-Match": `"${version}"`, "Content-Type": "application/merge-patch+json" };
  const patch = Object.fromEntries(changed.map((member) => [member, mine[member] ?? null]));
  const { body: stored } = await (version
    ? send("patch", "/plants/{id}", { id: at, body: patch, headers })
    : send("put", "/plants/{id}", { id: at, body: mine, headers: { "If-None-Match": "*" } }));
  apply([{ id: stored.id, plant: stored }]);
  return stored;
}

/** Deletes a plant, if it still has this version. @type {(plant: {id: string, etag: string}) => Promise<void>} */
export async function remove({ id, etag }) {
  await send("delete", "/plants/{id}", { id, headers: { "If-Match": `"${etag}"` } });
  apply([{ id }]);
}

/** Reads a plant, if there is one. @type {(at: string) => Promise<Plant | undefined>} */
export const find = (at) => send("get", "/plants/{id}", { id: at })
  .then(({ body }) => body, (error) => (error.code === 40401 ? undefined : Promise.reject(error)));

/** Takes a change of a plant back, unless the plant was changed since. Undefined is the state of a plant that is not there.
 *  @type {(before: Plant | undefined, after: Plant | undefined) => Promise<Plant | undefined>} */
export async function restore(before, after) {
  if (before) return store(before.id, { name: before.name, ...(before.tag !== undefined && { tag: before.tag }) }, after?.etag);
  if (after) await remove(after);
  return undefined;
}

/** Whether a plant has changed meanwhile. @param {unknown} error */
export const isStale = (error) => error instanceof Failure && [40401, 41200].includes(error.code);

/** Calls a function with each item, four at a time; returns what came of those that did not fail. @type {Each} */
export const each = async (items, call, failed) => {
  const [left, results] = [[...items].reverse(), /** @type {any[]} */ ([])];
  const worker = async () => {
    for (let item; (item = left.pop()) !== undefined; ) {
      const it = item;
      await call(it).then((result) => results.push(result), (error) => failed(it, error));
    }
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  return results;
};

/** Adds what was done to the list, with a function that takes it back and says what came of that.
 *  @type {(text: string, takeBack: () => Promise<string>) => Step} */
export function note(text, takeBack) {
  const button = make("button", { type: "button", "aria-label": `Undo: ${text}` }, "Undo");
  const step = /** @type {Step} */ ({ text, takeBack, line: make("li", {}, make("span", {}, text), button), state: "" });
  button.onclick = () => void undo(step);
  $("done-list").prepend(step.line);
  $("done").hidden = false;
  setTimeout(() => forget(step), listed);
  return step;
}

/** Takes a step out of the list. @param {Step} step */
function forget(step) {
  if (step.line.contains(document.activeElement)) $("done").querySelector("summary")?.focus();
  step.state = "over";
  step.line.remove();
  $("done").hidden = $("done-list").childElementCount === 0;
}

/** Takes the focus out of the toast, to where work goes on. */
const leave = () => $("toast").contains(document.activeElement) && ($("panel").hidden ? focus(null) : $("panel-title").focus());

/** Says what was done, and offers to take it back. @type {(text: string, takeBack: () => Promise<string>) => void} */
export function offer(text, takeBack) {
  last = note(text, takeBack);
  clearTimeout(timer);
  timer = setTimeout(() => {
    leave();
    $("toast").hidden = true;
  }, toasted);
  tell("toast-text", text);
  $("toast").hidden = $("undo").hidden = false;
  if (!isTyping()) $("undo").focus();
}

/** @param {Step} step */
async function undo(step) {
  if (step.state) return;
  step.state = "running";
  const say = (/** @type {string} */ text) => {
    setText(step.line.firstElementChild, text);
    if (step === last) tell("toast-text", text);
  };
  try {
    say(await step.takeBack());
    step.state = "over";
    if (step === last) leave();
    if (step.line.contains(document.activeElement)) $("done").querySelector("summary")?.focus();
    step.line.querySelector("button")?.remove();
    if (step === last) $("undo").hidden = true;
  } catch (error) {
    step.state = ""; // it can be tried again
    say(/** @type {Error} */ (error).message);
  }
}

/** Forgets all, as for another person. */
export function clear() {
  $("done-list").replaceChildren();
  $("done").hidden = $("toast").hidden = true;
}

export function start() {
  $("undo").onclick = () => last && undo(last);
}
