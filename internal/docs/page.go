package docs

import (
	_ "embed"
	"net/http"
)

// The files of Swagger UI, as internal/tools/swagger-ui unpacks them, and those that the
// page adds. They are strings, because a string stays in the file of the program until it
// is read.
var (
	//go:embed swagger-ui/swagger-ui-bundle.js.gz
	bundle string
	//go:embed swagger-ui/swagger-ui-bundle.js.LICENSE.txt
	bundleLicenses string
	//go:embed swagger-ui/swagger-ui.css.gz
	styles string
	//go:embed swagger-ui/LICENSE
	license string
	//go:embed swagger-ui/NOTICE
	notice string

	//go:embed page/index.html
	index string
	//go:embed page/docs.js
	script string
	//go:embed page/docs.css
	ownStyles string
	//go:embed page/favicon.svg
	favicon string
)

// files are all files of the page, by path. The licences must be distributed together
// with Swagger UI.
var files = map[string]file{
	"/docs":                                  {mediaType: "text/html; charset=utf-8", content: index},
	"/docs/docs.css":                         {mediaType: "text/css; charset=utf-8", content: ownStyles},
	"/docs/docs.js":                          {mediaType: javascript, content: script},
	"/docs/favicon.svg":                      {mediaType: "image/svg+xml", content: favicon},
	"/docs/swagger-ui-bundle.js":             {mediaType: javascript, content: bundle, gzipped: true},
	"/docs/swagger-ui-bundle.js.LICENSE.txt": {mediaType: "text/plain; charset=utf-8", content: bundleLicenses},
	"/docs/swagger-ui.css":                   {mediaType: "text/css; charset=utf-8", content: styles, gzipped: true},
	"/docs/swagger-ui.LICENSE.txt":           {mediaType: "text/plain; charset=utf-8", content: license},
	"/docs/swagger-ui.NOTICE.txt":            {mediaType: "text/plain; charset=utf-8", content: notice},
}

const javascript = "text/javascript; charset=utf-8"

type file struct {
	mediaType string
	content   string
	gzipped   bool // content is compressed with gzip
}

// policy is the Content-Security-Policy of the page. It allows only files of this
// service: no other host, no inline script or style, no frame around the page.
// The style sheet of Swagger UI contains its icons as data: URLs.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// handler serves the file. A compressed one is sent as it is, because every browser
// accepts gzip.
func (f file) handler() http.Handler {
	version := digest(f.content)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-cache")
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		if f.gzipped {
			h.Set("Content-Encoding", "gzip")
		}
		send(w, r, f.mediaType, version, f.content)
	})
}
