// @ts-check
// A plant beside the table: edit it, create one, delete one and take that back. Every write has a
// condition, so no write replaces a version that the page has not shown.
import { Failure, on, send, wrongId } from "./api.js";
import { $, brief, input, isWriter, make, shown, tell, time } from "./dom.js";
import { go, view } from "./filter.js";
import { apply, focus, selected } from "./table.js";
/** @import {Change, Content, Plant} from "./types" */

const form = /** @type {HTMLFormElement} */ ($("plant-form"));
const [id, tag, name] = [input("plant-id"), input("plant-tag"), /** @type {HTMLTextAreaElement} */ (form.elements[1])];
/** The version that is edited; undefined: there is none yet, or not any more. @type {Plant | undefined} */
let plant;
let before = ["", ""]; // what the fields had at first
/** Opened is what the panel shows: an id, "new", or null for nothing yet. While the change that is sent is
 *  busy, the panel keeps its plant. @type {[number, string, string | null, Promise<unknown> | undefined]} */
let [shows, warned, opened, busy] = [0, "", null, undefined];

export const isOpen = () => !$("panel").hidden;
const isDirty = () => isOpen() && !name.readOnly && (name.value !== before[0] || tag.value !== before[1]);

const same = (/** @type {Content} */ a, /** @type {Content} */ b) => a.name === b.name && a.tag === b.tag;

/** What the fields say. A text that was not touched stays as it is: fields change some characters.
 *  @returns {Content} */
function content() {
  const text = name.value === before[0] ? (plant?.name ?? name.value) : name.value;
  const tagged = plant && tag.value === before[1] ? plant.tag : tag.value || undefined;
  return { name: text, ...(tagged !== undefined && { tag: tagged }) };
}

/** Shows one part of the panel, and gives the focus to something in it.
 *  @type {(part: "plant-form" | "confirm" | "conflict", focused?: string) => void} */
function turn(part, focused) {
  for (const other of ["plant-form", "confirm", "conflict"]) $(other).hidden = other !== part;
  if (focused) $(focused).focus();
}

/** Fills the fields with what is stored, or for a new plant, and says something about it.
 *  @type {(stored: Plant | undefined, note?: string) => void} */
function fill(stored, note = "") {
  [plant, opened, form.inert] = [stored, stored?.id ?? "new", false];
  $("panel").dataset["mode"] = !stored ? "new" : isWriter() ? "edit" : "read";
  const now = String(Math.floor((performance.timeOrigin + performance.now()) * 1000)); // in microseconds
  [id.value, name.value, tag.value] = [stored?.id ?? now, stored?.name ?? "", stored?.tag ?? ""];
  [id.readOnly, name.readOnly, tag.readOnly] = [stored !== undefined, !isWriter(), !isWriter()];
  before = [name.value, tag.value];
  tell("panel-title", stored ? shown(stored.name).trim() || "(no name)" : "New plant");
  $("save").textContent = stored ? "Save" : "Create";
  $("delete").hidden = !stored;
  const times = stored ? { Created: stored.created_at, Changed: stored.updated_at } : {};
  const items = Object.entries(times).flatMap(([what, at]) => [make("dt", {}, what), make("dd", {}, time(at))]);
  $("plant-times").replaceChildren(...items);
  tell("panel-note", note);
  turn("plant-form");
}

/** Shows the plant that the view names, or closes the panel.
 *  @param {string | null} last the plant that was shown before */
export async function show(last) {
  const [wanted, mine, wasOpen] = [view.plant, ++shows, isOpen()];
  selected();
  if (busy) await busy;
  if (mine !== shows || (wanted !== null && wanted === opened)) return;
  [plant, opened, form.inert] = [undefined, null, true];
  document.body.classList.toggle("beside", wanted !== null);
  $("panel").hidden = wanted === null;
  if (wanted === null) return void (wasOpen && focus(last));
  $("import-panel").hidden = true;
  if (wanted === "new") return fill(undefined), name.focus();
  try {
    const { body } = await send("get", "/plants/{id}", { id: wanted });
    if (mine === shows) fill(body);
  } catch (error) {
    if (mine !== shows) return;
    form.hidden = true;
    tell("panel-title", brief(wanted));
    report(error);
  }
  $("panel-title").focus();
}

/** Says why a request failed. @param {unknown} error */
function report(error) {
  if (!(error instanceof Failure)) throw error;
  if (error.isReadOnly) on.readOnly();
  tell("panel-note", error.message);
}

/** Makes one change at a time. One that fails keeps the panel. @param {() => Promise<void>} change */
const once = (change) => () => {
  const here = view.plant;
  busy ??= change().then(isDirty, (error) => (report(error), true))
    .finally(() => (busy = undefined)).then((stays) => stays && go({ plant: here }, true));
};

/** Changes what the page shows of a plant, if it still has the version, or stores one, if there is none.
 *  @type {(at: string, body: Content, version?: string) => Promise<Plant>} */
async function store(at, body, version) {
  const headers = { "If-Match": `"${version}"`, "Content-Type": "application/merge-patch+json" };
  const { body: stored } = await (version
    ? send("patch", "/plants/{id}", { id: at, body: { tag: null, ...body }, headers })
    : send("put", "/plants/{id}", { id: at, body, headers: { "If-None-Match": "*" } }));
  apply([{ id: stored.id, plant: stored }]);
  return stored;
}

/** Reads a plant, if there is one. @type {(at: string) => Promise<Plant | undefined>} */
const find = (at) => send("get", "/plants/{id}", { id: at })
  .then(({ body }) => body, (error) => (error.code === 40401 ? undefined : Promise.reject(error)));

/** @type {(mine: Content, version?: string) => Promise<void>} */
async function save(mine, version) {
  const [at, isNew] = [id.value.trim(), opened === "new"];
  const fault = wrongId(at);
  if (fault) return tell("panel-note", fault);
  if (plant && same(plant, mine) && plant.etag === version) return tell("panel-note", "Nothing has changed.");
  try {
    fill(await store(at, mine, version), isNew ? "Created." : "Saved.");
  } catch (error) {
    if (!(error instanceof Failure) || ![40401, 41200].includes(error.code)) throw error;
    const theirs = await find(at);
    if (theirs && same(theirs, mine)) fill(theirs, "Saved."); // by an attempt whose response was lost
    else if (isNew) tell("panel-note", "This id is taken: choose another one.");
    else if (theirs) compare(mine, theirs);
    else [plant] = [undefined, tell("panel-note", "Someone has deleted this plant. Save it to create it again.")];
  }
  if (view.plant === "new" && opened === at) go({ plant: at }, true);
}

/** Someone was faster: shows both versions. @type {(mine: Content, theirs: Plant) => void} */
function compare(mine, theirs) {
  for (const [whose, version] of Object.entries({ mine, theirs })) {
    for (const what of /** @type {const} */ (["name", "tag"])) {
      $(`${whose}-${what}`).textContent = shown(version[what] ?? "(none)");
      $(`${whose}-${what}`).classList.toggle("differs", mine[what] !== theirs[what]);
    }
  }
  $("keep-mine").onclick = once(() => save(mine, theirs.etag));
  $("take-theirs").onclick = () => (fill(theirs, "This is what is stored now."), $("panel-title").focus());
  tell("panel-note", "");
  turn("conflict", "conflict-title");
}

async function remove() {
  const gone = plant;
  if (!gone) return;
  try {
    await send("delete", "/plants/{id}", { id: gone.id, headers: { "If-Match": `"${gone.etag}"` } });
  } catch (error) {
    turn("plant-form");
    const theirs = error instanceof Failure && error.code === 41200 && (await find(gone.id));
    if (!theirs) throw error;
    fill(theirs);
    throw new Failure(41200, "Not deleted: someone has just changed it. This is what is stored now.");
  }
  busy = undefined; // the panel may close
  if (view.plant === gone.id) go({ plant: null });
  apply([{ id: gone.id }]);
  offer(gone);
}

/** Offers for ten seconds to insert a plant again; the service ignores its version and times. @param {Plant} gone */
function offer(gone) {
  const [toast, called] = [$("toast"), `“${brief(gone.name)}”`];
  clearTimeout(Number(toast.dataset["timer"]));
  toast.dataset["timer"] = String(setTimeout(() => {
    if (toast.contains(document.activeElement)) focus(null);
    toast.hidden = true;
  }, 10_000));
  tell("toast-text", `Deleted ${called}.`);
  toast.hidden = $("undo").hidden = false;
  $("undo").focus();
  $("undo").onclick = once(async () => {
    const failure = await store(gone.id, gone).then(() => undefined, (error) => /** @type {Failure} */ (error));
    const isTaken = failure?.code === 41200;
    const why = isTaken ? "Someone has stored another plant with this id." : failure?.message;
    tell("toast-text", why ?? `${called} is back.`);
    $("undo").hidden = !failure || isTaken; // else it can be tried again
    if ($("undo").hidden) focus(gone.id);
  });
}

/** Tells of changes to the plant that is open. @param {Change[]} changes */
export function changed(changes) {
  const mine = changes.findLast((change) => change.id === plant?.id);
  if (!mine || !isOpen() || busy || form.hidden || mine.plant?.etag === plant?.etag) return;
  if (!mine.plant) tell("panel-note", "Someone has deleted this plant.");
  else if (isDirty()) tell("panel-note", "Someone has just changed this plant. When you save, you see both versions.");
  else fill(mine.plant, "Someone has just changed this plant.");
}

/** Closes the panel; what is not saved needs a second time. */
export function close() {
  if (!$("confirm").hidden) return turn("plant-form", "delete");
  const text = JSON.stringify(content());
  if (!isDirty() || warned === text) return go({ plant: null });
  warned = text;
  tell("panel-note", "Not saved yet. Close again to drop your changes.");
}

/** Shows the fields as the rights of the token allow. */
export const rights = () => plant && isOpen() && !isDirty() && fill(plant);

export function start() {
  const submit = once(() => save(content(), plant?.etag));
  form.addEventListener("submit", (e) => (e.preventDefault(), submit()));
  name.addEventListener("keydown", (e) => {
    if (e.key !== "Enter" || e.shiftKey || e.isComposing) return;
    e.preventDefault();
    if (!name.readOnly) form.requestSubmit();
  });
  $("new").onclick = () => go({ plant: "new" });
  $("panel-close").onclick = close;
  $("delete").onclick = () =>
    (tell("confirm-text", `Delete “${brief(plant?.name ?? "")}”?`), turn("confirm", "confirm-delete"));
  $("confirm-delete").onclick = once(remove);
  $("confirm-keep").onclick = () => turn("plant-form", "delete");
}
