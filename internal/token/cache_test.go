package token

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/metricstest"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// slowStore has the given tokens. It counts lookups, and the maximum at the same time.
// These tests cannot use a real store, because the stores import this package and the
// size of the cache is not exported.
type slowStore struct {
	Store
	tokens             map[string]Token
	delay              time.Duration
	asked, now, atOnce atomic.Int64
}

func (s *slowStore) Token(ctx context.Context, id string) (Token, error) {
	s.asked.Add(1)
	s.atOnce.Store(max(s.atOnce.Load(), s.now.Add(1)))
	defer s.now.Add(-1)
	select {
	case <-time.After(s.delay):
	case <-ctx.Done():
		return Token{}, ErrUnavailable
	}
	if t, ok := s.tokens[id]; ok {
		return t, nil
	}
	return Token{}, ErrNotFound
}

func (*slowStore) TouchTokens(context.Context, map[string]time.Time) error { return nil }

// A flood of unknown IDs takes a bounded amount of memory and does not evict the
// tokens that exist.
func TestFloodOfUnknownTokens(t *testing.T) {
	must.HaveTime(t)
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{tokens: map[string]Token{"the one": {}}}
		c := newLookups(store)
		look := func(id string) {
			_, err := c.token(t.Context(), id, time.Now())
			must.NoError(t, err)
		}
		look("the one")
		for i := range 20 * maxMissing {
			look(fmt.Sprint("unknown ", i))
		}
		if got := c.missing.Len(); got > 2*maxMissing {
			t.Errorf("the cache has %d unknown ids, want at most %d", got, 2*maxMissing)
		}
		asked := store.asked.Load()
		look("the one")
		look(fmt.Sprint("unknown ", 20*maxMissing-1))
		if store.asked.Load() != asked {
			t.Error("after the flood the cache lacks a token that exists, or the latest unknown one")
		}
		time.Sleep(CacheTTL)
		look("another")
		time.Sleep(CacheTTL)
		look("yet another")
		if got := c.missing.Len(); got != 2 {
			t.Errorf("a second after the flood the cache has %d unknown ids, want 2", got)
		}
	})
}

func TestCacheMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{tokens: map[string]Token{"the one": {}}, delay: time.Millisecond}
		c := newLookups(store)
		look := func(id string) {
			_, err := c.token(t.Context(), id, time.Now())
			expect.Error(t, "token "+id, err, nil)
		}
		for _, id := range []string{"the one", "the one", "another", "the one", "another"} {
			look(id)
		}
		var wg sync.WaitGroup
		for range 2 { // the second one waits for what the first one reads
			wg.Go(func() { look("yet another") })
		}
		wg.Wait()
		got := metricstest.Of(t, c.metrics())
		want := map[string]float64{
			`plantstore_token_cache_lookups_total{result="hit"}`:  4,
			`plantstore_token_cache_lookups_total{result="miss"}`: float64(store.asked.Load()),
			"plantstore_token_cache_entries":                      3,
		}
		if store.asked.Load() != 3 || !maps.Equal(got, want) {
			t.Errorf("the metrics are %v, want %v", got, want)
		}
	})
}

// Unknown tokens are looked up in order, and at most four at the same time. A valid
// token that is not cached waits for its turn; one that is in use does not wait.
func TestLookupsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inUse, inUseText := New("in use", []Scope{Read}, time.Hour)
		fresh, freshText := New("fresh", []Scope{Read}, time.Hour)
		store := &slowStore{tokens: map[string]Token{inUse.ID: inUse, fresh.ID: fresh}, delay: time.Second}
		v := NewVerifier(store, "")
		defer v.Close()
		_, err := v.Verify(t.Context(), inUseText)
		must.NoError(t, err)
		store.atOnce.Store(0)

		var wg sync.WaitGroup
		verify := func(what, text string, want error, takes time.Duration) {
			wg.Go(func() {
				began := time.Now()
				_, err := v.Verify(t.Context(), text)
				expect.Error(t, what, err, want)
				if took := time.Since(began); took != takes {
					t.Errorf("%s took %v, want %v", what, took, takes)
				}
			})
			synctest.Wait() // so that the lookups queue in this order
		}
		const most = 4 // as the operator's manual says
		for i := range 2 * most {
			_, unknown := New("unknown", nil, 0)
			verify(fmt.Sprint("unknown ", i), unknown, ErrInvalid, time.Duration(1+i/most)*time.Second)
		}
		verify("a valid token behind them", freshText, nil, 3*time.Second)
		verify("a valid token in use", inUseText, nil, time.Second)
		verify("no token", "pst_nonsense", ErrInvalid, 0)
		if got := store.atOnce.Load(); got != most+1 {
			t.Errorf("%d lookups at the same time, want %d, and one for the token in use", got, most)
		}
		wg.Wait()
		if got, want := store.asked.Load(), int64(2*most+3); got != want {
			t.Errorf("the store had %d lookups, want %d", got, want)
		}
	})
}

// The wait for a turn is bounded by lookupTime, as the lookup itself is.
func TestLookupTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := NewVerifier(&slowStore{}, "")
		defer v.Close()
		if !v.lookups.slots.TryAcquire(maxLookups) {
			t.Fatal("lookups are in progress")
		}
		_, text := New("n", nil, 0)
		began := time.Now()
		if _, err := v.Verify(t.Context(), text); !errors.Is(err, ErrUnavailable) || time.Since(began) != lookupTime {
			t.Errorf("Verify = %v after %v, want ErrUnavailable after %v", err, time.Since(began), lookupTime)
		}
	})
}
