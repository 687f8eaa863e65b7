// Package token defines bearer tokens and the interface of their store.
//
// The text of a token starts with "pst_", so that people and secret scanners
// recognise it:
//
//	pst_ + public id + secret + checksum
//
// The public ID finds the stored [Token]. Only the SHA-256 of the secret is stored,
// so a stolen database grants no access; a secret of 256 random bits needs no slow
// hash. The checksum detects a typing mistake without a lookup in the store.
//
// Every request has a token to verify. A [Verifier] does so with a cache of the
// [Store] that keeps a token for half a second, and writes the times of last use
// in the background.
package token

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"hash/crc32"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Scope is a permission of a token.
type Scope string

// The scopes. Each operation in api/openapi.yaml declares the scope that it
// requires as x-required-scope.
const (
	Read  Scope = "read"
	Write Scope = "write"
)

// Valid reports whether s is one of the scopes.
func (s Scope) Valid() bool { return s == Read || s == Write }

// JoinScopes returns the scopes as one text. The stores separate them by spaces.
func JoinScopes(scopes []Scope, separator string) string {
	texts := make([]string, len(scopes))
	for i, s := range scopes {
		texts[i] = string(s)
	}
	return strings.Join(texts, separator)
}

// SplitScopes returns the scopes in a text that separates them by spaces.
func SplitScopes(text string) []Scope {
	var scopes []Scope
	for _, s := range strings.Fields(text) {
		scopes = append(scopes, Scope(s))
	}
	return scopes
}

// Token is a bearer token in the store. The text of the token cannot be derived
// from it.
type Token struct {
	ID         string // public
	Name       string // for people
	Scopes     []Scope
	SecretHash [sha256.Size]byte
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero: never
	RevokedAt  time.Time // zero: not revoked
	LastUsedAt time.Time // zero: never; see [TouchInterval]

	// The secret before the last rotation, and when it stops working; zero: none.
	OldSecretHash  [sha256.Size]byte
	OldSecretUntil time.Time
}

// Allows reports whether t has the given scope.
func (t Token) Allows(s Scope) bool { return slices.Contains(t.Scopes, s) }

// InForce reports whether t is neither revoked nor expired at the given time.
func (t Token) InForce(now time.Time) bool {
	return t.RevokedAt.IsZero() && (t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt))
}

// accepts reports whether the secret belongs to t and t is in force at the given
// time. It takes the same time whether or not the secret is right.
func (t *Token) accepts(secret string, now time.Time) bool {
	hash := hashOf(secret)
	current := subtle.ConstantTimeCompare(hash[:], t.SecretHash[:]) == 1
	old := subtle.ConstantTimeCompare(hash[:], t.OldSecretHash[:]) == 1
	return (current || old && now.Before(t.OldSecretUntil)) && t.InForce(now)
}

// Renew makes t expire after the given lifetime, or never if it is 0.
func (t *Token) Renew(now time.Time, lifetime time.Duration) {
	t.ExpiresAt = time.Time{}
	if lifetime != 0 {
		t.ExpiresAt = now.Add(lifetime)
	}
}

// Revoke revokes t. A token that is revoked already keeps its time of revocation.
func (t *Token) Revoke(now time.Time) {
	if t.RevokedAt.IsZero() {
		t.RevokedAt = now
	}
}

// Rotate gives t a new secret and returns the new text of the token. The old secret
// works until the end of the grace period, or until t expires if that is sooner;
// without a grace period, all old secrets stop working at once. Rotate returns
// [ErrNotInForce] if t is revoked or expired, and [ErrInGrace] if the grace period
// of the last rotation is not over: a token never has three secrets, and no old
// secret stops working before the end of its grace period.
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

// TouchInterval is the precision of the time when a token was last used.
const TouchInterval = time.Minute

// Store stores tokens. Its methods may be called from any number of goroutines, and
// any number of processes may use the same data. Times are stored in microseconds
// and returned in UTC.
type Store interface {
	// CreateToken stores t durably. It returns an error if the ID is in use.
	CreateToken(ctx context.Context, t Token) error

	// Token returns the token with the given ID, or [ErrNotFound].
	Token(ctx context.Context, id string) (Token, error)

	// Tokens returns all tokens, oldest first.
	Tokens(ctx context.Context) ([]Token, error)

	// UpdateToken applies change to the token with the given ID and stores it
	// durably, or returns [ErrNotFound]. Updates of the same token run one after
	// the other. If change returns an error, the token is not changed and
	// UpdateToken returns that error. Change may be called more than once, each
	// time with the stored token. Its changes of ID, CreatedAt and LastUsedAt are
	// ignored.
	UpdateToken(ctx context.Context, id string, change func(t *Token) error) error

	// TouchTokens stores when tokens were last used, by ID. A time less than
	// [TouchInterval] after the stored one is ignored, so that a token in
	// constant use is written once a minute even if many processes verify it. An
	// unknown ID is ignored too.
	TouchTokens(ctx context.Context, used map[string]time.Time) error
}

// ErrNotFound means that there is no token with the given ID.
var ErrNotFound = errors.New("no such token")

// ErrNotInForce means that a token is expired or revoked.
var ErrNotInForce = errors.New("token is expired or revoked")

// ErrInGrace means that the secret before the last rotation of a token still
// works.
var ErrInGrace = errors.New("the secret before the last rotation still works")

// ErrUnavailable means that the store is temporarily not available.
var ErrUnavailable = errors.New("token store not available")

// ErrUnverified is the [ErrUnavailable] of an [Issuer]: it cannot verify a token now.
var ErrUnverified = fmt.Errorf("token cannot be verified now: %w", ErrUnavailable)

// The parts of a token's text. In base 62, 256 bits need 43 digits and the 32 bits
// of a CRC need 6. IDs of 12 random digits (71 bits) do not collide in practice.
const (
	prefix      = "pst_"
	idLen       = 12
	secretLen   = 43
	checksumLen = 6
	textLen     = len(prefix) + idLen + secretLen + checksumLen

	digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// New returns a new token that expires after the given lifetime, or never if it is
// 0, and its text, which cannot be derived from the token later.
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

// hashOf returns the SHA-256 of s. The buffer is longer than the text of a token,
// so that hashing one does not allocate.
func hashOf(s string) [sha256.Size]byte {
	var buf [2 * textLen]byte
	return sha256.Sum256(append(buf[:0], s...))
}

// textOf returns the text of a token.
func textOf(id, secret string) string {
	sum := checksum(id + secret)
	return prefix + id + secret + string(sum[:])
}

// parse splits the text of a token. It returns false if New cannot have made it.
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

// IsIssued reports whether text has the form of the tokens of [New].
func IsIssued(text string) bool {
	_, _, ok := parse(text)
	return ok
}

// texts matches tokens, also truncated ones, and jwts JSON Web Tokens.
var (
	texts = regexp.MustCompile(prefix + `[0-9A-Za-z]{20,}`)
	jwts  = regexp.MustCompile(jwtPrefix + `[0-9A-Za-z_-]*\.[0-9A-Za-z_-]+(\.[0-9A-Za-z_-]*)?`)
)

// jwtPrefix is how a JSON Web Token starts: the Base64 of {".
const jwtPrefix = "eyJ"

// Redact returns s with every token in it replaced, for logs and messages that
// quote input. Static is the static token; it is ignored if it is too short to be
// one.
func Redact(s, static string) string {
	if strings.Contains(s, prefix) { // rare; the regular expression allocates
		s = texts.ReplaceAllLiteralString(s, prefix+"…")
	}
	if strings.Contains(s, jwtPrefix) {
		s = jwts.ReplaceAllLiteralString(s, jwtPrefix+"…")
	}
	if len(static) < minStaticLen {
		return s
	}
	// A client can send guesses and measure the time. With strings.ReplaceAll, the
	// time would depend on the number of correct characters in a guess.
	for i := 0; i+len(static) <= len(s); i++ {
		if subtle.ConstantTimeCompare([]byte(s[i:i+len(static)]), []byte(static)) == 1 {
			s = s[:i] + "…" + s[i+len(static):]
		}
	}
	return s
}

// checksum returns the CRC-32 (IEEE) of s in base 62.
func checksum(s string) (sum [checksumLen]byte) {
	n := crc32.ChecksumIEEE([]byte(s))
	for i := checksumLen - 1; i >= 0; i-- {
		sum[i] = digits[n%62]
		n /= 62
	}
	return sum
}

// randomDigits returns n random base-62 digits, all equally likely.
func randomDigits(n int) string {
	text := make([]byte, n)
	for i := range text {
		digit, _ := rand.Int(rand.Reader, big.NewInt(int64(len(digits)))) // crypto/rand never returns an error
		text[i] = digits[digit.Int64()]
	}
	return string(text)
}
