package token_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/token"
)

const static = "a-static-token-of-ours"

// Each kind of token is accepted or refused, and a thousand requests in a second read
// the store at most twice.
func TestVerify(t *testing.T) {
	instead := func(text string) func(string) string { return func(string) string { return text } }
	for name, c := range map[string]struct {
		change func(*token.Token)  // of the stored token; nil: none
		text   func(string) string // of the request, from that of the stored token; nil: the same
		want   error
		reads  int64
	}{
		"good":         {reads: 2},
		"for ever":     {change: func(s *token.Token) { s.ExpiresAt = time.Time{} }, reads: 2},
		"wrong secret": {change: func(s *token.Token) { s.SecretHash[0] ^= 1 }, want: token.ErrInvalid, reads: 2},
		"revoked":      {change: func(s *token.Token) { s.RevokedAt = time.Now() }, want: token.ErrInvalid, reads: 2},
		"expired":      {change: func(s *token.Token) { s.ExpiresAt = time.Now() }, want: token.ErrInvalid, reads: 2},
		"unknown":      {change: func(s *token.Token) { s.ID = "another" }, want: token.ErrInvalid, reads: 2},
		"static":       {text: instead(static)},
		"malformed":    {text: instead("pst_nonsense"), want: token.ErrInvalid},
		"mistyped":     {text: func(text string) string { return text[:64] + "~" }, want: token.ErrInvalid},
		"nothing":      {text: instead(""), want: token.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &watched{Store: open(t)}
				text := create(t, store, c.change)
				if c.text != nil {
					text = c.text(text)
				}
				v := verifier(t, store, static)
				for range 1000 {
					if _, err := v.Verify(t.Context(), text); !errors.Is(err, c.want) {
						t.Fatalf("Verify = %v, want %v", err, c.want)
					}
					time.Sleep(time.Millisecond)
				}
				if got := store.lookups.Load(); got != c.reads {
					t.Errorf("1000 verifications in a second read the store %d times, want %d", got, c.reads)
				}
			})
		})
	}
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
		if err := token.CheckStatic(text); (err == nil) != ok {
			t.Errorf("CheckStatic(%q) = %v", text, err)
		}
	}
}

func TestVerifyAllocations(t *testing.T) {
	store := open(t)
	text := create(t, store, nil)
	v := verifier(t, store, static)
	for name, text := range map[string]string{"stored": text, "static": static, "malformed": "pst_nonsense"} {
		got := testing.AllocsPerRun(1000, func() { _, _ = v.Verify(t.Context(), text) })
		if got > 2 {
			t.Errorf("verifying a token, %s, takes %v allocations, want 2 at most", name, got)
		}
	}
}

// create stores a token that change has changed, if that is not nil, and returns its text.
func create(t testing.TB, store token.Store, change func(*token.Token)) string {
	t.Helper()
	stored, text := token.New("n", []token.Scope{token.Read}, time.Hour)
	if change != nil {
		change(&stored)
	}
	must.NoError(t, store.CreateToken(t.Context(), stored))
	return text
}

// wantVerify verifies the text of a token, and fails the test unless the error is the
// given one, or nil.
func wantVerify(t *testing.T, v *token.Verifier, text string, want error) {
	t.Helper()
	_, err := v.Verify(t.Context(), text)
	expect.Error(t, "Verify", err, want)
}

func open(t testing.TB) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Memory)
	must.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	return store
}

func verifier(t testing.TB, store token.Store, static string) *token.Verifier {
	t.Helper()
	v := token.NewVerifier(store, static)
	t.Cleanup(func() { expect.NoError(t, v.Close()) })
	return v
}

// A temporary token is accepted by its Verifier until its lifetime is over, and
// is not stored.
func TestTemporaryToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := open(t)
		v := token.NewVerifier(store, "")
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
		wantVerify(t, v, mistyped, token.ErrInvalid)
		if stored, err := store.Tokens(t.Context()); err != nil || len(stored) != 0 {
			t.Errorf("the store has the tokens %v, %v", stored, err)
		}
		time.Sleep(time.Hour)
		wantVerify(t, v, text, token.ErrInvalid)
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
	must.NoError(t, store.CreateToken(t.Context(), stored))
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
		if want == "error" && !errors.Is(err, token.ErrInvalid) || want != "error" && (err != nil || got.ID != want) {
			t.Errorf("Verify(%q) = %+v, %v, want %q", text, got, err, want)
		}
	}
	if slices.Sort(theirs.asked); !slices.Equal(theirs.asked, []string{"others", "theirs"}) {
		t.Errorf("the issuer got %q", theirs.asked)
	}
}
