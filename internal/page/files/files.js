// @ts-check
// Looks at a CSV file before it is imported, imports it, and downloads what the table shows.
import { all, Failure, on, send } from "./api.js";
import { decode, lineOf, names, parse, unknownColumns } from "./csv.js";
import { $, brief, counted, input, isWriter, make, number, shown, tell, time } from "./dom.js";
import { go, recount, view } from "./filter.js";
import { first, refresh } from "./table.js";
/** @import {Plant, Row} from "./types" */

const previewed = 1000; // rows whose state is found before the import
const [inDownload, onPaper] = [100_000, 5000]; // plants, at most
const words = { wrong: "wrong", taken: "id is taken", new: "new", unknown: "to import", equal: "already there" };
const states = /** @type {Row["state"][]} */ (Object.keys(words));
let rows = /** @type {Row[]} */ ([]);
let [chosen, stopped] = [0, false]; // the number of the file that is shown

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
    const { rows: found, unknown } = parse(decode(new Uint8Array(await file.arrayBuffer())));
    if (mine !== chosen) return; // another file was chosen meanwhile
    const use = async () => {
      rows = found;
      $("import-ignore").hidden = true;
      $("import-note").classList.remove("wrong");
      if (rows.length <= previewed) await compare();
      if (mine === chosen) draw(`${file.name}: `);
    };
    if (!unknown.length) return await use();
    fault(`${file.name}: ${unknownColumns(unknown)}.`);
    $("import-ignore").textContent = `Continue without ${unknown.map((it) => `“${brief(it) || "(no name)"}”`).join(", ")}`;
    $("import-ignore").hidden = false;
    const proceed = () => use().then(() => $($("import-start").hidden ? "import-title" : "import-start").focus());
    $("import-ignore").onclick = () => void proceed().catch((error) => fault(error.message));
    $("import-ignore").focus();
  } catch (error) {
    if (mine === chosen) fault(`${file.name}: ${/** @type {Error} */ (error).message}`);
  }
}

/** Imports the example into a store that has no plants. */
async function example() {
  const response = await fetch(/** @type {HTMLAnchorElement} */ ($("example-file")).href);
  const file = new File([await response.blob()], "species.csv");
  open(async () => {
    await look(file);
    await run();
  });
}

/** Says what is wrong with a file. @param {string} why */
function fault(why) {
  tell("import-note", why);
  $("import-note").classList.add("wrong");
}

/** Shows the rows, what needs a look first, of a larger file nothing else, and counts them.
 *  @type {(before?: string) => void} */
function draw(before = "") {
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
  tell("import-note", `${before}${counted(rows.length, "row")}: ${parts.join(", ") || "nothing to import"}.`);
}

/** Stores what is new or unknown, in batches. A plant whose id is taken leaves its batch. */
async function run() {
  const left = rows.filter(({ state }) => state === "new" || state === "unknown");
  let equal = rows.filter(({ state }) => state === "equal").length;
  const progress = /** @type {HTMLProgressElement} */ ($("import-progress"));
  [progress.max, progress.value, stopped] = [left.length, 0, false];
  $("import-start").hidden = !(progress.hidden = $("import-stop").hidden = false);
  let [created, size, stop] = [0, 1000, ""];
  while (left.length && !stopped) {
    let length = 0; // of the body, whose limit is 1 MiB or what the operator chose
    const fits = left.slice(0, size).findIndex((row) => (length += JSON.stringify(row.plant).length) > 250_000);
    const batch = left.slice(0, fits < 0 ? size : Math.max(1, fits));
    try {
      const plants = batch.map(({ plant }) => plant);
      const { body } = await send("post", "/plants:batch", { body: { plants }, again: true });
      created += body.created;
      equal += batch.length - body.created;
      for (const row of left.splice(0, batch.length)) row.state = "equal";
    } catch (error) {
      const { code, details = [], message } = /** @type {Failure} */ (error);
      for (const { pointer } of code === 40010 ? details : []) {
        const row = batch[Number(pointer.split("/")[2])];
        if (row) [row.state] = [/** @type {const} */ ("taken"), left.splice(left.indexOf(row), 1)];
      }
      if (code === 40006 && batch.length > 1) size = batch.length >> 1;
      else if (code !== 40010 || !details.length) [stop, stopped] = [` The import has stopped: ${message}`, true];
      if (error instanceof Failure && error.isReadOnly) on.readOnly();
    }
    progress.value = progress.max - left.length;
    tell("import-note", `${number.format(progress.value)} of ${counted(progress.max, "row")}`);
  }
  $("import-stop").hidden = progress.hidden = true;
  draw();
  const refused = rows.filter(({ state }) => state === "wrong" || state === "taken").length;
  const [n, e, r] = [created, equal, refused].map((it) => number.format(it));
  const rest = left.length ? `, ${number.format(left.length)} not imported` : "";
  tell("import-note", `${n} new, ${e} already there, ${r} refused${rest}.${stop}`);
  $("import-note").classList.toggle("wrong", refused > 0 || stop !== "");
  refresh();
  recount();
}

/** Reads all that the table shows, up to an amount, for a button that says so meanwhile.
 *  @type {(button: HTMLElement, most: number, use: (plants: Plant[], isMore: boolean) => string) => Promise<void>} */
async function withAll(button, most, use) {
  if (button.hasAttribute("aria-busy")) return;
  button.setAttribute("aria-busy", "true");
  try {
    const { plants, isMore } = await all(first(), most, (n) => tell("message", `Reading: ${counted(n, "plant")} …`));
    tell("message", use(plants, isMore));
  } catch (error) {
    tell("message", /** @type {Error} */ (error).message);
  }
  button.removeAttribute("aria-busy");
}

/** Downloads plants. @type {(plants: Plant[], isMore: boolean) => string} */
function download(plants, isMore) {
  const separator = input("separator").value;
  // Excel takes a file without a byte order mark for another encoding.
  const lines = [`\ufeff${["id", ...names].join(separator)}\n`, ...plants.map((plant) => lineOf(plant, separator))];
  const href = URL.createObjectURL(new Blob(lines, { type: "text/csv" }));
  make("a", { href, download: "plants.csv" }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
  return isMore ? `The file has the first ${number.format(plants.length)} plants. plantstore export writes all.` : "";
}

/** Prints plants. The table has only the rows near the window, so there is another one for paper.
 *  @type {(plants: Plant[], isMore: boolean) => string} */
function print(plants, isMore) {
  const sought = [view.q, view.tag].filter((it) => it).map((it) => `, “${brief(it ?? "")}”`).join("");
  const amount = isMore ? `The first ${counted(plants.length, "plant")}` : counted(plants.length, "plant");
  $("printed-title").textContent = `${amount}${sought}`;
  const cells = plants.map(({ id, name, tag, updated_at: at }) => [id, shown(name).trim() || "(no name)", shown(tag), time(at)]);
  $("printed-rows").replaceChildren(...cells.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, cell)))));
  $("printed").hidden = false;
  addEventListener("afterprint", () => {
    $("printed").hidden = true;
    $("printed-rows").replaceChildren();
  }, { once: true });
  window.print();
  return isMore ? `Only the first ${number.format(plants.length)} plants are printed: search, or choose a tag, to print fewer.` : "";
}

function open(then = () => {}) {
  go({ plant: null }, false, () => {
    document.body.classList.add("beside");
    rows = [];
    draw();
    tell("import-note", "");
    $("import-note").classList.remove("wrong");
    $("import-ignore").hidden = true;
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
  // Where a comma is in numbers, Excel expects semicolons between fields.
  input("separator").value = new Intl.NumberFormat(navigator.language).format(0.5).includes(",") ? ";" : ",";
  $("import").onclick = () => open();
  $("import-close").onclick = close;
  $("import-start").onclick = run;
  $("import-stop").onclick = () => (stopped = true);
  $("download").onclick = () => withAll($("download"), inDownload, download);
  $("print").onclick = () => withAll($("print"), onPaper, print);
  $("example").onclick = example;
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
