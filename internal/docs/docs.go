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
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	apidocs "github.com/plantstore/plantstore/api/docs"
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
		handlers[path] = f.Handler()
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

// send writes a response with a text: compressed with gzip for a client that accepts this,
// and plain for others. It writes a 304 if the client has this version in this encoding
// already. Other conditions and ranges are ignored, because the failures that
// [http.ServeContent] responds with have no Error in their body.
func send(w http.ResponseWriter, r *http.Request, mediaType, version, text string, compressed func() string) {
	h := w.Header()
	h.Add("Vary", "Accept-Encoding")
	h.Set("Content-Type", mediaType)
	if acceptsGzip(r.Header["Accept-Encoding"]) {
		h.Set("Content-Encoding", "gzip")
		version += "-gzip" // a strong ETag is that of the bytes
		text = compressed()
	}
	h.Set("ETag", `"`+version+`"`)
	h.Set("Content-Length", strconv.Itoa(len(text))) // ServeContent does not set it if there is a Content-Encoding
	condition := http.Header{"If-None-Match": r.Header["If-None-Match"]}
	http.ServeContent(w, &http.Request{Method: r.Method, Header: condition}, "", time.Time{}, strings.NewReader(text))
}

// acceptsGzip reports whether a client that sends this Accept-Encoding accepts gzip. See
// RFC 9110, section 12.5.3.
func acceptsGzip(header []string) bool {
	accepted := map[string]bool{} // by coding
	for element := range strings.SplitSeq(strings.Join(header, ","), ",") {
		coding, parameters, _ := mime.ParseMediaType(element)             // an element has the same form
		weight, _ := strconv.ParseFloat(cmp.Or(parameters["q"], "1"), 64) // 0 if it is no number
		accepted[coding] = weight > 0
	}
	accepts, isNamed := accepted["gzip"]
	return accepts || !isNamed && accepted["*"]
}

// compressing makes compressions wait for each other: requests for the document that each have
// another host cannot take more than one processor and the memory of one compression.
var compressing sync.Mutex

// compress returns a text compressed with gzip.
func compress(text string) string {
	compressing.Lock()
	defer compressing.Unlock()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text) // to memory, so there is no error
	_ = w.Close()
	return b.String()
}

// digest returns a hash of the parts, to be used as an ETag.
func digest(parts ...string) string {
	hash := sha256.Sum256([]byte(strings.Join(parts, "\x00"))) // no part has this character
	return base64.RawURLEncoding.EncodeToString(hash[:16])
}

// The files that the page adds to Swagger UI, which is in api/docs. They are strings, because a string stays in the file of
// the program until it is read.
var (
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
var files = map[string]File{
	"/docs":                                  {MediaType: "text/html; charset=utf-8", Content: index},
	"/docs/docs.css":                         {MediaType: "text/css; charset=utf-8", Content: ownStyles},
	"/docs/accessible.js":                    {MediaType: javascript, Content: apidocs.Accessible},
	"/docs/docs.js":                          {MediaType: javascript, Content: script},
	"/docs/favicon.svg":                      {MediaType: "image/svg+xml", Content: favicon},
	"/docs/swagger-ui-bundle.js":             {MediaType: javascript, Content: apidocs.Bundle},
	"/docs/swagger-ui-bundle.js.LICENSE.txt": {MediaType: "text/plain; charset=utf-8", Content: apidocs.BundleLicenses},
	"/docs/swagger-ui.css":                   {MediaType: "text/css; charset=utf-8", Content: apidocs.Styles},
	"/docs/swagger-ui.LICENSE.txt":           {MediaType: "text/plain; charset=utf-8", Content: apidocs.License},
	"/docs/swagger-ui.NOTICE.txt":            {MediaType: "text/plain; charset=utf-8", Content: apidocs.Notice},
}

const javascript = "text/javascript; charset=utf-8"

// File is a file of a page, as it is served.
type File struct {
	MediaType string
	Content   string
	Policy    string // its Content-Security-Policy; empty: [Policy]
}

// Policy is the Content-Security-Policy of the page.
const Policy = apidocs.Policy

// Handler serves the file. Nothing is computed before the first request.
func (f File) Handler() http.Handler {
	version := sync.OnceValue(func() string { return digest(f.Content) })
	compressed := sync.OnceValue(func() string { return compress(f.Content) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-cache")
		h.Set("Content-Security-Policy", cmp.Or(f.Policy, Policy))
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin") // a page that opens this one cannot change its address
		send(w, r, f.MediaType, version(), f.Content, compressed)
	})
}
