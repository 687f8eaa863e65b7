// @ts-check
// Looks at a CSV file before it is imported: what is new, what differs from what is stored, and how. Then imports it.
import { Failure, on, send } from "./api.js";
import { decode, kinds, parse, unknownColumns, wrongColumns } from "./csv.js";
import { each, find, isStale, note, restore, store } from "./done.js";
import { $, apart, brief, counted, input, isTyping, isWriter, make, number, tell, time } from "./dom.js";
import { go, recount } from "./filter.js";
import { refresh } from "./table.js";
/** @import {Row} from "./types" */

const [compared, listed] = [10_000, 1000]; // rows whose state is found before the import; rows that are shown
const meanwhile = "changed since the download";
const words = {
  wrong: "wrong", taken: "id is taken", stale: meanwhile, changed: "changed", new: "new", unknown: "to import", equal: "already there",
};
const states = /** @type {Row["state"][]} */ (Object.keys(words));
let rows = /** @type {Row[]} */ ([]);
let [chosen, stopped, called] = [0, false, ""]; // the number and the name of the file that is shown

/** The members that a row would change. @param {Row} row */
const changes = ({ members, plant, there }) => members.filter((member) => there?.[member] !== plant[member]);
/** @param {Row} row */
const differs = ({ state }) => state === "changed" || state === "stale";
/** @type {(some: Row[]) => bigint} */
const largest = (some) => some.reduce((most, { plant }) => (BigInt(plant.id) > most ? BigInt(plant.id) : most), 0n);

/** Gives rows without an id the next ones, beyond those of the store and of the file. @param {Row[]} some */
async function enumerate(some) {
  if (!some.length) return;
  const { body } = await send("get", "/plants", { query: { order: "id_desc", limit: 1 } });
  const [stored, inFile] = [BigInt(body[0]?.id ?? 0), largest(rows.filter(({ isNumbered, state }) => !isNumbered && state !== "wrong"))];
  let last = stored > inFile ? stored : inFile;
  if (last + BigInt(some.length) >= 2n ** 63n) throw new Error("there are not enough ids after the largest one");
  for (const row of some) row.plant.id = String((last += 1n));
}

/** Finds what is new, equal and different: one request for each run of ids that are close together. */
async function compare() {
  const good = rows.filter((row) => row.state !== "wrong").map((row) => ({ row, id: BigInt(row.plant.id) }));
  good.sort((a, b) => (a.id < b.id ? -1 : 1));
  while (good.length) {
    const from = good[0]?.id ?? 0n;
    const far = good.findIndex(({ id }) => id >= from + 1000n);
    const run = good.splice(0, far < 0 ? good.length : far);
    const [last, stored] = [run.at(-1)?.id ?? from, new Map()];
    const after = from > -(2n ** 63n) && { after: String(from - 1n) };
    for (let query = /** @type {any} */ ({ limit: Number(last - from) + 1, ...after }); query; ) {
      const { body, next } = await send("get", "/plants", { query });
      for (const plant of body) stored.set(plant.id, plant);
      query = BigInt(body.at(-1)?.id ?? last) < last ? next : undefined; // a page also ends at 256 KiB
    }
    for (const { row } of run) judge(row, stored.get(row.plant.id));
  }
}

/** Compares a row with what is stored. What differs is chosen if its version was downloaded here and is still stored:
 *  otherwise an update could replace what someone else has written. @type {(row: Row, there: import("./types").Plant | undefined) => void} */
function judge(row, there) {
  row.there = there;
  const isStill = there ? row.etag === there.etag : !row.etag;
  if (!there) row.state = isStill ? "new" : "stale";
  else row.state = !changes(row).length ? "equal" : !isStill && row.etag ? "stale" : "changed";
  if (!there && row.etag) row.why = "deleted since the download";
  row.isChosen = row.state === "changed" && isStill;
}

/** Shows what is in a file. @param {File | undefined} file */
const choose = (file) => file && open(() => look(file));

/** Shows no file, and asks nothing about one. */
function reset() {
  rows = [];
  draw();
  for (const id of ["import-ignore", "import-latin", "import-columns"]) $(id).hidden = true;
  $("import-note").classList.remove("wrong");
}

/** Looks at a file, in an encoding that the person may have chosen. @param {File} file */
async function look(file, encoding = "") {
  const mine = ++chosen;
  reset();
  const named = encoding ? `${file.name}, read as Windows-1252` : file.name;
  /** Looks at the rows, now that it is known what the columns are. @param {Row[]} found */
  const use = async (found) => {
    reset();
    [rows, called] = [found, file.name];
    tell("import-note", `${named}: ${counted(rows.length, "row")} …`);
    await enumerate(rows.filter(({ isNumbered, state }) => isNumbered && state !== "wrong"));
    if (rows.length <= compared) await compare();
    if (mine === chosen) draw(`${named}: `);
  };
  try {
    if (file.size > 100 << 20) throw new Error("the file is larger than 100 MiB: use plantstore import");
    const content = parse(decode(new Uint8Array(await file.arrayBuffer()), encoding));
    if (mine !== chosen) return; // another file was chosen meanwhile
    const wrong = wrongColumns(content.columns) || (content.unknown.length ? unknownColumns(content.unknown) : "");
    if (!wrong) return await use(content.rows(content.columns));
    fault(`${named}: ${wrong}.`);
    askColumns(content, (columns) => use(content.rows(columns)));
  } catch (error) {
    if (mine !== chosen) return;
    const { message, cause } = /** @type {Error} */ (error);
    fault(`${named}: ${message}`);
    $("import-latin").hidden = cause !== "encoding";
    $("import-latin").onclick = () => void look(file, "windows-1252").then(proceed);
  }
}

/** Gives the focus to what comes next. */
const proceed = () => isTyping() || $(["import-ignore", "import-start", "import-title"].find((it) => !$(it).hidden) ?? "").focus();

/** Asks what the columns of a file are.
 *  @type {(content: {titles: string[], columns: string[]}, use: (columns: string[]) => Promise<void>) => void} */
function askColumns({ titles, columns }, use) {
  const fields = titles.map((title, i) => {
    const options = ["", ...kinds].map((kind) => make("option", { value: kind }, { "": "leave out", etag: "etag: the state when it was downloaded" }[kind] ?? kind));
    const select = make("select", { id: `column-${i}` }, ...options);
    select.value = columns[i] ?? "";
    return { title, select, line: make("p", { class: "choice" }, make("label", { for: select.id }, brief(title) || "(no name)"), select) };
  });
  const draw = () => {
    const left = fields.filter(({ select }) => !select.value).map(({ title }) => `“${brief(title) || "(no name)"}”`);
    const means = fields.some(({ select }) => select.value === "id") ? "" : ": each row becomes a new plant";
    $("import-ignore").textContent = `Continue${left.length ? ` without ${left.join(", ")}` : ""}${means}`;
  };
  const next = async () => {
    const chosen = fields.map(({ select }) => select.value);
    if (wrongColumns(chosen)) return fault(`${wrongColumns(chosen)}.`);
    await use(chosen);
    proceed();
  };
  draw();
  for (const { select } of fields) select.onchange = draw;
  $("import-fields").replaceChildren(...fields.map(({ line }) => line));
  $("import-columns").hidden = $("import-ignore").hidden = false;
  $("import-ignore").onclick = () => void next().catch((error) => fault(error.message));
  $("import-ignore").focus();
}

/** Imports the example into a store that has no plants. */
async function example() {
  const response = await fetch(/** @type {HTMLAnchorElement} */ ($("example-file")).href);
  const file = new File([await response.blob()], "species.csv");
  open(() => look(file).then(run));
}

/** Says what is wrong with a file. @param {string} why */
function fault(why) {
  tell("import-note", why);
  $("import-note").classList.add("wrong");
}

/** How a row differs from what is stored, in words. @param {Row} row */
function how(row) {
  const parts = changes(row).map((member) => {
    const [from, to] = [row.there?.[member], row.plant[member]];
    const quoted = apart(from ?? "", to ?? "").map((it, i) => ([from, to][i] === undefined ? "none" : `“${it}”`));
    return `${member}: ${quoted.join(" → ")}`;
  });
  return [row.why || (row.state === "stale" ? meanwhile : ""), row.there ? parts.join("; ") : ""].filter(Boolean).join(". ");
}

/** A row of the preview. @param {Row} row */
function lineOf(row) {
  const { line, plant, state, there, why } = row;
  const what = [make("bdi", {}, brief(plant.name)), make("small", {}, [plant.id, brief(plant.tag ?? "")].filter(Boolean).join(" · "))];
  const box = make("input", { type: "checkbox", "aria-label": `Update ${brief(plant.name) || plant.id}` });
  box.checked = row.isChosen;
  box.onchange = () => choosing([row], box.checked);
  const last = there && there.etag !== row.etag ? [". Last changed ", time(there.updated_at), there.changed_by ? ` by ${brief(there.changed_by)}` : ""] : [];
  const said = differs(row) ? [make("span", { class: "choice" }, box, make("span", {}, how(row), ...last))] : [why || words[state]];
  return make("tr", { "data-state": state }, ...[[String(line)], what, said].map((inside) => make("td", {}, ...inside)));
}

/** Chooses what is updated. @type {(some: Row[], isChosen: boolean) => void} */
function choosing(some, isChosen) {
  for (const row of some) row.isChosen = isChosen && differs(row);
  if (some === rows) for (const box of /** @type {NodeListOf<HTMLInputElement>} */ ($("import-rows").querySelectorAll("input"))) box.checked = isChosen;
  drawStart();
}

/** Shows what the button imports. */
function drawStart() {
  const ready = rows.filter(({ state }) => state === "new" || state === "unknown").length;
  const [updates, different] = [rows.filter(({ isChosen }) => isChosen).length, rows.filter(differs).length];
  const parts = [ready && `Import ${counted(ready, "plant")}`, updates && `${ready ? "update" : "Update"} ${ready ? number.format(updates) : counted(updates, "plant")}`];
  $("import-start").hidden = !ready && !updates;
  $("import-start").textContent = parts.filter(Boolean).join(", ");
  $("import-choice").hidden = different === 0;
  $("import-unguarded").hidden = !rows.some((row) => row.state === "changed" && !row.etag);
  input("import-all").checked = updates === different;
  input("import-all").indeterminate = updates > 0 && updates < different;
  $("import-amount").textContent = `Update all that differ: ${counted(different, "plant")}`;
}

/** Shows the rows, what needs a look first, of a larger file only those, and counts them. @type {(before?: string) => void} */
function draw(before = "") {
  const amount = (/** @type {string} */ state) => rows.filter((row) => row.state === state).length;
  const most = (/** @type {Row["state"]} */ it) => (rows.length <= listed || states.indexOf(it) < 4 ? listed : it === "equal" ? 0 : 20);
  const few = states.flatMap((it) => rows.filter(({ state }) => state === it).slice(0, most(it)));
  $("import-rows").replaceChildren(...few.slice(0, listed).map(lineOf));
  $("import-scroll").hidden = few.length === 0;
  drawStart();
  const parts = states.filter(amount).map((state) => `${number.format(amount(state))} ${words[state]}`);
  tell("import-note", `${before}${counted(rows.length, "row")}: ${parts.join(", ") || "nothing to import"}.`);
}

/** Imports what is new or unknown, and updates what is chosen. */
async function run() {
  const left = rows.filter(({ state }) => state === "new" || state === "unknown");
  const updates = rows.filter(({ isChosen }) => isChosen);
  const equal = rows.filter(({ state }) => state === "equal").length;
  const progress = /** @type {HTMLProgressElement} */ ($("import-progress"));
  [progress.max, progress.value, stopped] = [left.length + updates.length, 0, false];
  $("import-start").hidden = !(progress.hidden = $("import-stop").hidden = false);
  $("import-title").focus();
  const step = (/** @type {number} */ n) => {
    progress.value += n;
    tell("import-note", `${number.format(progress.value)} of ${counted(progress.max, "row")}`);
  };
  const { created, existing, stop } = await create(left, step);
  const updated = await update(updates, step);
  $("import-stop").hidden = progress.hidden = true;
  draw();
  const refused = rows.filter(({ state }) => state === "wrong" || state === "taken").length;
  const unchanged = rows.filter(differs).length;
  const counts = { new: created, updated, "already there": equal + existing, refused, "not updated": unchanged, "not imported": left.length };
  const always = ["new", "already there", "refused"];
  const parts = Object.entries(counts).filter(([what, n]) => n || always.includes(what)).map(([what, n]) => `${number.format(n)} ${what}`);
  tell("import-note", `${parts.join(", ")}.${stop}`);
  $("import-note").classList.toggle("wrong", refused > 0 || stop !== "");
  refresh();
  recount();
  proceed();
}

/** Stores rows in batches, and takes them out of the list. A plant whose id is taken leaves its batch, or gets another id if
 *  the file has none for it. @type {(left: Row[], step: (n: number) => void) => Promise<{created: number, existing: number, stop: string}>} */
async function create(left, step) {
  let [created, existing, size, stop] = [0, 0, 1000, ""];
  while (left.length && !stopped) {
    let length = 0; // of the body, whose limit is 1 MiB or what the operator chose
    const fits = left.slice(0, size).findIndex((row) => (length += JSON.stringify(row.plant).length) > 250_000);
    const batch = left.slice(0, fits < 0 ? size : Math.max(1, fits));
    const before = left.length;
    try {
      const plants = batch.map(({ plant }) => plant);
      const { body } = await send("post", "/plants:batch", { body: { plants }, again: true });
      created += body.created;
      existing += batch.length - body.created;
      for (const row of left.splice(0, batch.length)) [row.state, row.why] = ["equal", "stored"];
    } catch (error) {
      const { code, details = [], message } = /** @type {Failure} */ (error);
      const taken = code === 40010 ? details.flatMap(({ pointer }) => batch[Number(pointer.split("/")[2])] ?? []) : [];
      for (const row of taken.filter(({ isNumbered }) => !isNumbered)) [row.state] = [/** @type {const} */ ("taken"), left.splice(left.indexOf(row), 1)];
      if (code === 40006 && batch.length > 1) size = batch.length >> 1;
      else if (!taken.length) [stop, stopped] = [` The import has stopped: ${message}`, true];
      if (error instanceof Failure && error.isReadOnly) on.readOnly();
      if (taken.some(({ isNumbered }) => isNumbered)) await enumerate(left.filter(({ isNumbered }) => isNumbered)); // in the order of the file
    }
    step(before - left.length);
  }
  return { created, existing, stop };
}

/** Updates plants that still have the version that the preview has shown, and returns how many.
 *  @type {(some: Row[], step: (n: number) => void) => Promise<number>} */
async function update(some, step) {
  const changed = await each(some, async (row) => {
    if (stopped) throw new Failure(0, "not updated: the import was stopped");
    const { id, name, tag } = row.plant;
    const after = await store(id, { name, ...(tag !== undefined && { tag }) }, row.there?.etag, changes(row));
    [row.state, row.isChosen, row.why] = ["equal", false, "stored"];
    step(1);
    return { before: row.there, after };
  }, async (row, error) => {
    if (isStale(error)) judge(row, await find(row.plant.id)); // it can be chosen again, now that the person sees what is stored
    const now = row.state === "equal" ? "" : `${row.there ? "changed" : "deleted"} by someone else meanwhile`;
    [row.isChosen, row.why] = [false, isStale(error) ? now : error.message];
    step(1);
  });
  if (changed.length) note(`Updated ${counted(changed.length, "plant")} from ${called}.`, async () => {
    const returned = await each(changed, ({ before, after }) => restore(before, after), () => {});
    return `${counted(returned.length, "plant")} of ${number.format(changed.length)} ${returned.length === 1 ? "is" : "are"} as before.`;
  });
  return changed.length;
}

function open(then = () => {}) {
  go({ plant: null }, false, () => {
    document.body.classList.add("beside");
    reset();
    tell("import-note", "");
    $("import-panel").hidden = false;
    $("import-title").focus();
    then();
  });
}

export function close() {
  $("import-panel").hidden = stopped = true;
  document.body.classList.remove("beside");
  $("import").focus();
}

export function start() {
  $("import").onclick = () => ((input("file").value = ""), open());
  $("import-close").onclick = close;
  $("import-start").onclick = run;
  $("import-all").onchange = () => choosing(rows, input("import-all").checked);
  $("import-stop").onclick = () => (stopped = true);
  $("example").onclick = example;
  input("file").onchange = () => choose(input("file").files?.[0]);
  input("file").onclick = () => (input("file").value = ""); // so that the same file can be chosen again
  const hold = (/** @type {boolean} */ over) => document.body.classList.toggle("dropping", over && isWriter());
  addEventListener("dragover", (e) => (e.preventDefault(), hold(true)));
  addEventListener("dragleave", (e) => e.relatedTarget || hold(false));
  addEventListener("drop", (e) => void (e.preventDefault(), hold(false), isWriter() && choose(e.dataTransfer?.files[0])));
}
