// @ts-check
// Follows the changes of the store by /changes:stream. EventSource sends no token, so this reads the
// events of a response to fetch.
import { Failure, open, pause, read, send } from "./api.js";
import { $, calm, tell } from "./dom.js";
/** @import {Change} from "./types" */

let controller = new AbortController();

/** @type {(state: "live" | "reconnecting" | "off", text?: string) => void} */
function show(state, text = state) {
  $("live").dataset["state"] = state;
  tell("live", text);
}

/** The changes after a position, until the service ends the stream. It sends a comment every 15 seconds,
 *  so a silent connection is a dead one.
 *  @type {(after: string, ends: AbortController) => AsyncGenerator<Change>} */
async function* stream(after, ends) {
  const response = await open("get", "/changes:stream", { query: { after }, signal: ends.signal });
  show("live");
  const reader = /** @type {ReadableStream<BufferSource>} */ (response.body).pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; ; ) {
    const silent = setTimeout(() => ends.abort(), 45_000);
    const { done, value } = await reader.read().finally(() => clearTimeout(silent));
    if (done) return;
    const events = (text + value).split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      if (/^event: end$/m.test(event)) return; // a request with the position is told why
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data) yield read(data);
    }
  }
}

/** Follows until stop. A hidden page does not: all tabs share the six connections to a host. Missed is called when
 *  something may have changed that no change tells. @type {(changed: (changes: Change[]) => void, missed: () => void) => Promise<void>} */
export async function follow(changed, missed) {
  stop();
  controller = new AbortController();
  const { signal } = controller;
  let [after, delay, ends] = ["", 0.5, new AbortController()];
  const seen = /** @type {Change[]} */ ([]);
  const deliver = calm(() => signal.aborted || changed(seen.splice(0)), 250); // under load many at once
  signal.addEventListener("abort", () => ends.abort());
  document.addEventListener("visibilitychange", () => document.hidden && ends.abort(), { signal });
  while (!signal.aborted) {
    ends = new AbortController();
    try {
      while (document.hidden) await pause(0.2);
      if (!after) {
        const query = { limit: 1, from: /** @type {const} */ ("now") };
        after = (await send("get", "/changes", { query, again: false, signal: ends.signal })).body.position;
        missed(); // between the first rows and this position
      }
      for await (const change of stream(after, ends)) {
        [after, delay] = [change.position, 0.5];
        seen.push(change);
        deliver();
      }
      throw new Failure(0, "The stream has ended.");
    } catch (error) {
      const { code, message } = error instanceof Failure ? error : { code: 0, message: "" };
      if (signal.aborted || code === 40101) return;
      if (ends.signal.aborted) continue;
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
