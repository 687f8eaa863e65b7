// @ts-check
// What every part of the page does with the document. Texts go in as text only.

/** The element with this id, which index.html has. @type {(id: string) => HTMLElement} */
export const $ = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** A field. @type {(id: string) => HTMLInputElement} */
export const input = (id) => /** @type {HTMLInputElement} */ ($(id));

/** Whether letters go to a field: then nothing else takes the focus. */
export const isTyping = () => document.activeElement?.matches("input:not([type=file], [type=checkbox]), textarea, select") && document.activeElement.checkVisibility();

/** A new element with attributes and children. @type {import("./types").Make} */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Writes a text only if it differs: another text node would end a selection of it.
 *  @type {(element: Element | null | undefined, text: string) => void} */
export function setText(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

/** Shows a text in an element, or hides the element if the text is empty.
 *  @type {(id: string, text: string) => void} */
export function tell(id, text) {
  setText($(id), text);
  $(id).hidden = text === "";
}

/** A text of the store with pictures of its control characters, which no font shows.
 *  @type {(text: string | undefined) => string} */
export const shown = (text = "") =>
  text.replace(/[\0-\x1f\x7f]/g, (c) => (c === "\x7f" ? "\u2421" : String.fromCharCode(0x2400 + c.charCodeAt(0))));

/** The beginning of a text, for a sentence. @type {(text: string) => string} */
export const brief = (text) => shown(text.replace(/^(.{40}).+$/su, "$1…"));

/** Two texts for a sentence: what is around their differences, and of a long difference its begin and its end.
 *  @type {(one: string, other: string) => string[]} */
export function apart(one, other) {
  const [a, b] = /** @type {[string[], string[]]} */ ([one, other].map((text) => [...shown(text)]));
  let [head, tail, most] = [0, 0, Math.min(a.length, b.length)];
  while (head < most && a[head] === b[head]) head++;
  while (tail < most - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const [from, rest] = [head, tail].map((equal) => (equal > 20 ? equal - 12 : 0));
  return [a, b].map((text) => {
    const part = text.slice(from, text.length - (rest ?? 0)).join("").replace(/^(.{40}).+(.{39})$/su, "$1…$2");
    return `${from ? "…" : ""}${part}${rest ? "…" : ""}`;
  });
}

/** Asks the person in a dialog. Resolves to the value of the button that was clicked, or to "" if none was.
 *  @type {(id: string) => Promise<string>} */
export function choice(id) {
  const dialog = /** @type {HTMLDialogElement} */ ($(id));
  dialog.returnValue = "";
  for (const button of dialog.querySelectorAll("button")) button.onclick = () => dialog.close(button.value);
  if (!dialog.open) dialog.showModal();
  return new Promise((resolve) => (dialog.onclose = () => resolve(dialog.returnValue)));
}

export const number = new Intl.NumberFormat("en");

/** "1 plant", "12,345 plants". @type {(n: number, noun: string) => string} */
export const counted = (n, noun) => `${number.format(n)} ${noun}${n === 1 ? "" : "s"}`;

const clock = new Intl.DateTimeFormat("en-CA", { dateStyle: "short", timeStyle: "short", hourCycle: "h23" });

/** A time of the service, in the zone of the person, in a new element or in one that is there.
 *  @type {(text: string, element?: Element) => Element} */
export function time(text, element = make("time")) {
  for (const attribute of ["datetime", "title"]) element.setAttribute(attribute, text);
  setText(element, clock.format(new Date(text)).replace(",", ""));
  return element;
}

/** A function that calls another one at most once in each time, in milliseconds, and after the last call.
 *  @type {(call: () => unknown, every: number | (() => number)) => () => void} */
export function calm(call, every) {
  let [timer, last] = [0, 0];
  return () => {
    const due = last + (typeof every === "number" ? every : every());
    timer ||= setTimeout(() => (([timer, last] = [0, Date.now()]), call()), due - Date.now());
  };
}

/** Whether a click or a key is for the browser, as for a new tab. @type {(e: MouseEvent | KeyboardEvent) => boolean} */
export const isElsewhere = (e) => e.ctrlKey || e.metaKey || e.shiftKey;

/** The token has the scope write, and the service is not read-only. */
export const isWriter = () => document.body.classList.contains("writer");
