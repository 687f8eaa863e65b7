package docs

import (
	"compress/gzip"
	_ "embed"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
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

// assets are all files that the page needs. The licences must be distributed together
// with Swagger UI.
var assets = []asset{
	{name: "docs.css", mediaType: "text/css; charset=utf-8", content: ownStyles},
	{name: "docs.js", mediaType: "text/javascript; charset=utf-8", content: script},
	{name: "favicon.svg", mediaType: "image/svg+xml", content: favicon},
	{name: "swagger-ui-bundle.js", mediaType: "text/javascript; charset=utf-8", content: bundle, gzipped: true},
	{name: "swagger-ui-bundle.js.LICENSE.txt", mediaType: "text/plain; charset=utf-8", content: bundleLicenses},
	{name: "swagger-ui.css", mediaType: "text/css; charset=utf-8", content: styles, gzipped: true},
	{name: "swagger-ui.LICENSE.txt", mediaType: "text/plain; charset=utf-8", content: license},
	{name: "swagger-ui.NOTICE.txt", mediaType: "text/plain; charset=utf-8", content: notice},
}

type asset struct {
	name, mediaType string
	content         string
	gzipped         bool // content is compressed with gzip
}

// policy is the Content-Security-Policy of the page. It allows only files of this
// service: no other host, no inline script or style, no frame around the page.
// The style sheet of Swagger UI contains its icons as data: URLs.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// newPage returns the handler of the page at /docs. The page requests each asset with
// its version.
func newPage() http.Handler {
	text := index
	for _, a := range assets {
		text = strings.ReplaceAll(text, `"docs/`+a.name+`"`, `"docs/`+a.name+`?v=`+digest(a.content)+`"`)
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

// handler serves the asset. A compressed one is uncompressed, once, for clients that do
// not accept gzip.
func (a asset) handler() http.Handler {
	version, plain := digest(a.content), sync.OnceValue(func() string { return gunzip(a.content) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		// During an upgrade, the request can reach a server that has another version of the
		// asset than the page: caches must not keep that response under this URL.
		h.Set("Cache-Control", "no-cache")
		if r.URL.Query().Get("v") == version {
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		content, etag := a.content, version
		if a.gzipped {
			h.Set("Vary", "Accept-Encoding")
			if acceptsGzip(r) {
				h.Set("Content-Encoding", "gzip")
				etag += "-gzip"
			} else {
				content = plain()
			}
		}
		send(w, r, a.mediaType, etag, content)
	})
}

var gzipAccepted = regexp.MustCompile(`(?i)(?:^|,)[\t ]*gzip[\t ]*(?:;[\t ]*q=([0-9.]+)[\t ]*)?(?:,|$)`)

// acceptsGzip reports whether Accept-Encoding allows gzip (RFC 9110, section
// 12.5.3).
func acceptsGzip(r *http.Request) bool {
	m := gzipAccepted.FindStringSubmatch(strings.Join(r.Header.Values("Accept-Encoding"), ","))
	return m != nil && (m[1] == "" || strings.Trim(m[1], "0.") != "")
}

func gunzip(content string) string {
	var plain strings.Builder
	reader, err := gzip.NewReader(strings.NewReader(content))
	if err == nil {
		_, err = io.Copy(&plain, reader)
	}
	if err != nil {
		panic(err) // not reached: a test reads every file
	}
	return plain.String()
}
