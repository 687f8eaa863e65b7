// @ts-check
// The start: the token, what it allows, and how the parts of the page work together. The hooks for
// tests are listed in index.html.
import { on, send, token } from "./api.js";
import * as charts from "./charts.js";
import { $, input, tell } from "./dom.js";
import * as files from "./files.js";
import * as filter from "./filter.js";
import * as live from "./live.js";
import * as plant from "./plant.js";
import * as table from "./table.js";

/** Takes a token out of the address, whose fragment no server sees. */
function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given === null) return;
  token.set(given.trim());
  history.replaceState(null, "", location.pathname + location.search);
}

/** Asks for a token, and says why. @param {string} why */
function ask(why) {
  token.forget();
  live.stop();
  $("store").hidden = $("forget").hidden = true;
  $("token-form").hidden = false;
  for (const id of ["message", "banner", "token-message"]) tell(id, id === "token-message" ? why : "");
  input("token").focus();
}

/** Learns what the token allows: a create without a body changes nothing. */
async function learn() {
  if (!token.get()) return;
  const { code, isPassing, isReadOnly, message } = await send("post", "/plants").catch((error) => error);
  if (isPassing) return void setTimeout(learn, 2000);
  document.body.classList.toggle("writer", code === 40005);
  for (const id of ["new", "import"]) $(id).hidden = code !== 40005;
  tell("banner", isReadOnly ? message : "");
  plant.rights();
  if (isReadOnly) setTimeout(learn, 10_000);
}

function begin() {
  if (!token.get()) return ask("");
  $("token-form").hidden = true;
  $("store").hidden = $("forget").hidden = false;
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
  const { q, tag, plant: opened } = filter.view;
  if (q !== before.q || tag !== before.tag) {
    tell("message", "");
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
  token.set(input("token").value.trim());
  input("token").value = "";
  begin();
});
$("forget").onclick = () => (filter.edits.hold(null) ? filter.edits.ask(() => ask("")) : ask(""));
addEventListener("hashchange", () => (takeToken(), begin()));
addEventListener("keydown", (e) => {
  const at = /** @type {HTMLElement} */ (document.activeElement);
  if (at.closest("dialog")) return;
  if (e.key === "/" && !at.matches("input:not([type=file]), textarea") && !e.ctrlKey && !e.metaKey && !e.altKey) {
    e.preventDefault();
    input("search").select();
  } else if (e.key === "Escape" && !e.isComposing) {
    e.preventDefault(); // else it would close a dialog that this opens
    if (at === $("search") && input("search").value) filter.go({ q: "" });
    else if (plant.isOpen()) plant.close();
    else if (!$("import-panel").hidden) files.close();
    else filter.go({ q: "", tag: null });
  }
});

takeToken();
filter.start(viewed);
for (const part of [table, plant, files, charts]) part.start();
begin();
