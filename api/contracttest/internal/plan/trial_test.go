package plan_test

import (
	"bytes"
	"cmp"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/api/contracttest/internal/run"
	"github.com/plantstore/plantstore/api/contracttest/report"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// trial runs tests of a document on a service.
type trial struct {
	document string   // of testdata, without its ending
	edits    []string // texts of the document, each with what replaces it
	settings plan.Settings
	service  func() http.Handler // made anew for each test
	target   run.Target
	at       string // the path of the service
	tests    string // a pattern of their names
	phases   string // the numbers of the parts of a run: see Parts; empty: tests of several requests alone
}

// told is a test with what it has sent, and what it has shown.
type told struct {
	plan.Test
	sent    []string
	verdict string
}

// run runs the tests, in the order of the plan.
func (c trial) run(t *testing.T) (all []told) {
	t.Helper()
	p := c.planner(t)
	runner := &run.Runner{Plan: p, Observe: func(x scenario.Interaction, test string, asked judge.Asked) []scenario.Failure {
		return p.Judge.Failures(x, test, asked, nil)
	}}
	wanted := regexp.MustCompile(c.tests)
	tests := p.Parts(c.phases)
	if c.phases == "" { // it takes long to make the others
		tests = p.OfSeveral()
	}
	for test := range tests {
		isRandom := strings.Contains(test.Name, ", random body: ") // there are many, with chance in them
		if isRandom || !wanted.MatchString(test.Name) {
			continue
		}
		sent := &sending{service: http.StripPrefix(c.at, c.service()), names: map[string]string{}}
		target := c.target
		target.URL = base + c.at
		target.Transport = sent
		outcome := runner.Run(t.Context(), test, target)
		all = append(all, told{test, sent.lines, sent.shorten(verdictOf(outcome))})
	}
	return all
}

// planner makes the tests.
func (c trial) planner(t *testing.T) *plan.Planner {
	t.Helper()
	text, err := os.ReadFile("testdata/" + c.document + ".yaml")
	must.NoError(t, err)
	for pair := range slices.Chunk(c.edits, 2) {
		if !bytes.Contains(text, []byte(pair[0])) {
			t.Fatalf("%s has no %q", c.document, pair[0])
		}
		text = bytes.ReplaceAll(text, []byte(pair[0]), []byte(pair[1]))
	}
	read, err := document.Parse(text)
	must.NoError(t, err)
	return plan.New(judge.New(read, nil, judge.Settings{}), c.settings)
}

// verdictOf is an outcome in a line, with the causes of failures.
func verdictOf(outcome scenario.Outcome) string {
	switch {
	case outcome.IsKept():
		return "kept"
	case outcome.NotTested != "":
		return "not tested: " + outcome.NotTested
	}
	var lines []string
	for _, failure := range outcome.Failures {
		line := "broken: " + failure.Message
		if report.Name(failure.Cause.Promise) != failure.Test { // it has another cause than the promise of the test
			line += " (" + report.CauseText(failure.Cause) + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(slices.Compact(lines), "; ")
}

// base is where the service is.
const base = "http://pots.example"

// sending sends requests to a service without a network, and remembers those of a test, each in a line.
type sending struct {
	service http.Handler

	mu    sync.Mutex
	lines []string
	names map[string]string // of long values: what is drawn has no meaning, but that it comes again has
}

func (s *sending) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	recorder := httptest.NewRecorder()
	s.service.ServeHTTP(recorder, r)
	if r.Method == http.MethodHead {
		recorder.Body.Reset()
	}
	response := recorder.Result()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range []string{r.URL.Path, string(body), recorder.Body.String(), response.Header.Get("Etag")} {
		s.nameValues(text)
	}
	line := r.Method + " " + strings.TrimPrefix(r.URL.String(), base)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if value := strings.Join(r.Header[name], ", "); name != "Content-Type" || value != "application/json" {
			line += " " + name + ": " + value
		}
	}
	s.lines = append(s.lines, s.shorten(strings.TrimSpace(line+" "+string(body)))+" "+strconv.Itoa(response.StatusCode))
	return response, nil
}

// quoted finds texts of JSON, of which a colon follows on names of members, and numbers.
var quoted = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"(:?)|(\d+)`)

// nameValues gives long values names.
func (s *sending) nameValues(text string) {
	for _, found := range quoted.FindAllStringSubmatch(text, -1) {
		value := cmp.Or(found[1], found[3])
		isMember := found[2] != ""
		if !isMember && len(value) > 3 && s.names[value] == "" {
			s.names[value] = "$" + strconv.Itoa(len(s.names)+1)
		}
	}
}

// words finds what may be a value: what is quoted, and words.
var words = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[\pL\d]+`)

// shorten replaces values by their names; $1-1 is one less than $1.
func (s *sending) shorten(line string) string {
	line = strings.ReplaceAll(line, base, "")
	for value, name := range s.names {
		if strings.Contains(value, " ") && !strings.Contains(line, `"`+value) { // in a sentence
			line = strings.ReplaceAll(line, value, name)
		}
	}
	return words.ReplaceAllStringFunc(line, func(word string) string {
		value := strings.Trim(word, `"`)
		if name := s.names[value]; name != "" {
			return strings.Replace(word, value, name, 1)
		}
		number, err := strconv.Atoi(word)
		if name := s.names[strconv.Itoa(number+1)]; err == nil && name != "" {
			return name + "-1"
		}
		return word
	})
}
