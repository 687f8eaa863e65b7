package httpapi

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/plantstore/plantstore/gen/plantapi"
)

var errTooManyRequests = fail(plantapi.CodeTooManyRequests, "too many requests with this token, try again later")

// Rate is how often something may happen: Limit times at once, and as many times
// again in each Per, evenly. The zero Rate is no limit.
type Rate struct {
	Limit int           // at least 1
	Per   time.Duration // at least a microsecond for each of Limit
}

// limiters has a rate limiter for each key. A limiter that was not used for Per is
// full again, so it can be dropped. A cache with a time to live does not replace this
// type: it would also drop limiters that are in use.
type limiters[K comparable] struct {
	Rate
	most int // of all keys; beyond it limiters are dropped that are not full; 0: no bound

	mu         sync.Mutex
	young, old map[K]*rate.Limiter // used since turned; used only before
	turned     time.Time
}

// newLimiters returns nil, which limits nothing, for the zero Rate.
func newLimiters[K comparable](r Rate, most int) *limiters[K] {
	if r.Limit == 0 {
		return nil
	}
	return &limiters[K]{Rate: r, most: most, young: map[K]*rate.Limiter{}, turned: time.Now()}
}

// allow reports whether something may happen for the key, and counts it if so.
func (l *limiters[K]) allow(key K) (quota, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now() // under the lock: a limiter counts time twice if the clock goes back
	limiter := l.of(key, now)
	ok := limiter.AllowN(now, 1)
	return quota{l.Rate, limiter.TokensAt(now)}, ok
}

// of returns the limiter of a key. It needs the lock.
func (l *limiters[K]) of(key K, now time.Time) *rate.Limiter {
	if now.Sub(l.turned) >= l.Per || l.most > 0 && len(l.young) >= l.most/2 {
		l.young, l.old, l.turned = map[K]*rate.Limiter{}, l.young, now
	}
	limiter := l.young[key]
	if limiter == nil {
		limiter = l.old[key]
	}
	if limiter == nil {
		limiter = rate.NewLimiter(rate.Limit(float64(l.Limit)/l.Per.Seconds()), l.Limit)
	}
	l.young[key] = limiter
	return limiter
}

// quota is what is left of a Rate.
type quota struct {
	Rate
	left float64
}

// describe sets the headers that say what is left. Their names are in the canonical
// form of net/http, which saves an allocation for each.
func (q quota) describe(h http.Header) {
	h.Set("Ratelimit-Limit", strconv.Itoa(q.Limit))
	h.Set("Ratelimit-Remaining", strconv.Itoa(int(max(q.left, 0)+1e-6))) // left is not exact
	h.Set("Ratelimit-Reset", strconv.Itoa(q.seconds(float64(q.Limit))))
}

// refuse sets the headers of a response that refuses a request.
func (q quota) refuse(h http.Header) {
	q.describe(h)
	h.Set("Retry-After", strconv.Itoa(max(q.seconds(1), 1)))
}

// seconds is the time until so many are left. It is rounded up, so that a client
// that waits for so long does not come too early.
func (q quota) seconds(left float64) int {
	seconds := (left - q.left) * q.Per.Seconds() / float64(q.Limit)
	return int(math.Ceil(seconds - 1e-6))
}
