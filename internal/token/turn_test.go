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

// Suspects with unknown tokens ask the store one after the other; a good token
// among them is served after its turn, one in use at once, and nobody else waits.
func TestVerifyInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inUse, inUseText := New("in use", []Scope{Read}, time.Hour)
		fresh, freshText := New("fresh", []Scope{Read}, time.Hour)
		other, otherText := New("other", []Scope{Read}, time.Hour)
		store := &slowStore{tokens: map[string]Token{inUse.ID: inUse, fresh.ID: fresh, other.ID: other}}
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
		verify := func(what, text string, by func(context.Context, string) (Token, error), want error, takes time.Duration) {
			wg.Go(func() {
				began := time.Now()
				if _, err := by(t.Context(), text); !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", what, err, want)
				}
				if took := time.Since(began); took != takes {
					t.Errorf("%s took %v, want %v", what, took, takes)
				}
			})
			synctest.Wait() // so that they queue in this order
		}
		for i := range 2 {
			_, unknown := New("unknown", nil, 0)
			verify(fmt.Sprint("unknown ", i), unknown, v.VerifyInTurn, ErrInvalid, time.Duration(i+1)*time.Second)
		}
		verify("a good token behind them", freshText, v.VerifyInTurn, nil, 3*time.Second)
		verify("a good token in use", inUseText, v.VerifyInTurn, nil, time.Second)
		verify("a good token of no suspect", otherText, v.Verify, nil, time.Second)
		verify("no token", "pst_nonsense", v.VerifyInTurn, ErrInvalid, 0)
		if got := store.atOnce.Load(); got != 3 {
			t.Errorf("%d questions at one time, want 3: one of the suspects, and two that do not wait", got)
		}
		wg.Wait()
		if got := store.asked.Load(); got != 6 {
			t.Errorf("the store was asked %d times, want 6", got)
		}
	})
}

// Nobody waits for a turn longer than for a store that does not answer.
func TestVerifyInTurnGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, err := NewVerifier(&slowStore{}, "")
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		v.memory.turn <- struct{}{}
		_, text := New("n", nil, 0)
		began := time.Now()
		if _, err := v.VerifyInTurn(t.Context(), text); !errors.Is(err, ErrUnavailable) || time.Since(began) != lookupTime {
			t.Errorf("VerifyInTurn = %v after %v, want ErrUnavailable after %v", err, time.Since(began), lookupTime)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := v.VerifyInTurn(ctx, text); !errors.Is(err, context.Canceled) {
			t.Errorf("VerifyInTurn of a caller who has gone = %v, want context.Canceled", err)
		}
	})
}
