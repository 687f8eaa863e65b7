package backoff_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/backoff"
)

// A pause doubles with each attempt, up to the longest one, and half of it is left to chance.
func TestPause(t *testing.T) {
	const shortest, longest = 100 * time.Millisecond, 5 * time.Second
	for attempts, most := range map[int]time.Duration{
		1: shortest, 2: 2 * shortest, 6: 32 * shortest, 7: longest, 1000: longest,
	} {
		var sum time.Duration
		for range 1000 {
			pause := backoff.Pause(attempts, shortest, longest)
			sum += pause
			if pause < 0 || pause >= most {
				t.Fatalf("after %d attempts the pause is %v, want less than %v", attempts, pause, most)
			}
		}
		if mean := sum / 1000; mean < most*2/5 || mean > most*3/5 {
			t.Errorf("after %d attempts the mean pause is %v, want half of %v", attempts, mean, most)
		}
	}
}

// A pause ends with its time or with the context, and does not begin if the deadline comes first.
func TestSleep(t *testing.T) {
	for name, c := range map[string]struct {
		cancel, deadline time.Duration // of the context; 0: none
		want             bool
		took             time.Duration
	}{
		"without a deadline": {want: true, took: time.Minute},
		"a late deadline":    {deadline: time.Hour, want: true, took: time.Minute},
		"an early deadline":  {deadline: time.Second},
		"the same time":      {deadline: time.Minute},
		"cancelled":          {cancel: time.Second, took: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.cancel > 0 {
					time.AfterFunc(c.cancel, cancel)
				}
				if c.deadline > 0 {
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				began := time.Now()
				if got := backoff.Sleep(ctx, time.Minute); got != c.want || time.Since(began) != c.took {
					t.Errorf("Sleep = %v after %v, want %v after %v", got, time.Since(began), c.want, c.took)
				}
			})
		})
	}
}
