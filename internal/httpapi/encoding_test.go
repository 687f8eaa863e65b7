package httpapi_test

import (
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/internal/docs"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/page"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// acceptEncodings are the values of Accept-Encoding, one for each header line, and whether gzip
// is among them: RFC 9110, section 12.5.3.
var acceptEncodings = []struct {
	values []string
	gzip   bool
}{
	{nil, false},
	{[]string{""}, false},
	{[]string{"gzip"}, true},
	{[]string{"GZip"}, true},
	{[]string{"gzip, deflate, br, zstd"}, true}, // a browser
	{[]string{"deflate, gzip;q=1.0, *;q=0.5"}, true},
	{[]string{"br", "gzip"}, true},
	{[]string{"gzip ; q=0.5"}, true},
	{[]string{"*"}, true},
	{[]string{"br, *;q=0.1"}, true},
	{[]string{"gzip;q=0"}, false},
	{[]string{"gzip;q=0.000, *"}, false},
	{[]string{"*;q=0"}, false},
	{[]string{"identity"}, false},
	{[]string{"gzipped, agzip"}, false},
	{[]string{"gzip;q=high"}, false},
}

// The pages, their files and the document are sent plain, or with gzip to a client that accepts
// it. Both have the same content, and each has an ETag of its own.
func TestAcceptEncoding(t *testing.T) {
	t.Parallel()
	s := newService(t, withOptions(func(o *httpapi.Options) { o.CORSOrigins = []string{"https://a.example"} }))
	for _, c := range acceptEncodings {
		wantEncoding(t, s.encoded(http.MethodGet, "/openapi.yaml", "", c.values...), c.gzip)
	}
	handlers, err := docs.Handlers(api.Document, nil)
	must.NoError(t, err)
	maps.Copy(handlers, page.Handlers(nil))
	delete(handlers, "/docs/") // a redirect
	for path := range handlers {
		plain, gzip := s.encoded(http.MethodGet, path, ""), s.encoded(http.MethodGet, path, "", "gzip")
		wantEncoding(t, plain, false)
		wantEncoding(t, gzip, true)
		if unzip(t, gzip.body) != plain.body || plain.body == "" || plain.Header.Get("ETag") == gzip.Header.Get("ETag") {
			t.Errorf("%s: a compressed response differs from a plain one, or has its ETag", path)
		}
		for _, c := range []struct {
			known, other response
			values       []string
		}{{plain, gzip, nil}, {gzip, plain, []string{"gzip"}}} {
			etag := c.known.Header.Get("ETag")
			head := s.encoded(http.MethodHead, path, "", c.values...)
			wantEncoding(t, head, c.values != nil)
			if head.ContentLength != int64(len(c.known.body)) || head.Header.Get("ETag") != etag {
				t.Errorf("HEAD %s with Accept-Encoding %q = %v, GET %v", path, c.values, head.Header, c.known.Header)
			}
			known := s.encoded(http.MethodGet, path, etag, c.values...)
			if known.StatusCode != http.StatusNotModified || known.Header.Get("ETag") != etag || !varies(known) {
				t.Errorf("GET %s with its ETag %s = %s %v", path, etag, known.Status, known.Header)
			}
			s.encoded(http.MethodGet, path, c.other.Header.Get("ETag"), c.values...).wantStatus(t, http.StatusOK)
		}
	}
}

// encoded sends a request with values of Accept-Encoding, none if there are none, and If-None-Match if it is not empty.
func (s *service) encoded(method, path, etag string, values ...string) response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, nil)
	must.NoError(s.t, err)
	r.Header["Accept-Encoding"] = values // nil: the transport adds none
	if etag != "" {
		r.Header.Set("If-None-Match", etag)
	}
	transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true}
	resp, err := transport.RoundTrip(r)
	must.NoError(s.t, err)
	text, err := io.ReadAll(resp.Body)
	must.NoError(s.t, errors.Join(err, resp.Body.Close()))
	return response{resp, string(text)}
}

// wantEncoding fails unless a response is plain, or compressed with gzip, says that this
// depends on Accept-Encoding, and has the length of its body.
func wantEncoding(t *testing.T, a response, gzip bool) {
	t.Helper()
	request, want := a.Request, map[bool]string{true: "gzip"}[gzip]
	if got := a.Header.Get("Content-Encoding"); got != want || !varies(a) {
		t.Errorf("%s %s with Accept-Encoding %q is encoded with %q, want %q; Vary: %q", request.Method, request.URL.Path,
			request.Header["Accept-Encoding"], got, want, a.Header["Vary"])
	}
	if request.Method == http.MethodGet && a.ContentLength != int64(len(a.body)) {
		t.Errorf("%s has the length %d, want %d", request.URL.Path, a.ContentLength, len(a.body))
	}
}

// varies reports whether Vary of a response names Accept-Encoding, beside Origin.
func varies(a response) bool {
	vary := a.Header["Vary"]
	return slices.Contains(vary, "Accept-Encoding") && slices.Contains(vary, "Origin")
}

func unzip(t *testing.T, compressed string) string {
	t.Helper()
	reader, err := gzip.NewReader(strings.NewReader(compressed))
	must.NoError(t, err)
	content, err := io.ReadAll(reader) // checks the length and the checksum
	must.NoError(t, err)
	return string(content)
}
