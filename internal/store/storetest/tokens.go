package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/internal/token"
)

// Tokens holds a store to the promises of [token.Store]. Each call of open
// returns an empty store, which open closes when its test ends.
func Tokens(t *testing.T, open func(t *testing.T) token.Store) {
	t.Run("a token comes back as it was created", func(t *testing.T) {
		store := open(t)
		always, _ := token.New("for ever", []token.Scope{token.Read, token.Write}, 0)
		brief, _ := token.New("Épinette\x00", []token.Scope{token.Read}, time.Hour)
		brief.RevokedAt = time.Now()
		for _, want := range []token.Token{always, brief} {
			if err := store.CreateToken(t.Context(), want); err != nil {
				t.Fatalf("CreateToken(%q) = %v", want.Name, err)
			}
			got, err := store.Token(t.Context(), want.ID)
			if err != nil {
				t.Fatalf("Token(%q) = %v", want.ID, err)
			}
			for _, at := range []*time.Time{&want.CreatedAt, &want.ExpiresAt, &want.RevokedAt} {
				if !at.IsZero() {
					*at = at.Truncate(time.Microsecond).UTC() // stores keep microseconds
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("token came back changed (-want +got):\n%s", diff)
			}
		}
	})

	t.Run("a missing token is ErrNotFound", func(t *testing.T) {
		if _, err := open(t).Token(t.Context(), "nobody"); !errors.Is(err, token.ErrNotFound) {
			t.Errorf("Token of an unknown id = %v, want %v", err, token.ErrNotFound)
		}
	})

	t.Run("an id is given once", func(t *testing.T) {
		store := open(t)
		first, _ := token.New("first", nil, 0)
		second, _ := token.New("second", nil, 0)
		second.ID = first.ID
		if err := store.CreateToken(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		if err := store.CreateToken(t.Context(), second); err == nil {
			t.Error("CreateToken overwrote a token")
		}
		if got, err := store.Token(t.Context(), first.ID); err != nil || got.Name != "first" {
			t.Errorf("Token = %q, %v, want the first one", got.Name, err)
		}
	})
}
