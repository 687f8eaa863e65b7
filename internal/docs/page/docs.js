// Shows the document of the service that this page comes from.
"use strict";

const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

// unfilled moves the examples of optional parameters into their descriptions.
// Swagger UI would fill them in, so that whoever tries an operation makes it
// depend on conditions that nothing meets.
function unfilled(description) {
  const operations = Object.values(description.paths).flatMap((path) => Object.values(path));
  const shared = Object.values(description.components.parameters);
  for (const parameter of operations.flatMap(({ parameters = [] }) => parameters).concat(shared)) {
    if (parameter.required || parameter.example === undefined) continue;
    parameter.description += `\n\nExample: \`${parameter.example}\``;
    delete parameter.example;
  }
  return description;
}

SwaggerUIBundle({
  dom_id: "#docs",
  url: "openapi.json", // relative to the page, which a proxy may have put below a path
  responseInterceptor: (response) => {
    if (response.url.endsWith("/openapi.json")) response.text = JSON.stringify(unfilled(JSON.parse(response.text)));
    return response;
  },
  layout: "BaseLayout",
  presets: [SwaggerUIBundle.presets.apis],
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "list",
  syntaxHighlight: { theme: "tomorrow-night" }, // the usual one has red on black
  validatorUrl: null, // else the document of a service on the Internet is sent to one elsewhere
});
