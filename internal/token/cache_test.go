package token

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/testing/metricstest"
)

// onlyOne is a store with one token. This test cannot use a real store, because
// the stores import this package and the size of the cache is not exported.
type onlyOne struct {
	Store
	id      string
	lookups int
}

func (s *onlyOne) Token(_ context.Context, id string) (Token, error) {
	s.lookups++
	if id != s.id {
		return Token{}, ErrNotFound
	}
	return Token{ID: id}, nil
}

// A flood of unknown IDs takes a bounded amount of memory and does not evict the
// tokens that exist.
func TestFloodOfUnknownTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &onlyOne{id: "the one"}
		c := newLookups(store)
		look := func(id string) {
			if _, err := c.token(t.Context(), id, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		look(store.id)
		for i := range 20 * maxMissing {
			look(fmt.Sprint("unknown ", i))
		}
		if got := c.missing.Len(); got > 2*maxMissing {
			t.Errorf("the cache has %d unknown ids, want at most %d", got, 2*maxMissing)
		}
		asked := store.lookups
		look(store.id)
		look(fmt.Sprint("unknown ", 20*maxMissing-1))
		if store.lookups != asked {
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
		store := &onlyOne{id: "the one"}
		c := newLookups(store)
		for _, id := range []string{"the one", "the one", "another", "the one", "another"} {
			if _, err := c.token(t.Context(), id, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		got := metricstest.Of(t, c.metrics())
		want := map[string]float64{
			`plantstore_token_cache_lookups_total{result="hit"}`:  3,
			`plantstore_token_cache_lookups_total{result="miss"}`: float64(store.lookups),
			"plantstore_token_cache_entries":                      2,
		}
		if store.lookups != 2 || !maps.Equal(got, want) {
			t.Errorf("the metrics are %v, want %v", got, want)
		}
	})
}
