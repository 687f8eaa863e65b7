// @ts-check
// A plant beside the table: edit it, create one, delete one and take that back. Every write has a
// condition, so no write replaces a version that the page has not shown.
import { Failure, on, send, wrongId } from "./api.js";
import { find, isStale, members, note, offer, remove, restore, store } from "./done.js";
import { $, brief, choice, input, isTyping, isWriter, make, shown, tell, time } from "./dom.js";
import { edits, go, view } from "./filter.js";
import { recent } from "./history.js";
import { focus, selected } from "./table.js";
/** @import {Change, Content, New, Plant} from "./types" */

const form = /** @type {HTMLFormElement} */ ($("plant-form"));
const [id, tag, name] = [input("plant-id"), input("plant-tag"), /** @type {HTMLTextAreaElement} */ (form.elements[1])];
/** The version that is edited; undefined: there is none yet, or not any more. @type {Plant | undefined} */
let plant;
let before = ["", ""]; // what the fields had at first
let [proposed, proposing] = ["", Promise.resolve()]; // an id for a new plant
/** New plants that are still to be stored, the names of those that could not be stored, and until when plants
 *  are stored. @type {[New[], Set<string>, Promise<unknown>]} */
let [queue, failed, adding] = [[], new Set(), Promise.resolve()];
/** Opened is what the panel shows: an id, "new", or null for nothing yet. While the change that is sent is
 *  busy, the panel keeps its plant. @type {[number, string | null, Promise<unknown> | undefined]} */
let [shows, opened, busy] = [0, null, undefined];

export const isOpen = () => !$("panel").hidden;
const isDirty = () => isOpen() && !name.readOnly && (name.value !== before[0] || tag.value !== before[1]);

/** What the fields say. A text that was not touched stays as it is: fields change some characters.
 *  @returns {Content} */
function content() {
  const text = name.value === before[0] ? (plant?.name ?? name.value) : name.value;
  const tagged = plant && tag.value === before[1] ? plant.tag : tag.value || undefined;
  return { name: text, ...(tagged !== undefined && { tag: tagged }) };
}

/** The members that the person has changed. @type {(mine: Content, theirs: Content | undefined) => (typeof members)[number][]} */
const changes = (mine, theirs) => members.filter((member) => mine[member] !== theirs?.[member]);

/** Shows one part of the panel, and gives the focus to something in it.
 *  @type {(part: "plant-form" | "confirm" | "conflict", focused?: string) => void} */
function turn(part, focused) {
  for (const other of ["plant-form", "confirm", "conflict"]) $(other).hidden = other !== part;
  if (focused) $(focused).focus();
}

/** Says something about the plant, or what is wrong with a field, after the names of new plants that are not stored.
 *  @type {(text: string, wrong?: HTMLElement | null) => void} */
function say(text, wrong) {
  const names = [...failed].map((it) => `“${brief(it)}”`).join(", ");
  tell("panel-note", names ? `Not created: ${names}. ${text}` : text);
  $("panel-note").classList.toggle("wrong", wrong !== undefined || names !== "");
  for (const field of [id, name, tag]) field.setAttribute("aria-invalid", String(field === wrong));
  wrong?.focus();
}

/** Fills the fields with what is stored, or for a new plant, and says something about it.
 *  @type {(stored: Plant | undefined, note?: string) => void} */
function fill(stored, note = "") {
  [plant, opened, form.inert] = [stored, stored?.id ?? "new", false];
  $("panel").dataset["mode"] = !stored ? "new" : isWriter() ? "edit" : "read";
  [id.value, name.value, tag.value] = [stored?.id ?? "", stored?.name ?? "", stored?.tag ?? ""];
  [id.readOnly, name.readOnly, tag.readOnly] = [stored !== undefined, !isWriter(), !isWriter()];
  before = [name.value, tag.value];
  tell("panel-title", stored ? shown(stored.name).trim() || "(no name)" : "New plant");
  $("save").textContent = stored ? "Save" : "Create";
  $("save").classList.toggle("primary", stored !== undefined);
  $("save-next").hidden = stored !== undefined;
  $("delete").hidden = !stored;
  const times = stored ? { Created: stored.created_at, Changed: stored.updated_at } : {};
  const by = stored?.changed_by ? ` by ${brief(stored.changed_by)}` : "";
  const items = Object.entries(times).flatMap(([what, at]) => [make("dt", {}, what), make("dd", {}, time(at), what === "Changed" ? by : "")]);
  $("plant-times").replaceChildren(...items);
  say(note);
  past(stored?.id ?? "");
  const wasConflict = !$("conflict").hidden;
  turn("plant-form");
  if (wasConflict) $("panel-title").focus();
}

/** Shows the last changes of a plant, and lets a writer bring back a state, unless the
 *  plant was changed since. @param {string} id */
const past = (id) => void recent(id, plant, isWriter() ? (content) => once(async () => {
  const stored = await store(id, content, plant?.etag);
  note(`Brought back “${brief(stored.name)}”.`, back(plant, stored));
  form.hidden = false;
  fill(stored, "Brought back.");
  if (!isTyping()) $("panel-title").focus();
})() : undefined);

/** Fills the fields with what was saved. What was typed while it was being saved stays, and is not saved yet.
 *  @type {(stored: Plant, sent: string[], note: string) => void} */
function settle(stored, sent, note) {
  const typed = [name.value, tag.value];
  fill(stored, note);
  if (typed[0] !== sent[0]) name.value = typed[0] ?? "";
  if (typed[1] !== sent[1]) tag.value = typed[1] ?? "";
}

/** Shows the plant that the view names, or closes the panel.
 *  @param {string | null} last the plant that was shown before */
export async function show(last) {
  const [wanted, mine, wasOpen] = [view.plant, ++shows, isOpen()];
  selected();
  if (busy) await busy;
  if (mine !== shows || (wanted !== null && wanted === opened)) return;
  failed.clear();
  [plant, opened, form.inert] = [undefined, null, true];
  document.body.classList.toggle("beside", wanted !== null);
  $("panel").hidden = wanted === null;
  past("");
  if (wanted === null) return void (wasOpen && !isTyping() && focus(last));
  $("import-panel").hidden = true;
  if (wanted === "new") return begin(), propose();
  try {
    const { body } = await send("get", "/plants/{id}", { id: wanted });
    if (mine === shows) fill(body);
  } catch (error) {
    if (mine !== shows) return;
    form.hidden = true;
    tell("panel-title", brief(wanted));
    const isGone = error instanceof Failure && error.code === 40401;
    isGone ? say("This plant is deleted, or there never was one with this id.") : report(error);
    past(isGone ? wanted : "");
  }
  $("panel-title").focus();
}

/** Begins a new plant, with a tag that stays from the last one. */
function begin(tagged = "") {
  fill(undefined);
  [proposed, tag.value, before] = ["", tagged, ["", tagged]];
  name.focus();
}

/** The id of the next plant: the largest one and 1. */
async function nextId() {
  const { body } = await send("get", "/plants", { query: { order: "id_desc", limit: 1 } });
  const next = BigInt(body[0]?.id ?? 0) + 1n;
  return String(next > 2n ** 63n - 1n || next < 1n ? 1n : next);
}

/** Proposes an id for a new plant. */
const propose = () => void (proposing = nextId().then((next) => {
  if (opened === "new" && !id.value && busy !== adding) proposed = id.value = next;
}).catch(report));

/** Says why a request failed, beside the field unless something else is there now. @param {unknown} error */
function report(error, isThere = true) {
  if (!(error instanceof Failure)) throw error;
  if (error.isReadOnly) on.readOnly();
  const [detail] = error.details;
  const field = { "/id": id, "/name": name, "/tag": tag }[detail?.pointer ?? ""];
  say(field ? `The ${detail?.pointer.slice(1)} ${detail?.message}.` : error.message, (isThere && field) || null);
}

/** Makes one change at a time. One that fails keeps the panel. @param {() => Promise<void>} change */
const once = (change) => () => {
  const here = view.plant;
  return (busy ??= change().then(isDirty, (error) => (report(error), true))
    .finally(() => (busy = undefined)).then((stays) => stays && go({ plant: opened ?? here }, true)));
};

/** Stores a new plant. @type {(it: New) => Promise<Plant>} */
async function create(it) {
  it.at ||= await nextId();
  try {
    return await store(it.at, it.mine);
  } catch (error) {
    if (!isStale(error)) throw error;
    const theirs = await find(it.at);
    if (theirs && !changes(it.mine, theirs).length) return theirs; // by an attempt whose response was lost
    if (!it.isProposed) throw new Failure(41200, "", [{ in: "body", pointer: "/id", message: "is taken: choose another one" }]);
    return create(Object.assign(it, { at: "" }));
  }
}

/** Takes a new plant out of the fields, so that what is typed from now on is the next one, and stores it. */
async function createNext() {
  const [at, mine] = [id.value.trim(), content()];
  if (busy && busy !== adding) return;
  if (at && wrongId(at)) return say(wrongId(at), id);
  if (!mine.name.trim() && (await choice("nameless")) !== "save") return name.focus();
  queue.push({ at, mine, isProposed: !at || at === proposed });
  begin(tag.value);
  say(`Creating “${brief(mine.name)}” …`);
  adding = createAll();
}

/** Stores the new plants one after the other. One that fails is in the fields again, unless another one is typed there. */
const createAll = once(async () => {
  for (let it; (it = queue.shift()); ) {
    try {
      const stored = await create(it);
      failed.delete(stored.name);
      note(`Created “${brief(stored.name)}”.`, back(undefined, stored));
      say(`Created “${brief(stored.name)}”, with the id ${stored.id}.`);
    } catch (error) {
      failed.add(it.mine.name);
      if (!isDirty()) [id.value, name.value, tag.value, proposed] = [it.at, it.mine.name, it.mine.tag ?? "", it.isProposed ? it.at : ""];
      if (name.value === it.mine.name) name.select(); // what is typed now is another one
      report(error, false);
    }
  }
  if (!id.value) propose();
});

/** Saves the members that the person has changed, in the version that is edited or in a newer one. */
async function save(version = plant) {
  if (!id.value) await proposing;
  const [at, mine, isNew, sent] = [id.value.trim(), content(), opened === "new", [name.value, tag.value]];
  const changed = changes(mine, plant);
  if (wrongId(at)) return say(wrongId(at), id);
  if (plant && !changed.length) return say("Nothing has changed.");
  if (changed.includes("name") && !mine.name.trim() && (await choice("nameless")) !== "save") return name.focus();
  try {
    const stored = await (isNew ? create({ at, mine, isProposed: at === proposed }) : store(at, mine, version?.etag, changed));
    note(`${version ? "Changed" : "Created"} “${brief(stored.name)}”.`, back(version, stored));
    settle(stored, sent, isNew ? "Created." : "Saved.");
    if (isNew && view.plant === "new") go({ plant: stored.id }, true);
  } catch (error) {
    if (isNew || !isStale(error)) throw error;
    const theirs = await find(at);
    if (theirs && !changes(mine, theirs).some((member) => changed.includes(member))) settle(theirs, sent, "Saved."); // by an attempt whose response was lost
    else if (theirs) compare(mine, changed, theirs);
    else [plant] = [undefined, say("Someone has deleted this plant. Save it to create it again.", null)];
  }
}

/** Someone was faster: shows both versions, and what becomes of each member.
 *  @type {(mine: Content, changed: (typeof members)[number][], theirs: Plant) => void} */
function compare(mine, changed, theirs) {
  for (const member of members) {
    for (const [whose, version] of Object.entries({ mine, theirs })) {
      $(`${whose}-${member}`).textContent = shown(version[member] ?? "(none)");
    }
    const differs = mine[member] !== theirs[member];
    $(`${member}-differs`).hidden = !differs;
    $(`${member}-differs`).parentElement?.parentElement?.classList.toggle("differs", differs);
  }
  const kept = members.filter((member) => !changed.includes(member));
  tell("conflict-means", `Keep mine stores your ${changed.join(" and ")}${kept.map((it) => `, with their ${it}`).join("")}.`);
  $("keep-mine").onclick = once(() => save(theirs));
  $("take-theirs").onclick = () => fill(theirs, "This is what is stored now.");
  say("");
  turn("conflict", "conflict-title");
}

async function drop() {
  const gone = plant;
  if (!gone) return;
  try {
    await remove(gone);
  } catch (error) {
    turn("plant-form");
    const theirs = isStale(error) && (await find(gone.id));
    if (!theirs) throw error;
    fill(theirs);
    throw new Failure(41200, "Not deleted: someone has just changed it. This is what is stored now.");
  }
  [busy, before] = [undefined, [name.value, tag.value]]; // the panel may close
  if (view.plant === gone.id) go({ plant: null });
  offer(`Deleted “${brief(gone.name)}”.`, back(gone, undefined));
}

/** What takes a change of a plant back, and says so. @type {(before: Plant | undefined, after: Plant | undefined) => () => Promise<string>} */
const back = (old, stored) => async () => {
  const called = `“${brief((old ?? stored)?.name ?? "")}”`;
  try {
    const plant = await restore(old, stored);
    if (opened === stored?.id && !isDirty()) plant ? fill(plant, "Taken back.") : go({ plant: null });
    if (plant && !stored) focus(plant.id);
    return !old ? `${called} is deleted again.` : stored ? `${called} is as before.` : `${called} is back.`;
  } catch (error) {
    if (!isStale(error)) throw error; // it can be tried again
    return stored ? `Someone has changed ${called} since: it stays as it is.` : "Someone has stored another plant with this id.";
  }
};

/** Tells of changes to the plant that is open. @param {Change[]} changes */
export function changed(changes) {
  const mine = changes.findLast((change) => change.id === plant?.id);
  if (!mine || !isOpen() || busy || form.hidden || mine.plant?.etag === plant?.etag) return;
  if (!mine.plant) say("Someone has deleted this plant.");
  else if (isDirty()) say("Someone has just changed this plant. When you save, you see both versions.");
  else fill(mine.plant, "Someone has just changed this plant.");
}

/** Closes the panel. */
export const close = () => ($("confirm").hidden ? go({ plant: null }) : turn("plant-form", "delete"));

/** Shows the fields as the rights of the token allow. */
export function rights() {
  if (isDirty()) return;
  if (plant && isOpen()) fill(plant);
  else if (opened === "new") name.readOnly = tag.readOnly = !isWriter();
  else if (isOpen() && form.hidden) past(view.plant ?? ""); // of a plant that is deleted
}

const submit = once(save);

/** Asks what becomes of the edits before another step is gone. @type {(go: () => void) => Promise<void>} */
async function ask(step) {
  const called = opened === "new" ? "the new plant" : `“${brief(plant?.name ?? name.value)}”`;
  tell("leave-text", `Your changes to ${called} are not saved yet.`);
  const chosen = await choice("leave");
  if (chosen === "save") await submit();
  if (chosen === "drop") plant ? fill(plant) : (before = [name.value, tag.value]);
  if (!isDirty()) step();
}

export function start() {
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    void (opened === "new" && e.submitter !== $("save") ? createNext() : adding.then(submit)); // Enter has no submitter, or the first button
  });
  name.addEventListener("keydown", (e) => {
    if (e.key !== "Enter" || e.shiftKey || e.isComposing) return;
    e.preventDefault();
    if (!name.readOnly) form.requestSubmit();
  });
  edits.hold = (to) => isDirty() && !busy && to !== opened;
  edits.ask = ask;
  addEventListener("beforeunload", (e) => (isDirty() || busy) && e.preventDefault());
  $("new").onclick = () => go({ plant: "new" });
  $("panel-close").onclick = close;
  $("delete").onclick = () => (tell("confirm-text", `Delete “${brief(plant?.name ?? "")}”?`), turn("confirm", "confirm-delete"));
  $("confirm-delete").onclick = once(drop);
  $("confirm-keep").onclick = () => turn("plant-form", "delete");
}
