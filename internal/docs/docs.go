// Package docs serves the documentation of the API, without a token: the OpenAPI
// document at /openapi.yaml and /openapi.json, and a page at /docs, which shows
// the document with Swagger UI and can send requests.
//
// The page loads nothing from other hosts. Its Content-Security-Policy allows no
// inline script or style. Every reference in it is relative, so it works below
// any path that a proxy adds.
package docs

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Handlers returns the handlers of GET requests, by path. The document must
// contain [documented], the default address of the service, exactly once, in
// double quotes. The handlers replace it with baseURL or, if baseURL is nil, with
// the address that the request was sent to.
func Handlers(text []byte, baseURL *url.URL) (map[string]http.Handler, error) {
	if bytes.Count(text, []byte(`"`+documented+`"`)) != 1 {
		return nil, fmt.Errorf("the document must have %q exactly once, as the default of base_url", documented)
	}
	handlers := map[string]http.Handler{
		"/":             redirect("docs", http.StatusTemporaryRedirect),
		"/docs/":        redirect("../docs", http.StatusPermanentRedirect),
		"/openapi.yaml": serveDocument("application/yaml", text, baseURL),
		"/openapi.json": lazy(func() http.Handler {
			asJSON, err := toJSON(text)
			if err != nil {
				panic(err) // the document is embedded, so this cannot fail at run time
			}
			return serveDocument("application/json", asJSON, baseURL)
		}),
	}
	for path, f := range files {
		handlers[path] = lazy(f.handler)
	}
	return handlers, nil
}

// lazy returns a handler that newHandler creates at the first request. A service
// whose documentation is not requested starts faster and needs less memory.
func lazy(newHandler func() http.Handler) http.Handler {
	handler := sync.OnceValue(newHandler)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler().ServeHTTP(w, r) })
}

// redirect sends browsers that open the address of the service, or add a slash
// to that of the page, to the page. The location is a relative reference, so
// that it is right below a path that only a proxy knows; http.Redirect would
// make it absolute.
func redirect(location string, status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(status)
	})
}

// send writes a response with content, or a 304 if the client has this version
// already. Other conditions and ranges are ignored, because the failures that
// [http.ServeContent] responds with have no Error in their body.
func send(w http.ResponseWriter, r *http.Request, mediaType, etag, content string) {
	h := w.Header()
	h.Set("ETag", `"`+etag+`"`)
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.Itoa(len(content))) // ServeContent does not set it if there is a Content-Encoding
	condition := http.Header{"If-None-Match": r.Header["If-None-Match"]}
	http.ServeContent(w, &http.Request{Method: r.Method, Header: condition}, "", time.Time{}, strings.NewReader(content))
}

// digest returns a hash of the parts, to be used as an ETag.
func digest(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	return base64.RawURLEncoding.EncodeToString(hash.Sum(nil)[:16])
}

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
