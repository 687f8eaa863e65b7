package limit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Without a free slot, requests wait in order, and give up after a time.
func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots("lists", 1, 5*time.Second)
		take := func() Slot {
			t.Helper()
			slot, err := s.Take(t.Context())
			if err != nil || !slot.Taken() {
				t.Fatalf("Take = %v, %v, want a slot", slot, err)
			}
			return slot
		}
		first := take()
		began := time.Now()
		_, err := s.Take(t.Context())
		if !errors.Is(err, ErrFull) || err.Error() != "too many at the same time: the limit of lists is 1" || time.Since(began) != 5*time.Second {
			t.Errorf("Take = %v after %v, want ErrFull after 5 seconds", err, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Take(ctx); !errors.Is(err, ErrFull) {
			t.Errorf("Take of a request that has ended = %v, want ErrFull", err)
		}
		time.AfterFunc(time.Second, first.Release)
		second := take()
		synctest.Wait()
		first.Release() // does nothing
		if s.TryAcquire(1) {
			t.Error("a slot that was released twice is free twice")
		}
		second.Release()
		third := take()
		third.Release()

		unlimited := NewSlots("requests", 0, 0)
		for range 1000 {
			if _, err := unlimited.Take(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}
