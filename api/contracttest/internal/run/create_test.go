package run

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// closing reads the first request, and closes the connection without a response.
type closing struct{ recorded }

func (s *closing) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := s.recorded.RoundTrip(r)
	if len(s.sent) == 1 {
		return nil, io.EOF
	}
	return response, err
}

// A request whose connection was closed is sent again as it was, with its body.
func TestSentAgain(t *testing.T) {
	t.Parallel()
	target := &closing{recorded{service: pots("none")}}
	test := testOf(creating(&scenario.Thing{Creator: "createPot"}))
	outcome := runnerOf(t).Run(t.Context(), plan.Test{Test: test}, Target{URL: "http://pots.example/", Transport: target})
	isAgain := len(target.sent) == 2 && target.sent[0] == target.sent[1]
	if !outcome.IsKept() || !isAgain {
		t.Errorf("%s after %q", said(outcome), target.sent)
	}
}

// A service that assigns identities need not take the one that a client has sent.
func TestProposedIdentity(t *testing.T) {
	t.Parallel()
	runner := runnerOf(t)
	settings := plan.Settings{
		Declared: resources.Declarations{
			Resources: []scenario.Resource{{Create: "createPot", ID: "id", Assigned: true, Read: "getPot"}},
		},
	}
	runner.Plan = plan.New(runner.Plan.Judge, settings)
	thing := &scenario.Thing{Creator: "createPot", Sent: map[string]any{"id": 3, "color": "red"}}
	test := testOf(creating(thing))
	target := &recorded{service: always(http.StatusCreated, `{"id":7,"color":"red"}`)}
	outcome := runner.Run(t.Context(), plan.Test{Test: test}, Target{URL: "http://pots.example/", Transport: target})
	if !outcome.IsKept() || fmt.Sprint(thing.ID) != "7" {
		t.Errorf("%s, the identity is %v, after %q", said(outcome), thing.ID, target.sent)
	}
}

// What was wrong before a create still counts when the create succeeds without what is optional.
func TestWrongBefore(t *testing.T) {
	t.Parallel()
	create := pots("color")
	wrongRead := func(r *http.Request, body string) (int, string) {
		if r.Method == http.MethodGet {
			return http.StatusOK, `{"id":"no integer"}`
		}
		return create(r, body)
	}
	outcome, sent := outcomeOf(t, wrongRead, step("GET", "/pots/7", scenario.Accepted), creating(&scenario.Thing{Creator: "createPot"}))
	if len(outcome.Failures) != 1 || len(sent) != 3 {
		t.Errorf("%s after %q", said(outcome), sent)
	}
}
