// @ts-check
// Follows the changes of the store. EventSource sends no token, so this waits with /changes.
import { Failure, pause, send } from "./api.js";
import { $, tell } from "./dom.js";

let controller = new AbortController();

/** @type {(state: "live" | "reconnecting" | "off", text?: string) => void} */
function show(state, text = state) {
  $("live").dataset["state"] = state;
  tell("live", text);
}

/** Follows until stop. A hidden page does not wait: all tabs share the six connections to a host.
 *  @param {(changes: import("./types").Change[]) => void} changed
 *  @param {() => void} missed something may have changed that no change tells */
export async function follow(changed, missed) {
  stop();
  controller = new AbortController();
  const { signal } = controller;
  let [after, isLive, delay, looking] = ["", false, 0.5, new AbortController()];
  document.addEventListener("visibilitychange", () => document.hidden && looking.abort(), { signal });
  while (!signal.aborted) {
    looking = new AbortController();
    try {
      while (document.hidden) await pause(0.2);
      const query = { limit: 1000, wait: isLive ? 25 : 0, from: /** @type {const} */ ("now"), ...(after && { after }) };
      const ends = AbortSignal.any([signal, looking.signal, AbortSignal.timeout(45_000)]);
      const { body } = await send("get", "/changes", { query, again: false, signal: ends });
      if (!after) missed(); // between the first rows and this position
      [after, isLive, delay] = [body.position, true, 0.5];
      show("live");
      if (body.changes.length) changed(body.changes);
      if (body.changes.length) await pause(0.25); // under load many at once
    } catch (error) {
      const { code, message } = error instanceof Failure ? error : { code: 0, message: "" };
      if (signal.aborted || code === 40101) return;
      if (looking.signal.aborted) continue;
      isLive = false;
      if (code === 41000) after = ""; // begin again; the rows are read again, not the whole store
      const isOff = code === 50301 || code === 40300;
      if (isOff) show("off", `not live: ${message}`);
      else show("reconnecting");
      await pause(isOff ? 10 : delay);
      if (isOff && !signal.aborted) missed();
      delay = Math.min(8, delay * 2);
    }
  }
}

export function stop() {
  controller.abort();
  tell("live", "");
}
