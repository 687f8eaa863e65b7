// Package limit bounds what clients may use: [Rates] how often something may happen for
// each key, [Slots] how many requests may do something at the same time, [Account] how much
// memory they hold while they wait for their clients.
package limit

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
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

// NewRates returns limiters for any number of keys, or for at most maxKeys if that is not 0:
// then limiters are dropped although they are not full. For the zero Rate it returns nil,
// which limits nothing.
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

// seconds returns the time until the given number is left, in seconds. It is rounded up, so
// that a client that waits for this time does not come too early.
func (q Quota) seconds(left float64) int {
	seconds := (left - q.left) * q.rate.Per.Seconds() / float64(q.rate.Limit)
	return int(math.Ceil(seconds - 1e-6))
}

// ErrFull means that there is no room now: no slot is free, or a client was cut off because
// the memory is needed for others.
var ErrFull = errors.New("too many at the same time")

// Slots limits how many requests do something at the same time.
type Slots struct {
	*semaphore.Weighted
	N    int64 // the number of slots; it and Weighted are exported for tests
	name string

	taken atomic.Int64
	mu    sync.Mutex
	byKey map[string]int64 // the number of slots that each key of TakeShare has
}

// NewSlots returns n slots, or any number of them if n is 0. Errors have the name.
func NewSlots(name string, n int64) *Slots {
	size := cmp.Or(n, math.MaxInt64)
	return &Slots{Weighted: semaphore.NewWeighted(size), N: size, name: name, byKey: map[string]int64{}}
}

// Slot is one of the [Slots], which a request has until [Slot.Release]. The zero Slot is not
// one of them.
type Slot struct {
	slots *Slots
	key   string // empty if it is not from TakeShare
}

// Take returns a slot, or [ErrFull] if none is free.
func (s *Slots) Take() (Slot, error) {
	if !s.TryAcquire(1) {
		return Slot{}, s.full(s.N)
	}
	s.taken.Add(1)
	return Slot{slots: s}, nil
}

// Taken returns how many slots are taken.
func (s *Slots) Taken() int64 { return s.taken.Load() }

// Free returns [ErrFull] if no slot is free.
func (s *Slots) Free() error {
	slot, err := s.Take()
	slot.Release()
	return err
}

// TakeShare returns a slot for a key, as Take does. A key may have half of the slots at the
// same time; if it has them, TakeShare returns [ErrFull].
func (s *Slots) TakeShare(key string) (Slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	share := s.N - s.N/2
	if s.byKey[key] >= share {
		return Slot{}, fmt.Errorf("for one token: %w", s.full(share))
	}
	slot, err := s.Take()
	if err == nil {
		s.byKey[key]++
		slot.key = key
	}
	return slot, err
}

func (s *Slots) full(n int64) error {
	return fmt.Errorf("%w: the limit of %s is %d", ErrFull, s.name, n)
}

// Release returns the slot. Further calls do nothing.
func (s *Slot) Release() {
	if s.slots == nil {
		return
	}
	if s.key != "" {
		s.slots.removeShare(s.key)
	}
	s.slots.taken.Add(-1)
	s.slots.Release(1)
	*s = Slot{}
}

// removeShare counts a slot of a key less.
func (s *Slots) removeShare(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byKey[key]--
	if s.byKey[key] == 0 {
		delete(s.byKey, key)
	}
}
