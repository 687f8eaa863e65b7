package docs

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// The files of Swagger UI are the published ones: the served files have the
// checksums that were recorded when the package was unpacked, and the folder has
// no other files.
func TestSwaggerUIIsThePublishedOne(t *testing.T) {
	sums, err := os.ReadFile("../../api/docs/swagger-ui/SHA256SUMS")
	must.NoError(t, err)
	served := map[string]bool{} // by the checksum of the body
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
		files = append(files, name)
	}
	entries, err := os.ReadDir("../../api/docs/swagger-ui")
	must.NoError(t, err)
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
// adds: every reference is relative and has a handler.
func TestPageReferences(t *testing.T) {
	hs := handlers(t, "")
	text := body(t, get(hs["/docs"], nil))
	references := reference.FindAllStringSubmatch(text, -1)
	for _, m := range references {
		if hs[path.Join("/", m[1])] == nil {
			t.Errorf("the page refers to %s, which has no handler", m[1])
		}
	}
	if len(references) < 6 {
		t.Errorf("the page has %d references, want at least the style sheets, the scripts and the icon", len(references))
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

// A file has its type, and must be revalidated.
func TestFiles(t *testing.T) {
	hs := handlers(t, "")
	for path, f := range files {
		resp := get(hs[path], nil)
		if h := resp.Header; h.Get("Content-Type") != f.MediaType || h.Get("Cache-Control") != "no-cache" || body(t, resp) == "" {
			t.Errorf("%s has %v", path, h)
		}
	}
}
