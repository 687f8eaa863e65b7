// Package limit bounds what clients may use: [Rates] how often something may happen for
// each key, [Slots] how many requests may do something at the same time.
package limit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/plantstore/plantstore/internal/cache"
)

// Rate is how often something may happen: Limit times at once, and as many times
// again in each Per, evenly. The zero Rate is no limit.
type Rate struct {
	Limit int           // at least 1
	Per   time.Duration // at least a microsecond for each of Limit
}

// Rates has a rate limiter for each key. A limiter that was not used for Per is
// full again, so it can be dropped.
type Rates[K comparable] struct {
	rate  Rate
	mu    sync.Mutex
	cache cache.Cache[K, *rate.Limiter]
}

// NewRates returns nil, which limits nothing, for the zero Rate. Beyond the maximum
// of keys limiters are dropped that are not full; 0 means no maximum.
func NewRates[K comparable](r Rate, maxKeys int) *Rates[K] {
	if r.Limit == 0 {
		return nil
	}
	return &Rates[K]{rate: r, cache: cache.Cache[K, *rate.Limiter]{MaxSize: maxKeys / 2, MaxAge: r.Per}}
}

// Use counts something that happens for the key, unless the quota refuses it.
func (l *Rates[K]) Use(key K) Quota {
	if l == nil {
		return Quota{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now() // under the lock: a limiter counts time twice if the clock goes back
	limiter, ok := l.cache.Get(key)
	if !ok {
		limiter = rate.NewLimiter(rate.Limit(float64(l.rate.Limit)/l.rate.Per.Seconds()), l.rate.Limit)
	}
	l.cache.Set(key, limiter, 1, now)
	refused := !limiter.AllowN(now, 1)
	return Quota{refused, l.rate, limiter.TokensAt(now)}
}

// Quota is what is left of a Rate. The zero Quota belongs to no limit.
type Quota struct {
	Refused bool // nothing was left
	rate    Rate
	left    float64
}

// Describe sets the headers of a response that say what is left. Their names are in the
// canonical form of net/http, which saves an allocation for each.
func (q Quota) Describe(h http.Header) {
	if q.rate.Limit == 0 {
		return
	}
	h.Set("Ratelimit-Limit", strconv.Itoa(q.rate.Limit))
	h.Set("Ratelimit-Remaining", strconv.Itoa(int(max(q.left, 0)+1e-6))) // left is not exact
	h.Set("Ratelimit-Reset", strconv.Itoa(q.seconds(float64(q.rate.Limit))))
	if q.Refused {
		h.Set("Retry-After", strconv.Itoa(max(q.seconds(1), 1)))
	}
}

// seconds is the time until so many are left. It is rounded up, so that a client
// that waits for so long does not come too early.
func (q Quota) seconds(left float64) int {
	seconds := (left - q.left) * q.rate.Per.Seconds() / float64(q.rate.Limit)
	return int(math.Ceil(seconds - 1e-6))
}

// ErrFull means that no slot was free.
var ErrFull = errors.New("too many at the same time")

// Slots limits how many requests do something at the same time.
type Slots struct {
	*semaphore.Weighted
	N    int64 // how many slots there are; exported for tests, as is Weighted
	name string
	wait time.Duration
}

// NewSlots returns n slots; 0 means no limit. A request waits at most so long for one.
// The name of the slots is in errors.
func NewSlots(name string, n int, wait time.Duration) *Slots {
	size := cmp.Or(int64(n), math.MaxInt64)
	return &Slots{semaphore.NewWeighted(size), size, name, wait}
}

// Slot is the right of a request to do something, until it is released. The zero Slot is
// none.
type Slot struct{ of *Slots }

// Take returns a slot, in the order of the calls. It fails with [ErrFull] if none is free
// in time, and with the error of ctx if that ends first.
func (s *Slots) Take(ctx context.Context) (Slot, error) {
	if s.TryAcquire(1) {
		return Slot{s}, nil
	}
	limited, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	switch err := s.Acquire(limited, 1); {
	case ctx.Err() != nil && err != nil:
		return Slot{}, ctx.Err()
	case err != nil:
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
