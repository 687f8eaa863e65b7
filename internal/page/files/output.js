// @ts-check
// Downloads and prints what the table shows.
import { all } from "./api.js";
import { kinds, lineOf } from "./csv.js";
import { $, brief, counted, input, make, number, shown, tell, time } from "./dom.js";
import { view } from "./filter.js";
import { first } from "./table.js";
/** @import {Plant} from "./types" */

const [inDownload, onPaper] = [100_000, 5000]; // plants, at most

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
  const lines = [`\ufeff${kinds.join(separator)}\n`, ...plants.map((plant) => lineOf(plant, separator))];
  const href = URL.createObjectURL(new Blob(lines, { type: "text/csv" }));
  make("a", { href, download: "plants.csv" }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
  return isMore ? `The file has the first ${number.format(plants.length)} plants. plantstore export writes all.` : "";
}

/** Prints plants. The table has only the rows near the window, so there is another one for paper.
 *  @type {(plants: Plant[], isMore: boolean) => string} */
function print(plants, isMore) {
  const sought = [view.q, view.tag ?? view.begin].filter((it) => it).map((it) => `, “${brief(it ?? "")}”`).join("");
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

export function start() {
  // Where a comma is in numbers, Excel expects semicolons between fields.
  input("separator").value = new Intl.NumberFormat(navigator.language).format(0.5).includes(",") ? ";" : ",";
  $("download").onclick = () => withAll($("download"), inDownload, download);
  $("print").onclick = () => withAll($("print"), onPaper, print);
}
