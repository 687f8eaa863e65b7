// @ts-check
// A small picture of the store, at a bounded cost: ten counts, and the changes that come anyway.
import { send } from "./api.js";
import { $, calm, counted, input, isElsewhere, make, number, setText, shown, tell } from "./dom.js";
import { address, go, view } from "./filter.js";
import { token } from "./session.js";

const details = /** @type {HTMLDetailsElement} */ ($("picture"));
const steps = Array(48).fill(0); // of five seconds each: the last four minutes
const since = new Date().toTimeString().slice(0, 5);
let all = 0;

/** A picture of shapes, each with its attributes.
 *  @type {(viewBox: string, ...shapes: [string, Record<string, string>][]) => Element} */
function svg(viewBox, ...shapes) {
  /** @type {(to: Element, name: string, attributes: Record<string, string>) => Element} */
  const add = (to, name, attributes) => {
    const element = to.appendChild(document.createElementNS("http://www.w3.org/2000/svg", name));
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const picture = add(make("span"), "svg", { viewBox, preserveAspectRatio: "none", "aria-hidden": "true" });
  for (const shape of shapes) add(picture, ...shape);
  return picture;
}

/** Draws the counts of the tags that the filter suggests, at most once in ten seconds. */
const draw = calm(() => bars().catch(() => {}), 10_000);
export const refresh = () => void (details.open && token.get() && draw());

async function bars() {
  if (!details.open || document.hidden || !token.get()) return;
  const prefix = view.tag === null ? input("tag").value : "";
  const { body } = await send("get", "/tags", { query: { limit: 10, prefix } });
  const counts = await Promise.all(body.map((tag) => send("get", "/plants:count", { query: { tag } })));
  const tags = counts.map(({ body: { count, more } }, i) => ({ tag: body[i] ?? "", count, more }));
  const largest = Math.max(1, ...tags.map((it) => it.count));
  tell("tags-title", tags.length < 10 ? "Plants by tag" : `The first ten tags${prefix && ` that begin with “${shown(prefix)}”`}, by name`);
  const list = $("tag-bars");
  while (list.children.length > tags.length) list.lastElementChild?.remove();
  for (const [i, { tag, count, more }] of tags.entries()) {
    const item = list.children[i] ?? list.appendChild(emptyBar()); // one that is there stays, for clicks
    const link = item.querySelector("a");
    link?.setAttribute("href", address({ q: "", tag, begin: "", plant: null, order: "" }));
    link?.setAttribute("data-tag", tag);
    setText(link?.firstElementChild, shown(tag).trim() || "(empty)");
    setText(item.querySelector(".amount"), number.format(count) + (more ? "+" : ""));
    item.querySelector("rect")?.setAttribute("width", String((100 * count) / largest));
  }
}

const emptyBar = () =>
  make("li", {}, make("a", {}, make("bdi")), make("span", { class: "amount" }), svg("0 0 100 1", ["rect", { height: "1" }]));

/** Draws the line of the changes. */
const line = calm(() => {
  const top = Math.max(4, ...steps);
  const points = steps.map((n, i) => `${(100 * i) / (steps.length - 1)},${20 - (19 * n) / top}`).join(" ");
  const stroke = { points, "vector-effect": "non-scaling-stroke" };
  const picture = svg("0 0 100 20", ["polygon", { points: `0,20 ${points} 100,20` }], ["polyline", stroke]);
  $("changes-line").replaceChildren(picture, make("figcaption", {}, `${counted(all, "change")} since ${since}`));
}, 500);

/** @param {number} n changes that were seen now */
export function saw(n) {
  all += n;
  steps.push(steps.pop() + n);
  line();
  refresh();
}

export function start() {
  details.open = innerWidth > 960;
  details.addEventListener("toggle", refresh);
  input("tag").addEventListener("input", calm(() => bars().catch(() => {}), 500));
  setInterval(() => {
    if (steps.some((n) => n)) line();
    steps.push(0);
    steps.shift();
  }, 5000);
  $("tag-bars").addEventListener("click", (e) => {
    const tag = /** @type {Element} */ (e.target).closest("a")?.dataset["tag"];
    if (tag === undefined || isElsewhere(e)) return;
    e.preventDefault();
    go({ q: "", tag, begin: "", plant: null });
    if (innerWidth <= 960) details.open = false; // the plants are below it
  });
  line();
}
