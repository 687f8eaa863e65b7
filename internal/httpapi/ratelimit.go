package httpapi

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/cache"
)

var errTooManyRequests = fail(plantapi.CodeTooManyRequests, "too many requests with this token, try again later")

// Rate is how often something may happen: Limit times at once, and as many times
// again in each Per, evenly. The zero Rate is no limit.
type Rate struct {
	Limit int           // at least 1
	Per   time.Duration // at least a microsecond for each of Limit
}

// limiters has a rate limiter for each key. A limiter that was not used for Per is
// full again, so it can be dropped.
type limiters[K comparable] struct {
	Rate
	mu    sync.Mutex
	cache cache.Cache[K, *rate.Limiter]
}

// newLimiters returns nil, which limits nothing, for the zero Rate. Beyond the maximum
// of keys limiters are dropped that are not full; 0 means no maximum.
func newLimiters[K comparable](r Rate, maxKeys int) *limiters[K] {
	if r.Limit == 0 {
		return nil
	}
	return &limiters[K]{Rate: r, cache: cache.Cache[K, *rate.Limiter]{MaxSize: maxKeys / 2, MaxAge: r.Per}}
}

// allow reports whether something may happen for the key, and counts it if so.
func (l *limiters[K]) allow(key K) (quota, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now() // under the lock: a limiter counts time twice if the clock goes back
	limiter, ok := l.cache.Get(key)
	if !ok {
		limiter = rate.NewLimiter(rate.Limit(float64(l.Limit)/l.Per.Seconds()), l.Limit)
	}
	l.cache.Set(key, limiter, 1, now)
	ok = limiter.AllowN(now, 1)
	return quota{l.Rate, limiter.TokensAt(now)}, ok
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
