package token_test

import (
	"context"
	"errors"
	"slices"
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

func TestVerifyReturnsToken(t *testing.T) {
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

// If the store fails, Verify returns its error and not ErrInvalid.
func TestVerifyStoreError(t *testing.T) {
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

func (hangs) Token(ctx context.Context, _ string) (token.Token, error) {
	<-ctx.Done()
	return token.Token{}, ctx.Err()
}

func TestVerifyAllocations(t *testing.T) {
	store := open(t)
	text := create(t, store, time.Hour)
	v := verifier(t, store, static)
	for name, text := range map[string]string{"stored": text, "static": static, "malformed": "pst_nonsense"} {
		got := testing.AllocsPerRun(1000, func() { _, _ = v.Verify(t.Context(), text) })
		if got > 2 {
			t.Errorf("verifying a token, %s, takes %v allocations, want 2 at most", name, got)
		}
	}
}

// BenchmarkVerify verifies tokens that are in the cache, as all
// but two a second are.
func BenchmarkVerify(b *testing.B) {
	store := open(b)
	stored := create(b, store, time.Hour)
	_, unknown := token.New("n", nil, 0)
	for _, c := range []struct{ name, text, static string }{
		{"stored", stored, ""},
		{"stored-beside-static", stored, static},
		{"static", static, static},
		{"unknown", unknown, ""},
		{"malformed", "pst_nonsense", ""},
	} {
		b.Run("token="+c.name, func(b *testing.B) {
			v := verifier(b, store, c.static)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = v.Verify(b.Context(), c.text)
			}
		})
	}
}

// create stores a token and returns its text.
func create(t testing.TB, store token.Store, lifetime time.Duration) string {
	t.Helper()
	stored, text := token.New("n", []token.Scope{token.Read}, lifetime)
	if err := store.CreateToken(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	return text
}

// forge returns a well-formed text that has the ID of a stored token and
// another secret.
func forge(t testing.TB, store token.Store) string {
	t.Helper()
	stored, text := token.New("n", []token.Scope{token.Read}, time.Hour)
	stored.SecretHash[0] ^= 1
	if err := store.CreateToken(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	return text
}

func open(t testing.TB) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Memory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

func verifier(t testing.TB, store token.Store, static string) *token.Verifier {
	t.Helper()
	v, err := token.NewVerifier(store, static)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// A temporary token is accepted by its Verifier until its lifetime is over, and
// is not stored.
func TestTemporaryToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := open(t)
		v, err := token.NewVerifier(store, "")
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		text := v.Temporary("serve", time.Hour)
		got, err := v.Verify(t.Context(), text)
		if err != nil || got.Name != "serve" || !got.Allows(token.Write) {
			t.Errorf("Verify = %v, %v, want the temporary token", got, err)
		}
		mistyped := text[:len(text)-1] + "0"
		if mistyped == text {
			mistyped = text[:len(text)-1] + "1"
		}
		if _, err := v.Verify(t.Context(), mistyped); !errors.Is(err, token.ErrInvalid) {
			t.Errorf("Verify of a mistyped token = %v", err)
		}
		if stored, err := store.Tokens(t.Context()); err != nil || len(stored) != 0 {
			t.Errorf("the store has the tokens %v, %v", stored, err)
		}
		time.Sleep(time.Hour)
		if _, err := v.Verify(t.Context(), text); !errors.Is(err, token.ErrInvalid) {
			t.Errorf("Verify after an hour = %v", err)
		}
	})
}

// issuer accepts one token.
type issuer struct{ asked []string }

func (i *issuer) Verify(_ context.Context, text string) (token.Token, error) {
	if i.asked = append(i.asked, text); text != "theirs" {
		return token.Token{}, &token.RefusedError{Reason: "a reason"}
	}
	return token.Token{ID: "robot", Scopes: []token.Scope{token.Read}}, nil
}

// An issuer gets only tokens that are not ours.
func TestAccept(t *testing.T) {
	store, theirs := open(t), &issuer{}
	v := verifier(t, store, "a-static-token-of-ours")
	stored, mine := token.New("mine", nil, time.Hour)
	if err := store.CreateToken(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Verify(t.Context(), "theirs"); err != token.ErrInvalid {
		t.Errorf("without an issuer the error is %v", err)
	}
	v.Accept(theirs)
	_, unknown := token.New("unknown", nil, time.Hour)
	for text, want := range map[string]string{
		mine: stored.ID, "a-static-token-of-ours": "", "theirs": "robot", "others": "error",
		unknown: "error", mine[:len(mine)-1]: "error", "pst_": "error", "pst_eyJ.e30.x": "error",
	} {
		got, err := v.Verify(t.Context(), text)
		if (err != nil) != (want == "error") || err != nil && !errors.Is(err, token.ErrInvalid) || err == nil && got.ID != want {
			t.Errorf("Verify(%q) = %+v, %v, want %q", text, got, err, want)
		}
	}
	if slices.Sort(theirs.asked); !slices.Equal(theirs.asked, []string{"others", "theirs"}) {
		t.Errorf("the issuer got %q", theirs.asked)
	}
}
