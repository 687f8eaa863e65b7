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
	// CacheTTL is how long a [Verifier] believes an answer of the store,
	// counted from the question. A change is obeyed everywhere within a second;
	// this is half of it.
	CacheTTL = 500 * time.Millisecond

	// lookupTime is how long the store may take over an answer. It does not
	// depend on who asked first and may have gone since.
	lookupTime = 5 * time.Second

	// A cache holds at most twice as many answers of each kind, some 400 bytes
	// each. They are apart, so that no flood of unknown ids drives out the
	// tokens that exist.
	maxFound   = 8192
	maxMissing = 4096

	// maxLookups is how many ids the store is asked about at one time, so that a
	// flood of unknown tokens leaves connections to the store for other requests.
	// Tokens in use are not counted.
	maxLookups = 4
)

// lookup is what the store said about one id. A token that does not exist is
// the zero Token, which accepts no secret: from here on it is treated, and
// timed, like any other that is not in force.
type lookup struct {
	began time.Time
	done  chan struct{} // closed once token and err are there
	token Token
	err   error
}

func (l *lookup) fresh(now time.Time) bool { return now.Sub(l.began) < CacheTTL }

// cache asks the store for tokens and remembers its answers for CacheTTL.
// Questions about one id at one time become one.
type cache struct {
	store          Store
	mu             sync.RWMutex
	found, missing recent
	pending        map[string]*lookup

	hits, misses atomic.Uint64 // how often the store was not, and was, asked
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

// metrics are the numbers of look-ups and of entries.
func (c *cache) metrics() []prometheus.Collector {
	lookups := func(result string, n *atomic.Uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        "plantstore_token_cache_lookups_total",
			Help:        "Tokens that were looked up: a hit is in the cache or being read, a miss reads the store.",
			ConstLabels: prometheus.Labels{"result": result},
		}, func() float64 { return float64(n.Load()) })
	}
	return []prometheus.Collector{
		lookups("hit", &c.hits),
		lookups("miss", &c.misses),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "plantstore_token_cache_entries",
			Help: "Tokens in the cache, unknown ones included.",
		}, func() float64 {
			c.mu.RLock()
			defer c.mu.RUnlock()
			return float64(c.found.size() + c.missing.size())
		}),
	}
}

// lookUp returns what the store says, or said less than CacheTTL before now,
// about an id.
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
	if l = c.cached(id, now); l != nil { // meanwhile
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
	id = strings.Clone(id) // it is part of a whole Authorization header
	l = &lookup{began: now, done: make(chan struct{}), err: ErrUnavailable}
	c.pending[id] = l
	inUse := c.found.has(id)
	c.mu.Unlock()
	c.misses.Add(1)
	c.ask(ctx, id, l, inUse)
	return l, l.err
}

// ask has l answered by the store and remembers the answer. Ids that are not in
// use wait in order for one of maxLookups.
func (c *cache) ask(ctx context.Context, id string, l *lookup, inUse bool) {
	defer func() { // also if the store panics: others wait
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

// cached returns a fresh answer, or nil. The caller holds mu.
func (c *cache) cached(id string, now time.Time) *lookup {
	if l := c.found.get(id, now); l != nil {
		return l
	}
	return c.missing.get(id, now)
}

// recent holds lookups of the last CacheTTL, and at most twice as many as
// its limit: when the young ones are that many or that old, the old ones go.
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

// has reports whether there is an answer, fresh or not.
func (r *recent) has(id string) bool { return r.young[id] != nil || r.old[id] != nil }

func (r *recent) put(id string, l *lookup) {
	if r.young == nil || len(r.young) >= r.limit || l.began.Sub(r.turned) >= CacheTTL {
		r.young, r.old, r.turned = map[string]*lookup{}, r.young, l.began
	}
	r.young[id] = l
}
