package token

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ErrInvalid means that a token is unknown, malformed, expired or revoked. Clients
// are not told which.
var ErrInvalid = errors.New("credentials not valid")

// RefusedError is an [ErrInvalid] with the reason, which only the log may have.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return ErrInvalid.Error() + ": " + e.Reason }

func (e *RefusedError) Unwrap() error { return ErrInvalid }

// minStaticLen is the minimum length of a static token.
const minStaticLen = 16

// Verifier verifies tokens. It reads a token from the store at most twice a second,
// and writes in the background when tokens were used.
type Verifier struct {
	static   string     // text of the static token; empty: there is none
	unstored []unstored // the static and the temporary token
	issuer   Issuer     // nil: there is none
	lookups  *lookups
	uses     uses
}

// unstored is a token that is not in the store. Its secret is its whole text, which has
// the given length.
type unstored struct {
	Token
	length int
}

// Issuer verifies the tokens of another service.
type Issuer interface {
	// Verify returns the token with the given text, or a [RefusedError], or an
	// [ErrUnverified].
	Verify(ctx context.Context, text string) (Token, error)
}

// NewVerifier returns a Verifier of the tokens in a store and of a static token
// with every scope, which containers and tests use; "" means none. The static token must
// pass [CheckStatic]. Close the Verifier before the store.
func NewVerifier(store Store, static string) *Verifier {
	v := &Verifier{static: static, lookups: newLookups(store), uses: uses{store: store}}
	if static != "" {
		v.add(Token{Name: "static", Scopes: []Scope{Read, Write}}, static)
	}
	return v
}

// CheckStatic returns an error if a static token is too short, or cannot be sent in an
// Authorization header.
func CheckStatic(static string) error {
	if static == "" {
		return nil
	}
	if len(static) < minStaticLen {
		return fmt.Errorf("it must have at least %d characters, got %d", minStaticLen, len(static))
	}
	if !b64Token.MatchString(static) {
		return errors.New(`it may contain only letters, digits and -._~+/, with = at its end`)
	}
	return nil
}

// Verify returns the token with the given text, or [ErrInvalid] if there is none or
// it is not in force. Any other error comes from the store. A token that is in use
// is verified at once; others wait for their turn, so that a flood of unknown
// tokens keeps few connections to the store busy.
func (v *Verifier) Verify(ctx context.Context, text string) (Token, error) {
	now := time.Now()
	for i := range v.unstored {
		// Hashing a long text takes longer than the rest.
		if t := &v.unstored[i]; len(text) == t.length && t.accepts(text, now) {
			return t.Token, nil
		}
	}
	id, secret, ok := parse(text)
	if !ok {
		if v.issuer != nil && !strings.HasPrefix(text, prefix) {
			return v.issuer.Verify(ctx, text)
		}
		return Token{}, ErrInvalid
	}
	t, err := v.lookups.token(ctx, id, now)
	if err != nil {
		return Token{}, err
	}
	if !t.accepts(secret, now) {
		return Token{}, ErrInvalid
	}
	if now.Sub(t.LastUsedAt) >= TouchInterval {
		v.uses.record(t.ID, now)
	}
	return *t, nil
}

// Temporary creates a token with every scope that only v accepts, and returns its
// text. It is not stored, so it is valid until the process ends or its lifetime is
// over. Call Temporary before the first Verify.
func (v *Verifier) Temporary(name string, lifetime time.Duration) (text string) {
	t, text := New(name, []Scope{Read, Write}, lifetime)
	v.add(t, text)
	return text
}

// add makes v accept a token that is not in the store.
func (v *Verifier) add(t Token, text string) {
	t.SecretHash = hashOf(text)
	v.unstored = append(v.unstored, unstored{t, len(text)})
}

// Accept makes v accept the tokens of an issuer, too, except texts that start like a
// token of the store. Call Accept before the first Verify.
func (v *Verifier) Accept(issuer Issuer) { v.issuer = issuer }

// Redact returns s with every token in it replaced, including the static token, for
// logs and messages that quote input.
func (v *Verifier) Redact(s string) string { return Redact(s, v.static) }

// Metrics returns the metrics of the cache.
func (v *Verifier) Metrics() []prometheus.Collector { return v.lookups.metrics() }

// Close writes the uses that are not written yet and returns the error of the last
// write. Tokens can still be verified during and after Close, but their use is no
// longer recorded.
func (v *Verifier) Close() error { return v.uses.close() }

// b64Token matches a b64token (RFC 6750, section 2.1), the only form that may follow
// "Bearer " in an Authorization header.
var b64Token = regexp.MustCompile(`^[0-9A-Za-z._~+/-]+=*$`)

const (
	// batchTime is how long uses are collected before they are written, so that
	// many tokens share a write.
	batchTime = time.Second

	// touchTime is how long a write may take.
	touchTime = 10 * time.Second
)

// uses writes the times when tokens were used, in the background, so that no
// request waits for it. A write that fails is not retried: the store still has the
// old time, so the next use of the token is recorded again.
type uses struct {
	store Store

	mu     sync.Mutex
	last   map[string]time.Time // not written yet; nil: no write is scheduled
	closed bool

	writing sync.Mutex
	err     error // of the latest write
}

// record schedules a write of the use of a token.
func (u *uses) record(id string, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return
	}
	if u.last == nil {
		u.last = map[string]time.Time{}
		time.AfterFunc(batchTime, func() { _ = u.write() })
	}
	u.last[id] = at
}

// write writes the uses that are not written yet. It returns the error of the latest
// write.
func (u *uses) write() error {
	u.writing.Lock()
	defer u.writing.Unlock()
	u.mu.Lock()
	last := u.last
	u.last = nil
	u.mu.Unlock()
	if last != nil {
		ctx, cancel := context.WithTimeout(context.Background(), touchTime)
		defer cancel()
		u.err = u.store.TouchTokens(ctx, last)
	}
	return u.err
}

func (u *uses) close() error {
	u.mu.Lock()
	u.closed = true
	u.mu.Unlock()
	return u.write()
}
