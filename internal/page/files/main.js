// @ts-check
// The start: the token, what it allows, and how the parts of the page work together. The hooks for
// tests are listed in index.html.
import { on, send } from "./api.js";
import * as bulk from "./bulk.js";
import * as charts from "./charts.js";
import * as done from "./done.js";
import { $, brief, choice, input, isTyping, tell } from "./dom.js";
import * as files from "./files.js";
import * as filter from "./filter.js";
import * as live from "./live.js";
import * as output from "./output.js";
import * as plant from "./plant.js";
import { canSignIn, onSignOut, signedIn, signIn, signOut, token, wasSignedIn } from "./session.js";
import * as table from "./table.js";

const account = /** @type {HTMLDetailsElement} */ ($("account"));
/** What had the focus when the person was asked to sign in. @type {Element | null} */
let left = null;

/** Takes a token out of the address, whose fragment no server sees. */
function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given !== null) history.replaceState(null, "", location.pathname + location.search);
  return given?.trim();
}

/** The name of a token, or why the service refuses it. @type {(as: string) => Promise<string | Error>} */
const nameOf = (as) => send("get", "/token", { as }).then(({ body }) => body.name, (error) => error);

/** How the person is signed in, in words; empty if nobody is, or with a token that is refused. */
async function signedInAs() {
  if (wasSignedIn()) return "with your account";
  const mine = token.get();
  if (!mine) return "";
  const name = await nameOf(mine);
  return typeof name === "string" ? `as “${brief(name)}”` : "";
}

/** Begins with the token of a link, which anybody may have made: if it is bad, nothing changes, and somebody
 *  who is signed in is asked. @param {string | undefined} given */
async function beginWith(given) {
  if (given === undefined || given === token.get()) return begin();
  const theirs = await nameOf(given);
  if (theirs instanceof Error) {
    const why = `The token of the link was not taken: ${theirs.message}`;
    if (!token.get() && !wasSignedIn()) return ask(why);
    begin();
    return tell("message", why);
  }
  const mine = await signedInAs();
  if (mine) {
    tell("other-text", `You are signed in ${mine}. This link is for “${brief(theirs)}”: what you change would be logged as theirs.`);
    if ((await choice("other")) !== "take") return begin();
  }
  token.set(given);
  begin();
}

/** Asks the person to sign in, and says why. @param {string} why */
function ask(why) {
  if (!$("store").hidden) left = document.activeElement;
  token.forget();
  live.stop();
  account.open = false;
  bulk.clear();
  done.clear();
  $("store").hidden = account.hidden = true;
  $("token-form").hidden = false;
  for (const id of ["message", "banner", "token-message"]) tell(id, id === "token-message" ? why : "");
  (canSignIn ? $("sign-in") : input("token")).focus();
}

/** Learns what the token allows, and until when. */
async function learn() {
  const asked = token.get();
  if (!asked) return;
  const result = await send("get", "/token").catch((error) => /** @type {Error} */ (error));
  if (asked !== token.get()) return;
  if (result instanceof Error) return tell("message", result.message);
  const { name, scopes, expires_at: expires, read_only: isReadOnly } = result.body;
  input("token").value = ""; // one that is refused stays
  const isWriter = scopes.includes("write") && !isReadOnly;
  document.body.classList.toggle("writer", isWriter);
  for (const id of ["new", "import"]) $(id).hidden = !isWriter;
  tell("banner", isReadOnly ? "The service is read-only for now: you can look, but not change anything." : "");
  tell("account-name", token.isOfProvider() ? "Signed in" : name); // the name may be a number of the provider
  tell("account-scopes", scopes.includes("write") ? "You can read and change plants." : "You can read plants, but not change them.");
  const day = expires && new Date(expires).toLocaleDateString("en", { dateStyle: "long" });
  tell("account-expires", token.isOfProvider() ? "" : day ? `The token expires on ${day}.` : "The token does not expire.");
  $("remember-part").hidden = token.isOfProvider();
  input("remembered").checked = token.isRemembered();
  plant.rights();
  if (isReadOnly) setTimeout(learn, 10_000);
}

/** After signing in, gives the focus to what had it before, or to the search. */
function proceed() {
  const at = left instanceof HTMLElement && left.checkVisibility() ? left : input("search");
  at.focus();
}

function begin() {
  if (!token.get()) return wasSignedIn() ? void signIn() : ask("");
  $("token-form").hidden = true;
  $("store").hidden = account.hidden = false;
  table.show();
  void filter.count();
  void learn();
  if (filter.view.plant) void plant.show(null);
  charts.refresh();
  const changed = (/** @type {import("./types").Change[]} */ changes) => {
    table.apply(changes);
    plant.changed(changes);
    charts.saw(changes.length);
  };
  void live.follow(changed, () => (table.refresh(), filter.recount()));
}

/** @param {import("./types").View} before */
function viewed(before) {
  const opened = filter.view.plant;
  if (!filter.isAlike(filter.view, before)) {
    tell("message", "");
    bulk.clear();
    table.show();
    void filter.count();
  }
  if (opened !== before.plant) void plant.show(before.plant);
}

on.trouble = (message) => tell("message", message);
on.refused = (message) => ask(`${message}: the token is unknown, expired or revoked`);
on.readOnly = () => void learn();

$("token-form").addEventListener("submit", (e) => {
  e.preventDefault();
  token.set(input("token").value.trim(), input("remember").checked);
  begin();
  proceed();
});
$("sign-in").onclick = () => signIn().catch((error) => ask(error.message));
$("sign-in").hidden = !canSignIn;
input("remembered").onchange = () => token.set(token.get() ?? "", input("remembered").checked);
$("forget").onclick = () => {
  const leave = () => (signOut(), ask(""));
  if (filter.edits.hold(null)) filter.edits.ask(leave);
  else leave();
};
onSignOut(() => ask("You have signed out in another tab."));
const menus = /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll("#top details"));
addEventListener("click", (e) => {
  for (const menu of menus) if (e.target instanceof Node && e.target.isConnected && !menu.contains(e.target)) menu.open = false;
});
addEventListener("hashchange", () => beginWith(takeToken()));
addEventListener("keydown", (e) => {
  const at = /** @type {HTMLElement} */ (document.activeElement);
  if (at.closest("dialog")) return;
  const isShortcut = !isTyping() && !e.ctrlKey && !e.metaKey && !e.altKey;
  if (e.key === "/" && isShortcut) {
    e.preventDefault();
    input("search").select();
  } else if (e.key === "n" && isShortcut && !$("new").hidden && !$("store").hidden) {
    e.preventDefault();
    filter.go({ plant: "new" });
  } else if (e.key === "Escape" && !e.isComposing) {
    e.preventDefault(); // else it would close a dialog that this opens
    const open = [...menus].find((menu) => menu.open);
    if (open) open.open = false;
    else if (at === $("search") && input("search").value) filter.go({ q: "" });
    else if (plant.isOpen()) plant.close();
    else if (!$("import-panel").hidden) files.close();
    else if (!bulk.clear()) filter.go({ q: "", tag: null, begin: "" });
  }
});

const given = takeToken();
const result = await signedIn().catch((error) => `You are not signed in: ${error.message}`);
filter.start(viewed);
for (const part of [table, plant, files, output, charts, bulk, done]) part.start();
if (typeof result === "string") ask(result);
else await beginWith(given);
if (result === true) proceed();
