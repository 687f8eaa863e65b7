package server

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A pause of the program or of its machine does not use up idleGrace: requests that
// have arrived meanwhile are not read yet.
func TestPauseWhileStopping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newGracefulShutdown(&http.Server{Handler: http.NotFoundHandler()})
		s.open.Add(1)
		s.begin()
		tick, ended := make(chan time.Time), make(chan struct{})
		go func() {
			defer close(ended)
			s.awaitClients(t.Context(), tick)
		}()
		n := 0
		for running := true; running; {
			if n == 1 {
				time.Sleep(2 * idleGrace) // the pause
			}
			select {
			case tick <- time.Now():
				n++
			case <-ended:
				running = false
			}
		}
		if want := int(idleGrace / idleTick); n < want {
			t.Errorf("idle connections stay open for %d ticks, want %d", n, want)
		}
	})
}
