package httpapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/docs"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/plantcontract"
)

// The documentation needs no credentials, and its paths behave like all others. TestAcceptEncoding has more of its
// headers.
func TestDocumentation(t *testing.T) {
	s := newService(t)
	for _, path := range []string{"/", "/page/main.js", "/docs", "/docs/docs.js", "/docs/swagger-ui-bundle.js", "/openapi.yaml", "/openapi.json"} {
		got := s.send(http.MethodGet, path, "", header("Authorization", "Bearer unknown")).wantStatus(t, http.StatusOK)
		if got.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s may be taken for another type", path)
		}
		if options := s.send(http.MethodOptions, path, "").wantStatus(t, http.StatusNoContent); options.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("%s allows %s", path, options.Header.Get("Allow"))
		}
		s.send(http.MethodPost, path, "").wantError(t, plantapi.CodeMethodNotAllowed)
		s.send("BREW", path, "").wantError(t, plantapi.CodeMethodNotAllowed)
	}
	wantPage(t, s.url, "/docs/")
	s = newService(t, withOptions(func(o *httpapi.Options) { o.Page = false }))
	wantPage(t, s.url, "/")
	s.send(http.MethodGet, "/page/main.js", "").wantError(t, plantapi.CodeNoSuchPath)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		resp, err := http.DefaultTransport.RoundTrip(httptest.NewRequest(method, s.url+"/", nil))
		must.NoError(t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusTemporaryRedirect || resp.Header.Get("Location") != "docs" {
			t.Errorf("%s / = %s to %q, want 307 to docs", method, resp.Status, resp.Header.Get("Location"))
		}
	}
	for _, path := range []string{"/docs/nothing", "/docs/docs.js/", "/docs//docs.js", "/docs/index.html", "/openapi.yaml/", "/openapi", "/openapi.yml", "/favicon.ico"} {
		s.send(http.MethodGet, path, "").wantError(t, plantapi.CodeNoSuchPath)
	}
}

// wantPage fails unless each of the paths redirects to the page.
func wantPage(t *testing.T, base string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		resp, err := http.Get(base + path)
		must.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.HasPrefix(string(body), "<!doctype html>") {
			t.Errorf("GET %s = %s %.100q, %v, want the page", path, resp.Status, body, err)
		}
	}
}

// Behind a proxy that removes a path prefix, / and /docs/ also lead to the page.
func TestRedirectsWithBasePath(t *testing.T) {
	wantPage(t, startBelow(t, "/store/room").url, "/", "/docs/", "/docs")
}

// Behind a proxy that removes a path prefix, the service keeps every promise of the
// document, and its links lead back through the proxy.
func TestBaseURLWithPath(t *testing.T) {
	t.Parallel()
	must.HaveTime(t)
	s := startBelow(t, "/store%20room")
	waits := regexp.MustCompile(`streamChanges|listChanges waits`) // which an offline service does not
	for test := range plantcontract.Plants().Tests(t.Context()) {
		if strings.HasPrefix(test.Name, "sequence") && !waits.MatchString(test.Name) {
			t.Run(test.Name, func(t *testing.T) { test.Run(t, s.target()) })
		}
	}
}

// startBelow starts a service behind a proxy that removes a path prefix. The url of
// the service is that of the proxy.
func startBelow(t *testing.T, path string) *service {
	t.Helper()
	proxy := httptest.NewUnstartedServer(nil)
	base, err := docs.ParseBaseURL("http://" + proxy.Listener.Addr().String() + path)
	must.NoError(t, err)
	s := newService(t, offline, withOptions(func(o *httpapi.Options) { o.BaseURL = base }))
	proxy.Config.Handler = http.StripPrefix(base.Path, plantcontract.Plants().Handler(t, s.handler))
	proxy.Start()
	t.Cleanup(proxy.Close)
	s.url = base.String()
	return s
}
