package plan

import (
	_ "embed"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/report"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

//go:embed testdata/fewpots.yaml
var potsDocument string

func planOf(t *testing.T, settings Settings) *Planner {
	t.Helper()
	read, err := document.Parse([]byte(potsDocument))
	must.NoError(t, err)
	return New(judge.New(read, nil, judge.Settings{}), settings)
}

// said is what a check says, in a word, with its reason.
func said(err error) string {
	switch reason, isNotTested := errors.AsType[scenario.NotTested](err); {
	case isNotTested:
		return "not tested: " + string(reason)
	case err != nil:
		return "broken: " + err.Error()
	}
	return "kept"
}

// silent is an engine for what sends nothing.
type silent struct{ scenario.Engine }

func (silent) Named(wrong error) error { return wrong }

// checked is what a part of a test says that sends nothing.
func checked(p *Planner, run func(*draft.Trial)) string {
	return said(scenario.Try(silent{}, p.drafted(scenario.Promise{}, run)))
}

// A first request of each operation comes first, those that read before those that create, and a delete after all.
// Then comes the plainest one with each kind of credentials, once, and that of a delete is the last one again.
func TestPlainFirst(t *testing.T) {
	t.Parallel()
	var names []string
	for test := range planOf(t, Settings{}).Tests(t.Context()) {
		names = append(names, test.Name)
	}
	want := []string{
		"listPots, first request", "getPot, first request", "createPot, first request", "putPot, first request", "deletePot, first request",
		"createPot, credentials open", "listPots, credentials open", "getPot, credentials open", "putPot, credentials open", "deletePot, credentials open",
	}
	if got := names[:len(want)]; !slices.Equal(got, want) {
		t.Errorf("the first tests are %q, want %q", got, want)
	}
	for _, name := range want {
		if slices.Contains(names[len(want):], name) {
			t.Errorf("%s comes twice", name)
		}
	}
}

// Each promise of a request is tried once before one of them is tried again, and random bodies come later still.
func TestBreadthFirst(t *testing.T) {
	t.Parallel()
	var promises []string
	for test := range planOf(t, Settings{}).Tests(t.Context()) {
		promises = append(promises, report.Name(test.Promise()))
	}
	random := slices.Index(promises, "createPot, random bodies")
	seen := map[string]bool{}
	again := ""
	for _, promise := range promises[len(planOf(t, Settings{}).Document.Operations):random] {
		isFresh := !seen[promise]
		if isFresh && again != "" {
			t.Errorf("%s comes after %s was tried again", promise, again)
		}
		if !isFresh {
			again = promise
		}
		seen[promise] = true
	}
	if again == "" {
		t.Error("nothing is tried again")
	}
}

// racksDocument has pots in racks, and a delete of all racks. What its operations say beside is not of interest here.
//
//go:embed testdata/racks.yaml
var racksDocument string

// A delete comes after what others do with the same thing, one of a part before that of the whole. What no test creates
// is deleted at the end, and so is all that there is: what is deleted, no test can use any more.
func TestDeletesComeLate(t *testing.T) {
	t.Parallel()
	read, err := document.Parse([]byte(racksDocument))
	must.NoError(t, err)
	p := New(judge.New(read, nil, judge.Settings{}), Settings{})
	for _, when := range []order{plain, broad, deep, robustness, clearing} {
		var operations []string
		for test := range p.singles(t.Context(), when) {
			operation, _, _ := strings.Cut(test.Name, ",")
			operations = append(operations, operation)
		}
		want := map[order][]string{
			plain:      {"putPot", "deletePot", "deleteRack", "clearRacks"},
			broad:      {"putPot"},
			deep:       {"putPot"},
			robustness: {"putPot", "deletePot", "deleteRack"},
			clearing:   {"deletePot", "deleteRack", "clearRacks"},
		}[when]
		if got := slices.Compact(operations); !slices.Equal(got, want) {
			t.Errorf("of order %d are tests of %q, want %q", when, got, want)
		}
	}
	last := ""
	for test := range p.Tests(t.Context()) {
		last = test.Name
	}
	if !strings.HasPrefix(last, "clearRacks") {
		t.Errorf("the last test is %s", last)
	}
}

// Tests that are too large to be kept are made again, and are the same.
func TestForgotten(t *testing.T) {
	t.Parallel()
	count := func(kept int) (names int, promises []scenario.Promise) {
		p := planOf(t, Settings{})
		p.kept = kept
		names = len(slices.Collect(p.Tests(t.Context())))
		promises, _ = p.Promises()
		slices.SortFunc(promises, func(one, other scenario.Promise) int { return strings.Compare(report.Name(one), report.Name(other)) })
		return names, slices.Compact(promises)
	}
	tests, promises := count(0)
	again, same := count(mostKept)
	if tests != again || !slices.Equal(promises, same) {
		t.Errorf("there are %d tests and %d promises, and without room %d and %d", tests, len(promises), again, len(same))
	}
}

// A run that was stopped makes no tests to list their promises, and says so.
func TestStop(t *testing.T) {
	t.Parallel()
	p := planOf(t, Settings{})
	p.Stop()
	all, untested := p.Promises()
	for _, want := range []string{"createPot, 201", "createPot, requests: what else the document says of them"} {
		isWanted := func(promise scenario.Promise) bool { return report.Name(promise) == want }
		if !slices.ContainsFunc(all, isWanted) {
			t.Errorf("%q is not among %+v", want, all)
		}
	}
	if len(p.made) > 0 || !slices.Contains(slices.Collect(maps.Values(untested)), notMade) {
		t.Errorf("%d operations have tests, and untested are %v", len(p.made), untested)
	}
}

// An entity tag without quotes is a condition on something that exists: a service looks for that first.
func TestOddCondition(t *testing.T) {
	t.Parallel()
	p := planOf(t, Settings{})
	found := 0
	for _, c := range p.singlesOf(p.Document.Operation("putPot"), robustness) {
		if c.promise.Kind != scenario.ParameterRobustness || c.promise.Place != "if-match" {
			continue
		}
		found++
		isOfThing := c.use.IsOn(c.Operation) && !c.namesNothing
		condition := c.request(&scenario.Thing{ID: 1}).Header.Get("If-Match")
		if !isOfThing || condition == "" {
			t.Errorf("%s is for something that exists: %v, with If-Match: %s", c.name, isOfThing, condition)
		}
	}
	if found != len(values.RobustnessEntityTags) {
		t.Errorf("there are %d robustness tests of a condition, want %d", found, len(values.RobustnessEntityTags))
	}
}

// A valid request must succeed. Of an inferred resource a condition may be refused, because nothing says that it has
// ETags.
func TestAccepted(t *testing.T) {
	t.Parallel()
	isDeclared := scenario.Resource{Create: "createPot", ID: "id", Read: "getPot", Replace: "putPot"}
	const refused = "broken: the request is valid, but was refused"
	const notTested = "not tested: it is refused with 400, for a reason that the document does not say"
	for name, c := range map[string]struct {
		declared []scenario.Resource
		path     string
		header   string
		status   int
		want     string
	}{
		"a success":               {path: "/pots/7", header: "If-Match", status: 200, want: "kept"},
		"a condition":             {path: "/pots/7", header: "If-Match", status: 400, want: notTested},
		"another condition":       {path: "/pots/7", header: "If-None-Match", status: 400, want: notTested},
		"no condition":            {path: "/pots/7", header: "X-Pot", status: 400, want: notTested},
		"another status":          {path: "/pots/7", header: "If-Match", status: 404, want: refused},
		"a declared resource":     {declared: []scenario.Resource{isDeclared}, path: "/pots/7", header: "If-Match", status: 400, want: refused},
		"no resource":             {path: "/pots", header: "If-Match", status: 400, want: notTested},
		"nothing of the document": {path: "/nothing", header: "If-Match", status: 400, want: notTested},
	} {
		p := planOf(t, Settings{Declared: resources.Declarations{Resources: c.declared}})
		got := said(p.Accepted(scenario.Interaction{
			Method: http.MethodGet, URL: "http://pots.example" + c.path, Path: c.path,
			RequestHeader: http.Header{c.header: {"x"}}, Status: c.status,
		}))
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
