package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
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
	{[]string{"gzip;Q=0.001"}, true},
	{[]string{"*"}, true},
	{[]string{"br, *;q=0.1"}, true},
	{[]string{"identity;q=0, gzip"}, true},
	{[]string{"identity, gzip;q=0.5"}, true},
	{[]string{"identity;q=0, *"}, true},
	{[]string{"gzip;q=0"}, false},
	{[]string{"gzip;q=0.000, *"}, false},
	{[]string{"*;q=0"}, false},
	{[]string{"identity"}, false},
	{[]string{"identity;q=0"}, false}, // then a response without a coding is the best
	{[]string{"br"}, false},
	{[]string{"gzipped, agzip"}, false},
	{[]string{"gzip;q=high"}, false},
	{[]string{"gzip;q=NaN"}, false},
}

// The pages, their files and the document are sent plain, or with gzip to a client that accepts
// it. Both have the same content, and each has an ETag of its own.
func TestAcceptEncoding(t *testing.T) {
	t.Parallel()
	s := newService(t, withOptions(func(o *httpapi.Options) { o.CORSOrigins = []string{"https://a.example"} }))
	handlers, err := docs.Handlers(api.Document, nil)
	must.NoError(t, err)
	maps.Copy(handlers, page.Handlers(nil))
	delete(handlers, "/docs/") // a redirect
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	for _, path := range slices.Sorted(maps.Keys(handlers)) {
		etags := map[bool]string{} // by gzip
		var content []byte
		for _, c := range acceptEncodings {
			get := func(method, condition string) (*http.Response, []byte) {
				r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, nil)
				must.NoError(t, err)
				r.Header["Accept-Encoding"] = c.values // nil: the transport adds none
				if condition != "" {
					r.Header.Set("If-None-Match", condition)
				}
				resp, err := transport.RoundTrip(r)
				must.NoError(t, err)
				content, err := io.ReadAll(resp.Body)
				must.NoError(t, errors.Join(err, resp.Body.Close()))
				return resp, content
			}
			got, body := get(http.MethodGet, "")
			wantEncoding(t, got, c.gzip)
			if got.ContentLength != int64(len(body)) {
				t.Errorf("%s has the length %d, want %d", path, got.ContentLength, len(body))
			}
			if c.gzip {
				body = unzip(t, body)
			}
			if content == nil {
				content = body
			}
			if !bytes.Equal(body, content) || len(body) == 0 {
				t.Errorf("%s with Accept-Encoding %q has other content", path, c.values)
			}

			etag := got.Header.Get("ETag")
			if known := etags[c.gzip]; known != "" && etag != known || etag == etags[!c.gzip] {
				t.Errorf("%s with Accept-Encoding %q has the ETag %s, others have %v", path, c.values, etag, etags)
			}
			etags[c.gzip] = etag
			head, _ := get(http.MethodHead, "")
			wantEncoding(t, head, c.gzip)
			if head.ContentLength != got.ContentLength || head.Header.Get("ETag") != etag {
				t.Errorf("HEAD %s with Accept-Encoding %q = %v, GET %v", path, c.values, head.Header, got.Header)
			}
			known, _ := get(http.MethodGet, etag)
			if known.StatusCode != http.StatusNotModified || known.Header.Get("ETag") != etag || !varies(known) {
				t.Errorf("GET %s with its ETag %s = %s %v", path, etag, known.Status, known.Header)
			}
			if other := etags[!c.gzip]; other != "" {
				if resp, _ := get(http.MethodGet, other); resp.StatusCode != http.StatusOK {
					t.Errorf("GET %s with the ETag of the other encoding = %s", path, resp.Status)
				}
			}
		}
	}
}

// wantEncoding fails unless a response is plain, or compressed with gzip, and says that this
// depends on Accept-Encoding.
func wantEncoding(t *testing.T, resp *http.Response, gzip bool) {
	t.Helper()
	want := ""
	if gzip {
		want = "gzip"
	}
	if got := resp.Header.Get("Content-Encoding"); got != want || !varies(resp) {
		t.Errorf("%s %s with Accept-Encoding %q is encoded with %q, want %q; Vary: %q", resp.Request.Method,
			resp.Request.URL.Path, resp.Request.Header["Accept-Encoding"], got, want, resp.Header["Vary"])
	}
}

// varies reports whether Vary of a response names Accept-Encoding, beside Origin.
func varies(resp *http.Response) bool {
	vary := resp.Header["Vary"]
	return slices.Contains(vary, "Accept-Encoding") && slices.Contains(vary, "Origin")
}

func unzip(t *testing.T, compressed []byte) []byte {
	t.Helper()
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	must.NoError(t, err)
	content, err := io.ReadAll(reader) // checks the length and the checksum
	must.NoError(t, err)
	return content
}
