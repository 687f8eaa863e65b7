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
	store Store

	mu     sync.Mutex
	last   map[string]time.Time // not written yet; nil: no write is scheduled
	closed bool

	writing sync.Mutex
	err     error // of the latest write
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
		time.AfterFunc(batchTime, func() { _ = u.write() })
	}
	u.last[id] = at
}

// write writes the uses that are not written yet. It returns the error of the latest
// write.
func (u *uses) write() error {
	u.writing.Lock()
	defer u.writing.Unlock()
	u.mu.Lock()
	last := u.last
	u.last = nil
	u.mu.Unlock()
	if last != nil {
		ctx, cancel := context.WithTimeout(context.Background(), touchTime)
		defer cancel()
		u.err = u.store.TouchTokens(ctx, last)
	}
	return u.err
}

func (u *uses) close() error {
	u.mu.Lock()
	u.closed = true
	u.mu.Unlock()
	return u.write()
}
