package page

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// text returns the content of a file of the page.
func text(t *testing.T, h http.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://plants.example/", nil))
	return w.Body.String()
}

// references matches the files that HTML refers to, and the modules that a module imports.
var references = regexp.MustCompile(`(?m)(?:src|href)="([^"#]*)"|^import .* from "([^"]*)"`)

// Every reference is relative, so the page works below any path that a proxy adds, and each of
// the files of the page is used.
func TestReferences(t *testing.T) {
	hs := Handlers()
	used := map[string]bool{"/": true}
	for path, h := range hs {
		for _, m := range references.FindAllStringSubmatch(text(t, h), -1) {
			to, isFile := strings.CutPrefix(m[1], "page/")
			if path != "/" {
				to, isFile = strings.CutPrefix(m[2], "./")
			}
			switch {
			case isFile && hs["/page/"+to] != nil:
				used["/page/"+to] = true
			case m[1] != "docs" && m[1] != "docs/favicon.svg":
				t.Errorf("%s refers to %q, which the page does not have", path, m[1]+m[2])
			}
		}
	}
	for path := range hs {
		if !used[path] {
			t.Errorf("nothing refers to %s", path)
		}
	}
}

// A CSV file of the page has every member that a client writes.
func TestFilesHaveEveryMember(t *testing.T) {
	const file = "/page/csv.js"
	code := text(t, Handlers()[file])
	for f := range reflect.TypeFor[plantapi.NewPlant]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !regexp.MustCompile(`texts = \{.*\b`+name+`:`).MatchString(code) && name != "id" {
			t.Errorf("internal/page/files/csv.js does not read and write the column %s", name)
		}
	}
}

// The policy forbids what is inline, and text must not become HTML.
func TestNothingInline(t *testing.T) {
	hs := Handlers()
	if regexp.MustCompile(`style=|<style|<script[^>]*>[^<]|\son[a-z]+=`).MatchString(text(t, hs["/"])) {
		t.Error("the page has an inline script or style, which its policy forbids")
	}
	for path, h := range hs {
		sink := regexp.MustCompile(`\.(inner|outer)HTML|insertAdjacentHTML|document\.write|eval\(|localStorage|https?://[^w]`)
		if found := sink.FindString(text(t, h)); found != "" {
			t.Errorf("%s has %q", path, found)
		}
	}
}

func TestHeaders(t *testing.T) {
	hs := Handlers()
	for path, h := range hs {
		get := func(etag string) *http.Response {
			r := httptest.NewRequest(http.MethodGet, "http://plants.example/", nil)
			r.Header.Set("If-None-Match", etag)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w.Result()
		}
		header := get("").Header
		policy := strings.Split(header.Get("Content-Security-Policy"), "; ")
		for _, want := range []string{
			"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "base-uri 'none'",
			"form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
		} {
			if !slices.Contains(policy, want) {
				t.Errorf("%s: the policy %q lacks %q", path, policy, want)
			}
		}
		want := map[string]string{"css": "text/css", "js": "text/javascript"}[path[strings.LastIndexAny(path, "./")+1:]]
		if path == "/" {
			want = "text/html"
		}
		if got := header.Get("Content-Type"); got != want+"; charset=utf-8" {
			t.Errorf("%s has the type %q, want %q", path, got, want)
		}
		if resp := get(header.Get("ETag")); resp.StatusCode != http.StatusNotModified || header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: a request with the ETag = %d; %v", path, resp.StatusCode, header)
		}
	}
}

// A page that people read in an afternoon: it has no framework because it is small.
func TestSize(t *testing.T) {
	lines := 0
	for path, h := range maps.All(Handlers()) {
		content := text(t, h)
		if strings.HasSuffix(path, ".js") {
			lines += strings.Count(content, "\n")
			if !strings.HasPrefix(content, "// @ts-check\n") {
				t.Errorf("%s is not checked", path)
			}
		}
	}
	if t.Logf("%d lines of JavaScript", lines); lines > 1700 {
		t.Errorf("the page has %d lines of JavaScript, want at most 1,700", lines)
	}
}
