// Shows the OpenAPI document of the service that serves this page.
"use strict";

const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

// prepare changes what Swagger UI makes of the document:
//
// The examples of optional parameters move into their descriptions. Swagger UI
// would fill them in, and an operation that is tried out would then depend on
// conditions that no plant meets.
//
// Creating a plant comes first.
//
// The server is the one of the page, without a variable to fill in: the policy
// of the page allows requests to no other.
function prepare(description) {
  const operations = Object.values(description.paths).flatMap((path) => Object.values(path));
  const shared = Object.values(description.components.parameters);
  for (const parameter of operations.flatMap(({ parameters = [] }) => parameters).concat(shared)) {
    if (parameter.required || parameter.example === undefined) continue;
    parameter.description += `\n\nExample: \`${parameter.example}\``;
    delete parameter.example;
  }
  // The first thing that a person tries is to create a plant.
  const { "/plants": { post, ...others }, ...paths } = description.paths;
  description.paths = { "/plants": { post, ...others }, ...paths };
  description.servers = [{ url: description.servers[0].variables.base_url.default }];
  return description;
}

// Sections shows a text with headings of the second level as sections that are
// closed at first, so that the operations are on the first screen.
const Sections = (Markdown, { React }) => (props) => {
  const [start, ...sections] = (props.source ?? "").split(/^## /m);
  const element = React.createElement;
  return element(
    React.Fragment,
    null,
    element(Markdown, { ...props, source: start }),
    ...sections.map((section) => {
      const [title] = section.split("\n", 1);
      const summary = element("summary", null, element("h2", null, title));
      return element("details", { key: title }, summary, element(Markdown, { ...props, source: section.slice(title.length) }));
    }),
  );
};

// The token of the page for people, which is the folder of this one; see session.js there.
const place = `plantstore token ${location.pathname.replace(/docs$/, "")}`;
const token = sessionStorage.getItem(place) ?? localStorage.getItem(place);

const ui = SwaggerUIBundle({
  dom_id: "#docs",
  url: "openapi.json", // relative to the page, so that it works below any path that a proxy adds
  responseInterceptor: (response) => {
    if (response.url.endsWith("/openapi.json")) response.text = JSON.stringify(prepare(JSON.parse(response.text)));
    return response;
  },
  onComplete: () => token && ui.preauthorizeApiKey("bearerAuth", token),
  layout: "BaseLayout",
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [Accessible, { wrapComponents: { Markdown: Sections } }],
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "list",
  syntaxHighlight: { theme: "tomorrow-night" }, // the default has red on black
  validatorUrl: null, // the default sends the document of a public service to another host
});
