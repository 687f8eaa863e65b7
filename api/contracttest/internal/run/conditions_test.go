package run

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// conditional adds to the document a PUT with If-Match, a DELETE, and ETags.
var conditional = strings.NewReplacer(
	`        "200": {description: A pot.,`, `        "200": {description: A pot., headers: {ETag: {schema: {type: string}}},`,
	"components:\n", `    put:
      operationId: putPot
      parameters:
        - {name: id, in: path, required: true, schema: {type: integer}}
        - {name: If-Match, in: header, schema: {type: string}}
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Pot'}}}}
      responses:
        "200": {description: Replaced., content: {application/json: {schema: {$ref: '#/components/schemas/Pot'}}}}
        "404": {description: None.}
        "412": {description: Another version is current.}
    delete:
      operationId: deletePot
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses: {"204": {description: Gone.}}
components:
`)

// versions is a service with one pot, whose versions count up, also when it is deleted and created again.
type versions struct {
	holds   func(condition, current string) bool
	pot     string
	version int
}

func (s *versions) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	etag := fmt.Sprintf(`"%d"`, s.version)
	condition := r.Header.Get("If-Match")
	status := http.StatusOK
	isAbsent := s.pot == ""
	holds := condition == "" || !isAbsent && s.holds(condition, etag)
	switch {
	case r.Method == http.MethodDelete:
		s.pot = ""
		return &http.Response{StatusCode: http.StatusNoContent, Header: http.Header{}, Body: http.NoBody}, nil
	case r.Method == http.MethodGet && isAbsent:
		return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: http.NoBody}, nil
	case r.Method == http.MethodGet:
	case !holds:
		return &http.Response{StatusCode: http.StatusPreconditionFailed, Header: http.Header{}, Body: http.NoBody}, nil
	default:
		s.version++
		s.pot = string(body)
		etag = fmt.Sprintf(`"%d"`, s.version)
	}
	if r.Method == http.MethodPost {
		status = http.StatusCreated
	}
	header := http.Header{"Content-Type": {"application/json"}, "Etag": {etag}}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(s.pot))}, nil
}

// A write with an ETag that is not current is refused, one with a list that has the current one is not.
func TestIfMatch(t *testing.T) {
	t.Parallel()
	right := func(condition, current string) bool { return condition == "*" || strings.Contains(condition, current) }
	for name, c := range map[string]struct {
		holds func(condition, current string) bool
		want  string
	}{
		"a right service":   {right, "kept"},
		"takes any version": {func(string, string) bool { return true }, "broken: the request must be refused"},
		"takes the version that was deleted": {
			func(condition, current string) bool { return right(condition, current) || condition == `"1"` }, "broken: the request must be refused",
		},
		"refuses a list": {
			func(condition, current string) bool { return condition == "*" || condition == current }, "broken: putPot with If-Match",
		},
		"refuses *": {func(condition, current string) bool { return strings.Contains(condition, current) }, "broken: putPot with If-Match: *"},
	} {
		read, err := document.Parse([]byte(conditional.Replace(potsDocument)))
		must.NoError(t, err)
		of := judge.New(read, nil, judge.Settings{})
		settings := plan.Settings{
			Scope: func(scenario.Operation) string { return "" },
			Declared: resources.Declarations{
				Resources: []scenario.Resource{{Create: "createPot", ID: "id", Read: "getPot", Replace: "putPot", Delete: "deletePot"}},
			},
		}
		runner := &Runner{
			Plan: plan.New(of, settings),
			Observe: func(x scenario.Interaction, test string, asked judge.Asked) []scenario.Failure {
				return of.Failures(x, test, asked, nil)
			},
		}
		tests := slices.Collect(runner.Plan.Tests(t.Context()))
		i := slices.IndexFunc(tests, func(test plan.Test) bool { return test.Name == "putPot, effect of parameter If-Match" })
		if i < 0 {
			t.Fatal("there is no such test")
		}
		outcome := runner.Run(t.Context(), tests[i], Target{URL: "http://pots.example", Transport: &versions{holds: c.holds}})
		if !strings.HasPrefix(said(outcome), c.want) {
			t.Errorf("%s: %s, want %s", name, said(outcome), c.want)
		}
	}
}
