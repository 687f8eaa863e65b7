package token

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slowStore has the given tokens. Each lookup takes a second; it counts them, and
// the maximum at the same time.
type slowStore struct {
	Store
	tokens             map[string]Token
	asked, now, atOnce atomic.Int64
}

func (s *slowStore) Token(ctx context.Context, id string) (Token, error) {
	s.asked.Add(1)
	s.atOnce.Store(max(s.atOnce.Load(), s.now.Add(1)))
	defer s.now.Add(-1)
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return Token{}, ErrUnavailable
	}
	if t, ok := s.tokens[id]; ok {
		return t, nil
	}
	return Token{}, ErrNotFound
}

func (*slowStore) TouchTokens(context.Context, map[string]time.Time) error { return nil }

// Unknown tokens are looked up in order, and at most four at the same time. A valid
// token that is not cached waits for its turn; one that is in use does not wait.
func TestLookupsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inUse, inUseText := New("in use", []Scope{Read}, time.Hour)
		fresh, freshText := New("fresh", []Scope{Read}, time.Hour)
		store := &slowStore{tokens: map[string]Token{inUse.ID: inUse, fresh.ID: fresh}}
		v, err := NewVerifier(store, "")
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		if _, err := v.Verify(t.Context(), inUseText); err != nil {
			t.Fatal(err)
		}
		store.atOnce.Store(0)

		var wg sync.WaitGroup
		verify := func(what, text string, want error, takes time.Duration) {
			wg.Go(func() {
				began := time.Now()
				if _, err := v.Verify(t.Context(), text); !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", what, err, want)
				}
				if took := time.Since(began); took != takes {
					t.Errorf("%s took %v, want %v", what, took, takes)
				}
			})
			synctest.Wait() // so that the lookups queue in this order
		}
		const most = 4 // as cmd/plantstore/README.md says
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
		v, err := NewVerifier(&slowStore{}, "")
		if err != nil {
			t.Fatal(err)
		}
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
