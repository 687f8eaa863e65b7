// Package backoff waits between attempts.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pause returns a random pause after a number of attempts: up to shortest after the first one, up
// to twice as much after each further one, and never more than longest.
func Pause(attempts int, shortest, longest time.Duration) time.Duration {
	const mostDoublings = 10 // more of them would overflow
	doublings := min(attempts-1, mostDoublings)
	return rand.N(min(shortest<<doublings, longest))
}

// Sleep waits and reports whether there is time for another attempt. If the deadline of ctx comes
// before the end of the pause, it returns at once.
func Sleep(ctx context.Context, pause time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return ctx.Err() == nil
}
