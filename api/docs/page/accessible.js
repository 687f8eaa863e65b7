// Repairs what Swagger UI lacks for people who use a screen reader or the keyboard only. It adds no markup and no style.
"use strict";

// A summary of an operation is a button, which must not have a link in it. The button sets the same address.
const Accessible = {
  wrapComponents: {
    DeepLink: (Original, { React }) => (props) => React.createElement(Original, { ...props, enabled: false }),
  },
};

// Names of buttons, and those that begin with the text that is seen: speech input looks for it.
const names = { "Apply credentials": "Authorize: apply credentials", "Remove authorization": "Logout: remove authorization" };

// Parts of the page before its main part, the operations.
const parts = { ".information-container > section": "Introduction", ".scheme-container > section": "Server and credentials" };

// nameOf returns the name of a field that has none.
function nameOf(field) {
  if (field.id === "servers") return "Server";
  if (field.closest(".examples-select")) return "Example";
  return field.closest("tr[data-param-name]")?.dataset.paramName ?? (field.matches("textarea") ? "Request body" : "Choice");
}

// repair gives each field and button of the page a name that a screen reader can read, and lets the keyboard scroll what
// scrolls. A label without text is none.
function repair() {
  for (const field of document.querySelectorAll("select:not([aria-label]), textarea:not([aria-label])")) {
    const hasLabel = [...field.labels].some((label) => [...label.childNodes].some((node) => node !== field && node.textContent.trim()));
    if (!hasLabel) field.setAttribute("aria-label", nameOf(field));
  }
  for (const close of document.querySelectorAll("button.close-modal:not([aria-label])")) close.setAttribute("aria-label", "Close");
  for (const code of document.querySelectorAll("pre.microlight:not([tabindex])")) code.tabIndex = 0; // it scrolls
  for (const [name, better] of Object.entries(names)) {
    for (const button of document.querySelectorAll(`button[aria-label="${name}"]`)) button.setAttribute("aria-label", better);
  }
  for (const [part, label] of Object.entries(parts)) document.querySelector(part)?.setAttribute("aria-label", label);
  for (const dialog of document.querySelectorAll(".modal-ux:not([role])")) Object.assign(dialog, { role: "dialog", ariaLabel: "Authorizations" });
  for (const title of document.querySelectorAll("h4 ~ div h6, .auth-container h6")) title.ariaLevel = 5; // no level is left out
}

new MutationObserver(repair).observe(document.documentElement, { childList: true, subtree: true });
