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
package token

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"hash/crc32"
	"math/big"
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
}

// Allows reports whether t has the given scope.
func (t Token) Allows(s Scope) bool { return slices.Contains(t.Scopes, s) }

// valid reports whether the secret is t's and t is in force at the given time.
func (t Token) valid(secret string, now time.Time) bool {
	hash := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(hash[:], t.SecretHash[:]) == 1 &&
		t.RevokedAt.IsZero() &&
		(t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt))
}

// Store keeps tokens. Its methods may be called from any number of goroutines.
type Store interface {
	// CreateToken stores t durably. Its ID must be new.
	CreateToken(ctx context.Context, t Token) error

	// Token returns the token with the given ID, or [ErrNotFound].
	Token(ctx context.Context, id string) (Token, error)
}

// ErrNotFound means that no token has the ID asked for.
var ErrNotFound = errors.New("no such token")

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
		SecretHash: sha256.Sum256([]byte(secret)),
		CreatedAt:  time.Now(),
	}
	if lifetime != 0 {
		t.ExpiresAt = t.CreatedAt.Add(lifetime)
	}
	return t, prefix + id + secret + checksum(id+secret)
}

// parse takes a token's text apart. It reports false for anything that New
// cannot have made.
func parse(text string) (id, secret string, ok bool) {
	if len(text) != textLen || !strings.HasPrefix(text, prefix) {
		return "", "", false
	}
	body, sum := text[len(prefix):textLen-checksumLen], text[textLen-checksumLen:]
	if checksum(body) != sum {
		return "", "", false
	}
	return body[:idLen], body[idLen:], true
}

// checksum is the CRC-32 (IEEE) of s in base 62.
func checksum(s string) string {
	var sum [checksumLen]byte
	n := crc32.ChecksumIEEE([]byte(s))
	for i := checksumLen - 1; i >= 0; i-- {
		sum[i] = digits[n%62]
		n /= 62
	}
	return string(sum[:])
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
