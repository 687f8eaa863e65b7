package docs

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The files of Swagger UI are the published ones: the served files have the
// checksums that were recorded when the package was unpacked, and the folder has
// no other files.
func TestSwaggerUIIsThePublishedOne(t *testing.T) {
	sums, err := os.ReadFile("swagger-ui/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]bool{} // by the checksum of the response body
	for path, h := range handlers(t, "") {
		if strings.HasPrefix(path, "/docs/") {
			sum := sha256.Sum256([]byte(body(t, get(h, nil))))
			served[hex.EncodeToString(sum[:])] = true
		}
	}
	files := []string{"SHA256SUMS"}
	for line := range strings.Lines(string(sums)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			t.Fatalf("SHA256SUMS has an invalid line %q", line)
		}
		if !served[sum] {
			t.Errorf("the served %s is not the published one", name)
		}
		if _, err := os.Stat("swagger-ui/" + name); err != nil {
			name += ".gz"
		}
		files = append(files, name)
	}
	entries, err := os.ReadDir("swagger-ui")
	if err != nil {
		t.Fatal(err)
	}
	var there []string
	for _, e := range entries {
		there = append(there, e.Name())
	}
	slices.Sort(files)
	if !slices.Equal(there, files) {
		t.Errorf("the folder has %q, but SHA256SUMS lists %q", there, files)
	}
}

// reference matches a reference in a page.
var reference = regexp.MustCompile(`(?:src|href)="([^"]*)"`)

// The page needs only files of the service, and works below any path that a proxy
// adds: every reference is relative, has a handler, and contains the version of
// its file.
func TestPageReferences(t *testing.T) {
	hs := handlers(t, "")
	resp := get(hs["/docs"], nil)
	text := body(t, resp)
	if resp.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("the page has Content-Type %s", resp.Header.Get("Content-Type"))
	}
	found := 0
	for _, m := range reference.FindAllStringSubmatch(text, -1) {
		path, version, versioned := strings.Cut(m[1], "?v=")
		h := hs["/"+path]
		if h == nil {
			t.Errorf("the page refers to %s, which has no handler", m[1])
			continue
		}
		found++
		if path == "openapi.yaml" {
			continue
		}
		got := get(h, func(r *http.Request) { r.URL.RawQuery = "v=" + version })
		if !versioned || got.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
			t.Errorf("%s has Cache-Control %q", m[1], got.Header.Get("Cache-Control"))
		}
		for _, query := range []string{"", "v=", "v=another"} {
			got := get(h, func(r *http.Request) { r.URL.RawQuery = query })
			if got.Header.Get("Cache-Control") != "no-cache" {
				t.Errorf("%s?%s has Cache-Control %q", path, query, got.Header.Get("Cache-Control"))
			}
		}
	}
	if found < 6 {
		t.Errorf("the page has %d references, want at least the style sheets, the scripts and the icon", found)
	}
	if strings.Contains(text, "style=") || regexp.MustCompile(`<style|<script[^>]*>[^<]|\son[a-z]+=`).MatchString(text) {
		t.Error("the page has an inline script or style, which its policy forbids")
	}
}

func TestPagePolicy(t *testing.T) {
	h := get(handlers(t, "")["/docs"], nil).Header
	policy := h.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "connect-src 'self';", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %q", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "*") {
		t.Errorf("the policy %q allows too much", policy)
	}
	if got := h.Get("Referrer-Policy"); got != "no-referrer" {
		t.Errorf("Referrer-Policy is %q", got)
	}
}

// Files are sent compressed if the client accepts gzip. Caches see the compressed
// and the plain file as two representations, with two ETags.
func TestContentEncodings(t *testing.T) {
	hs := handlers(t, "")
	for _, a := range assets {
		h := hs["/docs/"+a.name]
		plain := get(h, nil)
		if plain.Header.Get("Content-Encoding") != "" || plain.Header.Get("Content-Type") != a.mediaType {
			t.Errorf("%s: without Accept-Encoding: %v", a.name, plain.Header)
		}
		want := body(t, plain)
		for accept, compressed := range map[string]bool{
			"gzip": true, "gzip, deflate, br, zstd": true, "br, GZIP;q=0.5": true, "deflate,gzip ; q=1.0": true,
			"gzip;q=0": false, "gzip;q=0.000": false, "identity": false, "br": false, "": false, "x-gzip-ish": false,
		} {
			resp := get(h, func(r *http.Request) { r.Header.Set("Accept-Encoding", accept) })
			got := body(t, resp)
			if compressed = compressed && a.gzipped; compressed {
				reader, err := gzip.NewReader(strings.NewReader(got))
				if err != nil {
					t.Fatalf("%s: Accept-Encoding %q: %v", a.name, accept, err)
				}
				var b bytes.Buffer
				if _, err := io.Copy(&b, reader); err != nil {
					t.Fatal(err)
				}
				got = b.String()
			}
			if got != want || (resp.Header.Get("Content-Encoding") == "gzip") != compressed {
				t.Errorf("%s: Accept-Encoding %q: %d bytes with Content-Encoding %q", a.name, accept, len(got), resp.Header.Get("Content-Encoding"))
			}
			if (resp.Header.Get("ETag") == plain.Header.Get("ETag")) == compressed {
				t.Errorf("%s: Accept-Encoding %q: ETag %s, plain %s", a.name, accept, resp.Header.Get("ETag"), plain.Header.Get("ETag"))
			}
			if (resp.Header.Get("Vary") == "Accept-Encoding") != a.gzipped {
				t.Errorf("%s has Vary %q", a.name, resp.Header.Get("Vary"))
			}
			again := get(h, func(r *http.Request) {
				r.Header.Set("Accept-Encoding", accept)
				r.Header.Set("If-None-Match", resp.Header.Get("ETag"))
			})
			if again.StatusCode != http.StatusNotModified || again.Header.Get("Content-Encoding") != "" {
				t.Errorf("%s: Accept-Encoding %q: a request with the ETag = %d %v", a.name, accept, again.StatusCode, again.Header)
			}
		}
	}
}

// The locations are relative, so they lead to the page below any path that a
// proxy removes from requests.
func TestRedirects(t *testing.T) {
	hs := handlers(t, "")
	for path, want := range map[string]struct {
		status   int
		location string
	}{
		"/":      {http.StatusTemporaryRedirect, "docs"},
		"/docs/": {http.StatusPermanentRedirect, "../docs"},
	} {
		if hs[path] == nil {
			t.Errorf("%s has no handler", path)
			continue
		}
		resp := get(hs[path], nil)
		if resp.StatusCode != want.status || resp.Header.Get("Location") != want.location {
			t.Errorf("GET %s = %d to %q, want %d to %q", path, resp.StatusCode, resp.Header.Get("Location"), want.status, want.location)
		}
	}
}

func TestPathsOfDocumentation(t *testing.T) {
	for path := range maps.Keys(handlers(t, "")) {
		if !slices.Contains([]string{"/", "/docs", "/openapi.yaml", "/openapi.json"}, path) && !strings.HasPrefix(path, "/docs/") {
			t.Errorf("%s is not a path of the documentation", path)
		}
	}
}
