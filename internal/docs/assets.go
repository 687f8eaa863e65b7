package docs

import (
	"compress/gzip"
	_ "embed"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Swagger UI, as internal/tools/swagger-ui unpacks it. Strings, because they
// stay in the program's file until somebody asks for them.
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

// What the page adds to it.
var (
	//go:embed page/docs.js
	script string
	//go:embed page/docs.css
	ownStyles string
	//go:embed page/favicon.svg
	favicon string
)

// assets is all that the page is made of. The licences ask to go where Swagger
// UI goes.
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
	gzipped         bool // the content is
}

// version tells one content of a file from another.
func (f file) version() string { return digest(f.content) }

// asset serves a file.
type asset struct {
	file
	version string
	plain   func() string // what was gzipped, for those who cannot read that
}

func newAsset(f file) *asset {
	return &asset{file: f, version: f.version(), plain: sync.OnceValue(func() string {
		return gunzip(f.content)
	})}
}

func (a *asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	// The page asks for a file by its version too, so that what was kept never
	// meets a newer page. In an upgrade the other server may be asked: then this
	// is another version, which nobody must keep under that name.
	if r.URL.Query().Get("v") == a.version {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache")
	}
	content, etag := a.content, a.version
	if a.gzipped {
		h.Set("Vary", "Accept-Encoding")
		if acceptsGzip(r) {
			h.Set("Content-Encoding", "gzip")
			etag += "-gzip"
		} else {
			content = a.plain()
		}
	}
	send(w, r, a.mediaType, etag, content)
}

func gunzip(content string) string {
	var plain strings.Builder
	reader, err := gzip.NewReader(strings.NewReader(content))
	if err == nil {
		_, err = io.Copy(&plain, reader)
	}
	if err != nil {
		panic(err) // a test reads every file
	}
	return plain.String()
}
