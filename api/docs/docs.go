// Package docs shows the OpenAPI document of any service: the document at /openapi.yaml, and a page at /docs, which shows it with
// Swagger UI and can send requests. It knows nothing of plants.
//
//	mux.Handle("GET /openapi.yaml", handler)
//	mux.Handle("GET /docs", handler)
//	mux.Handle("GET /docs/", handler)
//
// The page loads nothing from other hosts, and its Content-Security-Policy allows no inline script or style. Every reference in it
// is relative, so it works below any path that a proxy adds.
package docs

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// The files of Swagger UI as published. They are strings, because a string stays in the file of the program until it is read.
var (
	//go:embed swagger-ui/swagger-ui-bundle.js
	Bundle string
	//go:embed swagger-ui/swagger-ui-bundle.js.LICENSE.txt
	BundleLicenses string
	//go:embed swagger-ui/swagger-ui.css
	Styles string
	//go:embed swagger-ui/LICENSE
	License string
	//go:embed swagger-ui/NOTICE
	Notice string

	//go:embed page/index.html
	index string
	//go:embed page/docs.js
	script string

	// Accessible is a script that names the fields of Swagger UI for screen readers, and a plugin of the same name.
	//go:embed page/accessible.js
	Accessible string
)

// Policy is the Content-Security-Policy of the page: only files of this service, no inline script or style, no frame around it.
// The style sheet of Swagger UI contains its icons as data: URLs.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const javascript = "text/javascript; charset=utf-8"

// Handler serves GET requests for /openapi.yaml, /docs and the files of the page below /docs/. Others are 404.
func Handler(document []byte) http.Handler {
	mux := http.NewServeMux()
	for path, f := range map[string]*file{
		"/openapi.yaml":                          {mediaType: "application/yaml", text: string(document)},
		"/docs":                                  {mediaType: "text/html; charset=utf-8", text: index},
		"/docs/accessible.js":                    {mediaType: javascript, text: Accessible},
		"/docs/docs.js":                          {mediaType: javascript, text: script},
		"/docs/swagger-ui-bundle.js":             {mediaType: javascript, text: Bundle},
		"/docs/swagger-ui-bundle.js.LICENSE.txt": {mediaType: "text/plain; charset=utf-8", text: BundleLicenses},
		"/docs/swagger-ui.css":                   {mediaType: "text/css; charset=utf-8", text: Styles},
		"/docs/swagger-ui.LICENSE.txt":           {mediaType: "text/plain; charset=utf-8", text: License},
		"/docs/swagger-ui.NOTICE.txt":            {mediaType: "text/plain; charset=utf-8", text: Notice},
	} {
		mux.Handle("GET "+path, f)
	}
	return mux
}

// file is a file of the page. It is compressed at the first request.
type file struct {
	mediaType, text string

	once       sync.Once
	compressed string
	version    string
}

func (f *file) prepare() {
	hash := sha256.Sum256([]byte(f.text))
	f.version = base64.RawURLEncoding.EncodeToString(hash[:16])
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	_, _ = io.WriteString(writer, f.text) // to memory, so there is no error
	_ = writer.Close()
	f.compressed = out.String()
}

func (f *file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.once.Do(f.prepare)
	header := w.Header()
	header.Set("Cache-Control", "no-cache")
	header.Set("Content-Security-Policy", Policy)
	header.Set("Content-Type", f.mediaType)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Vary", "Accept-Encoding")
	header.Set("X-Content-Type-Options", "nosniff")
	text, version := f.text, f.version
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		text, version = f.compressed, version+"-gzip" // a strong ETag is that of the bytes
	}
	header.Set("ETag", `"`+version+`"`)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
}
