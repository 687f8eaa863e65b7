package run

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

//go:embed testdata/pots.yaml
var potsDocument string

// service responds to a request with its body.
type service func(r *http.Request, body string) (status int, response string)

// recorded is a service with what it was sent.
type recorded struct {
	service service

	mu   sync.Mutex
	sent []string // method, path, body
}

func (s *recorded) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.sent = append(s.sent, r.Method+" "+r.URL.Path+" "+string(body))
	s.mu.Unlock()
	status, response := s.service(r, string(body))
	header := http.Header{}
	if response != "" {
		header.Set("Content-Type", "application/json")
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(response))}, nil
}

func runnerOf(t *testing.T) *Runner {
	t.Helper()
	read, err := document.Parse([]byte(potsDocument))
	must.NoError(t, err)
	of := judge.New(read, nil, judge.Settings{})
	settings := plan.Settings{}
	return &Runner{
		Plan: plan.New(of, settings),
		Observe: func(x scenario.Interaction, test string, asked judge.Asked) []scenario.Failure {
			return of.Failures(x, test, asked, nil)
		},
	}
}

// outcomeOf runs steps on a service.
func outcomeOf(t *testing.T, s service, steps ...part) (outcome scenario.Outcome, sent []string) {
	t.Helper()
	target := &recorded{service: s}
	test := testOf(steps...)
	outcome = runnerOf(t).Run(t.Context(), plan.Test{Test: test}, Target{URL: "http://pots.example/", Transport: target})
	return outcome, target.sent
}

// said is an outcome in a word, with its reason.
func said(outcome scenario.Outcome) string {
	switch {
	case outcome.IsKept():
		return "kept"
	case outcome.NotTested != "":
		return "not tested: " + outcome.NotTested
	}
	return "broken: " + outcome.Failures[0].Message
}

// always responds alike to all requests.
func always(status int, body string) service {
	return func(*http.Request, string) (int, string) { return status, body }
}

// part is a part of a test.
type part func(*scenario.Trial)

// step is a request, with what is expected of its response.
func step(method, path string, expected scenario.Expectation) part {
	return func(t *scenario.Trial) {
		t.Send(scenario.Request{Method: method, Path: path, Header: http.Header{}}, expected)
	}
}

// sending sends a request.
func sending(request scenario.Request) part {
	return func(t *scenario.Trial) { t.Send(request, scenario.Expectation{}) }
}

// creating creates a thing.
func creating(thing *scenario.Thing) part {
	return func(t *scenario.Trial) { t.Create(thing) }
}

// verify ends a test if something is wrong.
func verify(check func() error) part {
	return func(t *scenario.Trial) { t.Check(check()) }
}

// What ends a test, and what does not count, is as package scenario says.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	read := step("GET", "/pots/7", scenario.Accepted)
	wrong := verify(func() error { return scenario.Brokenf("wrong") })
	why := verify(func() error { return scenario.NotTested("why") })
	together := func(t *scenario.Trial) { t.Together(wrong, read) }
	for name, c := range map[string]struct {
		service service
		steps   []part
		want    string // its beginning
	}{
		"a success":                           {always(200, `{"id":7}`), []part{read}, "kept"},
		"a wrong response":                    {always(200, `{"id":"7"}`), []part{read}, "broken: the status is 200, but body /id: type"},
		"a refusal":                           {always(404, ""), []part{read}, "broken: the request is valid"},
		"a wrong response before a reason":    {always(200, `{"id":"7"}`), []part{read, why}, "broken: the status is 200, but body /id: type"},
		"a refusal that is expected":          {always(404, ""), []part{step("GET", "/pots/7", scenario.Refused(scenario.UnknownResource))}, "kept"},
		"a success where a refusal must be":   {always(200, `{"id":7}`), []part{step("GET", "/pots/7", scenario.Refused(scenario.UnknownResource))}, "broken: the request must be refused"},
		"no credentials where none are known": {always(401, ""), []part{step("GET", "/nowhere", scenario.Expectation{})}, "broken: the status is 401"},
		"a reason":                            {always(200, `{"id":7}`), []part{why}, "not tested: why"},
		"a failure meanwhile":                 {always(200, `{"id":7}`), []part{together}, "broken: wrong"},
		"a response that is too long":         {always(200, strings.Repeat(" ", scenario.MostRead+1)), []part{read}, "not tested: a response has more than"},
		"a long response":                     {always(200, strings.Repeat(" ", scenario.MostRead-8)+`{"id":7}`), []part{read}, "kept"},
	} {
		if outcome, _ := outcomeOf(t, c.service, c.steps...); !strings.HasPrefix(said(outcome), c.want) {
			t.Errorf("%s is %s; want %s", name, said(outcome), c.want)
		}
	}
}

// A failure counts unless it depends on what was only inferred, and that is not so. What is wrong with responses that say
// only this is no failure, and the request of a failure is that before them.
func TestDoubts(t *testing.T) {
	t.Parallel()
	alike := func(r *http.Request, _ string) (int, string) {
		if r.Method == http.MethodPost {
			return http.StatusCreated, `{"id":1}`
		}
		return http.StatusOK, `{"id":1}`
	}
	created := creating(&scenario.Thing{Creator: "createPot", ID: int64(1), Sent: map[string]any{}})
	optional := func(t *scenario.Trial) {
		t.CreateIfPossible(&scenario.Thing{Creator: "createPot", ID: int64(1), Sent: map[string]any{}})
	}
	read := step("GET", "/pots/1", scenario.Accepted)
	wrong := verify(func() error { return scenario.Brokenf("wrong") })
	crashed := verify(func() error { return scenario.Broken{Rank: scenario.Crash, Message: "crashed"} })
	const inferred = "not tested: it was inferred, and the service responds to each create alike"
	for name, c := range map[string]struct {
		service service
		steps   []part
		want    string
	}{
		"a doubt that holds":             {alike, []part{created, wrong}, inferred},
		"a doubt that does not hold":     {pots("none"), []part{created, wrong}, "broken: wrong"},
		"a doubt before another request": {alike, []part{created, read, wrong}, inferred},
		"a doubt of what need not be":    {alike, []part{optional, wrong}, "broken: wrong"},
		"a doubt without a failure":      {alike, []part{created}, "kept"},
		"a doubt about a crash":          {alike, []part{created, crashed}, "broken: crashed"},
	} {
		outcome, _ := outcomeOf(t, c.service, c.steps...)
		if got := said(outcome); got != c.want || len(outcome.Failures) > 1 {
			t.Errorf("%s is %s, want %s; failures: %+v", name, got, c.want, outcome.Failures)
		}
	}
	outcome, _ := outcomeOf(t, pots("none"), created, read, wrong)
	if got := outcome.Failures; len(got) != 1 || got[0].Sent.Path != "/pots/1" {
		t.Errorf("the failure is %+v", got)
	}
}

// A test that goes on and on ends.
func TestEndless(t *testing.T) {
	t.Parallel()
	s := &session{requests: mostRequests}
	_, err := s.Send(scenario.Request{}, scenario.Expectation{})
	if err != scenario.NotTested("it does not come to an end") {
		t.Errorf("it ends with %v", err)
	}
}

// pots stores what is created, but for one that it refuses, and shows it.
func pots(refuses string) service {
	stored := map[string]string{}
	return func(r *http.Request, body string) (int, string) {
		if r.Method == http.MethodGet {
			if pot := stored[r.URL.Path]; pot != "" {
				return http.StatusOK, pot
			}
			return http.StatusNotFound, ""
		}
		var pot struct{ ID json.Number }
		if json.Unmarshal([]byte(body), &pot) != nil || strings.Contains(body, refuses) {
			return http.StatusBadRequest, ""
		}
		stored["/pots/"+pot.ID.String()] = body
		return http.StatusCreated, body
	}
}

// A create that is refused is sent again without what is optional. The thing has what was sent last.
func TestCreateAgain(t *testing.T) {
	t.Parallel()
	thing := &scenario.Thing{Creator: "createPot", ID: int64(7)}
	outcome, sent := outcomeOf(t, pots("color"), creating(thing))
	if !outcome.IsKept() || len(sent) != 2 || !strings.Contains(sent[0], "color") || sent[1] != `POST /pots {"id":7}` {
		t.Errorf("%s after %q", said(outcome), sent)
	}
	if _, has := thing.Sent["color"]; has {
		t.Errorf("the thing has %v", thing.Sent)
	}
	outcome, sent = outcomeOf(t, pots("none"), creating(&scenario.Thing{Creator: "createPot"}))
	if !outcome.IsKept() || len(sent) != 1 {
		t.Errorf("%s after %q", said(outcome), sent)
	}
	outcome, sent = outcomeOf(t, pots("id"), creating(&scenario.Thing{Creator: "createPot"}))
	if outcome.NotTested == "" || len(sent) != 2 {
		t.Errorf("%s after %q", said(outcome), sent)
	}
}

// executing is a test that executes steps.
func executing(steps ...part) func(*scenario.Trial) {
	return func(t *scenario.Trial) {
		for _, step := range steps {
			step(t)
		}
	}
}

// testOf is a test that executes steps.
func testOf(steps ...part) scenario.Test {
	return scenario.Test{Name: "a test", Run: executing(steps...)}
}

// What a test has created is removed, also if it has failed.
func TestCleanup(t *testing.T) {
	t.Parallel()
	target := &recorded{service: always(404, "")}
	test := scenario.Test{
		Name:    "a test",
		Run:     executing(step("GET", "/pots/7", scenario.Accepted)),
		Cleanup: executing(step("DELETE", "/pots/7", scenario.Expectation{})),
	}
	outcome := runnerOf(t).Run(t.Context(), plan.Test{Test: test}, Target{URL: "http://pots.example", Transport: target})
	if len(target.sent) != 2 || !strings.HasPrefix(target.sent[1], "DELETE") {
		t.Errorf("the requests are %q", target.sent)
	}
	if len(outcome.Failures) == 0 || outcome.Failures[0].Sent.Method != "GET" {
		t.Errorf("the outcome is %+v", outcome)
	}
}

// Of an event stream what comes before the first event is read, and no more. One may end without an event.
func TestReceiveEvent(t *testing.T) {
	t.Parallel()
	reader, writer := io.Pipe()
	go func() {
		_, _ = writer.Write([]byte(": hello\n\n"))
		_, _ = writer.Write([]byte("data: 1\n\n"))
	}()
	response := &http.Response{Header: http.Header{"Content-Type": {scenario.EventStream}}, Body: reader}
	timer := time.AfterFunc(10*time.Second, func() { writer.CloseWithError(context.DeadlineExceeded) })
	defer timer.Stop()
	received, err := receive(response)
	if err != nil || !bytes.HasSuffix(received, []byte("data: 1\n\n")) {
		t.Errorf("received %q, %v", received, err)
	}
	response.Body = io.NopCloser(strings.NewReader(": hello\n\n"))
	if received, err := receive(response); err != nil || len(received) != len(": hello\n\n") {
		t.Errorf("received %q, %v", received, err)
	}
}
