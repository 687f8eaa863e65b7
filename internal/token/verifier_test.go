package token_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/token"
)

const static = "a-static-token-of-ours"

func TestVerify(t *testing.T) {
	store := open(t)
	create := func(change func(*token.Token)) string {
		stored, text := token.New("n", []token.Scope{token.Read}, time.Hour)
		change(&stored)
		if err := store.CreateToken(t.Context(), stored); err != nil {
			t.Fatal(err)
		}
		return text
	}
	_, unknown := token.New("never stored", nil, 0)
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"good":         {create(func(*token.Token) {}), nil},
		"for ever":     {create(func(s *token.Token) { s.ExpiresAt = time.Time{} }), nil},
		"static":       {static, nil},
		"unknown":      {unknown, token.ErrInvalid},
		"wrong secret": {create(func(s *token.Token) { s.SecretHash[0] ^= 1 }), token.ErrInvalid},
		"revoked":      {create(func(s *token.Token) { s.RevokedAt = time.Now() }), token.ErrInvalid},
		"expired":      {create(func(s *token.Token) { s.ExpiresAt = time.Now() }), token.ErrInvalid},
		"malformed":    {"pst_nonsense", token.ErrInvalid},
		"nothing":      {"", token.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := verifier(t, store, static).Verify(t.Context(), c.text); !errors.Is(err, c.want) {
				t.Errorf("Verify = %v, want %v", err, c.want)
			}
		})
	}
}

func TestVerifyTellsWhose(t *testing.T) {
	store := open(t)
	want, text := token.New("reader", []token.Scope{token.Read}, time.Hour)
	if err := store.CreateToken(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	got, err := verifier(t, store, static).Verify(t.Context(), text)
	if err != nil || got.ID != want.ID || !got.Allows(token.Read) || got.Allows(token.Write) {
		t.Errorf("Verify = %+v, %v, want the token %s, which may only read", got, err, want.ID)
	}
	got, err = verifier(t, store, static).Verify(t.Context(), static)
	if err != nil || !got.Allows(token.Read) || !got.Allows(token.Write) {
		t.Errorf("Verify of the static token = %+v, %v, want every scope", got, err)
	}
}

// A store that cannot answer says nothing about the token.
func TestVerifyWithoutStore(t *testing.T) {
	_, text := token.New("n", nil, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := verifier(t, open(t), "").Verify(ctx, text)
	if err == nil || errors.Is(err, token.ErrInvalid) {
		t.Errorf("Verify of a token that could not be looked up = %v, want the store's error", err)
	}
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := open(t)
		stored, text := token.New("n", nil, time.Hour)
		if err := store.CreateToken(t.Context(), stored); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour - time.Microsecond)
		if _, err := verifier(t, store, "").Verify(t.Context(), text); err != nil {
			t.Errorf("just before it expires Verify = %v", err)
		}
		time.Sleep(time.Microsecond)
		if _, err := verifier(t, store, "").Verify(t.Context(), text); !errors.Is(err, token.ErrInvalid) {
			t.Errorf("once expired Verify = %v, want %v", err, token.ErrInvalid)
		}
	})
}

func TestStaticToken(t *testing.T) {
	for text, ok := range map[string]bool{
		"":                   true, // there is none
		"0123456789abcdef":   true,
		"0123456789abcde==":  true,
		"0123456789abcde":    false,
		"0123456789 abcdef":  false,
		"0123456789abcdef\n": false,
		"0123456789äbcdef":   false,
		"================":   false,
	} {
		if _, err := token.NewVerifier(open(t), text); (err == nil) != ok {
			t.Errorf("NewVerifier with %q = %v", text, err)
		}
	}
}

func open(t *testing.T) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Memory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

func verifier(t *testing.T, store token.Store, static string) *token.Verifier {
	t.Helper()
	v, err := token.NewVerifier(store, static)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
