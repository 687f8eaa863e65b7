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

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/run"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
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
	const begins = "getThing, 200: body /id, type"
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
	if wrong := strings.Join(open.lines, "\n"); !strings.Contains(wrong, "] no credentials") || !strings.Contains(wrong, "] bad credentials") {
		t.Errorf("of a handler that needs no token it tells:\n%s", wrong)
	}
	unreadable := &told{}
	Test(unreadable, []byte("plants"), thingsHandler(asNumber))
	if len(unreadable.lines) != 1 {
		t.Errorf("of a document that cannot be read it tells %s", unreadable.lines)
	}
	for id, o := range map[string]Options{
		"nope": {Service: Service{Lists: []List{{Operation: "nope", Create: "getThing"}}}},
		"":     {Service: Service{Lists: []List{{Operation: "getThing"}}}},
		"gone": {Service: Service{Resources: []Resource{{Create: "getThing", Delete: "gone"}}}},
	} {
		if _, err := New([]byte(document), o); err == nil || !strings.Contains(err.Error(), strconv.Quote(id)) {
			t.Errorf("New with the operation %q returns the error %v", id, err)
		}
	}
}

// An operation that is not written yet fails once, and what it promises is untried, not broken.
// Without the option its status is that of a crash.
func TestNotWritten(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /things/{id}", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotImplemented)
	})
	told := &told{}
	Test(told, []byte(smallDocument), mux, Options{NotWritten: http.StatusNotImplemented})
	const want = "getThing is not written yet: it responds with 501"
	if len(told.lines) != 1 || !strings.Contains(told.lines[0], want) {
		t.Errorf("Test tells %q, want one line with %q", told.lines, want)
	}
	for _, want := range []string{" untried: " + want, " 0 broken"} {
		if !strings.Contains(told.logged, want) {
			t.Errorf("the log has no %q:\n%s", want, told.logged)
		}
	}
}

// What the header has is sent with every request. Where a test is about credentials, the one of the scheme is
// left out.
func TestHeader(t *testing.T) {
	t.Parallel()
	for scheme, want := range map[string]string{
		"{type: http, scheme: bearer}":                  "token",
		"{type: http, scheme: basic}":                   "ficus:pot",
		"{type: apiKey, in: header, name: X-Key}":       "key",
		"{type: apiKey, in: cookie, name: session}":     "cookie",
		"{type: apiKey, in: query, name: key}":          "",
		"{type: openIdConnect, openIdConnectUrl: '/x'}": "token",
	} {
		header := http.Header{"X-Key": {"key"}, "Cookie": {"a=b; session=cookie"}, "Authorization": {"Bearer token"}}
		if strings.Contains(scheme, "basic") {
			header.Set("Authorization", "Basic ZmljdXM6cG90")
		}
		c, err := New([]byte(strings.Replace(securedDocument, "{type: http, scheme: bearer}", scheme, 1)), Options{Header: header})
		must.NoError(t, err)
		if got := run.CredentialIn(c.options.Header, c.document.Scheme("token")); got != want {
			t.Errorf("the credential of %s is %q, want %q", scheme, got, want)
		}
		sent := http.Header{"X-Other": {"1"}, "Cookie": {"c=d"}}
		c.runner.AddHeader(sent, scenario.Access{})
		if len(sent) != 4 || sent.Get("Cookie") != "c=d; a=b; session=cookie" {
			t.Errorf("with %s every request has %v", scheme, sent)
		}
		sent = http.Header{}
		c.runner.AddHeader(sent, scenario.Access{Chosen: true})
		credential, others := document.CredentialHeader(c.document.Scheme("token")), 2
		if credential == "" {
			others = 3
		}
		if len(sent) != others || sent[credential] != nil {
			t.Errorf("with %s a test of credentials sends %v", scheme, sent)
		}
	}
}

// A document that has a scheme, and does not say which operations need it, is tested with the header that was
// given. That an operation is open is then no promise.
func TestUnsaidSecurity(t *testing.T) {
	t.Parallel()
	text := strings.Replace(securedDocument, "security: [{token: []}]\n", "", 1)
	c, err := New([]byte(text), Options{Header: http.Header{"Authorization": {"Bearer secret"}}})
	must.NoError(t, err)
	report, err := c.Run(t.Context(), Target{URL: "http://things.example/v1", Transport: inProcess{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		thingsHandler(asNumber).ServeHTTP(w, r)
	})}})
	must.NoError(t, err)
	for _, cause := range report.Causes {
		t.Errorf("the service is accused: %s", cause)
	}
	for _, promise := range report.Promises {
		isOpen := promise.Name == "getThing, security, open"
		isUnsaid := strings.Contains(promise.Why, "does not say which operations")
		if isOpen != isUnsaid {
			t.Errorf("%s is %s: %s", promise.Name, promise.State, promise.Why)
		}
	}
}

// Without credentials, a service whose security is switched off is tested, and that is told in one line for each
// way to ignore it. One that asks for them is asked once for each operation, and its promises are untried.
func TestNoCredentials(t *testing.T) {
	t.Parallel()
	for isOff, want := range map[bool][]string{true: {"bad credentials", "no credentials"}, false: nil} {
		c, err := New([]byte(strings.Replace(securedDocument, `        "400"`, "        \"401\": {description: Not allowed.}\n        \"400\"", 1)), Options{})
		must.NoError(t, err)
		asked := 0
		report, err := c.Run(t.Context(), Target{URL: "http://things.example/v1", Transport: inProcess{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if isOff {
				thingsHandler(asNumber).ServeHTTP(w, r)
				return
			}
			if r.Header.Get("Authorization") == "" && strings.HasPrefix(r.URL.Path, "/v1/things/") && r.Method == "GET" {
				asked++
			}
			w.WriteHeader(http.StatusUnauthorized)
		})}})
		must.NoError(t, err)
		var causes []string
		for _, cause := range report.Causes {
			causes = append(causes, cause.Cause)
		}
		slices.Sort(causes)
		if !slices.Equal(causes, want) {
			t.Errorf("security off %t: the causes are %q", isOff, causes)
		}
		untried := 0
		for _, promise := range report.Promises {
			if strings.Contains(promise.Why, "no credentials were given") {
				untried++
			}
		}
		if isOff != (untried == 1) || asked > 3 {
			t.Errorf("security off %t: %d promises are untried, %d requests were sent without credentials", isOff, untried, asked)
		}
	}
}

// A failure hides what was given, and shows a wrong credential as it was sent: it is why the service should have
// refused the request.
func TestHidden(t *testing.T) {
	t.Parallel()
	secret := http.Header{"Authorization": {"Bearer abc"}, "Cookie": {"a=1; b=2"}}
	for _, c := range []struct{ name, sent, shown string }{
		{"Authorization", "Bearer abc", "$AUTHORIZATION"},
		{"Authorization", "bearer  abc", "$AUTHORIZATION"},
		{"Authorization", "Bearer not-a-credential", "Bearer not-a-credential"},
		{"Authorization", "Basic bm90LWEtY3JlZGVudGlhbDpub3QtYS1jcmVkZW50aWFs", "Basic bm90LWEtY3JlZGVudGlhbDpub3QtYS1jcmVkZW50aWFs"},
		{"Cookie", "a=1; b=2", "$COOKIE"},
		{"Cookie", "a=not-a-credential", "a=not-a-credential"},
		{"Cookie", "a=not-a-credential; b=2", "$COOKIE"},
		{"X-Other", "any", "any"},
	} {
		x := Interaction{RequestHeader: http.Header{c.name: {c.sent}}}
		if got := x.Hidden(secret).RequestHeader.Get(c.name); got != c.shown {
			t.Errorf("%s: %s is shown as %s, want %s", c.name, c.sent, got, c.shown)
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

// A run that has no more time reports all promises: those that it has not tried are untried, with the reason.
func TestMaxTime(t *testing.T) {
	t.Parallel()
	whole, err := small(Options{}).Run(t.Context(), Target{URL: "http://things.example", Transport: faulty{404, http.Header{}, ""}})
	must.NoError(t, err)
	var requests atomic.Int64
	target := Target{URL: "http://things.example", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if requests.Add(1) > 3 {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		return faulty{404, http.Header{}, ""}.RoundTrip(r)
	})}
	report, err := small(Options{MaxTime: 100 * time.Millisecond}).Run(t.Context(), target)
	must.NoError(t, err)
	if report.All() != whole.All() {
		t.Errorf("there are %d promises, and in a whole run %d", report.All(), whole.All())
	}
	isLate := func(p Promise) bool { return p.State == Untried && p.Why == noTimeLeft }
	if !slices.ContainsFunc(report.Promises, isLate) || len(report.Causes) > 0 {
		t.Errorf("the report is %+v", report)
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
	c, err := New([]byte(document), Options{})
	must.NoError(t, err)
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
	target := Target{URL: "http://things.example", Transport: faulty{418, http.Header{}, ""}}
	report, err := small(Options{}).Run(t.Context(), target)
	must.NoError(t, err)
	known := map[string]string{"00000000": "a fault of last year"}
	for _, cause := range report.Causes {
		known[cause.ID] = "a joke"
	}
	for _, p := range report.Promises {
		if p.State == Untried {
			known[p.ID()] = "a teapot cannot"
		}
	}
	c, heard := small(Options{Known: known}), &told{}
	for _, test := range testsOf(c) {
		test.Run(heard, target)
	}
	c.Check(heard, thing(418, ""))
	responds := func(status int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	}
	Test(heard, []byte(smallDocument), responds(418), Options{Known: known})
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
	Test(heard, []byte(smallDocument), responds(500), Options{Known: known})
	if len(heard.lines) == 0 {
		t.Error("another cause is known")
	}
}

// No request is sent of an operation that the options leave out, and what it promises is untried.
func TestLeaveOut(t *testing.T) {
	t.Parallel()
	recorded := &recording{}
	report, err := small(Options{LeaveOut: []string{"getThing"}}).Run(t.Context(), Target{URL: "http://things.example", Transport: recorded})
	must.NoError(t, err)
	if slices.ContainsFunc(recorded.paths, func(path string) bool { return strings.HasPrefix(path, "/things") }) {
		t.Errorf("the paths of the requests are %v", recorded.paths)
	}
	if report.Untried < 5 || report.Broken > 0 {
		t.Errorf("it counts %v", report.Count)
	}
}

// Test fails on untried promises if the options say so.
func TestFailUntried(t *testing.T) {
	t.Parallel()
	for fails, options := range map[bool]Options{true: {FailUntried: true}, false: {}} {
		heard := &told{}
		Test(heard, []byte(smallDocument), http.NotFoundHandler(), options)
		isUntried := func(line string) bool { return strings.HasPrefix(line, "contract: untried: getThing, ") }
		if slices.ContainsFunc(heard.lines, isUntried) != fails {
			t.Errorf("with FailUntried %t, Test tells %q", fails, heard.lines)
		}
	}
}
