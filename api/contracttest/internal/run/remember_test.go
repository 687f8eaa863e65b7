package run

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/api/contracttest/report"
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

// deletable has a DELETE, too.
func deletable(t *testing.T) *Runner {
	t.Helper()
	read, err := document.Parse([]byte(conditional.Replace(potsDocument)))
	must.NoError(t, err)
	of := judge.New(read, nil, judge.Settings{})
	return &Runner{
		Plan: plan.New(of, plan.Settings{}),
		Observe: func(x scenario.Interaction, test string, asked judge.Asked) []scenario.Failure {
			return of.Failures(x, test, asked, nil)
		},
	}
}

// keeping is a service that creates and deletes whatever it is sent, but for /pots/9, and finds nothing, or all.
func keeping(found int) service {
	return func(r *http.Request, body string) (int, string) {
		switch {
		case r.Method == http.MethodPost:
			return http.StatusCreated, body
		case r.Method == http.MethodDelete && r.URL.Path == "/pots/9":
			return http.StatusMultipleChoices, ""
		case r.Method == http.MethodPut:
			return http.StatusOK, `{"id":7}`
		case r.Method == http.MethodDelete:
			return http.StatusNoContent, ""
		}
		if found == http.StatusOK {
			return found, `{"id":7}`
		}
		return found, ""
	}
}

// create creates a pot.
func create(id int64) part {
	return creating(&scenario.Thing{Creator: "createPot", ID: id, Sent: map[string]any{}})
}

// What tests have created and not deleted is removed at the end of a run, unless it is interrupted. What is left is told, and
// the next run asks for its removal again.
func TestRemoveCreated(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	late, end := context.WithDeadline(t.Context(), time.Now())
	defer end()
	for name, c := range map[string]struct {
		ctx   context.Context
		steps []part
		want  string
		left  string
	}{
		"nothing":        {t.Context(), nil, "", ""},
		"two":            {t.Context(), []part{create(8), create(7)}, "DELETE /pots/7 , DELETE /pots/8 ", ""},
		"deleted before": {t.Context(), []part{create(7), create(8), step("DELETE", "/pots/7", scenario.Expectation{})}, "DELETE /pots/8 ", ""},
		"not deleted":    {t.Context(), []part{create(9), step("DELETE", "/pots/9", scenario.Expectation{})}, "DELETE /pots/9 , DELETE /pots/9 ", "1"},
		"replaced":       {t.Context(), []part{create(7), step("PUT", "/pots/7", scenario.Expectation{})}, "DELETE /pots/7 ", ""},
		"interrupted":    {canceled, []part{create(7)}, "", "1"},
		"out of time":    {late, []part{create(7)}, "DELETE /pots/7 ", ""},
	} {
		runner := deletable(t)
		target := &recorded{service: keeping(http.StatusNotFound)}
		test := testOf(c.steps...)
		runner.Run(t.Context(), plan.Test{Test: test}, Target{URL: "http://pots.example/", Transport: target})
		before := len(target.sent)
		for range 2 {
			runner.RemoveCreated(c.ctx, Target{URL: "http://pots.example/", Transport: target})
		}
		if got := strings.Join(target.sent[before:], ", "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if count, _, _ := strings.Cut(runner.Left(), " "); count != c.left {
			t.Errorf("%s: %q are left, want %q", name, count, c.left)
		}
	}
}

// Where what a create has made was never found, that is the cause of what is not found there, and below it.
func TestNeverFound(t *testing.T) {
	t.Parallel()
	read := func(path string) part { return step("GET", path, scenario.Accepted) }
	checked := func(t *scenario.Trial) {
		step("GET", "/pots/7", scenario.Expectation{})(t)
		t.Check(errors.New("a check of the options"))
	}
	for name, c := range map[string]struct {
		found int
		steps []part
		want  string
	}{
		"what was created":           {404, []part{create(7), read("/pots/7")}, "createPot: what it creates is not found"},
		"what was replaced":          {404, []part{create(7), step("PUT", "/pots/7", scenario.Expectation{}), read("/pots/7")}, "createPot: what it creates is not found"},
		"what is below it":           {404, []part{create(7), read("/pots/7/parts")}, "createPot: what it creates is not found"},
		"what has a longer name":     {404, []part{create(7), read("/pots/77")}, "getPot: refuses valid requests with 404"},
		"what was not created":       {404, []part{read("/pots/7")}, "getPot: refuses valid requests with 404"},
		"what a check finds":         {404, []part{create(7), checked}, "a test"},
		"what was deleted":           {404, []part{create(7), step("DELETE", "/pots/7", scenario.Expectation{}), read("/pots/7")}, "getPot: refuses valid requests with 404"},
		"what another one has found": {404, []part{create(7), create(8), read("/pots/found"), read("/pots/8")}, "createPot: what it creates is not found"},
	} {
		runner := deletable(t)
		runner.Observe = func(scenario.Interaction, string, judge.Asked) []scenario.Failure { return nil }
		service := keeping(c.found)
		target := &recorded{service: func(r *http.Request, body string) (int, string) {
			if strings.HasSuffix(r.URL.Path, "found") {
				return http.StatusOK, `{"id":7}`
			}
			return service(r, body)
		}}
		test := testOf(c.steps...)
		outcome := runner.Run(t.Context(), plan.Test{Test: test}, Target{URL: "http://pots.example", Transport: target})
		if len(outcome.Failures) != 1 || report.CauseText(outcome.Failures[0].Cause) != c.want {
			t.Errorf("%s: %+v, want %q", name, outcome, c.want)
		}
	}
	// One of them was found.
	runner := deletable(t)
	runner.Observe = func(scenario.Interaction, string, judge.Asked) []scenario.Failure { return nil }
	finds := true
	target := &recorded{service: func(r *http.Request, body string) (int, string) {
		if r.Method == http.MethodGet && finds {
			finds = false
			return http.StatusOK, `{"id":7}`
		}
		return keeping(http.StatusNotFound)(r, body)
	}}
	test := testOf(create(7), read("/pots/7"), read("/pots/7"))
	outcome := runner.Run(t.Context(), plan.Test{Test: test}, Target{URL: "http://pots.example", Transport: target})
	if want := "getPot: refuses valid requests with 404"; len(outcome.Failures) != 1 || report.CauseText(outcome.Failures[0].Cause) != want {
		t.Errorf("what was found before: %+v, want %q", outcome, want)
	}
}
