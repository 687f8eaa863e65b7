// @ts-check
// Requests to the API, with the types of the document.
import { renew, token } from "./session.js";
/** @import {Parameters, Plant, Schemas, Send, Sent} from "./types" */

/** A request that failed, in the words of the service. The code is 0 if it did not answer. */
export class Failure extends Error {
  /** @param {Schemas["ErrorCode"] | 0} code
   *  @param {string} message
   *  @param {Schemas["ErrorDetail"][]} details
   *  @param {number} retryAfter in seconds; 0: unknown */
  constructor(code, message, details = [], retryAfter = 0) {
    super(message);
    this.code = code;
    this.details = details;
    this.retryAfter = retryAfter;
    this.isNameless = code === 50300 && message.includes("order of names");
    this.isReadOnly = code === 50300 && message.includes("read-only");
    this.isPassing = [0, 42900, 50300].includes(code) && !this.isNameless && !this.isReadOnly;
  }
}

/** What the page does when something happens to any request; main.js sets it. */
export const on = {
  /** Why a request is repeated, or empty when it succeeded. @type {(message: string) => void} */
  trouble() {},
  /** The token is not accepted any more. @type {(message: string) => void} */
  refused() {},
  /** The service is read-only for now. */
  readOnly() {},
};

const silence = "The service does not answer: try again.";
let troubled = false;

/** @type {(seconds: number) => Promise<void>} */
export const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** Sends a request and returns its result, and the parameters of the next page if there is one.
 *  GET is repeated while the service is not available, and so is what says again. @type {Send} */
export const send = async (method, path, options = {}) => {
  const again = options.again ?? method === "get";
  for (let tries = 0; ; tries++) {
    try {
      const result = await once(method, path, options);
      if (troubled) on.trouble("");
      troubled = false;
      return /** @type {any} */ (result);
    } catch (error) {
      if (!(error instanceof Failure) || !again || !error.isPassing) throw error;
      troubled = true;
      on.trouble(`${error.code ? error.message : "the service does not answer"}; trying again`);
      await pause(error.retryAfter || Math.min(8, 2 ** tries / 2));
    }
  }
};

/** The plants of a list, up to an amount, and whether there are more. While more are read, it tells how many there are.
 *  @type {(query: Parameters, most: number, told: (n: number) => void) => Promise<{plants: Plant[], isMore: boolean}>} */
export async function all(query, most, told) {
  const plants = [];
  for (let next = /** @type {any} */ (query); ; told(plants.length)) {
    const page = /** @type {{body: Plant[], next: any}} */ (await send("get", "/plants", { query: { ...next, limit: Math.min(1000, most - plants.length) } }));
    plants.push(...page.body);
    next = page.next;
    if (!next || plants.length === most) return { plants, isMore: next !== undefined };
  }
}

/** @type {(method: string, path: string, options: {signal?: AbortSignal}) => Promise<unknown>} */
async function once(method, path, options) {
  const response = await open(method, path, options);
  const text = await response.text().catch((error) => {
    throw options.signal?.aborted ? error : new Failure(0, silence);
  });
  const link = /^<([^>]+)>; rel="next"$/.exec(response.headers.get("Link") ?? "")?.[1];
  const next = link && Object.fromEntries(new URL(link, location.href).searchParams);
  return { body: text ? read(text) : undefined, next };
}

/** Sends a request and returns the response, which is a success. A token that has expired is renewed once. Another
 *  token can be tried with as: if it is refused, the person stays signed in.
 *  @type {(method: string, path: string, options: Sent, isRenewed?: boolean) => Promise<Response>} */
export async function open(method, path, options, isRenewed = false) {
  const { id = "", query = {}, body, headers, signal, as } = options;
  const parameters = new URLSearchParams(Object.entries(query).map(([k, v]) => [k, String(v)]));
  const address = `.${path.replace("{id}", encodeURIComponent(id))}`; // relative: a proxy may add a path
  const sent = as ?? token.get() ?? "";
  /** @type {RequestInit} */
  const init = { method: method.toUpperCase(), cache: "no-store", signal: signal ?? null };
  init.headers = { Authorization: `Bearer ${sent.replace(/[^\x20-\x7e]/g, "?")}`, "Content-Type": "application/json", ...headers };
  if (body !== undefined) init.body = write(body);
  const response = await fetch(parameters.size ? `${address}?${parameters}` : address, init).catch((error) => {
    throw signal?.aborted ? error : new Failure(0, silence);
  });
  if (response.ok) return response;
  const failure = explain(response, await response.text().catch(() => ""));
  if (response.status !== 401 || !sent || as !== undefined) throw failure;
  const silent = () => Promise.reject(new Failure(0, "The identity provider does not answer: try again."));
  if (!isRenewed && (await renew(sent).catch(silent))) return open(method, path, options, true);
  if (sent === token.get()) on.refused(failure.message);
  throw failure;
}

/** A response of something in front of the service has no Error.
 *  @type {(response: Response, text: string) => Failure} */
function explain(response, text) {
  const after = Number(response.headers.get("Retry-After"));
  try {
    const { error, message, details } = JSON.parse(text);
    return new Failure(error, message, details, after);
  } catch {
    const code = [502, 503, 504].includes(response.status) ? 50300 : 50000;
    return new Failure(code, `unexpected response: ${response.status} ${response.statusText}`, [], after);
  }
}

// Ids are text everywhere in the page. These patterns begin with `"id":`, which cannot be within
// a JSON string: there a quote has a backslash before it, so none is next to the d.
/** @type {(text: string) => any} */
export const read = (text) => JSON.parse(text.replace(/"id":(-?\d+)/g, '"id":"$1"'));
/** @type {(value: unknown) => string} */
export const write = (value) => JSON.stringify(value).replace(/"id":"(-?\d+)"/g, '"id":$1');

/** What is wrong with an id, in words; empty if nothing is. @type {(id: string) => string} */
export function wrongId(id) {
  if (!/^(0|-?[1-9]\d*)$/.test(id)) return "id must be a whole number, such as 5 or -5";
  return id.length < 21 && BigInt.asIntN(64, BigInt(id)) === BigInt(id) ? "" : "id is out of range for a 64-bit integer";
}
