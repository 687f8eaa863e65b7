package contracttest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/report"
	"github.com/plantstore/plantstore/api/contracttest/scenario"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// recorder is a test that records its faults.
type recorder struct{ faults []string }

func (r *recorder) Helper()             {}
func (r *recorder) Logf(string, ...any) {}
func (r *recorder) Name() string        { return "TestRecorded" }
func (r *recorder) Errorf(format string, args ...any) {
	r.faults = append(r.faults, strings.TrimSpace(strings.Join(strings.Fields(format), " ")))
}

func thing(status int, body string) Interaction {
	x := Interaction{Method: "GET", URL: "http://things.example/things/3", Path: "/things/3", Status: status, Header: http.Header{}, Body: []byte(body)}
	if body != "" {
		x.Header.Set("Content-Type", "application/json")
	}
	return x
}

// What the document does not allow is a fault, and nothing else.
func TestCheck(t *testing.T) {
	t.Parallel()
	c := small(Options{Service: Service{Undeclared: Exact, AnyHeader: map[string]string{"X-Powered-By": "a proxy adds it"}}})
	for name, want := range map[string]struct {
		x      Interaction
		faulty bool
	}{
		"as documented":           {thing(200, `{"id":3}`), false},
		"a duplicate member":      {thing(200, `{"id":3,"id":3}`), true},
		"invalid UTF-8":           {thing(200, "{\"id\":3,\"\xff\":1}"), true},
		"a fraction":              {thing(200, `{"id":3.0}`), true},
		"an integer beyond int64": {thing(200, `{"id":9223372036854775808}`), true},
		"an unlisted status":      {thing(201, `{"id":3}`), true},
		"no body":                 {thing(200, ``), true},
		"a body that is too much": {thing(404, `{}`), true},
	} {
		if faults := c.judge.Faults(want.x); (len(faults) > 0) != want.faulty {
			t.Errorf("%s: the faults are %v", name, faults)
		}
	}
	charset := thing(200, `{"id":3}`)
	charset.Header.Set("Content-Type", "application/json; charset=utf-8")
	if faults := c.judge.Faults(charset); len(faults) != 1 {
		t.Errorf("with a charset the faults are %v", faults)
	}
	for header, faulty := range map[string]bool{"Set-Cookie": true, "ETag": true, "Content-Length": false, "X-Powered-By": false} {
		x := thing(200, `{"id":3}`)
		x.Header.Set(header, "1")
		if faults := c.judge.Faults(x); (len(faults) > 0) != faulty {
			t.Errorf("with %s the faults are %v", header, faults)
		}
	}
	r := &recorder{}
	c.Check(r, thing(201, ""))
	if len(r.faults) == 0 {
		t.Error("Check reports no fault to the test")
	}
}

// A client of an earlier document must be able to read a response, whatever the
// present document allows; so must the generated client.
func TestOtherClients(t *testing.T) {
	t.Parallel()
	earlier := strings.Replace(smallDocument, "required: [id], properties: {id: {type: integer}}", "required: [name], properties: {name: {type: string}}", 1)
	c := small(Options{Service: Service{Earlier: map[string][]byte{"version 1": []byte(earlier)}}})
	faults := c.judge.Faults(thing(200, `{"id":3}`))
	if len(faults) != 1 || !strings.Contains(faults[0].String(), "to a client of version 1") {
		t.Errorf("without the name of version 1 the faults are %v", faults)
	}
	c = small(Options{Service: Service{Earlier: map[string][]byte{"version 1": []byte(strings.Replace(smallDocument, `"200"`, `"202"`, 1))}}})
	if faults := c.judge.Faults(thing(200, `{"id":3}`)); len(faults) != 1 || faults[0].Keyword != "responses" {
		t.Errorf("with a status that version 1 does not have the faults are %v", faults)
	}
	unread := []Fault{{Where: "generated client", Keyword: "getThing", Message: "cannot read it"}}
	c = small(Options{Checks: Checks{Client: func(string, Interaction) []Fault { return unread }}})
	if faults := c.judge.Faults(thing(200, `{"id":3}`)); !slices.Equal(faults, unread) {
		t.Errorf("a client that cannot read it has the faults %v", faults)
	}
}

// Allow lists the methods of the path, no fewer and no more. A response that is not 405 needs none.
func TestAllow(t *testing.T) {
	t.Parallel()
	document := strings.Replace(smallDocument, "paths:\n", "paths:\n  /things/latest: {post: {responses: {default: {description: All.}}}}\n", 1)
	c, err := New([]byte(document), Options{})
	must.NoError(t, err)
	for path, allowed := range map[string]map[string]bool{
		"/things/3": {"GET": true, "GET, HEAD, OPTIONS": true, "GET, PUT": false, "HEAD": false, "": false},
		// It is found before /things/{id} (OpenAPI, Paths Object), which may serve other methods.
		"/things/latest": {"POST": true, "GET, POST": true, "GET": false, "POST, PUT": false},
	} {
		for allow, right := range allowed {
			x := Interaction{Method: "PUT", Path: path, Status: 405, Header: http.Header{"Allow": {allow}}}
			if faults := c.judge.Faults(x); len(faults) > 0 == right {
				t.Errorf("PUT %s with Allow: %s has the faults %v", path, allow, faults)
			}
		}
	}
	x := Interaction{Method: "PUT", Path: "/things/3", Status: 404, Header: http.Header{}}
	if faults := c.judge.Faults(x); len(faults) != 1 || faults[0].Where != "status" {
		t.Errorf("404 for a method has the faults %v", faults)
	}
}

// A refused example counts for nothing.
func TestCoverage(t *testing.T) {
	t.Parallel()
	c := small(Options{Checks: Checks{Observed: func(Interaction) []string { return []string{"of the options"} }, Promises: []string{"of the options"}}})
	const example = "getThing, example of parameter id"
	if missing := untriedOf(c); !slices.Contains(missing, example) || !slices.Contains(missing, "of the options") || !slices.Contains(missing, "getThing, 200") {
		t.Errorf("the promises are %v", missing)
	}
	c.Check(t, thing(404, ""))
	if missing := untriedOf(c); !slices.Contains(missing, example) || slices.Contains(missing, "getThing, 404") || slices.Contains(missing, "of the options") {
		t.Errorf("after a 404 %v are missing", missing)
	}
	c.Check(t, thing(200, `{"id":3}`))
	if missing := untriedOf(c); slices.Contains(missing, example) || slices.Contains(missing, "getThing, 200") {
		t.Errorf("after a 200 %v are missing", missing)
	}
}

// untriedOf lists the promises that are untried without a reason.
func untriedOf(c *Contract) (names []string) {
	for _, p := range c.Promises() {
		if p.State == Untried && p.Fails() {
			names = append(names, p.Name)
		}
	}
	return names
}

// responseOf is the promise of a response of getThing.
func responseOf(status string) scenario.Promise {
	return scenario.Promise{Operation: "getThing", Kind: scenario.ListedResponse, Status: status}
}

// Every promise is kept, broken or untried, and the reports show the same three numbers.
func TestReport(t *testing.T) {
	t.Parallel()
	c := small(Options{Service: Service{Exceptions: map[string]string{"getThing, effect of parameter id": "no thing exists"}}})
	c.ledger.Note("TestKept", responseOf("200"))
	c.ledger.Note("TestKept", responseOf("404"))
	header := Failure{Cause: scenario.Cause{Kind: scenario.WrongHeader, Place: "X", Keyword: "headers"}, Test: "TestHeader", Message: "a header", Rank: scenario.Header}
	crash := Failure{Cause: scenario.Cause{Kind: scenario.Crashes, Operation: "getThing", Status: 500}, Test: "TestCrash", Message: "is <broken>", Rank: scenario.Crash, Sent: thing(500, "")}
	c.ledger.Fail(crash, responseOf("404"))
	c.ledger.NoteFailures([]Failure{header, header, crash})
	names, states := map[string]bool{}, map[State]int{}
	for _, p := range c.Promises() {
		names[p.Name] = true
		states[p.State]++
	}
	all := len(names)
	if states[Kept] != 1 || states[Broken] != 1 || states[Untried] != all-2 || all < 12 {
		t.Errorf("of %d promises %v", all, states)
	}
	path := filepath.Join(t.TempDir(), "contract.html")
	var summary bytes.Buffer
	must.NoError(t, c.Report().WriteFiles(path, &summary))
	read := func(ending string) string {
		text, err := os.ReadFile(strings.TrimSuffix(path, ".html") + ending)
		must.NoError(t, err)
		return string(text)
	}
	total := fmt.Sprintf("1 kept,    1 broken, %4d untried of %d promises", all-2, all)
	for ending, wants := range map[string][]string{
		".txt":  {"kept     200 (TestKept)", "broken   404 ([" + crash.ID() + "] is <broken>)", "untried  effect of parameter id (no thing exists)", total, "] getThing responds with 500, once", "curl -i -X GET", "] header X breaks headers, 2 times"},
		".html": {"TestKept", "is &lt;broken&gt;", "untried: no thing exists", "1 kept, 1 broken and " + strconv.Itoa(all-2) + " untried"},
		".xml":  {`skipped="1"`, "is &lt;broken&gt;", "untried: no thing exists"},
	} {
		for _, want := range wants {
			if got := read(ending); !strings.Contains(got, want) {
				t.Errorf("the report %s has no %q:\n%s", ending, want, got)
			}
		}
	}
	var suites struct {
		Suites []struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Skipped  int `xml:"skipped,attr"`
		} `xml:"testsuite"`
	}
	must.NoError(t, xml.Unmarshal([]byte(read(".xml")), &suites))
	cases, failed, skipped := 0, 0, 0
	for _, suite := range suites.Suites[1:] { // the first has the causes
		cases, failed, skipped = cases+suite.Tests, failed+suite.Failures, skipped+suite.Skipped
	}
	if cases != all || failed != all-2 || skipped != 1 {
		t.Errorf("the XML has %d cases, %d failed and %d skipped", cases, failed, skipped)
	}
	if text := read(".txt"); strings.Index(text, "getThing responds with 500") > strings.Index(text, "header X") {
		t.Errorf("the crash is not the first of the causes:\n%s", text)
	}
	if !strings.Contains(summary.String(), total) {
		t.Errorf("the summary is %s", &summary)
	}
}

// What the engine cannot test is a promise, too, and fails unless the options have a reason.
func TestUntestable(t *testing.T) {
	t.Parallel()
	text := strings.Replace(smallDocument, "schema: {type: integer}, example: 3", "schema: {type: string, pattern: '^(?=a$', format: colour}", 1)
	exceptions := map[string]string{`getThing, parameter id: format "colour"`: "a colour is any text", "getThing, 299": "a mistake"}
	c, err := New([]byte(text), Options{Service: Service{Exceptions: exceptions}})
	must.NoError(t, err)
	all := strings.Join(untriedOf(c), "\n")
	for want, fails := range map[string]bool{
		`pattern "^(?=a$"`: true, `format "colour"`: false, "effect of parameter id": true, "getThing, 299": true,
	} {
		if strings.Contains(all, want) != fails {
			t.Errorf("%s fails: %v, want %v; these do:\n%s", want, !fails, fails, all)
		}
	}
}

// A sequence of the options shows what a parameter does, and what is no value of an enum
// shows that its type is kept.
func TestShows(t *testing.T) {
	t.Parallel()
	order := "        - {name: order, in: query, schema: {type: string, enum: [id, name]}}\n      responses:"
	shows := Sequence{Name: "things in order", Shows: []scenario.Promise{scenario.Effect("getThing", "order")}, Run: func(*scenario.Trial) {}}
	c, err := New([]byte(strings.Replace(smallDocument, "      responses:", order, 1)), Options{Service: Service{Rules: Rules{StrictParameters: true}, Sequences: []Sequence{shows}}})
	must.NoError(t, err)
	var shown []string
	for _, test := range testsOf(c) {
		for _, promise := range test.test.Shows {
			shown = append(shown, report.Name(promise))
		}
	}
	of := 0
	for _, name := range untriedOf(c) {
		if strings.Contains(name, "order") {
			if of++; !slices.Contains(shown, name) {
				t.Errorf("no test tries %s", name)
			}
		}
	}
	if of < 5 || !slices.Contains(shown, "getThing, effect of parameter order") || !slices.Contains(shown, "getThing, parameter order enum, refused") {
		t.Errorf("%d promises name the parameter; the tests show %v", of, shown)
	}
}
