package docs

import (
	_ "embed"
	"net/http"
	"strings"
)

//go:embed page/index.html
var pageText string

// policy is the Content-Security-Policy of the page. It allows only files of this
// service: no other host, no inline script or style, no frame around the page.
// The style sheet of Swagger UI contains its icons as data: URLs.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// newPage returns the handler of the page at /docs.
func newPage() http.Handler {
	text := pageText
	for _, a := range assets {
		text = strings.ReplaceAll(text, `"docs/`+a.name+`"`, `"docs/`+a.name+`?v=`+a.version()+`"`)
	}
	version := digest(text)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-cache")
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		send(w, r, "text/html; charset=utf-8", version, text)
	})
}
