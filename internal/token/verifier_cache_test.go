package token_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/token"
)

// watched is a real store that counts reads and writes, and delays them or fails.
type watched struct {
	token.Store
	lookups, touches atomic.Int64
	delay            time.Duration
	readErr          func(ctx context.Context) error // nil: none
	touchErr         error
}

func (s *watched) Token(ctx context.Context, id string) (token.Token, error) {
	s.lookups.Add(1)
	if s.readErr != nil {
		if err := s.readErr(ctx); err != nil {
			return token.Token{}, err
		}
	}
	t, err := s.Store.Token(ctx, id)
	time.Sleep(s.delay)
	return t, errors.Join(err, ctx.Err())
}

func (s *watched) TouchTokens(ctx context.Context, used map[string]time.Time) error {
	s.touches.Add(1)
	if s.touchErr != nil {
		return s.touchErr
	}
	return s.Store.TouchTokens(ctx, used)
}

// Concurrent first requests with one token share a lookup, also when the client of
// the first one disconnects.
func TestConcurrentVerifyReadsStoreOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &watched{Store: open(t), delay: 100 * time.Millisecond}
		text := create(t, store, nil)
		v := verifier(t, store, "")
		first, hangUp := context.WithCancel(t.Context())
		go func() { _, _ = v.Verify(first, text) }()
		synctest.Wait()
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				wantVerify(t, v, text, nil)
			})
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := v.Verify(impatient, text)
		expect.Error(t, "after the deadline of its context Verify", err, context.DeadlineExceeded)
		hangUp()
		wg.Wait()
		if got := store.lookups.Load(); got != 1 {
			t.Errorf("1000 first requests took %d lookups in the store, want 1", got)
		}
	})
}

// A request does not use a lookup that another one began more than CacheTTL ago: the
// token may have been revoked since.
func TestVerifyDuringSlowLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &watched{Store: open(t), delay: 2 * token.CacheTTL}
		text := create(t, store, nil)
		v := verifier(t, store, "")
		first := make(chan error, 1)
		go func() { _, err := v.Verify(t.Context(), text); first <- err }()
		time.Sleep(token.CacheTTL) // the lookup has read the token
		all, err := store.Tokens(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		revoke := func(stored *token.Token) error { stored.Revoke(time.Now()); return nil }
		must.NoError(t, store.UpdateToken(t.Context(), all[0].ID, revoke))
		wantVerify(t, v, text, token.ErrInvalid)
		if err := <-first; err != nil {
			t.Errorf("Verify that began before the revocation = %v", err)
		}
	})
}

// If the store fails or panics in a lookup, the requests that wait for it fail. The next one reads the store again.
func TestVerifyAfterFailure(t *testing.T) {
	for name, fail := range map[string]func(context.Context) error{
		"panics": func(context.Context) error { panic("a bug") },
		"fails":  func(context.Context) error { return token.ErrUnavailable },
	} {
		synctest.Test(t, func(t *testing.T) {
			store := &watched{Store: open(t)}
			store.readErr = func(ctx context.Context) error {
				time.Sleep(10 * time.Millisecond)
				return fail(ctx)
			}
			v := verifier(t, store, "")
			text := create(t, store, nil)
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() { wantVerify(t, v, text, token.ErrUnavailable) })
			}
			both.Wait()
			if got := store.lookups.Load(); got != 1 {
				t.Errorf("%s: there were %d lookups, want one", name, got)
			}
			store.readErr = nil
			wantVerify(t, v, text, nil)
		})
	}
}

// Half a second after a change of a token, every server applies it.
func TestTokenChangesTakeEffect(t *testing.T) {
	now := func() time.Time { return time.Now() }
	for name, change := range map[string]func(*token.Token){
		"revoked":          func(s *token.Token) { s.Revoke(now()) },
		"expired":          func(s *token.Token) { s.Renew(now(), time.Nanosecond) },
		"rotated":          func(s *token.Token) { _, _ = s.Rotate(now(), 0) },
		"stripped of read": func(s *token.Token) { s.Scopes = nil },
	} {
		for _, c := range []struct{ delay, at time.Duration }{
			{0, 160 * time.Millisecond},                      // right after a server has read the token
			{100 * time.Millisecond, 934 * time.Millisecond}, // after every server has read it again
		} {
			t.Run(fmt.Sprintf("%s after %v, store takes %v", name, c.at, c.delay), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := open(t)
					stored, text := token.New("n", []token.Scope{token.Read}, time.Hour)
					must.NoError(t, store.CreateToken(t.Context(), stored))
					var changed atomic.Pointer[time.Time]
					var wg sync.WaitGroup
					for node := range 3 {
						v := verifier(t, &watched{Store: store, delay: c.delay}, "")
						wg.Go(func() {
							time.Sleep(time.Duration(node) * 77 * time.Millisecond)
							for range 500 {
								asked := time.Now()
								got, err := v.Verify(t.Context(), text)
								ok := err == nil && got.Allows(token.Read)
								switch at := changed.Load(); {
								case at == nil && !ok:
									t.Errorf("before the change Verify = %v", err)
								case at != nil && ok && asked.Sub(*at) >= 500*time.Millisecond:
									t.Errorf("%v after the change the token still works", asked.Sub(*at))
								}
								time.Sleep(3 * time.Millisecond)
							}
						})
					}
					time.Sleep(c.at)
					update := func(s *token.Token) error { change(s); return nil }
					err := store.UpdateToken(t.Context(), stored.ID, update)
					must.NoError(t, err)
					changed.Store(new(time.Now()))
					wg.Wait()
				})
			})
		}
	}
}

func TestNewTokenTakesEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := open(t)
		v := verifier(t, store, "")
		stored, text := token.New("n", nil, 0)
		wantVerify(t, v, text, token.ErrInvalid)
		must.NoError(t, store.CreateToken(t.Context(), stored))
		time.Sleep(500 * time.Millisecond)
		wantVerify(t, v, text, nil)
	})
}
