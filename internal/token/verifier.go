package token

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ErrInvalid means that a text is not a token in force: it is unknown,
// malformed, expired or revoked. Which of them nobody outside is told.
var ErrInvalid = errors.New("credentials not valid")

// minStaticLen is the shortest token that a person may choose.
const minStaticLen = 16

// Verifier tells whose a token is. It asks the store about a token at most twice
// a second, and notes in the background when tokens are used.
type Verifier struct {
	static    *Token // nil: there is none
	text      string // of the static token, for Redact
	temporary Token  // the zero Token: there is none
	cache     cache
	uses      uses
}

// NewVerifier returns a Verifier over the tokens of a store and, unless it is
// empty, one static token with every scope, as containers and tests want it. It
// refuses a static token that is easily guessed or that no Authorization header
// can carry. Close the Verifier before the store.
func NewVerifier(store Store, static string) (*Verifier, error) {
	v := &Verifier{cache: newCache(store), uses: uses{store: store, closing: make(chan struct{})}}
	if err := CheckStatic(static); err != nil || static == "" {
		return v, err
	}
	v.text = static
	v.static = &Token{Name: "static", Scopes: []Scope{Read, Write}, SecretHash: hashOf(static)}
	return v, nil
}

// CheckStatic returns the error that [NewVerifier] has for a static token.
func CheckStatic(static string) error {
	if static == "" {
		return nil
	}
	if len(static) < minStaticLen {
		return fmt.Errorf("a static token needs at least %d characters, this one has %d", minStaticLen, len(static))
	}
	if !isB64Token(static) {
		return errors.New(`a static token may hold letters, digits and -._~+/ only, with = at its end`)
	}
	return nil
}

// Verify returns the token whose text this is, or [ErrInvalid] if there is no
// such token or it is not in force. Any other error is the store's. A token that
// was found lately is verified at once; others wait in order, so that a flood of
// unknown tokens keeps few connections to the store busy.
func (v *Verifier) Verify(ctx context.Context, text string) (Token, error) {
	if v.static != nil {
		hash := hashOf(text)
		if subtle.ConstantTimeCompare(hash[:], v.static.SecretHash[:]) == 1 {
			return *v.static, nil
		}
	}
	id, secret, ok := parse(text)
	if !ok {
		return Token{}, ErrInvalid
	}
	now := time.Now()
	if id == v.temporary.ID {
		if !v.temporary.accepts(secret, now) {
			return Token{}, ErrInvalid
		}
		return v.temporary, nil
	}
	l, err := v.cache.lookUp(ctx, id, now)
	if err != nil {
		return Token{}, err
	}
	if !l.token.accepts(secret, now) {
		return Token{}, ErrInvalid
	}
	if now.Sub(l.token.LastUsedAt) >= TouchInterval {
		v.uses.note(l.token.ID, now)
	}
	return l.token, nil
}

// Temporary makes a token with every scope that only v accepts, and returns its
// text. Nothing is stored, so the token ends with the process, or when lifetime is
// over. It must be called before the first Verify; a second call replaces the token.
func (v *Verifier) Temporary(name string, lifetime time.Duration) (text string) {
	v.temporary, text = New(name, []Scope{Read, Write}, lifetime)
	return text
}

// Redact returns s with every token in it made useless, the static token
// included, for logs and messages that quote what somebody typed.
func (v *Verifier) Redact(s string) string { return Redact(s, v.text) }

// Metrics tells how often the store was asked for a token, and how many tokens
// the cache has.
func (v *Verifier) Metrics() []prometheus.Collector { return v.cache.metrics() }

// Close writes down the last uses that are not written yet and returns the
// error of doing so. Tokens may still be verified while it runs and after it,
// but their use is not noted any more.
func (v *Verifier) Close() error { return v.uses.close() }

// isB64Token reports whether s is a b64token (RFC 6750, section 2.1), which is
// all that may follow "Bearer " in an Authorization header.
func isB64Token(s string) bool {
	body := strings.TrimRight(s, "=")
	if body == "" {
		return false
	}
	for _, c := range []byte(body) {
		if !strings.ContainsRune(digits+"-._~+/", rune(c)) {
			return false
		}
	}
	return true
}
