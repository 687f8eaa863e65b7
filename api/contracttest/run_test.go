package contracttest

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// thingsHandler is a right service for smallDocument; id is the JSON of an id in a response.
func thingsHandler(id func(string) string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/things/{id}", func(w http.ResponseWriter, r *http.Request) {
		text := r.PathValue("id")
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"id":` + id(text) + `}`))
	})
	return mux
}

func asNumber(id string) string {
	n, _ := strconv.ParseInt(id, 10, 64)
	return strconv.FormatInt(n, 10)
}

var securedDocument = strings.Replace(smallDocument, "paths:", `servers: [{url: 'https://things.example/v1'}]
security: [{token: []}]
components: {securitySchemes: {token: {type: http, scheme: bearer}}}
paths:`, 1)

// One line tests a handler: a right one is accused of nothing, and of a wrong one it tells what
// is broken, one command that shows it, and the response. The token is not told.
func TestOneLine(t *testing.T) {
	t.Parallel()
	const secret = "a-secret-token"
	options := Options{Header: http.Header{"authorization": {"Bearer " + secret}}, Seed: 1} // a name in any case
	document := strings.Replace(securedDocument, `        "400"`, `        "401": {description: Not allowed., headers: {WWW-Authenticate: {schema: {type: string}}}}
        "400"`, 1)
	test := func(next http.Handler) *told {
		t := &told{}
		Test(t, []byte(document), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+secret && strings.HasPrefix(r.URL.Path, "/v1/things/") {
				w.Header().Set("WWW-Authenticate", "Bearer")
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		}), options)
		return t
	}
	right := test(thingsHandler(asNumber))
	if len(right.lines) > 0 {
		t.Errorf("the right handler is accused of %s", right.lines)
	}
	for _, want := range []string{"effect of parameter id", "kept,    0 broken"} {
		if !strings.Contains(right.logged, want) {
			t.Errorf("the log has no %q:\n%s", want, right.logged)
		}
	}
	wrong := strings.Join(test(thingsHandler(strconv.Quote)).lines, "\n")
	const begins = "getThing, 200: body /id has another type"
	for _, want := range []string{begins, "\n  sent:   curl -i -X GET 'http://127.0.0.1:", `-H "Authorization: $AUTHORIZATION"`, "\n  got:    200 {\"id\":\"", "CONTRACT_SEED=1"} {
		if !strings.Contains(wrong, want) {
			t.Errorf("the failures have no %q:\n%s", want, wrong)
		}
	}
	if strings.Contains(wrong, secret) {
		t.Errorf("the failures tell the token:\n%s", wrong)
	}
	open := &told{}
	Test(open, []byte(document), thingsHandler(asNumber), options)
	if wrong := strings.Join(open.lines, "\n"); !strings.Contains(wrong, "] requests without credentials are not refused, 4 times") {
		t.Errorf("of a handler that needs no token it tells:\n%s", wrong)
	}
	unreadable := &told{}
	Test(unreadable, []byte("plants"), thingsHandler(asNumber))
	if len(unreadable.lines) != 1 {
		t.Errorf("of a document that cannot be read it tells %s", unreadable.lines)
	}
	for id, o := range map[string]Options{
		"nope": {Service: Service{Lists: []List{{Operation: "nope", Create: "getThing"}}}},
		"gone": {Service: Service{Resources: []Resource{{Create: "getThing", Delete: "gone"}}}},
	} {
		if _, err := New([]byte(document), o); err == nil || !strings.Contains(err.Error(), strconv.Quote(id)) {
			t.Errorf("New with the operation %q returns the error %v", id, err)
		}
	}
}

// An operation that is not written yet fails once, and what it promises is not tested, not broken.
// Without the option its status is that of a crash.
func TestNotWritten(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /things/{id}", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotImplemented)
	})
	told := &told{}
	Test(told, []byte(smallDocument), mux, Options{Service: Service{Rules: Rules{NotWritten: http.StatusNotImplemented}}})
	const want = "getThing is not written yet: it responds with 501"
	if len(told.lines) != 1 || !strings.Contains(told.lines[0], want) {
		t.Errorf("Test tells %q, want one line with %q", told.lines, want)
	}
	for _, want := range []string{" not tested: " + want, " 0 broken"} {
		if !strings.Contains(told.logged, want) {
			t.Errorf("the log has no %q:\n%s", want, told.logged)
		}
	}
}

// A run that is stopped tells what it has found so far.
func TestRunStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	requests, c := 0, small(Options{})
	report, err := c.Run(ctx, Target{URL: "http://things.example/", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if requests++; requests == 3 {
			cancel()
			return nil, r.Context().Err()
		}
		return faulty{500, http.Header{}, ""}.RoundTrip(r)
	})})
	if !errors.Is(err, context.Canceled) || requests != 3 || len(report.Causes) == 0 || report.Broken == 0 || report.All() != len(report.Promises) {
		t.Errorf("after %d requests it ends with %v and %+v", requests, err, report.Count)
	}
}

// A run that has no more time reports all promises: those that it has not tried are not tested, with the reason.
func TestMaxTime(t *testing.T) {
	t.Parallel()
	whole := ran(t, small(Options{}), faulty{404, http.Header{}, ""})
	var requests atomic.Int64
	target := Target{URL: "http://things.example", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if requests.Add(1) > 3 {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		return faulty{404, http.Header{}, ""}.RoundTrip(r)
	})}
	report, err := small(Options{Limits: Limits{Time: 100 * time.Millisecond}}).Run(t.Context(), target)
	must.NoError(t, err)
	if report.All() != whole.All() {
		t.Errorf("there are %d promises, and in a whole run %d", report.All(), whole.All())
	}
	isLate := func(p Promise) bool { return p.State == NotTested && p.Why == noTimeLeft }
	if !slices.ContainsFunc(report.Promises, isLate) || len(report.Causes) > 0 {
		t.Errorf("the report is %+v", report)
	}
}

// A run with a bound of requests ends with the test that has reached it, and sends the same ones again. Robustness has a quarter.
func TestMaxRequests(t *testing.T) {
	t.Parallel()
	const most = 20
	var before []string
	for range 2 {
		recorded := &recording{}
		report, err := small(Options{Limits: Limits{Requests: most}}).Run(t.Context(), Target{URL: "http://things.example", Transport: recorded})
		must.NoError(t, err)
		sent := len(recorded.paths)
		if sent < most || sent > most+3 {
			t.Errorf("%d requests were sent, want %d", sent, most)
		}
		isLeft := func(p Promise) bool { return p.State == NotTested && p.Why == noneLeft }
		isRobust := func(p Promise) bool { return strings.Contains(p.Name, "robustness") && p.State == Kept }
		if !slices.ContainsFunc(report.Promises, isLeft) || !slices.ContainsFunc(report.Promises, isRobust) {
			t.Errorf("after %d requests the report is %+v", sent, report.Promises)
		}
		if before != nil && !slices.Equal(before, recorded.paths) {
			t.Errorf("the same run sends %q, and then %q", before, recorded.paths)
		}
		before = recorded.paths
	}
}

// A service that refuses everything keeps no promise to refuse something.
func TestRefusesEverything(t *testing.T) {
	t.Parallel()
	for status, isKept := range map[int]bool{200: true, 400: false} {
		valid := faulty{status, http.Header{"Content-Type": {"application/json"}}, `{"id":3}`}
		target := Target{URL: "http://things.example", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/3") || status == 400 {
				return valid.RoundTrip(r)
			}
			return faulty{400, http.Header{}, ""}.RoundTrip(r)
		})}
		report, err := small(Options{}).Run(t.Context(), target)
		must.NoError(t, err)
		refusal := func(p Promise) bool { return p.Name == "getThing, parameter id type, refused" && p.State == Kept }
		if slices.ContainsFunc(report.Promises, refusal) != isKept {
			t.Errorf("where a valid request gets %d, the refusal is kept: %t\n%v", status, !isKept, report.Promises)
		}
	}
}

// Nothing that the package exports names a type of another library.
func TestInterfaceIsOfTheStandardLibrary(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("*.go")
	must.NoError(t, err)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		must.NoError(t, err)
		foreign := map[string]string{}
		for _, spec := range file.Imports {
			if path, _ := strconv.Unquote(spec.Path.Value); strings.Contains(path, ".") && !strings.Contains(path, "/api/contracttest/") {
				foreign[filepath.Base(path)] = path
			}
		}
		ast.FileExports(file) // removes what is not exported, and the bodies of functions stay
		ast.Inspect(file, func(node ast.Node) bool {
			if selector, ok := node.(*ast.SelectorExpr); ok {
				if name, ok := selector.X.(*ast.Ident); ok && foreign[name.Name] != "" {
					t.Errorf("%s: an exported name has %s.%s of %s", path, name, selector.Sel, foreign[name.Name])
				}
			}
			_, isBody := node.(*ast.BlockStmt)
			return !isBody
		})
	}
}

// A handler may serve the base path of the document's server, or not.
func TestBasePath(t *testing.T) {
	t.Parallel()
	document := strings.Replace(smallDocument, "paths:", "servers: [{url: /v1}]\npaths:\n  /things: {get: {operationId: listThings, responses: {'200': {description: All.}}}}", 1)
	c := contractFrom(t, document, Options{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /things", func(http.ResponseWriter, *http.Request) {})
	for prefix, want := range map[string]string{"": "", "/v1": "/v1", "/v2": "/v1"} {
		server := httptest.NewServer(http.StripPrefix(prefix, mux))
		if got := c.basePath(t.Context(), server.URL); got != want {
			t.Errorf("of a handler at %q the base path is %q, want %q", prefix, got, want)
		}
		server.Close()
	}
}

// What is known fails nowhere: not in one line, not in tests of their own, not for a client, and
// not at the end. What is known and not found is told.
func TestKnown(t *testing.T) {
	t.Parallel()
	target := Target{URL: "http://things.example", Transport: faulty{500, http.Header{}, ""}}
	report, err := small(Options{}).Run(t.Context(), target)
	must.NoError(t, err)
	known := map[string]string{"00000000": "a fault of last year"}
	for _, cause := range report.Causes {
		known[cause.ID] = "a joke"
	}
	for _, p := range report.Promises {
		if p.State == NotTested {
			known[p.ID()] = "a teapot cannot"
		}
	}
	c, heard := small(Options{Known: known}), &told{}
	for _, test := range testsOf(c) {
		test.Run(heard, target)
	}
	c.Check(heard, thing(500, ""))
	responds := func(status int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	}
	Test(heard, []byte(smallDocument), responds(500), Options{Known: known})
	if len(heard.lines) > 0 || !strings.Contains(heard.logged, "known: a joke") {
		t.Errorf("the tests tell %q and log %q", heard.lines, heard.logged)
	}
	var out strings.Builder
	if code := c.finish(0, true, &out); code != 0 {
		t.Errorf("at the end it exits with %d: %s", code, &out)
	}
	after := c.Report()
	if after.Count != report.Count || !slices.Equal(after.Lost, []string{"00000000 a fault of last year"}) {
		t.Errorf("it counts %v, not %v, and has lost %v", after.Count, report.Count, after.Lost)
	}
	Test(heard, []byte(smallDocument), responds(200), Options{Known: known})
	if len(heard.lines) == 0 {
		t.Error("another cause is known")
	}
}

// No request is sent of an operation that the options leave out, and what it promises is not tested.
func TestExclude(t *testing.T) {
	t.Parallel()
	recorded := &recording{}
	report := ran(t, small(Options{Exclude: []string{"getThing"}}), recorded)
	if slices.ContainsFunc(recorded.paths, func(path string) bool { return strings.HasPrefix(path, "/things") }) {
		t.Errorf("the paths of the requests are %v", recorded.paths)
	}
	if report.NotTested < 5 || report.Broken > 0 {
		t.Errorf("it counts %v", report.Count)
	}
}
