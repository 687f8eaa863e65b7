package run

import (
	"io"
	"net/http"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
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
	test := scenario.Test{Name: "a test", Steps: func() []scenario.Step {
		return []scenario.Step{{Create: &scenario.Thing{Creator: "createPot"}}}
	}}
	outcome := runnerOf(t).Run(t.Context(), plan.Test{Test: test}, Target{URL: "http://pots.example/", Transport: target})
	isAgain := len(target.sent) == 2 && target.sent[0] == target.sent[1]
	if !outcome.IsKept() || !isAgain {
		t.Errorf("%s after %q", said(outcome), target.sent)
	}
}
