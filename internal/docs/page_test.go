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

// Swagger UI is what was published: what is served has the checksums that were
// written down when the package was unpacked, and nothing else lies beside it.
func TestSwaggerUIIsThePublishedOne(t *testing.T) {
	sums, err := os.ReadFile("swagger-ui/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]bool{} // by the sum of what a browser gets
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
			t.Fatalf("SHA256SUMS has the line %q", line)
		}
		if !served[sum] {
			t.Errorf("%s is not served as it was published", name)
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
		t.Errorf("there are %q, but SHA256SUMS knows %q", there, files)
	}
}

// reference finds what a page refers to.
var reference = regexp.MustCompile(`(?:src|href)="([^"]*)"`)

// The page needs nothing but what is served beside it, wherever a proxy puts
// that: every reference is relative, leads to something, and names its version.
func TestPageReferences(t *testing.T) {
	hs := handlers(t, "")
	resp := get(hs["/docs"], nil)
	text := body(t, resp)
	if resp.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("the page is %s", resp.Header.Get("Content-Type"))
	}
	found := 0
	for _, m := range reference.FindAllStringSubmatch(text, -1) {
		path, version, versioned := strings.Cut(m[1], "?v=")
		h := hs["/"+path]
		if h == nil {
			t.Errorf("the page refers to %s, which is not there", m[1])
			continue
		}
		found++
		if path == "openapi.yaml" {
			continue
		}
		got := get(h, func(r *http.Request) { r.URL.RawQuery = "v=" + version })
		if !versioned || got.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
			t.Errorf("%s is kept by %q", m[1], got.Header.Get("Cache-Control"))
		}
		for _, query := range []string{"", "v=", "v=another"} {
			got := get(h, func(r *http.Request) { r.URL.RawQuery = query })
			if got.Header.Get("Cache-Control") != "no-cache" {
				t.Errorf("%s?%s is kept by %q", path, query, got.Header.Get("Cache-Control"))
			}
		}
	}
	if found < 6 {
		t.Errorf("the page has %d references, want the style sheets, the scripts and the icon at least", found)
	}
	if strings.Contains(text, "style=") || regexp.MustCompile(`<style|<script[^>]*>[^<]|\son[a-z]+=`).MatchString(text) {
		t.Error("the page has a script or a style in itself, which its policy forbids")
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
		t.Errorf("the policy %q is lax", policy)
	}
	if got := h.Get("Referrer-Policy"); got != "no-referrer" {
		t.Errorf("Referrer-Policy is %q", got)
	}
}

// Files travel compressed where the caller can read that, and are two things to
// caches then.
func TestEncodings(t *testing.T) {
	hs := handlers(t, "")
	for _, a := range assets {
		h := hs["/docs/"+a.name]
		plain := get(h, nil)
		if plain.Header.Get("Content-Encoding") != "" || plain.Header.Get("Content-Type") != a.mediaType {
			t.Errorf("%s: without Accept-Encoding: %v", a.name, plain.Header)
		}
		want := body(t, plain)
		for accept, squeezed := range map[string]bool{
			"gzip": true, "gzip, deflate, br, zstd": true, "br, GZIP;q=0.5": true, "deflate,gzip ; q=1.0": true,
			"gzip;q=0": false, "gzip;q=0.000": false, "identity": false, "br": false, "": false, "x-gzip-ish": false,
		} {
			resp := get(h, func(r *http.Request) { r.Header.Set("Accept-Encoding", accept) })
			got := body(t, resp)
			if squeezed = squeezed && a.gzipped; squeezed {
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
			if got != want || (resp.Header.Get("Content-Encoding") == "gzip") != squeezed {
				t.Errorf("%s: Accept-Encoding %q: %d bytes with Content-Encoding %q", a.name, accept, len(got), resp.Header.Get("Content-Encoding"))
			}
			if (resp.Header.Get("ETag") == plain.Header.Get("ETag")) == squeezed {
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
				t.Errorf("%s: Accept-Encoding %q: asked again, answered %d %v", a.name, accept, again.StatusCode, again.Header)
			}
		}
	}
}

// The references are relative: below a path that a proxy takes off, they lead to
// the page, too.
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

func TestPaths(t *testing.T) {
	for path := range maps.Keys(handlers(t, "")) {
		if !slices.Contains([]string{"/", "/docs", "/openapi.yaml", "/openapi.json"}, path) && !strings.HasPrefix(path, "/docs/") {
			t.Errorf("%s is not a path of the documentation", path)
		}
	}
}
