// @ts-check
// The last changes of the plant that is open, in words, and the way back to a state before one.
import { send } from "./api.js";
import { $, apart, brief, make, time } from "./dom.js";
/** @import {Content, HistoryEntry, Parameters, Plant} from "./types" */

const [most, further] = [5, 50]; // changes that are shown at first, and then with each click
let asked = 0;

/** What the change of a text was, in words. @type {(what: string, before: string | undefined, after: string | undefined) => string} */
function ofText(what, before, after) {
  if (before === after) return "";
  if (before === undefined) return `added the ${what} “${brief(after ?? "")}”`;
  if (after === undefined) return `removed the ${what} “${brief(before)}”`;
  return `changed the ${what} from ${apart(before, after).map((it) => `“${it}”`).join(" to ")}`;
}

/** What a change was, in words. The state after it is that before the next one. @type {(entry: HistoryEntry, after: Plant | undefined) => string} */
function inWords({ change, plant }, after) {
  if (change === "deleted") return `deleted “${brief(plant.name)}”${after ? " (it was brought back later)" : ""}`;
  const texts = [ofText("name", plant.name, after?.name), ofText("tag", plant.tag, after?.tag)];
  return texts.filter(Boolean).join(" and ");
}

/** Shows the last changes of a plant, after those that are shown already; nothing, if there are none or the service keeps
 *  none. Without a present version it is deleted; without a function that brings a state back, the person may not.
 *  @type {(id: string, present: Plant | undefined, bring: ((content: Content) => unknown) | undefined, shown?: HistoryEntry[], query?: Parameters) => Promise<void>} */
export async function recent(id, present, bring, shown = [], query = { limit: most }) {
  const mine = ++asked;
  $("past").hidden = shown.length === 0;
  if (!id) return;
  const result = await send("get", "/plants/{id}/history", { id, query }).catch(() => undefined);
  if (mine !== asked || !result?.body.length) return;
  const entries = [...shown, ...result.body];
  const lines = entries.map((entry, i) => {
    const { changed_at: at, changed_by: by, plant } = entry;
    const line = make("li", {}, `${brief(by ?? "Someone")} ${inWords(entry, entries[i - 1]?.plant ?? present)}, `, time(at));
    const content = { name: plant.name, ...(plant.tag !== undefined && { tag: plant.tag }) };
    const isPresent = present && plant.name === present.name && plant.tag === present.tag;
    if (!bring || isPresent) return line;
    const tagged = plant.tag === present?.tag ? "" : plant.tag === undefined ? " without a tag" : ` with the tag “${brief(plant.tag)}”`;
    const named = present && plant.name !== present.name ? apart(plant.name, present.name)[0] : brief(plant.name);
    const button = make("button", { type: "button", class: "quiet" }, `Bring back “${named}”${tagged}`);
    button.onclick = () => bring(content);
    line.append(" ", button);
    return line;
  });
  const more = make("button", { type: "button", class: "quiet" }, "Show earlier changes");
  more.onclick = () => recent(id, present, bring, entries, { ...result.next, limit: further });
  $("past-changes").replaceChildren(...lines, ...(result.next ? [make("li", {}, more)] : []));
  $("past").hidden = false;
  if (shown.length) Object.assign(lines[shown.length] ?? more, { tabIndex: -1 }).focus();
}
