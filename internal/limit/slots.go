package limit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/sync/semaphore"
)

// ErrFull means that no slot was free.
var ErrFull = errors.New("too many at the same time")

// Slots limits how many requests do something at the same time.
type Slots struct {
	*semaphore.Weighted
	N    int64 // how many slots there are
	name string
	wait time.Duration
}

// NewSlots returns n slots; 0 means no limit. A request waits at most so long for one.
// The name of the slots is in errors.
func NewSlots(name string, n int, wait time.Duration) *Slots {
	size := int64(n)
	if n == 0 {
		size = math.MaxInt64
	}
	return &Slots{semaphore.NewWeighted(size), size, name, wait}
}

// Slot must be released. The zero Slot is none.
type Slot struct{ of *Slots }

// Take returns a slot, in the order of the calls. It fails with [ErrFull] if none is free
// in time.
func (s *Slots) Take(ctx context.Context) (Slot, error) {
	if s.TryAcquire(1) {
		return Slot{s}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	if err := s.Acquire(ctx, 1); err != nil {
		return Slot{}, fmt.Errorf("%w: the limit of %s is %d", ErrFull, s.name, s.N)
	}
	return Slot{s}, nil
}

// Taken reports whether the slot must be released.
func (s Slot) Taken() bool { return s.of != nil }

// Release returns the slot. Further calls do nothing.
func (s *Slot) Release() {
	if s.of != nil {
		s.of.Release(1)
		s.of = nil
	}
}
