package contracttest

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// A format that is not known is neither tried nor asserted, null is not sent where no type
// allows it, and a method that no standard has is not sent.
func TestNothingIsMadeUp(t *testing.T) {
	t.Parallel()
	document := strings.Replace(smallDocument, "      responses:",
		"        - {name: since, in: query, schema: {type: string, format: moon-phase}}\n      requestBody: {content: {application/json: {schema: {properties: {a: {}}}}}}\n      responses:", 1)
	c := contractFrom(t, document, Options{})
	for _, test := range testsOf(c) {
		recorded := &recording{}
		attempt(test, Target{URL: "http://things.example", Transport: recorded})
		for i, method := range recorded.methods {
			if method == "BREW" {
				t.Errorf("%s sends BREW", test.Name)
			}
			isMadeUp := strings.Contains(recorded.queries[i], "since=") || recorded.bodies[i] == "null"
			if isMadeUp && !strings.Contains(test.Name, ", robustness, ") {
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
			t.Errorf("%s is not tested: %q", test.Name, why)
		}
	}
}

// A position in an example need not be valid any more where the document has 410; without it, 410 is a fault.
func TestGonePosition(t *testing.T) {
	t.Parallel()
	gone := Target{URL: "http://things.example", Transport: inProcess{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusOK
		if r.URL.Query().Has("after") {
			status = http.StatusGone
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"id": 3}`))
	})}}
	document := strings.Replace(smallDocument, "      responses:",
		"        - {name: after, in: query, schema: {type: string}, example: a}\n      responses:", 1)
	for code, want := range map[string]bool{"404": true, "410": false} {
		c := contractFrom(t, strings.Replace(document, `"404"`, `"`+code+`"`, 1), Options{})
		report, err := c.Run(t.Context(), gone)
		must.NoError(t, err)
		refuses := func(c Cause) bool { return strings.Contains(c.Cause, "410") }
		if got := slices.ContainsFunc(report.Causes, refuses); got != want {
			t.Errorf("with %s documented, a refused position is a fault: %t\n%s", code, got, report.Causes)
		}
	}
}
