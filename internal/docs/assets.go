package docs

import (
	"compress/gzip"
	_ "embed"
	"io"
	"net/http"
	"strings"
	"sync"
)

// The files of Swagger UI, as internal/tools/swagger-ui unpacks them. They are
// strings, because a string stays in the file of the program until it is read.
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
)

// The files that the page adds to Swagger UI.
var (
	//go:embed page/docs.js
	script string
	//go:embed page/docs.css
	ownStyles string
	//go:embed page/favicon.svg
	favicon string
)

// assets are all files of the page. The licences must be distributed together
// with Swagger UI.
var assets = []file{
	{name: "docs.css", mediaType: "text/css; charset=utf-8", content: ownStyles},
	{name: "docs.js", mediaType: "text/javascript; charset=utf-8", content: script},
	{name: "favicon.svg", mediaType: "image/svg+xml", content: favicon},
	{name: "swagger-ui-bundle.js", mediaType: "text/javascript; charset=utf-8", content: bundle, gzipped: true},
	{name: "swagger-ui-bundle.js.LICENSE.txt", mediaType: "text/plain; charset=utf-8", content: bundleLicenses},
	{name: "swagger-ui.css", mediaType: "text/css; charset=utf-8", content: styles, gzipped: true},
	{name: "swagger-ui.LICENSE.txt", mediaType: "text/plain; charset=utf-8", content: license},
	{name: "swagger-ui.NOTICE.txt", mediaType: "text/plain; charset=utf-8", content: notice},
}

type file struct {
	name, mediaType string
	content         string
	gzipped         bool // content is compressed with gzip
}

// version identifies the content of a file.
func (f file) version() string { return digest(f.content) }

// handler serves the file. It is uncompressed, once, for clients that do not accept
// gzip.
func (f file) handler() http.Handler {
	version, plain := f.version(), sync.OnceValue(func() string { return gunzip(f.content) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		// The page requests each file with its version, so that a cached file is never
		// used with a newer page. During an upgrade, the request can reach a server that
		// has another version of the file: caches must not keep that response under
		// this URL.
		if r.URL.Query().Get("v") == version {
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
		} else {
			h.Set("Cache-Control", "no-cache")
		}
		content, etag := f.content, version
		if f.gzipped {
			h.Set("Vary", "Accept-Encoding")
			if acceptsGzip(r) {
				h.Set("Content-Encoding", "gzip")
				etag += "-gzip"
			} else {
				content = plain()
			}
		}
		send(w, r, f.mediaType, etag, content)
	})
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
