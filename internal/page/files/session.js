// @ts-check
// Who uses the page: a token that was pasted or came with a link, or those of an identity provider.
//
// A token is in sessionStorage, so it ends with the tab, or in localStorage if the person wants that. The
// tokens of a provider are in memory only; a reload goes to the provider again, which knows the person.
const place = `plantstore token ${location.pathname}`; // other services may be below other paths of the host
const channel = new BroadcastChannel(place);

/** What page.go knows of the provider; empty without one. @type {Record<string, string | undefined>} */
const provider = { .../** @type {HTMLElement} */ (document.querySelector("meta[name=sign-in]")).dataset };
export const canSignIn = provider["client"] !== undefined;
/** The tokens of the provider. @type {{access: string, refresh: string | undefined} | undefined} */
let tokens;
let [renewing, session] = [0, 0]; // a timer, and how often the token was forgotten

export const token = {
  get: () => tokens?.access ?? sessionStorage.getItem(place) ?? localStorage.getItem(place),
  /** Remembered is beyond this tab. @type {(text: string, remembered?: boolean) => void} */
  set(text, remembered = false) {
    token.forget();
    (remembered ? localStorage : sessionStorage).setItem(place, text);
  },
  isRemembered: () => localStorage.getItem(place) !== null,
  isOfProvider: () => tokens !== undefined,
  forget() {
    [tokens, session] = [undefined, session + 1];
    clearTimeout(renewing);
    for (const storage of [sessionStorage, localStorage]) storage.removeItem(place);
    sessionStorage.removeItem(`${place} provider`);
  },
};

/** Forgets the token here and in every other tab. */
export function signOut() {
  token.forget();
  channel.postMessage("signed out");
}

/** @param {() => void} listener is called when another tab has signed out, or has forgotten the token of both */
export function onSignOut(listener) {
  channel.addEventListener("message", () => (token.forget(), listener()));
  addEventListener("storage", ({ key }) => key === place && !token.get() && listener());
}

/** Bytes as base64url. @param {Uint8Array} bytes */
const base64 = (bytes) => btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
const random = () => base64(crypto.getRandomValues(new Uint8Array(32)));
const here = () => location.origin + location.pathname;

/** Goes to the provider, which comes back with a code (RFC 6749, 4.1). Only this tab has the verifier of the code (RFC 7636). */
export async function signIn() {
  if (!crypto.subtle) throw new Error("signing in needs https");
  const [verifier, state] = [random(), random()];
  sessionStorage.setItem(`${place} verifier`, JSON.stringify({ verifier, state, search: location.search }));
  const challenge = base64(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));
  const address = new URL(provider["authorization"] ?? "");
  const asked = {
    response_type: "code", client_id: provider["client"] ?? "", redirect_uri: here(), scope: provider["scope"] ?? "",
    audience: provider["audience"] ?? "", state, code_challenge: challenge, code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(asked)) address.searchParams.set(name, value);
  location.assign(address);
}

/** Whether this tab was signed in at the provider before it was loaded again. */
export const wasSignedIn = () => canSignIn && sessionStorage.getItem(`${place} provider`) !== null;

/** Takes what the provider has sent out of the address. Returns whether there was something. */
export async function signedIn() {
  const [given, kept] = [new URLSearchParams(location.search), sessionStorage.getItem(`${place} verifier`)];
  if (!kept || !given.has("state")) return false;
  sessionStorage.removeItem(`${place} verifier`);
  const { verifier, state, search } = JSON.parse(kept);
  history.replaceState(null, "", location.pathname + search);
  if (given.get("state") !== state) throw new Error("the response is not the one to this sign-in: try again");
  const code = given.get("code");
  if (!code) throw new Error(given.get("error_description") ?? given.get("error") ?? "the provider has sent no code");
  await fetchTokens({ grant_type: "authorization_code", code, redirect_uri: here(), code_verifier: verifier });
  sessionStorage.setItem(`${place} provider`, "yes");
  return true;
}

/** Gets tokens, and new ones before they expire, while the tab lives. @param {Record<string, string>} grant */
async function fetchTokens(grant) {
  const mine = session;
  const body = new URLSearchParams({ client_id: provider["client"] ?? "", ...grant });
  const response = await fetch(provider["token"] ?? "", { method: "POST", body, cache: "no-store" });
  const got = await response.json();
  if (!response.ok) throw new Error(got.error_description ?? got.error, { cause: response.status });
  if (mine !== session) return; // the person has signed out meanwhile
  tokens = { access: got.access_token, refresh: got.refresh_token ?? tokens?.refresh };
  const again = (/** @type {number} */ seconds) => {
    clearTimeout(renewing);
    renewing = setTimeout(() => renew(tokens?.access).catch(() => again(10)), seconds * 1000);
  };
  again(Math.max(1, (got.expires_in ?? 300) * 0.8));
}

/** The request for new tokens that is sent now: a provider may take a refresh token that comes twice for a stolen one.
 *  @type {Promise<boolean> | undefined} */
let renewal;

/** Gets another token of the same person in place of one that is, or will be, refused: a laptop that sleeps does not
 *  renew it in time. Resolves to whether there is one, and fails if the provider does not answer.
 *  @type {(access: string | undefined) => Promise<boolean>} */
export async function renew(access) {
  const refresh_token = tokens?.refresh;
  if (!refresh_token) return false;
  if (tokens?.access !== access) return true; // since the request was sent
  renewal ??= fetchTokens({ grant_type: "refresh_token", refresh_token })
    .then(() => tokens !== undefined, (error) => (error.cause < 500 ? false : Promise.reject(error))) // it does not know the person
    .finally(() => (renewal = undefined));
  return renewal;
}
