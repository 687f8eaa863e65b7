package token

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
)

func TestTokenText(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		stored, text := New("n", nil, 0)
		id, secret, ok := parse(text)
		if !ok || id != stored.ID || len(text) != textLen ||
			!strings.HasPrefix(text, "pst_") || !b64Token.MatchString(text) {
			t.Fatalf("parse(%q) = %q, %v", text, id, ok)
		}
		if seen[id] || seen[secret] {
			t.Fatal("an id or a secret came twice")
		}
		seen[id], seen[secret] = true, true
	}
}

func TestParseRefusesTypingMistakes(t *testing.T) {
	_, text := New("n", nil, 0)
	for i := range text {
		typo := []byte(text)
		typo[i] ^= 1
		if _, _, ok := parse(string(typo)); ok {
			t.Errorf("parse accepted a token with byte %d changed", i)
		}
	}
	for _, bad := range []string{"", "pst_", text[:len(text)-1], text + "0", " " + text} {
		if _, _, ok := parse(bad); ok {
			t.Errorf("parse(%q) accepted it", bad)
		}
	}
}

func TestRotate(t *testing.T) {
	const grace = time.Hour
	made := time.Now()
	for name, c := range map[string]struct {
		lifetime, grace time.Duration
		worksUntil      time.Duration // of the old secret
	}{
		"both secrets work until the grace is over":   {0, grace, grace},
		"without grace the old secret ends at once":   {0, 0, 0},
		"the old secret does not outlive the token":   {time.Minute, grace, time.Minute},
		"an end after the grace does not lengthen it": {2 * grace, grace, grace},
	} {
		t.Run(name, func(t *testing.T) {
			stored, oldText := New("n", nil, 0)
			stored.Renew(made, c.lifetime)
			newText, err := stored.Rotate(made, c.grace)
			must.NoError(t, err)
			stored.Renew(made, 0) // the new secret's end is not the old one's
			_, oldSecret, _ := parse(oldText)
			id, newSecret, ok := parse(newText)
			if !ok || id != stored.ID || newSecret == oldSecret {
				t.Fatalf("Rotate gave a text with id %q, ok %v", id, ok)
			}
			works := c.worksUntil > 0
			for at, want := range map[time.Duration]bool{0: works, c.worksUntil - 1: works, c.worksUntil: false} {
				if got := stored.accepts(oldSecret, made.Add(at)); got != want {
					t.Errorf("%v after the rotation the old secret works: %v, want %v", at, got, want)
				}
				if !stored.accepts(newSecret, made.Add(at)) {
					t.Errorf("%v after the rotation the new secret does not work", at)
				}
			}
		})
	}
}

func TestRotateRefuses(t *testing.T) {
	const grace = time.Hour
	now := time.Now()
	for name, c := range map[string]struct {
		change func(*Token)
		grace  time.Duration
		want   error
	}{
		"a revoked token":                 {func(s *Token) { s.Revoke(now) }, grace, ErrNotInForce},
		"an expired token":                {func(s *Token) { s.ExpiresAt = now }, 0, ErrNotInForce},
		"a third secret":                  {func(s *Token) { s.OldSecretUntil = now.Add(1) }, grace, ErrInGrace},
		"not when the last grace is over": {func(s *Token) { s.OldSecretUntil = now }, grace, nil},
		"not when old secrets end now":    {func(s *Token) { s.OldSecretUntil = now.Add(1) }, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			stored, _ := New("n", nil, time.Hour)
			c.change(&stored)
			before := stored
			text, err := stored.Rotate(now, c.grace)
			if !errors.Is(err, c.want) || (text == "") != (c.want != nil) {
				t.Errorf("Rotate = %d characters, %v, want %v", len(text), err, c.want)
			}
			if changed := before.SecretHash != stored.SecretHash; changed != (c.want == nil) {
				t.Errorf("the secret has changed: %v", changed)
			}
			if c.grace == 0 && err == nil && !stored.OldSecretUntil.IsZero() {
				t.Errorf("an old secret works until %v", stored.OldSecretUntil)
			}
		})
	}
}

func TestRevokeKeepsTheFirstTime(t *testing.T) {
	stored, _ := New("n", nil, 0)
	first := time.Now()
	stored.Revoke(first)
	stored.Revoke(first.Add(time.Hour))
	if !stored.RevokedAt.Equal(first) || stored.InForce(first.Add(-time.Hour)) {
		t.Errorf("revoked at %v, want %v, and out of force whatever the time", stored.RevokedAt, first)
	}
}

func TestRedact(t *testing.T) {
	_, text := New("n", nil, 0)
	const static = "correct-horse+battery/staple=="
	for in, want := range map[string]string{
		static: "…",
		"/plants/" + static + "/" + static + text: "/plants/…/…pst_…",
		static[1:]:              static[1:],
		text:                    "pst_…",
		"GET /a?token=" + text:  "GET /a?token=pst_…",
		text + "," + text + ".": "pst_…,pst_….",
		text[:40]:               "pst_…",
		"pst_":                  "pst_",
		"open pst_plants.db":    "open pst_plants.db",
		"nothing of the sort":   "nothing of the sort",

		"/plants/eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln-_/x": "/plants/eyJ…/x",
		"eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOi":                       "eyJ…", // cut off
		"the eyJ of a word.":                                    "the eyJ of a word.",
	} {
		if got := Redact(in, static); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Redact("a message", "e"); got != "a message" {
		t.Errorf("a text that is too short for a static token was redacted: %q", got)
	}
}
