package token

import (
	"context"
	"sync"
	"time"
)

const (
	// gatherTime is how long uses are gathered before they are written, so
	// that many tokens share a write.
	gatherTime = time.Second

	// touchTime is how long the store may take to write them.
	touchTime = 10 * time.Second
)

// uses writes down when tokens were used, never on the time of a request. A
// write that fails is not repeated: the store still has the old time, so the
// next use of the token is noted again.
type uses struct {
	store   Store
	closing chan struct{}
	writers sync.WaitGroup

	mu      sync.Mutex
	last    map[string]time.Time // not written yet; nil: nobody is about to write
	closed  bool
	lastErr error // of the latest write
}

// note has the use of a token written down soon.
func (u *uses) note(id string, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return
	}
	if u.last == nil {
		u.last = map[string]time.Time{}
		u.writers.Go(u.write)
	}
	u.last[id] = at
}

// write waits for more uses and then writes them all.
func (u *uses) write() {
	timer := time.NewTimer(gatherTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-u.closing:
	}
	u.mu.Lock()
	last := u.last
	u.last = nil
	u.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), touchTime)
	defer cancel()
	err := u.store.TouchTokens(ctx, last)
	u.mu.Lock()
	u.lastErr = err
	u.mu.Unlock()
}

func (u *uses) close() error {
	u.mu.Lock()
	if !u.closed {
		u.closed = true
		close(u.closing)
	}
	u.mu.Unlock()
	u.writers.Wait()
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.lastErr
}
