package storetest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/token"
)

// Tokens tests the promises of [token.Store]. Each call of open returns an empty
// store and closes it when the test ends.
func Tokens(t *testing.T, open func(t *testing.T) token.Store) {
	// With each optional time, and with none.
	t.Run("Token returns a token as it was created", func(t *testing.T) {
		store := open(t)
		always, _ := token.New("for ever", []token.Scope{token.Read, token.Write}, 0)
		brief, _ := token.New("Épinette\x00", []token.Scope{token.Read}, time.Hour)
		brief.RevokedAt = time.Now()
		rotated, _ := token.New("rotated", []token.Scope{token.Write}, time.Hour)
		rotated.LastUsedAt = time.Now()
		mustRotate(t, &rotated, time.Minute)
		for _, want := range []token.Token{always, brief, rotated} {
			mustCreateToken(t, store, want)
			wantToken(t, store, want)
		}
	})

	// The response to its client is 401, not 503.
	t.Run("a missing token is ErrNotFound", func(t *testing.T) {
		expect.Error(t, "Token of an unknown id", second(open(t).Token(timeout(t), "unknown")), token.ErrNotFound)
	})

	// Ids are random, so a taken one is a fault of ours.
	t.Run("creating a token with a taken id fails and changes nothing", func(t *testing.T) {
		store := open(t)
		first, _ := token.New("first", nil, 0)
		second, _ := token.New("second", nil, 0)
		second.ID = first.ID
		must.NoError(t, store.CreateToken(timeout(t), first))
		if err := store.CreateToken(timeout(t), second); err == nil {
			t.Error("CreateToken with a taken id = nil, want an error")
		}
		if got, err := store.Token(timeout(t), first.ID); err != nil || got.Name != "first" {
			t.Errorf("Token = %q, %v, want the first one", got.Name, err)
		}
	})

	// In the order of their creation, not in that of their ids.
	t.Run("tokens are listed oldest first", func(t *testing.T) {
		store := open(t)
		if got, err := store.Tokens(timeout(t)); err != nil || len(got) != 0 {
			t.Errorf("Tokens of an empty store = %v, %v", got, err)
		}
		var want []token.Token
		for i, name := range []string{"third", "first", "second"} {
			listed, _ := token.New(name, []token.Scope{token.Read}, time.Hour)
			listed.CreatedAt = listed.CreatedAt.Add(time.Duration([]int{3, 1, 2}[i]) * time.Second)
			mustCreateToken(t, store, listed)
			want = append(want, asStored(listed))
		}
		got, err := store.Tokens(timeout(t))
		must.NoError(t, err)
		if diff := cmp.Diff([]token.Token{want[1], want[2], want[0]}, got); diff != "" {
			t.Errorf("Tokens (-want +got):\n%s", diff)
		}
	})

	// LastUsedAt belongs to TouchTokens, which may run at the same time.
	t.Run("an update changes one token, except ID, CreatedAt and LastUsedAt", func(t *testing.T) {
		store := open(t)
		before, _ := token.New("before", []token.Scope{token.Read}, time.Hour)
		other, _ := token.New("other", []token.Scope{token.Read}, time.Hour)
		mustCreateToken(t, store, before)
		mustCreateToken(t, store, other)
		var want token.Token
		err := store.UpdateToken(timeout(t), before.ID, func(got *token.Token) error {
			if diff := cmp.Diff(asStored(before), *got); diff != "" {
				t.Errorf("the token that change got (-want +got):\n%s", diff)
			}
			got.Name, got.Scopes = "after", []token.Scope{token.Read, token.Write}
			got.Renew(time.Now(), 0)
			got.Revoke(time.Now())
			got.OldSecretHash, got.OldSecretUntil = got.SecretHash, time.Now()
			got.SecretHash[0] ^= 1
			want = asStored(*got)
			got.ID, got.CreatedAt, got.LastUsedAt = other.ID, time.Now(), time.Now() // ignored
			return nil
		})
		must.NoError(t, err)
		wantToken(t, store, want)
		wantToken(t, store, other)
	})

	// The function of the caller decides whether the token is changed.
	t.Run("an update that fails changes nothing", func(t *testing.T) {
		store := open(t)
		want, _ := token.New("n", nil, time.Hour)
		mustCreateToken(t, store, want)
		refused := errors.New("refused")
		err := store.UpdateToken(timeout(t), want.ID, func(got *token.Token) error {
			got.Name = "changed"
			return refused
		})
		expect.Error(t, "UpdateToken", err, refused)
		wantToken(t, store, want)
	})

	// Then there is nothing to show to the function of the caller.
	t.Run("an update of a missing token is ErrNotFound", func(t *testing.T) {
		err := open(t).UpdateToken(timeout(t), "unknown", func(*token.Token) error {
			t.Error("change was called")
			return nil
		})
		expect.Error(t, "UpdateToken of an unknown id", err, token.ErrNotFound)
	})

	// Two people may rotate and revoke a token at the same time. No update may be lost.
	t.Run("concurrent updates of one token are all applied", func(t *testing.T) {
		store := open(t)
		stored, _ := token.New("", nil, 0)
		mustCreateToken(t, store, stored)
		const clients = 32
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				err := store.UpdateToken(timeout(t), stored.ID, func(got *token.Token) error {
					got.Name += "x"
					return nil
				})
				if err != nil {
					t.Errorf("UpdateToken = %v", err)
				}
			})
		}
		wg.Wait()
		stored.Name = strings.Repeat("x", clients)
		wantToken(t, store, stored)
	})

	// A token that is used all the time costs few writes.
	t.Run("a last use is stored if it is at least TouchInterval later", func(t *testing.T) {
		store := open(t)
		used, _ := token.New("used", nil, time.Hour)
		unused, _ := token.New("unused", nil, time.Hour)
		mustCreateToken(t, store, used)
		mustCreateToken(t, store, unused)
		first := time.Now()
		for _, c := range []struct{ at, want time.Time }{
			{first, first},
			{first.Add(token.TouchInterval - time.Microsecond), first},
			{first.Add(-time.Hour), first},
			{first.Add(token.TouchInterval), first.Add(token.TouchInterval)},
		} {
			if err := store.TouchTokens(timeout(t), map[string]time.Time{used.ID: c.at, "unknown": c.at}); err != nil {
				t.Fatalf("TouchTokens = %v", err)
			}
			used.LastUsedAt = c.want
			wantToken(t, store, used)
		}
		wantToken(t, store, unused)
	})

	// A server touches a token while an operator revokes it.
	t.Run("touches and updates do not undo each other", func(t *testing.T) {
		store := open(t)
		stored, _ := token.New("n", nil, time.Hour)
		mustCreateToken(t, store, stored)
		at := time.Now()
		err := errors.Join(
			store.TouchTokens(timeout(t), map[string]time.Time{stored.ID: at}),
			store.UpdateToken(timeout(t), stored.ID, func(got *token.Token) error {
				got.LastUsedAt = time.Time{}
				got.Revoke(at)
				return nil
			}),
			store.TouchTokens(timeout(t), map[string]time.Time{stored.ID: at.Add(time.Hour)}))
		must.NoError(t, err)
		stored.RevokedAt, stored.LastUsedAt = at, at.Add(time.Hour)
		wantToken(t, store, stored)
	})

	// The caller has given up before the write began.
	t.Run("a touch or an update with a cancelled context changes nothing", func(t *testing.T) {
		store := open(t)
		want, _ := token.New("n", nil, time.Hour)
		mustCreateToken(t, store, want)
		ctx, cancel := context.WithCancel(timeout(t))
		cancel()
		for name, err := range map[string]error{
			"TouchTokens": store.TouchTokens(ctx, map[string]time.Time{want.ID: time.Now()}),
			"UpdateToken": store.UpdateToken(ctx, want.ID, func(got *token.Token) error {
				got.Revoke(time.Now())
				return nil
			}),
		} {
			expect.Error(t, name+" with a cancelled context", err, context.Canceled)
		}
		wantToken(t, store, want)
	})
}

// asStored returns t as a store returns it, with times in UTC and in microseconds.
func asStored(t token.Token) token.Token {
	for _, at := range []*time.Time{&t.CreatedAt, &t.ExpiresAt, &t.RevokedAt, &t.LastUsedAt, &t.OldSecretUntil} {
		if !at.IsZero() {
			*at = at.Truncate(time.Microsecond).UTC()
		}
	}
	return t
}

func mustCreateToken(t *testing.T, store token.Store, stored token.Token) {
	t.Helper()
	if err := store.CreateToken(timeout(t), stored); err != nil {
		t.Fatalf("CreateToken(%q) = %v", stored.Name, err)
	}
}

func mustRotate(t *testing.T, stored *token.Token, grace time.Duration) {
	t.Helper()
	if _, err := stored.Rotate(time.Now(), grace); err != nil {
		t.Fatalf("Rotate = %v", err)
	}
}

// wantToken fails unless the store has exactly this token.
func wantToken(t *testing.T, store token.Store, want token.Token) {
	t.Helper()
	got, err := store.Token(timeout(t), want.ID)
	if err != nil {
		t.Fatalf("Token(%q) = %v", want.ID, err)
	}
	if diff := cmp.Diff(asStored(want), got); diff != "" {
		t.Fatalf("Token (-want +got):\n%s", diff)
	}
}
