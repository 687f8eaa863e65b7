package contracttest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/internal/run"

	"github.com/plantstore/plantstore/api/contracttest/scenario"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	sch "github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// faulty is a service that responds to everything with the same response.
type faulty struct {
	status int
	header http.Header
	body   string
}

func (f faulty) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: f.status, Header: f.header.Clone(), Body: io.NopCloser(strings.NewReader(f.body)), Request: r}, nil
}

var xID = map[string]*document.Header{"X-Id": {Schema: sch.Of(nil)}}

// causeTexts are causes as sentences, sorted.
func causeTexts(causes []Cause) (texts []string) {
	for _, cause := range causes {
		texts = append(texts, cause.Cause)
	}
	slices.Sort(texts)
	return texts
}

// try runs all tests of a contract.
func try(c *Contract, target Target) {
	for _, test := range testsOf(c) {
		failures, _ := attempt(test, target)
		c.ledger.NoteFailures(failures)
	}
}

// One fault hides no other, failures with one cause are one, and a crash comes first.
func TestCauses(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		faulty
		causes []string
	}{
		"a crash behind a media type": {
			faulty{500, http.Header{"Content-Type": {"text/html"}}, "<h1>"},
			[]string{"getThing responds with 500", "an operation that the document does not have responds with 500"},
		},
		"a schema behind a duplicate header": {
			faulty{200, http.Header{"Content-Type": {"application/json"}, "X-Id": {"1", "2"}}, `{"id":"3"}`},
			[]string{"getThing, 200: body /id has another type", "header X-Id breaks schema", "getThing: a value of another type is accepted as parameter id"},
		},
		"an undocumented status": {faulty{418, http.Header{}, ""}, []string{"the status 418 is not documented", "getThing: refuses valid requests with 418"}},
	} {
		c := small(Options{})
		c.document.Operations[0].Responses["200"].Headers = xID
		try(c, Target{URL: "http://things.example", Transport: want.faulty})
		causes := c.Causes()
		for _, cause := range want.causes {
			if !slices.ContainsFunc(causes, func(c Cause) bool { return strings.Contains(c.Cause, cause) && c.ID == c.First.Cause.ID() }) {
				t.Errorf("%s: %q is not among the causes %v", name, cause, causes)
			}
		}
		if len(causes) > 7 || want.status == 500 && causes[0].First.Rank != scenario.Crash {
			t.Errorf("%s: the causes are %v", name, causes)
		}
		seen := map[string]bool{}
		for _, cause := range causes {
			if seen[cause.ID] {
				t.Errorf("%s: two causes have the id %s", name, cause.ID)
			}
			seen[cause.ID] = true
		}
	}
}

// Run tells a cause once with its request, and then in a line.
func TestRunTellsACauseOnce(t *testing.T) {
	t.Parallel()
	c := small(Options{})
	told := &told{}
	for _, test := range testsOf(c) {
		test.Run(told, Target{URL: "http://things.example", Transport: faulty{500, http.Header{}, ""}})
	}
	text := strings.Join(told.lines, "\n")
	whole := "the document does not list 500 for getThing\n\tsent: "
	if strings.Count(text, whole) != 1 || !strings.Contains(text, "getThing responds with 500, as before") {
		t.Errorf("it tells:\n%s", text)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type told struct {
	lines  []string
	logged string
}

func (t *told) Helper()      {}
func (t *told) Name() string { return "TestTold" }
func (t *told) Logf(format string, args ...any) {
	t.logged += fmt.Sprintf(format, args...)
}

func (t *told) Errorf(format string, args ...any) {
	t.lines = append(t.lines, fmt.Sprintf(format, args...))
}

// A service that never responds is waited for once as long as it may take, then not as long, and its requests are not repeated.
func TestNoResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun, c, requests := time.Now(), small(Options{}), 0
		try(c, Target{URL: "http://things.example", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			requests++
			<-r.Context().Done()
			return nil, r.Context().Err()
		})})
		// getThing, and the methods that the document does not have
		if took, most := time.Since(begun), run.RequestTimeout+time.Duration(requests)*run.DefaultTimeout; took > most || requests < 4 {
			t.Errorf("%d requests without a response took %v, more than %v", requests, took, most)
		}
	})
}

// testsOf lists the generated tests of a contract.
func testsOf(c *Contract) []Case { return slices.Collect(c.Tests(context.Background())) }

// attempt runs a test.
func attempt(test Case, target Target) (failures []Failure, why string) {
	outcome := test.Try(context.Background(), target)
	return outcome.Failures, outcome.NotTested
}
