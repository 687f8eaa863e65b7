package page

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
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
	hs := Handlers(nil)
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
	code := text(t, Handlers(nil)[file])
	for f := range reflect.TypeFor[plantapi.NewPlant]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !regexp.MustCompile(`texts = \{.*\b`+name+`:`).MatchString(code) && name != "id" {
			t.Errorf("internal/page/files/csv.js does not read and write the column %s", name)
		}
	}
}

// The example of an empty store is the one that comes with the program. go:embed reads no file of another folder.
func TestExample(t *testing.T) {
	want, err := os.ReadFile("../../cmd/plantstore/species.csv")
	if err != nil {
		t.Fatal(err)
	}
	if text(t, Handlers(nil)["/page/species.csv"]) != string(want) {
		t.Error("internal/page/files/species.csv differs from cmd/plantstore/species.csv: copy it")
	}
}

// The policy forbids what is inline, and text must not become HTML.
func TestNothingInline(t *testing.T) {
	hs := Handlers(nil)
	if regexp.MustCompile(`style=|<style|<script[^>]*>[^<]|\son[a-z]+=`).MatchString(text(t, hs["/"])) {
		t.Error("the page has an inline script or style, which its policy forbids")
	}
	for path, h := range hs {
		sink := regexp.MustCompile(`\.(inner|outer)HTML|insertAdjacentHTML|document\.write|eval\(|https?://[^w]`)
		if found := sink.FindString(text(t, h)); found != "" {
			t.Errorf("%s has %q", path, found)
		}
		// A token is in localStorage only if the person asks for that, so one file decides about it.
		if strings.Contains(text(t, h), "localStorage") && path != "/page/session.js" {
			t.Errorf("%s uses localStorage", path)
		}
	}
}

// With an identity provider, the page may send requests to the origin of its token endpoint, and to
// no other: the browser exchanges the code there. Without one the policy is that of TestHeaders.
func TestSignIn(t *testing.T) {
	provider := SignIn{
		ClientID: `a"<b>`, Audience: "https://plants.example", Scope: "read write",
		Authorization: "https://login.example/authorize", Token: "https://api.login.example:8443/token",
	}
	page := Handlers(func() *SignIn { return &provider })["/"]
	w := httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://plants.example/", nil))
	want := strings.Replace(policy, "connect-src 'self'", "connect-src 'self' https://api.login.example:8443", 1)
	if got := w.Result().Header.Get("Content-Security-Policy"); got != want {
		t.Errorf("the policy is %q, want %q", got, want)
	}
	const meta = `data-client="a&#34;&lt;b&gt;" data-audience="https://plants.example" data-scope="read write" ` +
		`data-authorization="https://login.example/authorize" data-token="https://api.login.example:8443/token">`
	if !strings.Contains(w.Body.String(), meta) {
		t.Errorf("the page lacks %s", meta)
	}
	provider = SignIn{}
	none := Handlers(func() *SignIn { return nil })["/"]
	if text(t, none) != text(t, Handlers(nil)["/"]) {
		t.Error("while the provider cannot be reached, the page is not the plain one")
	}
}

func TestHeaders(t *testing.T) {
	hs := Handlers(nil)
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
		want := map[string]string{"css": "text/css", "js": "text/javascript", "csv": "text/csv"}[path[strings.LastIndexAny(path, "./")+1:]]
		if path == "/" {
			want = "text/html"
		}
		if got := header.Get("Content-Type"); got != want+"; charset=utf-8" {
			t.Errorf("%s has the type %q, want %q", path, got, want)
		}
		if got := header.Get("Cross-Origin-Opener-Policy"); got != "same-origin" {
			t.Errorf("%s: the Cross-Origin-Opener-Policy is %q", path, got)
		}
		if resp := get(header.Get("ETag")); resp.StatusCode != http.StatusNotModified || header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: a request with the ETag = %d; %v", path, resp.StatusCode, header)
		}
	}
}

// A page that people read in an afternoon: it has no framework because it is small.
func TestSize(t *testing.T) {
	lines := 0
	for path, h := range maps.All(Handlers(nil)) {
		content := text(t, h)
		if strings.HasSuffix(path, ".js") {
			lines += strings.Count(content, "\n")
			if !strings.HasPrefix(content, "// @ts-check\n") {
				t.Errorf("%s is not checked", path)
			}
		}
	}
	if t.Logf("%d lines of JavaScript", lines); lines > 2300 {
		t.Errorf("the page has %d lines of JavaScript, want at most 2,300", lines)
	}
}
