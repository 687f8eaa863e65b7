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
	// RememberFor is how long a [Verifier] believes an answer of the store,
	// counted from the question. A change is obeyed everywhere within a second;
	// this is half of it.
	RememberFor = 500 * time.Millisecond

	// lookupTime is how long the store may take over an answer. It does not
	// depend on who asked first and may have gone since.
	lookupTime = 5 * time.Second

	// A memory holds at most twice as many answers of each kind, some 400 bytes
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

func (l *lookup) fresh(now time.Time) bool { return now.Sub(l.began) < RememberFor }

// memory asks the store for tokens and remembers its answers for RememberFor.
// Questions about one id at one time become one.
type memory struct {
	store          Store
	mu             sync.RWMutex
	found, missing recent
	pending        map[string]*lookup

	hits, misses atomic.Uint64 // how often the store was not, and was, asked
	lookups      *semaphore.Weighted
}

func newMemory(store Store) memory {
	return memory{
		store:   store,
		found:   recent{limit: maxFound},
		missing: recent{limit: maxMissing},
		pending: map[string]*lookup{},
		lookups: semaphore.NewWeighted(maxLookups),
	}
}

// metrics are the numbers of look-ups and of entries.
func (m *memory) metrics() []prometheus.Collector {
	lookups := func(result string, n *atomic.Uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        "plantstore_token_cache_lookups_total",
			Help:        "Tokens that were looked up: a hit is in the cache or being read, a miss reads the store.",
			ConstLabels: prometheus.Labels{"result": result},
		}, func() float64 { return float64(n.Load()) })
	}
	return []prometheus.Collector{
		lookups("hit", &m.hits),
		lookups("miss", &m.misses),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "plantstore_token_cache_entries",
			Help: "Tokens in the cache, unknown ones included.",
		}, func() float64 {
			m.mu.RLock()
			defer m.mu.RUnlock()
			return float64(m.found.size() + m.missing.size())
		}),
	}
}

// lookUp returns what the store says, or said less than RememberFor before now,
// about an id.
func (m *memory) lookUp(ctx context.Context, id string, now time.Time) (*lookup, error) {
	m.mu.RLock()
	l := m.remembered(id, now)
	m.mu.RUnlock()
	if l != nil {
		m.hits.Add(1)
		return l, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	if l = m.remembered(id, now); l != nil { // meanwhile
		m.mu.Unlock()
		m.hits.Add(1)
		return l, nil
	}
	if l = m.pending[id]; l != nil && l.fresh(now) {
		m.mu.Unlock()
		m.hits.Add(1)
		select {
		case <-l.done:
			return l, l.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	id = strings.Clone(id) // it is part of a whole Authorization header
	l = &lookup{began: now, done: make(chan struct{}), err: ErrUnavailable}
	m.pending[id] = l
	inUse := m.found.has(id)
	m.mu.Unlock()
	m.misses.Add(1)
	m.ask(ctx, id, l, inUse)
	return l, l.err
}

// ask has l answered by the store and remembers the answer. Ids that are not in
// use wait in order for one of maxLookups.
func (m *memory) ask(ctx context.Context, id string, l *lookup, inUse bool) {
	defer func() { // also if the store panics: others wait
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.pending[id] == l {
			delete(m.pending, id)
		}
		switch {
		case l.err == nil:
			m.found.put(id, l)
		case errors.Is(l.err, ErrNotFound):
			l.token, l.err = Token{}, nil
			m.missing.put(id, l)
		}
		close(l.done)
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTime)
	defer cancel()
	if !inUse {
		if m.lookups.Acquire(ctx, 1) != nil {
			return // l.err is ErrUnavailable
		}
		defer m.lookups.Release(1)
	}
	l.token, l.err = m.store.Token(ctx, id)
}

// remembered returns a fresh answer, or nil. The caller holds mu.
func (m *memory) remembered(id string, now time.Time) *lookup {
	if l := m.found.get(id, now); l != nil {
		return l
	}
	return m.missing.get(id, now)
}

// recent holds lookups of the last RememberFor, and at most twice as many as
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
	if r.young == nil || len(r.young) >= r.limit || l.began.Sub(r.turned) >= RememberFor {
		r.young, r.old, r.turned = map[string]*lookup{}, r.young, l.began
	}
	r.young[id] = l
}
