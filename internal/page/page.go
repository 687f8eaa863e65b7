// Package page serves a page for people: it shows the plants, finds them and changes them.
// Everything that it does it asks of the API, with the token of the person.
//
// The page is HTML, CSS and ES modules without a build step; internal/workshop/tools checks their
// types against the document. It loads nothing from other hosts, and every reference in it is
// relative, so it works below any path that a proxy adds.
package page

import (
	"embed"
	"net/http"
	"path"

	"github.com/plantstore/plantstore/internal/docs"
)

//go:embed files
var files embed.FS

// policy is that of the documentation, and makes the browser refuse to read text as HTML or
// as a script (Trusted Types).
const policy = docs.Policy + "; require-trusted-types-for 'script'; trusted-types 'none'"

// mediaTypes are those of the files, by extension. The package mime would read tables of the
// system, which say other things on some machines.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
}

// Handlers returns the handlers of GET requests, by path: / for the page, and /page/ with
// the files that it needs.
func Handlers() map[string]http.Handler {
	handlers := map[string]http.Handler{}
	entries, _ := files.ReadDir("files") // a part of the program, so there is no error
	for _, entry := range entries {
		content, _ := files.ReadFile("files/" + entry.Name())
		at := "/page/" + entry.Name()
		if entry.Name() == "index.html" {
			at = "/"
		}
		handlers[at] = docs.File{
			MediaType: mediaTypes[path.Ext(entry.Name())],
			Content:   string(content),
			Policy:    policy,
		}.Handler()
	}
	return handlers
}
