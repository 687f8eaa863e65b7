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

// slowStore takes a second over each question and counts those that wait for an
// answer at one time. It has the tokens that it was given.
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

// Unknown tokens are looked up in order and only so many at one time; a good
// token among them is served after its turn, and one in use at once.
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
			synctest.Wait() // so that they queue in this order
		}
		const most = 4 // as cmd/plantstore/README.md says
		for i := range 2 * most {
			_, unknown := New("unknown", nil, 0)
			verify(fmt.Sprint("unknown ", i), unknown, ErrInvalid, time.Duration(1+i/most)*time.Second)
		}
		verify("a good token behind them", freshText, nil, 3*time.Second)
		verify("a good token in use", inUseText, nil, time.Second)
		verify("no token", "pst_nonsense", ErrInvalid, 0)
		if got := store.atOnce.Load(); got != most+1 {
			t.Errorf("%d questions at one time, want %d, and one for the token in use", got, most)
		}
		wg.Wait()
		if got, want := store.asked.Load(), int64(2*most+3); got != want {
			t.Errorf("the store was asked %d times, want %d", got, want)
		}
	})
}

// A token does not wait for its turn longer than for a store that does not
// answer.
func TestLookupTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, err := NewVerifier(&slowStore{}, "")
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		if !v.cache.lookups.TryAcquire(maxLookups) {
			t.Fatal("look-ups are under way")
		}
		_, text := New("n", nil, 0)
		began := time.Now()
		if _, err := v.Verify(t.Context(), text); !errors.Is(err, ErrUnavailable) || time.Since(began) != lookupTime {
			t.Errorf("Verify = %v after %v, want ErrUnavailable after %v", err, time.Since(began), lookupTime)
		}
	})
}
