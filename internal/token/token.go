// Package token says what a bearer token is and what a store of them promises.
//
// A token is a line of text that starts with "pst_", so that people and secret
// scanners recognise it:
//
//	pst_ + public id + secret + checksum
//
// The public id finds the stored [Token]; of the secret only a SHA-256 is ever
// stored, so a stolen database opens no door (256 random bits need no slow
// hash). The checksum tells a typing mistake from a wrong token without asking
// the store.
//
// Who is calling is asked by every request, so a [Verifier] stands between the
// requests and the [Store]: it believes an answer for half a second, and notes
// last uses in the background.
package token

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"hash/crc32"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Scope is something a token allows its bearer to do.
type Scope string

// The scopes that exist. An operation of the document names the one it needs
// as x-required-scope.
const (
	Read  Scope = "read"
	Write Scope = "write"
)

// Valid reports whether s is a scope that exists.
func (s Scope) Valid() bool { return s == Read || s == Write }

// JoinScopes writes scopes as one text; stores keep them with spaces between.
func JoinScopes(scopes []Scope, separator string) string {
	texts := make([]string, len(scopes))
	for i, s := range scopes {
		texts[i] = string(s)
	}
	return strings.Join(texts, separator)
}

// SplitScopes reads what JoinScopes wrote with spaces.
func SplitScopes(text string) []Scope {
	var scopes []Scope
	for _, s := range strings.Fields(text) {
		scopes = append(scopes, Scope(s))
	}
	return scopes
}

// Token is a bearer token as the store keeps it; it cannot be turned back into
// the text that the bearer has.
type Token struct {
	ID         string // public
	Name       string // for people
	Scopes     []Scope
	SecretHash [sha256.Size]byte
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero: never
	RevokedAt  time.Time // zero: not revoked
	LastUsedAt time.Time // zero: never; see [TouchInterval]

	// The secret before the last rotation works until then; zero: there is none.
	OldSecretHash  [sha256.Size]byte
	OldSecretUntil time.Time
}

// Allows reports whether t has the given scope.
func (t Token) Allows(s Scope) bool { return slices.Contains(t.Scopes, s) }

// InForce reports whether t is neither revoked nor, at the given time, expired.
func (t Token) InForce(now time.Time) bool {
	return t.RevokedAt.IsZero() && (t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt))
}

// accepts reports whether the secret is one of t's and t is in force at the
// given time. It takes the same time whatever is wrong.
func (t *Token) accepts(secret string, now time.Time) bool {
	hash := hashOf(secret)
	current := subtle.ConstantTimeCompare(hash[:], t.SecretHash[:]) == 1
	old := subtle.ConstantTimeCompare(hash[:], t.OldSecretHash[:]) == 1
	return (current || old && now.Before(t.OldSecretUntil)) && t.InForce(now)
}

// Renew sets the end of t to the given time from now, or to never if that is 0.
func (t *Token) Renew(now time.Time, lifetime time.Duration) {
	t.ExpiresAt = time.Time{}
	if lifetime != 0 {
		t.ExpiresAt = now.Add(lifetime)
	}
}

// Revoke ends t for good. The time of a revocation never changes afterwards.
func (t *Token) Revoke(now time.Time) {
	if t.RevokedAt.IsZero() {
		t.RevokedAt = now
	}
}

// Rotate gives t a new secret and returns the new text for the bearer. The
// secret before works until the grace is over or t, as it is now, expires; with
// no grace it and any older one end at once. A token that is not in force is
// [ErrNotInForce], and one whose last grace is not over [ErrInGrace]: there are
// never three secrets, and none ends sooner than its bearer was promised.
func (t *Token) Rotate(now time.Time, grace time.Duration) (text string, err error) {
	if !t.InForce(now) {
		return "", ErrNotInForce
	}
	if grace > 0 && now.Before(t.OldSecretUntil) {
		return "", ErrInGrace
	}
	t.OldSecretHash, t.OldSecretUntil = [sha256.Size]byte{}, time.Time{}
	if grace > 0 {
		t.OldSecretHash, t.OldSecretUntil = t.SecretHash, now.Add(grace)
		if !t.ExpiresAt.IsZero() && t.ExpiresAt.Before(t.OldSecretUntil) {
			t.OldSecretUntil = t.ExpiresAt
		}
	}
	secret := randomDigits(secretLen)
	t.SecretHash = hashOf(secret)
	return textOf(t.ID, secret), nil
}

// TouchInterval is how exactly a store knows when a token was last used.
const TouchInterval = time.Minute

// Store keeps tokens. Its methods may be called from any number of goroutines,
// and any number of programs may use what it keeps. It keeps times to the
// microsecond, in UTC.
type Store interface {
	// CreateToken stores t durably. Its ID must be new.
	CreateToken(ctx context.Context, t Token) error

	// Token returns the token with the given ID, or [ErrNotFound].
	Token(ctx context.Context, id string) (Token, error)

	// Tokens returns every token, the oldest first.
	Tokens(ctx context.Context) ([]Token, error)

	// UpdateToken stores durably what change makes of the token with the given
	// ID, or returns [ErrNotFound]. No other update comes between. If change
	// fails, nothing is changed and UpdateToken returns its error. Change may
	// be called more than once, each time with the token as it is stored; what
	// it does to ID, CreatedAt and LastUsedAt is ignored.
	UpdateToken(ctx context.Context, id string, change func(t *Token) error) error

	// TouchTokens notes when tokens were last used, by ID. A time that is not
	// at least [TouchInterval] later than the one stored is ignored, so that a
	// token in steady use is written once a minute however many programs
	// verify it; so is an ID that is unknown.
	TouchTokens(ctx context.Context, used map[string]time.Time) error
}

// ErrNotFound means that no token has the ID asked for.
var ErrNotFound = errors.New("no such token")

// ErrNotInForce means that a token is expired or revoked.
var ErrNotInForce = errors.New("token is expired or revoked")

// ErrInGrace means that the secret before the last rotation of a token still
// works.
var ErrInGrace = errors.New("the secret before the last rotation still works")

// ErrUnavailable means that the store cannot answer now.
var ErrUnavailable = errors.New("token store not available")

// The parts of a token's text. Base 62 needs 43 digits for 256 bits and 6 for
// the 32 of a CRC; 12 digits of id (71 bits) never meet twice.
const (
	prefix      = "pst_"
	idLen       = 12
	secretLen   = 43
	checksumLen = 6
	textLen     = len(prefix) + idLen + secretLen + checksumLen

	digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// New makes a token that expires after the given time, or never if that is 0.
// It returns what the store keeps and the text for the bearer, which nobody
// can be shown again.
func New(name string, scopes []Scope, lifetime time.Duration) (t Token, text string) {
	id, secret := randomDigits(idLen), randomDigits(secretLen)
	t = Token{
		ID:         id,
		Name:       name,
		Scopes:     scopes,
		SecretHash: hashOf(secret),
		CreatedAt:  time.Now(),
	}
	t.Renew(t.CreatedAt, lifetime)
	return t, textOf(id, secret)
}

// hashOf is the SHA-256 of s. No text of ours is longer than its buffer, so that
// hashing one allocates nothing.
func hashOf(s string) [sha256.Size]byte {
	var buf [2 * textLen]byte
	return sha256.Sum256(append(buf[:0], s...))
}

// textOf is what the bearer of a token is given.
func textOf(id, secret string) string {
	sum := checksum(id + secret)
	return prefix + id + secret + string(sum[:])
}

// parse takes a token's text apart. It reports false for anything that New
// cannot have made.
func parse(text string) (id, secret string, ok bool) {
	if len(text) != textLen || !strings.HasPrefix(text, prefix) {
		return "", "", false
	}
	body, sum := text[len(prefix):textLen-checksumLen], text[textLen-checksumLen:]
	if want := checksum(body); string(want[:]) != sum {
		return "", "", false
	}
	return body[:idLen], body[idLen:], true
}

// texts matches a token and what is left of one that was cut.
var texts = regexp.MustCompile(prefix + `[0-9A-Za-z]{20,}`)

// Redact returns s with every token in it made useless, for logs and messages
// that quote what somebody typed. One of them is the static token, if there is
// one; a text that is too short for a static token is ignored.
func Redact(s, static string) string {
	if strings.Contains(s, prefix) { // nearly never, so that there is nothing to allocate
		s = texts.ReplaceAllLiteralString(s, prefix+"…")
	}
	if len(static) < minStaticLen || len(s) < len(static) {
		return s
	}
	// A client can send guesses and measure the time. With strings.Contains, the
	// time would depend on how many characters of a guess are right.
	var redacted []byte
	copied := 0
	for i := 0; i+len(static) <= len(s); i++ {
		if subtle.ConstantTimeCompare([]byte(s[i:i+len(static)]), []byte(static)) == 1 {
			redacted = append(append(redacted, s[copied:i]...), "…"...)
			copied = i + len(static)
			i = copied - 1
		}
	}
	if copied == 0 {
		return s
	}
	return string(append(redacted, s[copied:]...))
}

// checksum is the CRC-32 (IEEE) of s in base 62.
func checksum(s string) (sum [checksumLen]byte) {
	n := crc32.ChecksumIEEE([]byte(s))
	for i := checksumLen - 1; i >= 0; i-- {
		sum[i] = digits[n%62]
		n /= 62
	}
	return sum
}

// randomDigits returns n base-62 digits, each of them equally likely.
func randomDigits(n int) string {
	limit := new(big.Int).Exp(big.NewInt(62), big.NewInt(int64(n)), nil)
	v, err := rand.Int(rand.Reader, limit)
	if err != nil {
		panic(err) // crypto/rand never fails; it ends the program instead
	}
	text := []byte(strings.Repeat("0", n))
	for i, digit := n-1, new(big.Int); i >= 0; i-- {
		v.DivMod(v, big.NewInt(62), digit)
		text[i] = digits[digit.Int64()]
	}
	return string(text)
}
