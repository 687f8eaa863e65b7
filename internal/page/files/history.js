// @ts-check
// The last changes of the plant that is open, in words, and the way back to a state before one.
import { send } from "./api.js";
import { $, apart, brief, make, time } from "./dom.js";
/** @import {Content, HistoryEntry, Plant} from "./types" */

const most = 5;
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
  if (change === "deleted") return `deleted “${brief(plant.name)}”`;
  const texts = [ofText("name", plant.name, after?.name), ofText("tag", plant.tag, after?.tag)];
  return texts.filter(Boolean).join(" and ");
}

/** Shows the last changes of a plant; nothing, if there are none or the service keeps none.
 *  @param {string} id
 *  @param {Plant | undefined} present undefined: it is deleted
 *  @param {((content: Content) => unknown) | undefined} bring brings a state back; undefined: the person may not */
export async function recent(id, present, bring) {
  const mine = ++asked;
  $("past").hidden = true;
  if (!id) return;
  const result = await send("get", "/plants/{id}/history", { id, query: { limit: most } }).catch(() => undefined);
  if (mine !== asked || !result?.body.length) return;
  const lines = result.body.map((entry, i) => {
    const { changed_at: at, changed_by: by, plant } = entry;
    const line = make("li", {}, `${brief(by ?? "Someone")} ${inWords(entry, result.body[i - 1]?.plant ?? present)}, `, time(at));
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
  if (result.next) lines.push(make("li", {}, "There are earlier changes."));
  $("past-changes").replaceChildren(...lines);
  $("past").hidden = false;
}
