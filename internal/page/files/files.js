// @ts-check
// CSV files: look at one before it is imported, import it, and download what the table shows. The
// format is that of plantstore import and export.
import { Failure, on, send, wrongId } from "./api.js";
import { $, brief, counted, input, isWriter, make, number, shown, tell } from "./dom.js";
import { go, recount } from "./filter.js";
import { first, refresh } from "./table.js";
/** @import {Row} from "./types" */

/** The columns after the id, and how many characters each can have. */
const texts = { name: 1000, tag: 256 };
const names = /** @type {(keyof typeof texts)[]} */ (Object.keys(texts));
const previewed = 1000; // rows whose state is found before the import
const most = 100_000; // plants in a download
const words = { wrong: "wrong", taken: "id is taken", new: "new", unknown: "to import", equal: "already there" };
const states = /** @type {Row["state"][]} */ (Object.keys(words));
let rows = /** @type {Row[]} */ ([]);
let [chosen, stopped] = [0, false]; // the number of the file that is shown

/** The records of a CSV file (RFC 4180). It is known which fields are quoted, because "" is an
 *  empty tag and nothing is none.
 *  @param {string} text */
function* records(text) {
  for (let at = 0, line = 1; at < text.length; ) {
    const [begin, fields] = [at, /** @type {{value: string, quoted: boolean}[]} */ ([])];
    let fault = "";
    for (let ended = false; !ended; at++) {
      const quoted = text[at] === '"';
      let to = at;
      if (quoted) {
        do to = text.indexOf('"', to + 1) + 1;
        while (to > 0 && text[to] === '"');
        if (to === 0) [fault, to] = ["a quoted field is not closed", text.length];
        else if (!/[,\r\n]|^$/.test(text.charAt(to))) fault = "inside of a quoted field write a quote twice";
      }
      while (to < text.length && text[to] !== "," && text[to] !== "\n") to++;
      ended = text[to] !== ",";
      const raw = text.slice(at, ended && to > at && text[to - 1] === "\r" ? to - 1 : to);
      fields.push({ value: quoted ? raw.slice(1, -1).replaceAll('""', '"') : raw, quoted });
      at = to;
    }
    if (fields.length > 1 || fields[0]?.value) yield { line, fields, fault };
    line += text.slice(begin, at).split("\n").length - 1;
  }
}

/** The rows of a file, with what is wrong in them. @param {string} text */
function parse(text) {
  const [head, ...rest] = records(text);
  const columns = (head?.fields ?? []).map(({ value }) => value.trim().toLowerCase());
  const missing = ["id", "name"].find((column) => !columns.includes(column));
  if (missing) throw new Error(`the first line must name the columns, as in id,${names}: ${missing} is missing`);
  const seen = new Map();
  return rest.map(({ line, fields, fault }) => {
    const field = (/** @type {string} */ name) => fields[columns.indexOf(name)];
    const given = names.filter((name) => name === "name" || field(name)?.value || field(name)?.quoted);
    const content = Object.fromEntries(given.map((name) => [name, plain(field(name)?.value)]));
    const plant = /** @type {Row["plant"]} */ ({ id: field("id")?.value.trim() ?? "", ...content });
    const isShort = fields.length !== columns.length && `${fields.length} fields, but ${columns.length} columns`;
    const isTwice = seen.has(plant.id) && `line ${seen.get(plant.id)} has this id, too`;
    const long = names.find((name) => [...(plant[name] ?? "")].length > texts[name]);
    const isLong = long && `the ${long} has more than ${number.format(texts[long])} characters`;
    const why = fault || isShort || (plant.id ? wrongId(plant.id) : "id is missing") || isTwice || isLong || "";
    seen.set(plant.id, line);
    return /** @type {Row} */ ({ line, plant, state: why ? "wrong" : "unknown", why });
  });
}

// A spreadsheet runs a cell that begins like a formula, so such a text gets an apostrophe in a
// download. So does one that has it already, so that an import can take it away again.
const guarded = (/** @type {string} */ text) => (/^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text);
const plain = (text = "") => (/^'+[=+\-@\t\r]/.test(text) ? text.slice(1) : text);
const quote = (/** @type {string} */ text) => (/[",\r\n]|^$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const cell = (/** @type {string | undefined} */ text) => (text === undefined ? "" : quote(guarded(text)));

/** Finds what is new, equal and taken: one request for each run of ids that are close together. */
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
    for (const { row } of run) {
      const there = stored.get(row.plant.id);
      row.state = !there ? "new" : names.every((name) => there[name] === row.plant[name]) ? "equal" : "taken";
    }
  }
}

/** Shows what is in a file. @param {File | undefined} file */
const choose = (file) => file && open(() => look(file));

/** @param {File} file */
async function look(file) {
  const mine = ++chosen;
  try {
    if (file.size > 100 << 20) throw new Error("the file is larger than 100 MiB: use plantstore import");
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    rows = parse(text);
    if (rows.length <= previewed) await compare();
    if (mine === chosen) draw(`${file.name}: `);
  } catch (error) {
    const why = error instanceof TypeError ? "it is not UTF-8" : /** @type {Error} */ (error).message;
    tell("import-note", `${file.name}: ${why}`);
  }
}

/** Shows the rows, what needs a look first, of a larger file nothing else, and counts them.
 *  @type {(before?: string, after?: string) => void} */
function draw(before = "", after = "") {
  const amount = (/** @type {string} */ state) => rows.filter((row) => row.state === state).length;
  const worth = states.slice(0, rows.length <= previewed ? states.length : 2);
  const few = worth.flatMap((it) => rows.filter(({ state }) => state === it));
  const lines = few.slice(0, previewed).map(({ line, plant, state, why }) => {
    const what = [make("bdi", {}, brief(plant.name)), make("small", {}, shown(plant.id))];
    const cells = [[String(line)], what, [why || words[state]]].map((inside) => make("td", {}, ...inside));
    return make("tr", { "data-state": state }, ...cells);
  });
  $("import-rows").replaceChildren(...lines);
  $("import-scroll").hidden = few.length === 0;
  const ready = amount("new") + amount("unknown");
  $("import-start").hidden = ready === 0;
  $("import-start").textContent = `Import ${counted(ready, "plant")}`;
  const parts = states.filter(amount).map((state) => `${number.format(amount(state))} ${words[state]}`);
  tell("import-note", `${before}${counted(rows.length, "row")}: ${parts.join(", ") || "nothing to import"}.${after}`);
}

/** Stores what is new or unknown, in batches. A plant whose id is taken leaves its batch. */
async function run() {
  const left = rows.filter(({ state }) => state === "new" || state === "unknown");
  const progress = /** @type {HTMLProgressElement} */ ($("import-progress"));
  [progress.max, progress.value, stopped] = [left.length, 0, false];
  $("import-start").hidden = !(progress.hidden = $("import-stop").hidden = false);
  let [created, size, fault] = [0, 1000, ""];
  while (left.length && !stopped) {
    let length = 0; // of the body, whose limit is 1 MiB or what the operator chose
    const fits = left.slice(0, size).findIndex((row) => (length += JSON.stringify(row.plant).length) > 250_000);
    const batch = left.slice(0, fits < 0 ? size : Math.max(1, fits));
    try {
      const plants = batch.map(({ plant }) => plant);
      const { body } = await send("post", "/plants:batch", { body: { plants }, again: true });
      created += body.created;
      for (const row of left.splice(0, batch.length)) row.state = "equal";
    } catch (error) {
      const { code, details = [], message } = /** @type {Failure} */ (error);
      for (const { pointer } of code === 40010 ? details : []) {
        const row = batch[Number(pointer.split("/")[2])];
        if (row) [row.state] = [/** @type {const} */ ("taken"), left.splice(left.indexOf(row), 1)];
      }
      if (code === 40006 && batch.length > 1) size = batch.length >> 1;
      else if (code !== 40010 || !details.length) [fault, stopped] = [` The import has stopped: ${message}`, true];
      if (error instanceof Failure && error.isReadOnly) on.readOnly();
    }
    progress.value = progress.max - left.length;
    tell("import-note", `${number.format(progress.value)} of ${counted(progress.max, "row")}`);
  }
  $("import-stop").hidden = progress.hidden = true;
  draw(`${number.format(created)} stored. `, fault);
  refresh();
  recount();
}

/** Downloads what the table shows. */
async function download() {
  if ($("download").hasAttribute("aria-busy")) return;
  $("download").setAttribute("aria-busy", "true");
  let [text, n, query] = [`id,${names}\n`, 0, /** @type {any} */ ({ ...first(), limit: 1000 })];
  try {
    while (query && n < most) {
      const { body, next } = await send("get", "/plants", { query });
      for (const plant of body) text += `${[plant.id, ...names.map((name) => cell(plant[name]))]}\n`;
      [query, n] = [next, n + body.length];
      if (next) tell("message", `Downloading: ${number.format(n)} plants …`);
    }
    const href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    make("a", { href, download: "plants.csv" }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10_000);
    tell("message", query ? `The file has the first ${number.format(n)} plants. plantstore export writes all.` : "");
  } catch (error) {
    tell("message", /** @type {Error} */ (error).message);
  }
  $("download").removeAttribute("aria-busy");
}

function open(then = () => {}) {
  go({ plant: null }, false, () => {
    document.body.classList.add("beside");
    rows = [];
    draw();
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
  $("import").onclick = () => open();
  $("import-close").onclick = close;
  $("import-start").onclick = run;
  $("import-stop").onclick = () => (stopped = true);
  $("download").onclick = download;
  input("file").onchange = () => {
    choose(input("file").files?.[0]);
    input("file").value = ""; // so that the same file can be chosen again
  };
  const hold = (/** @type {boolean} */ over) => document.body.classList.toggle("dropping", over && isWriter());
  addEventListener("dragover", (e) => (e.preventDefault(), hold(true)));
  addEventListener("dragleave", (e) => e.relatedTarget || hold(false));
  addEventListener("drop", (e) => {
    void (e.preventDefault(), hold(false), isWriter() && choose(e.dataTransfer?.files[0]));
  });
}
