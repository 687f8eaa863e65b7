package run

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A thing that could not be created is missing, if that is optional, and what was wrong with the response does not count.
func TestMissing(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{201: false, 403: true, 418: true} {
		thing := &scenario.Thing{Creator: "createPot", ID: int64(7), Sent: map[string]any{}}
		outcome, _ := outcomeOf(t, always(status, `{"id":7}`), func(t *scenario.Trial) { t.CreateIfPossible(thing) })
		if !outcome.IsKept() || thing.Missing != want {
			t.Errorf("after %d it is missing: %v, %s", status, thing.Missing, said(outcome))
		}
	}
}

// A request that cannot be made ends the test, and is not sent.
func TestCannotSend(t *testing.T) {
	t.Parallel()
	wrong := sending(scenario.Request{Method: "no method", Path: "/", Header: http.Header{}})
	unknown := func(t *scenario.Trial) { t.Do(scenario.Call{Operation: "noOperation"}, scenario.Expectation{}) }
	noList := func(t *scenario.Trial) {
		for range t.Pages("noOperation", nil) {
			return
		}
	}
	noThing := creating(&scenario.Thing{Creator: "getPot"})
	for _, c := range []struct {
		first part
		want  string
	}{
		{wrong, "broken: net/http: invalid method \"no method\""},
		{unknown, "broken: the document has no operation noOperation"},
		{noList, "broken: the document has no operation noOperation"},
		{noThing, "broken: getPot creates no resource that a test can use"},
	} {
		outcome, sent := outcomeOf(t, always(404, ""), c.first, step("GET", "/pots/7", scenario.Expectation{}))
		if got := said(outcome); got != c.want || len(sent) > 0 {
			t.Errorf("it is %s after %q, want %s", got, sent, c.want)
		}
	}
}

// What is sent together is sent also if one of them fails, and neither sees the last response of the other.
func TestTogether(t *testing.T) {
	t.Parallel()
	read := func(path string, expected scenario.Expectation, last *[]string) part {
		return func(t *scenario.Trial) {
			got := t.Send(scenario.Request{Method: "GET", Path: path, Header: http.Header{}}, expected)
			*last = append(*last, got.Path)
		}
	}
	unsent := sending(scenario.Request{Method: "no method", Path: "/", Header: http.Header{}})
	for name, c := range map[string]struct {
		status  int // of all but /pots/7
		isWrong bool
		accepts scenario.Expectation // of the one beside
		want    string
	}{
		"right":               {200, false, scenario.Expectation{}, "kept"},
		"refused beside":      {404, false, scenario.Accepted, "broken: the request is valid, but was refused"},
		"wrong response":      {202, false, scenario.Expectation{}, "broken: meanwhile: the status is 202, but status: responses: the document does not list 202 for getPot"},
		"wrong on both sides": {404, true, scenario.Accepted, "broken: net/http: invalid method"},
	} {
		var own, others []string
		first := read("/pots/7", scenario.Expectation{}, &own)
		if c.isWrong {
			first = unsent
		}
		outcome, sent := outcomeOf(t, func(r *http.Request, _ string) (int, string) {
			if r.URL.Path == "/pots/7" {
				return http.StatusOK, `{"id":7}`
			}
			return c.status, `{"id":7}`
		}, func(t *scenario.Trial) { t.Together(read("/pots/8", c.accepts, &others), first) })
		isSent := slices.ContainsFunc(sent, func(line string) bool { return strings.Contains(line, "/pots/8") })
		isOwn := c.isWrong || slices.Equal(own, []string{"/pots/7"})
		isOthers := c.accepts.Success || slices.Equal(others, []string{"/pots/8"})
		if got := said(outcome); !strings.HasPrefix(got, c.want) || !isSent || !isOwn || !isOthers {
			t.Errorf("%s: %s, want %s; sent %q, seen %q and %q", name, got, c.want, sent, own, others)
		}
	}
	// What was wrong before is not wrong meanwhile.
	unserved := step("DELETE", "/pots/7", scenario.Expectation{})
	get := step("GET", "/pots/7", scenario.Expectation{})
	outcome, _ := outcomeOf(t, always(200, `{"id":7}`), unserved, func(t *scenario.Trial) { t.Together(get, get) })
	if len(outcome.Failures) != 1 {
		t.Errorf("after a wrong response the failures are %+v", outcome.Failures)
	}
}
