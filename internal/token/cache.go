package token

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
)

const (
	// CacheTTL is how long a [Verifier] uses a result of the store, counted from
	// the start of the lookup. A change of a token takes effect on every server
	// within a second; this is half of it.
	CacheTTL = 500 * time.Millisecond

	// lookupTime is how long a lookup may take, including the wait for its turn.
	// The request that started it may end before: other requests wait for the
	// same lookup.
	lookupTime = 5 * time.Second

	// A cache has at most twice this number of tokens and of unknown IDs, about
	// 400 bytes each. They are separate, so that a flood of unknown IDs does not
	// evict the tokens.
	maxFound   = 8192
	maxMissing = 4096

	// maxLookups is the maximum number of lookups at the same time, so that a
	// flood of unknown tokens leaves connections to the store for other requests.
	// Tokens that are in the cache, even if expired there, are not counted.
	maxLookups = 4
)

// lookup is a read of one token from the store. If the token does not exist, it
// is the zero Token, which accepts no secret: so it is handled, and takes the same
// time, as a token that is expired or revoked.
type lookup struct {
	began time.Time
	done  chan struct{} // closed when token and err are set
	token Token
	err   error
}

func (l *lookup) fresh(now time.Time) bool { return now.Sub(l.began) < CacheTTL }

// cache reads tokens from the store and keeps them for CacheTTL. Concurrent
// lookups of the same ID become one.
type cache struct {
	store          Store
	mu             sync.RWMutex
	found, missing recent
	pending        map[string]*lookup

	hits, misses atomic.Uint64 // lookups without and with a read of the store
	lookups      *semaphore.Weighted
}

func newCache(store Store) cache {
	return cache{
		store:   store,
		found:   recent{limit: maxFound},
		missing: recent{limit: maxMissing},
		pending: map[string]*lookup{},
		lookups: semaphore.NewWeighted(maxLookups),
	}
}

// metrics returns the numbers of lookups and of entries.
func (c *cache) metrics() []prometheus.Collector {
	lookups := func(result string, n *atomic.Uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        "plantstore_token_cache_lookups_total",
			Help:        "Lookups of tokens by result: a hit is cached or already being read, a miss reads the store.",
			ConstLabels: prometheus.Labels{"result": result},
		}, func() float64 { return float64(n.Load()) })
	}
	return []prometheus.Collector{
		lookups("hit", &c.hits),
		lookups("miss", &c.misses),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "plantstore_token_cache_entries",
			Help: "Tokens in the cache, including unknown ones.",
		}, func() float64 {
			c.mu.RLock()
			defer c.mu.RUnlock()
			return float64(c.found.size() + c.missing.size())
		}),
	}
}

// lookUp returns the lookup of an ID, from the cache or from the store.
func (c *cache) lookUp(ctx context.Context, id string, now time.Time) (*lookup, error) {
	c.mu.RLock()
	l := c.cached(id, now)
	c.mu.RUnlock()
	if l != nil {
		c.hits.Add(1)
		return l, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	if l = c.cached(id, now); l != nil { // it was stored while this call waited for the lock
		c.mu.Unlock()
		c.hits.Add(1)
		return l, nil
	}
	if l = c.pending[id]; l != nil && l.fresh(now) {
		c.mu.Unlock()
		c.hits.Add(1)
		select {
		case <-l.done:
			return l, l.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	id = strings.Clone(id) // otherwise the map would keep the whole Authorization header
	l = &lookup{began: now, done: make(chan struct{}), err: ErrUnavailable}
	c.pending[id] = l
	inUse := c.found.has(id)
	c.mu.Unlock()
	c.misses.Add(1)
	c.fetch(ctx, id, l, inUse)
	return l, l.err
}

// fetch reads the token of l from the store and caches it. IDs that are not in use
// wait, in order, for one of maxLookups.
func (c *cache) fetch(ctx context.Context, id string, l *lookup, inUse bool) {
	defer func() { // also if the store panics, because other requests wait for l
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.pending[id] == l {
			delete(c.pending, id)
		}
		switch {
		case l.err == nil:
			c.found.put(id, l)
		case errors.Is(l.err, ErrNotFound):
			l.token, l.err = Token{}, nil
			c.missing.put(id, l)
		}
		close(l.done)
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTime)
	defer cancel()
	if !inUse {
		if c.lookups.Acquire(ctx, 1) != nil {
			return // l.err is ErrUnavailable
		}
		defer c.lookups.Release(1)
	}
	l.token, l.err = c.store.Token(ctx, id)
}

// cached returns a lookup that is not older than CacheTTL, or nil. The caller
// holds mu.
func (c *cache) cached(id string, now time.Time) *lookup {
	if l := c.found.get(id, now); l != nil {
		return l
	}
	return c.missing.get(id, now)
}

// recent has the lookups of the last CacheTTL, at most twice as many as its limit.
// When there are limit young ones, or the first of them is older than CacheTTL,
// they become the old ones, and the old ones are dropped.
type recent struct {
	limit      int
	young, old map[string]*lookup
	turned     time.Time
}

func (r *recent) get(id string, now time.Time) *lookup {
	l := r.young[id]
	if l == nil {
		l = r.old[id]
	}
	if l == nil || !l.fresh(now) {
		return nil
	}
	return l
}

func (r *recent) size() int { return len(r.young) + len(r.old) }

// has reports whether there is a lookup of the ID, whatever its age.
func (r *recent) has(id string) bool { return r.young[id] != nil || r.old[id] != nil }

func (r *recent) put(id string, l *lookup) {
	if r.young == nil || len(r.young) >= r.limit || l.began.Sub(r.turned) >= CacheTTL {
		r.young, r.old, r.turned = map[string]*lookup{}, r.young, l.began
	}
	delete(r.old, id) // size counts it once
	r.young[id] = l
}
