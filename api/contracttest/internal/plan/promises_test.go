package plan_test

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/report"
	"github.com/plantstore/plantstore/api/contracttest/scenario"

	"github.com/plantstore/plantstore/internal/testing/golden"
)

// TestPromises compares the promises of documents, and why some of them have no test, with testdata/promises.txt.
func TestPromises(t *testing.T) {
	t.Parallel()
	seven := scenario.Test{Name: "seven", Shows: []scenario.Promise{scenario.Effect("listPlants", "note")}}
	var text strings.Builder
	for _, c := range []struct {
		name  string
		of    trial
		shown func(promise, why string) bool
	}{
		{"requests", trial{document: "requests"}, func(string, string) bool { return true }},
		{"requests, but for some", trial{document: "requests", settings: lessRequests}, func(_, why string) bool { return why != "" }},
		{"below each other, with a sequence", trial{document: "below", settings: plan.Settings{Sequences: []scenario.Test{seven}}}, isOfSeveral},
	} {
		all, untested := c.of.planner(t).Promises()
		fmt.Fprintf(&text, "%s\n", c.name)
		lines := map[string]bool{}
		for _, promise := range all {
			name := report.Name(promise)
			if why := untested[promise]; c.shown(name, why) {
				lines["    "+strings.TrimSuffix(name+" ("+why+")", " ()")+"\n"] = true
			}
		}
		for _, line := range slices.Sorted(maps.Keys(lines)) {
			text.WriteString(line)
		}
	}
	golden.Compare(t, "testdata/promises.txt", text.String())
}

// lessRequests are options that leave out operations, and include only some of the others.
var lessRequests = plan.Settings{
	Declared: resources.Declarations{LeaveOut: map[string]string{"sendForm": "it sends mail"}},
	Unwanted: map[string]string{"find": "not asked for", "createNote": "not asked for", "getNote": "not asked for"},
}

// namesOf are the names of promises.
func namesOf(promises []scenario.Promise) (names []string) {
	for _, promise := range promises {
		names = append(names, report.Name(promise))
	}
	return names
}

func isOfSeveral(promise, _ string) bool {
	return strings.Contains(promise, "sequence") || strings.Contains(promise, "effect")
}

// isLong finds tests of which there are many.
var isLong = regexp.MustCompile(`, robustness, |, body|, random |"-?\d{9,}|"0"|"-1"`)

// TestPlan compares the tests of a document with testdata/plan.txt: in which phase of a run each is, what must not change
// meanwhile, which operation must refuse its request, and what it shows beside its name.
func TestPlan(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, c := range []trial{
		{document: "below"},
		{document: "requests", settings: lessRequests},
	} {
		for test := range c.planner(t).Tests(t.Context()) {
			if isLong.MatchString(test.Name) {
				continue
			}
			fmt.Fprintf(&text, "%d %s", test.Phase, test.Name)
			for what, has := range map[string]bool{"rehearsal": test.Phase == plan.FirstRequests, "cleanup": test.Cleanup != nil} {
				if has {
					text.WriteString(" +" + what)
				}
			}
			if test.Area != "" {
				text.WriteString(", in " + test.Area)
			}
			if test.Refuses != "" {
				text.WriteString(", refused by " + test.Refuses)
			}
			if shows := namesOf(test.Shows); !slices.Equal(shows, []string{test.Name}) {
				text.WriteString(", shows " + strings.Join(shows, "; "))
			}
			text.WriteString("\n")
		}
	}
	golden.Compare(t, "testdata/plan.txt", text.String())
}

// A response shows its status, its headers, and the examples that the request had, if it was accepted.
func TestShown(t *testing.T) {
	t.Parallel()
	p := trial{document: "requests"}.planner(t)
	note := []byte(`{"kind":"oak","id":3}`)
	for name, c := range map[string]struct {
		x    scenario.Interaction
		want string
	}{
		"a status":                    {scenario.Interaction{Method: "GET", Path: "/notes/7", Status: 200}, "getNote, 200"},
		"a status of all others":      {scenario.Interaction{Method: "GET", Path: "/notes/7", Status: 418}, "getNote, default"},
		"a failure":                   {scenario.Interaction{Method: "DELETE", Path: "/notes/7", Status: 500}, "any operation, 500"},
		"a header":                    {scenario.Interaction{Method: "POST", Path: "/stops", Status: 200, Header: http.Header{"Stopped": {"x"}}}, "stop, 200; stop, 200, header Stopped"},
		"no header":                   {scenario.Interaction{Method: "POST", Path: "/stops", Status: 200, Header: http.Header{"Other": {"x"}}}, "stop, 200"},
		"an example of a body":        {scenario.Interaction{Method: "POST", Path: "/notes", Status: 201, RequestBody: note}, "createNote, 201; createNote, request example short"},
		"another body":                {scenario.Interaction{Method: "POST", Path: "/notes", Status: 201, RequestBody: []byte(`{"kind":"elm","id":3}`)}, "createNote, 201"},
		"an example that is refused":  {scenario.Interaction{Method: "POST", Path: "/notes", Status: 409, RequestBody: note}, "createNote, 409"},
		"an example of a parameter":   {scenario.Interaction{Method: "GET", Path: "/seen/5/a", URL: "http://x/seen/5/a?to=b&from=7", Status: 200}, "see, 200; see, example of parameter from"},
		"another parameter":           {scenario.Interaction{Method: "GET", Path: "/seen/5/a", URL: "http://x/seen/5/a?to=b&from=8", Status: 200}, "see, 200"},
		"an example in the path":      {scenario.Interaction{Method: "GET", Path: "/seen/5/b", URL: "http://x/seen/5/b", Status: 200}, "see, 200; see, example of parameter what"},
		"an example in another place": {scenario.Interaction{Method: "GET", Path: "/seen/b/5", URL: "http://x/seen/b/5", Status: 200}, "see, 200"},
		"no operation":                {scenario.Interaction{Method: "GET", Path: "/nowhere", Status: 200}, ""},
	} {
		shown := p.Shown(c.x, func(scenario.Promise) bool { return false })
		if got := strings.Join(namesOf(shown), "; "); got != c.want {
			t.Errorf("%s shows %q, want %q", name, got, c.want)
		}
	}
	isKnown := func(promise scenario.Promise) bool { return promise.Kind == scenario.BodyExample }
	if shown := p.Shown(scenario.Interaction{Method: "POST", Path: "/notes", Status: 201, RequestBody: note}, isKnown); len(shown) != 1 {
		t.Errorf("an example that is known is shown again: %+v", shown)
	}
}

// The requests of tests of one request are made for others, too: each has an identity, that of the test or one that is
// drawn, and none is about credentials.
func TestRequests(t *testing.T) {
	t.Parallel()
	paths := map[string]bool{}
	for request := range (trial{document: "requests"}).planner(t).Requests() {
		if !request.Access.IsUsual() {
			t.Errorf("%s %s is about credentials", request.Method, request.Path)
		}
		if strings.HasPrefix(request.Path, "/notes/") {
			paths[request.Method+" "+request.Path] = true
		}
		if strings.ContainsAny(request.Path, "{}<>") {
			t.Errorf("%s has no identity", request.Path)
		}
	}
	for _, want := range []string{"GET /notes/1", "PUT /notes/3000000", "DELETE /notes/0", "GET /notes/x"} {
		if !paths[want] {
			t.Errorf("%s is not among %v", want, slices.Sorted(maps.Keys(paths)))
		}
	}
}
