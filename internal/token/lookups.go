package token

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"github.com/plantstore/plantstore/internal/cache"
)

const (
	// CacheTTL is how long a [Verifier] uses a result of the store, counted from
	// the start of the read. A change of a token takes effect on every server
	// within a second; this is half of it.
	CacheTTL = 500 * time.Millisecond

	// lookupTime is how long a read may take, including the wait for its turn.
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

// lookup is the result of a read of the store. If the token does not exist, it is the
// zero Token, which accepts no secret: so it is handled, and takes the same time, as a
// token that is expired or revoked.
type lookup struct {
	began time.Time
	token Token
}

func (l *lookup) fresh(now time.Time) bool { return now.Sub(l.began) < CacheTTL }

// lookups reads tokens from the store and keeps them for CacheTTL. Concurrent lookups
// of the same ID become one.
type lookups struct {
	store Store
	group singleflight.Group
	slots *semaphore.Weighted

	mu             sync.RWMutex
	found, missing cache.Cache[string, *lookup] // by ID

	hits, misses atomic.Uint64 // lookups without and with a read of the store
}

func newLookups(store Store) *lookups {
	return &lookups{
		store:   store,
		slots:   semaphore.NewWeighted(maxLookups),
		found:   cache.Cache[string, *lookup]{MaxSize: maxFound, MaxAge: CacheTTL},
		missing: cache.Cache[string, *lookup]{MaxSize: maxMissing, MaxAge: CacheTTL},
	}
}

// metrics returns the numbers of lookups and of entries.
func (l *lookups) metrics() []prometheus.Collector {
	lookups := func(result string, n *atomic.Uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        "plantstore_token_cache_lookups_total",
			Help:        "Lookups of tokens by result: a hit is cached or already being read, a miss reads the store.",
			ConstLabels: prometheus.Labels{"result": result},
		}, func() float64 { return float64(n.Load()) })
	}
	return []prometheus.Collector{
		lookups("hit", &l.hits),
		lookups("miss", &l.misses),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "plantstore_token_cache_entries",
			Help: "Tokens in the cache, including unknown ones.",
		}, func() float64 {
			l.mu.RLock()
			defer l.mu.RUnlock()
			return float64(l.found.Len() + l.missing.Len())
		}),
	}
}

// token returns the token with an ID, or the zero Token, from the cache or the store.
func (l *lookups) token(ctx context.Context, id string, now time.Time) (*Token, error) {
	for {
		if cached := l.cached(id, now); cached != nil {
			l.hits.Add(1)
			return &cached.token, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		joined := true
		read := l.group.DoChan(id, func() (any, error) {
			joined = false
			return l.read(ctx, id)
		})
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case result := <-read:
			if result.Err != nil {
				return nil, result.Err
			}
			if joined {
				l.hits.Add(1)
			}
			// A token that was read earlier may have been revoked since.
			if found := result.Val.(*lookup); found.fresh(now) {
				return &found.token, nil
			}
		}
	}
}

// cached returns a fresh lookup of an ID, or nil.
func (l *lookups) cached(id string, now time.Time) *lookup {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if found, ok := l.found.Get(id); ok && found.fresh(now) {
		return found
	}
	if missing, ok := l.missing.Get(id); ok && missing.fresh(now) {
		return missing
	}
	return nil
}

// read reads a token from the store and caches it. It does not end with the request
// that started it, because others wait for it, too. IDs that are not in use wait, in
// order, for one of maxLookups.
func (l *lookups) read(ctx context.Context, id string) (found *lookup, err error) {
	defer func() { // a panic in a singleflight.Group ends the program
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: panic: %v\n%s", ErrUnavailable, p, debug.Stack())
		}
	}()
	if found = l.cached(id, time.Now()); found != nil { // another read has just ended
		return found, nil
	}
	l.misses.Add(1)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTime)
	defer cancel()
	l.mu.RLock()
	_, inUse := l.found.Get(id)
	l.mu.RUnlock()
	if !inUse {
		if l.slots.Acquire(ctx, 1) != nil {
			return nil, ErrUnavailable
		}
		defer l.slots.Release(1)
	}
	found = &lookup{began: time.Now()}
	found.token, err = l.store.Token(ctx, id)
	id = strings.Clone(id) // otherwise the cache would keep the whole Authorization header
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.found.Set(id, found, 1, found.began)
	case errors.Is(err, ErrNotFound):
		found.token, err = Token{}, nil
		l.missing.Set(id, found, 1, found.began)
	}
	return found, err
}
