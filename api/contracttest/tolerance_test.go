package contracttest

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// What OpenAPI and HTTP allow is no fault, unless the options ask for more.
func TestNoFalseAlarms(t *testing.T) {
	t.Parallel()
	document := strings.Replace(smallDocument, `"404": {description: None.}`, `default: {description: All others., content: {application/json: {schema: {properties: {id: {}}}}}}`, 1)
	with := func(x Interaction, name string, values ...string) Interaction { x.Header[name] = values; return x }
	at := func(method, path string, status int) Interaction {
		return Interaction{Method: method, URL: "http://things.example" + path, Path: path, Status: status, Header: http.Header{}}
	}
	for name, c := range map[string]struct {
		x     Interaction
		exact bool // it is a fault if exactly what is documented is allowed
	}{
		"a header":                          {with(thing(200, `{"id":3}`), "Server", "x"), true},
		"a charset":                         {with(thing(200, `{"id":3}`), "Content-Type", "application/json; charset=utf-8"), true},
		"a member that the schema allows":   {thing(200, `{"id":3,"more":1}`), true},
		"a body that is not described":      {thing(400, `{}`), true},
		"null without a type":               {thing(404, `{"id":null}`), false},
		"null for an object without a type": {thing(404, `null`), false},
		"304 without the body of default":   {at("GET", "/things/3", 304), false},
		"a redirect for a slash":            {at("GET", "/things/3/", 307), true},
		"a path with a slash is the same":   {at("GET", "/things/3/", 200), true},
		"OPTIONS anywhere, for CORS":        {at("OPTIONS", "/nowhere", 200), true},
		"Allow in two lines":                {with(at("POST", "/things/3", 405), "Allow", "GET", "HEAD"), true},
		"a method that is not implemented":  {with(at("TRACE", "/things/3", 501), "Allow", "GET"), false},
	} {
		for undeclared, want := range map[Undeclared]bool{Ignore: false, Exact: c.exact} {
			contract, err := New([]byte(document), Options{Service: Service{Undeclared: undeclared}})
			must.NoError(t, err)
			if faults := contract.judge.Faults(c.x); len(faults) > 0 != want {
				t.Errorf("%s, undeclared %d: the faults are %v", name, undeclared, faults)
			}
		}
	}
}

// A format that is not known is neither tried nor asserted, null is not sent where no type
// allows it, and a method that no standard has is not sent.
func TestNothingIsMadeUp(t *testing.T) {
	t.Parallel()
	document := strings.Replace(smallDocument, "      responses:",
		"        - {name: since, in: query, schema: {type: string, format: moon-phase}}\n      requestBody: {content: {application/json: {schema: {properties: {a: {}}}}}}\n      responses:", 1)
	c, err := New([]byte(document), Options{})
	must.NoError(t, err)
	for _, test := range testsOf(c) {
		recorded := &recording{}
		attempt(test, Target{URL: "http://things.example", Transport: recorded})
		for i, method := range recorded.methods {
			if method == "BREW" {
				t.Errorf("%s sends BREW", test.Name)
			}
			isMadeUp := strings.Contains(recorded.queries[i], "since=") || recorded.bodies[i] == "null"
			if isMadeUp && !strings.Contains(test.Name, ", odd ") {
				t.Errorf("%s: a request has the query %s and the body %s", test.Name, recorded.queries[i], recorded.bodies[i])
			}
		}
	}
}

type recording struct{ methods, paths, queries, bodies []string }

func (r *recording) RoundTrip(sent *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(sent.Body)
	if err != nil {
		return nil, err
	}
	r.paths = append(r.paths, sent.URL.Path)
	r.methods, r.queries, r.bodies = append(r.methods, sent.Method), append(r.queries, sent.URL.RawQuery), append(r.bodies, string(body))
	return faulty{404, http.Header{}, ""}.RoundTrip(sent)
}

// What a test sends to something that does not exist shows nothing of its body.
func TestAbsentShowsNothing(t *testing.T) {
	t.Parallel()
	c := small(Options{})
	for _, test := range testsOf(c) {
		_, why := attempt(test, Target{URL: "http://things.example", Transport: faulty{404, http.Header{}, ""}})
		if want := strings.HasPrefix(test.Name, "getThing, credentials"); why != "" != want {
			t.Errorf("%s is untried: %q", test.Name, why)
		}
	}
}

// A position in an example need not be valid any more where the document has 410; without it, 410 refuses a valid request.
func TestGonePosition(t *testing.T) {
	t.Parallel()
	gone := Target{URL: "http://things.example", Transport: faulty{410, http.Header{}, ""}}
	document := strings.Replace(smallDocument, "      responses:",
		"        - {name: after, in: query, schema: {type: string}, example: a}\n      responses:", 1)
	for code, want := range map[string]bool{"404": true, "410": false} {
		c, err := New([]byte(strings.Replace(document, `"404"`, `"`+code+`"`, 1)), Options{})
		must.NoError(t, err)
		report, err := c.Run(t.Context(), gone)
		must.NoError(t, err)
		refuses := func(c Cause) bool { return strings.Contains(c.Cause, "refuses valid requests") }
		if got := slices.ContainsFunc(report.Causes, refuses); got != want {
			t.Errorf("with %s documented, a refused position is a fault: %t\n%s", code, got, report)
		}
	}
}
