// Shows the OpenAPI document of the service that serves this page.
"use strict";

const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

SwaggerUIBundle({
  dom_id: "#docs",
  url: "openapi.yaml", // relative to the page, so that it works below any path that a proxy adds
  // Requests go to the service of the page, whatever host the document names: its policy allows no other.
  requestInterceptor: (request) => {
    const { pathname, search } = new URL(request.url, location.href);
    request.url = location.origin + pathname + search;
    return request;
  },
  layout: "BaseLayout",
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [Accessible],
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "list",
  syntaxHighlight: { theme: "tomorrow-night" }, // the default has red on black
  validatorUrl: null, // the default sends the document of a public service to another host
  onComplete: () => {
    document.title = document.querySelector("#docs h1, #docs h2")?.textContent ?? document.title;
  },
});
