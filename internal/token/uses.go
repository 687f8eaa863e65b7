package token

import (
	"context"
	"sync"
	"time"
)

const (
	// batchTime is how long uses are collected before they are written, so that
	// many tokens share a write.
	batchTime = time.Second

	// touchTime is how long a write may take.
	touchTime = 10 * time.Second
)

// uses writes the times when tokens were used, in the background, so that no
// request waits for it. A write that fails is not retried: the store still has the
// old time, so the next use of the token is recorded again.
type uses struct {
	store   Store
	closing chan struct{}
	writers sync.WaitGroup

	mu      sync.Mutex
	last    map[string]time.Time // not written yet; nil: no write is scheduled
	closed  bool
	lastErr error // of the latest write
}

// record schedules a write of the use of a token.
func (u *uses) record(id string, at time.Time) {
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

// write waits for more uses for up to batchTime and writes all of them.
func (u *uses) write() {
	timer := time.NewTimer(batchTime)
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
