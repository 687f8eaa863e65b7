// Package wait lets tests wait for what happens elsewhere, never without a deadline.
package wait

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Limit is how long a test waits for something that takes less time, even on a slow
// machine.
const Limit = time.Minute

// For returns the next value of a channel. It fails the test if there is none within
// [Limit].
func For[T any](t testing.TB, what string, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(Limit):
		t.Fatalf("waited %v for %s", Limit, what)
	}
	return value
}

// Until returns when a condition holds. It fails the test if that takes longer than
// [Limit].
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(Limit); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v until %s", Limit, what)
		}
	}
}

// Repeat calls a function again and again while the test goes on, in n goroutines, with
// the number of each. One ends when the function returns false, all of them when stop is
// called, which waits for the last calls.
func Repeat(n int, do func(i int) (again bool)) (stop func()) {
	var stopped atomic.Bool
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			for !stopped.Load() && do(i) {
			}
		})
	}
	return func() {
		stopped.Store(true)
		running.Wait()
	}
}
