package contract_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/internal/testing/expect"
)

// routedDocument has paths that routers take for one another.
const routedDocument = `openapi: 3.0.3
info: {title: Routes, version: 1.0.0}
components: {securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}}
paths:
  /reports: {get: {operationId: open, responses: {'200': {description: OK}}}}
  /reports/: {get: {operationId: secret, security: [{key: []}], responses: {'200': {description: OK}}}}
  /things/: {get: {operationId: things, responses: {'200': {description: OK}}}}
  /things/mine: {get: {operationId: mine, responses: {'200': {description: OK}}}}
  /things/{thing-id}:
    get: {operationId: thing, parameters: [{name: thing-id, in: path, required: true, schema: {type: string}}], responses: {'200': {description: OK}}}
    put: {operationId: change, parameters: [{name: thing-id, in: path, required: true, schema: {type: string}}], responses: {'200': {description: OK}}}
`

// actions has two paths that meet.
const actions = `
  /t/{id}: {get: {operationId: get, parameters: [{name: id, in: path, required: true, schema: {type: string}}], responses: {'200': {description: OK}}}}
  /t/{id}:cancel: {get: {operationId: cancel, parameters: [{name: id, in: path, required: true, schema: {type: string}}], responses: {'200': {description: OK}}}}
`

// withKey authorizes requests with a key.
func withKey(_ http.ResponseWriter, r *http.Request, operation *contract.Operation) (context.Context, error) {
	if len(operation.Security) > 0 && r.Header.Get("X-Key") == "" {
		return nil, errNoKey
	}
	return nil, nil
}

// tellsOperation writes the operation, and the value of its parameter.
var tellsOperation = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	request := contract.RequestOf(r.Context())
	if request == nil {
		fmt.Fprint(w, "unchecked")
		return
	}
	fmt.Fprint(w, request.Operation.ID)
	for _, name := range []string{"id", "thing-id"} {
		if value := request.Parameter("path", name); value != nil {
			fmt.Fprint(w, " ", value)
		}
	}
})

// The document says which operation a path has. What a router before the middleware has found must be the same.
func TestRoutes(t *testing.T) {
	options := contract.Options{Authorize: withKey, BasePath: "/v1", Outside: []string{"/healthz"}}
	checker := newChecker(t, []byte(routedDocument), options)
	withActions := newChecker(t, []byte(routedDocument+actions), options)
	// chi has the patterns of stock code.
	group, inner := chi.NewRouter(), chi.NewRouter()
	group.Group(func(r chi.Router) {
		r.Use(withActions.Middleware)
		for _, path := range []string{"/reports", "/reports/", "/things/", "/things/mine", "/things/{thing-id}", "/t/{id}", "/t/{id}:cancel"} {
			r.Handle("/v1"+path, tellsOperation)
		}
	})
	inner.Use(checker.Middleware)
	inner.Handle("/*", tellsOperation)
	// ServeMux has those that oapi-codegen registers, and one of everything below a path.
	mux, subtree, before := http.NewServeMux(), http.NewServeMux(), http.NewServeMux()
	for _, path := range []string{"/reports", "/reports/{$}", "/things/{$}", "/things/mine", "/things/{thing_id}"} {
		mux.Handle("GET /v1"+path, checker.Wrap(tellsOperation))
	}
	subtree.Handle("/v1/things/", checker.Wrap(tellsOperation))
	before.Handle("/", checker.Wrap(tellsOperation))
	for _, c := range []struct{ router, method, target, want string }{
		{"group", "GET", "/v1/reports", "200 open"},
		{"group", "GET", "/v1/reports/", "401"}, // it was open: chi cuts the last slash of its pattern
		{"group", "GET", "/v1/things/", "200 things"},
		{"group", "GET", "/v1/things/5", "200 thing 5"},
		{"group", "HEAD", "/v1/things/5", "200 thing 5"},
		{"group", "POST", "/v1/things/5", "405 \nGET, HEAD, PUT"},
		{"group", "GET", "/v1/things/a%2Fb", "200 thing a/b"},
		{"group", "GET", "/v1/things/%2541", "200 thing %41"},
		{"group", "GET", "/v1/t/x:cancel", "200 cancel x"},
		{"group", "GET", "/v1/t/a:b:cancel", "404"}, // chi takes it for /t/{id}
		{"mux", "GET", "/v1/reports", "200 open"},
		{"mux", "GET", "/v1/reports/", "401"},
		{"mux", "GET", "/v1/things/", "200 things"},
		{"mux", "GET", "/v1/things/a%2Fb", "200 thing a/b"},
		{"mux", "GET", "/v1/things/%2541", "200 thing %41"},
		{"subtree", "GET", "/v1/things/", "200 things"},
		{"subtree", "GET", "/v1/things/5", "404"}, // its handler is that of /things/
		{"before", "GET", "/v1/reports/", "401"},
		{"before", "GET", "/v1/things/5", "200 thing 5"},
		{"before", "GET", "/v1/things/a%2Fb", "200 thing a/b"},
		{"before", "GET", "/v1/things/5/parts", "404"},
		{"before", "GET", "/things/5", "404"},
		{"before", "DELETE", "/v1/things/mine", "405 \nGET"},
		{"before", "GET", "/healthz", "200 unchecked"},
		{"root", "GET", "/v1/reports/", "401"},
		{"root", "GET", "/v1/things/5", "200 thing 5"},
		{"root", "GET", "/healthz", "200 unchecked"},
		{"none", "GET", "/v1/things/5", "404"}, // two paths meet, and no router has chosen
	} {
		handler := map[string]http.Handler{
			"group": group, "mux": mux, "subtree": subtree, "before": before, "root": inner,
			"none": withActions.Middleware(tellsOperation),
		}[c.router]
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(c.method, c.target, nil))
		got := fmt.Sprint(w.Code, " ", w.Body, w.Header().Get("Allow"))
		if !strings.HasPrefix(got, c.want[:3]) || !strings.HasSuffix(got, strings.TrimPrefix(c.want[3:], " ")) {
			t.Errorf("%s: %s %s: %s, want %s", c.router, c.method, c.target, got, c.want)
		}
	}
}

// The base path of a server of the document may come before each path, or a proxy removes it.
func TestBasePathOfServers(t *testing.T) {
	checker := newChecker(t, []byte("servers: [{url: 'https://things.example/v1/'}]\n"+routedDocument), contract.Options{Authorize: withKey})
	for target, want := range map[string]int{"/v1/things/5": 200, "/things/5": 200, "/v2/things/5": 404} {
		w := httptest.NewRecorder()
		checker.Middleware(tellsOperation).ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		if w.Code != want {
			t.Errorf("%s: %d %s, want %d", target, w.Code, w.Body, want)
		}
	}
}

// Before a router, nothing can be compared with what the router finds.
func TestBeforeRouter(t *testing.T) {
	options := contract.Options{Authorize: withKey, BeforeRouter: true}
	newChecker(t, []byte(routedDocument), options)
	_, err := contract.New([]byte(routedDocument+actions), options)
	expect.Message(t, "New", err, "the paths /t/{id} and /t/{id}:cancel meet")
}

// A router that has the names of two parameters the other way round hands the value of each to the other.
func TestSwappedNames(t *testing.T) {
	parameters := func(names ...string) string {
		var all []string
		for _, name := range names {
			all = append(all, "{name: "+name+", in: path, required: true, schema: {type: string}}")
		}
		return "parameters: [" + strings.Join(all, ", ") + "], responses: {'200': {description: OK}}"
	}
	document := "openapi: 3.0.3\ninfo: {title: Names, version: 1.0.0}\npaths:\n" +
		"  /a/{x}/b/{y}: {get: {" + parameters("x", "y") + "}}\n" +
		"  /a/{y}/b/{x}: {put: {" + parameters("x", "y") + "}}\n" +
		"  /c/{one-id}/d/{other-id}: {get: {" + parameters("one-id", "other-id") + "}}\n"
	checker := newChecker(t, []byte(document), contract.Options{})
	for _, c := range []struct {
		method, pattern, target string
		want                    int
	}{
		{"GET", "/a/{x}/b/{y}", "/a/1/b/2", 200},
		{"GET", "/a/{y}/b/{x}", "/a/1/b/2", 404},
		{"GET", "/a/{y}/b/{x}", "/a/1/b/1", 404},
		{"GET", "/a/{y}/b/{z}", "/a/1/b/2", 404},
		{"GET", "/a/{first}/b/{second}", "/a/1/b/2", 200},
		{"PUT", "/a/{y}/b/{x}", "/a/1/b/2", 200},
		{"PUT", "/a/{x}/b/{y}", "/a/1/b/2", 404},
		{"GET", "/c/{one_id}/d/{other_id}", "/c/1/d/2", 200},
		{"GET", "/c/{other_id}/d/{one_id}", "/c/1/d/2", 404},
	} {
		mux, router := http.NewServeMux(), chi.NewRouter()
		mux.Handle(c.method+" "+c.pattern, checker.Wrap(tellsOperation))
		router.With(checker.Middleware).Method(c.method, c.pattern, tellsOperation)
		for name, handler := range map[string]http.Handler{"ServeMux": mux, "chi": router} {
			w := httptest.NewRecorder()
			if handler.ServeHTTP(w, httptest.NewRequest(c.method, c.target, nil)); w.Code != c.want {
				t.Errorf("%s: %s %s for %s: %d %s, want %d", name, c.method, c.pattern, c.target, w.Code, w.Body, c.want)
			}
		}
	}
}

// A 405 before chi allows what chi answers, which is not HEAD for GET; where a handler gets each method, HEAD is allowed.
func TestAllow(t *testing.T) {
	checker := newChecker(t, []byte(routedDocument), contract.Options{Authorize: withKey})
	before, behind := chi.NewRouter(), chi.NewRouter()
	before.Use(checker.Middleware)
	before.Get("/things/mine", tellsOperation)
	behind.With(checker.Middleware).Handle("/things/mine", tellsOperation)
	for _, c := range []struct {
		router http.Handler
		allow  string
	}{{before, "GET"}, {behind, "GET, HEAD"}} {
		w := httptest.NewRecorder()
		c.router.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/things/mine", nil))
		if got := w.Header().Get("Allow"); w.Code != http.StatusMethodNotAllowed || got != c.allow {
			t.Errorf("%d, Allow is %s, want %s", w.Code, got, c.allow)
		}
		head := httptest.NewRecorder()
		c.router.ServeHTTP(head, httptest.NewRequest(http.MethodHead, "/things/mine", nil))
		if isAnswered := head.Code == http.StatusOK; isAnswered != strings.Contains(c.allow, "HEAD") {
			t.Errorf("HEAD gets %d, and Allow is %s", head.Code, c.allow)
		}
	}
}
