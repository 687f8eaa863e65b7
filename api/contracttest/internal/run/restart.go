package run

import (
	"fmt"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A service that has crashed is often restarted, by Docker or Kubernetes, and accepts no connection meanwhile. That is the mistake
// of the request that has ended it, and of no other one: what comes next is sent again until the service is back. If it does not
// come back, that is one cause, and the run ends.

// refused is why a request shows nothing.
const refused scenario.NotTested = "the service accepts no connection"

// restartPause is how long a try waits for the next.
const restartPause = 100 * time.Millisecond

// sendWhenBack sends a request, and again while a service that has responded before accepts no connection, until the timeout is
// over.
func (s *session) sendWhenBack(request scenario.Request) error {
	begin := time.Now()
	err := s.send(request)
	for err == refused && s.state.hasResponded() && time.Since(begin) < s.timeout() && sleep(s.ctx, restartPause) {
		err = s.send(request)
	}
	if err != refused || s.ctx.Err() != nil {
		return err
	}
	s.steps.add(s.last)
	s.state.endGone(s.last)
	message := fmt.Sprintf("connection refused, for %v", time.Since(begin).Round(time.Second))
	return scenario.Broken{Cause: scenario.Cause{Kind: scenario.RefusesConnections}, Rank: scenario.Crash, Message: message}
}
