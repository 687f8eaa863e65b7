// Package oidc verifies the access tokens of an identity provider: JSON Web Tokens
// (RFC 9068) that its OpenID Connect discovery document has the keys for.
//
// [New] returns an [Issuer], which a [token.Verifier] asks about every token that is
// not one of ours. It verifies a token in this order, and stops at the first fault:
//
//   - The cache has the tokens that were verified before.
//   - The text must be a JWS in its compact form, with one of the algorithms.
//   - The claims (claims.go) must be for this service and in force. This comes before
//     the signature, so that a token of another service costs no keys.
//   - The signature must be of one of the provider's keys (keys.go), with its algorithm.
//
// RFC 8725 has the best practices; rfc8725_test.go goes through them.
//
// An Issuer fetches nothing before the first token, so the service starts while
// the provider is down. It keeps working with the keys that it has.
//
// A [SignIn] knows where people sign in, for the page.
package oidc

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/plantstore/plantstore/internal/cache"
	"github.com/plantstore/plantstore/internal/token"
)

// DefaultMaxLifetime is the default of [Config.MaxLifetime].
const DefaultMaxLifetime = time.Hour

const (
	// maxLen is the length of the longest token that is read.
	maxLen = 16 << 10

	// maxCached is how many bytes of verified tokens are kept, and entrySize what one
	// takes beside its text.
	maxCached = 16 << 20
	entrySize = 512
)

// algorithms are the accepted ones: every asymmetric signature of RFC 7518 and
// RFC 8037. None and HS* are not among them.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// Config has the settings of an [Issuer]. Issuer, Audience, MaxLifetime and Log are
// required.
type Config struct {
	Issuer       string        // URL of the provider, exactly as its tokens have it
	Audience     string        // a token must have it among its audiences
	ScopeClaim   string        // claim with the scopes; empty: scope, scp, permissions, the first that a token has
	ScopePrefix  string        // what precedes read and write in the scopes of a token
	NameClaim    string        // claim with the name of the person; a token without it has its sub, or else its client_id, as its name
	RequireATJWT bool          // refuse tokens whose type is not at+jwt
	MaxLifetime  time.Duration // refuse tokens that are valid for longer
	ClientID     string        // of the page, which people sign in to; empty: they cannot

	Log       *slog.Logger
	Transport http.RoundTripper // to the provider; nil: [http.DefaultTransport]
}

// Issuer verifies the tokens of an identity provider.
type Issuer struct {
	config Config
	keys   *keySet

	mu sync.RWMutex
	// The tokens that were verified, by their text. Clients without a valid token add
	// nothing. The hash is that of a Go map, which is keyed and compares the whole text:
	// a SHA-256, so that the text is not kept, would cost 11 % of the CPU of a request.
	verified cache.Cache[string, token.Token]
}

// New returns an Issuer. It fetches nothing.
func New(config Config) (*Issuer, error) {
	u, err := url.Parse(config.Issuer)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		checkURL(u) != nil:
		shown := config.Issuer
		if err == nil {
			shown = u.Redacted()
		}
		return nil, fmt.Errorf("--oidc-issuer must be an https URL without user, query and fragment, "+
			"as in https://login.example.com/garden, got %q; http is for loopback addresses", shown)
	case config.Audience == "":
		return nil, errors.New("--oidc-audience is empty: " +
			"set it to what tokens for this service have in their claim aud")
	case config.MaxLifetime <= 0:
		return nil, fmt.Errorf("--oidc-max-lifetime must be longer than 0s, got %v", config.MaxLifetime)
	}
	return &Issuer{
		config:   config,
		keys:     newKeySet(config),
		verified: cache.Cache[string, token.Token]{MaxSize: maxCached / 2},
	}, nil
}

// checkURL returns an error unless requests to a URL are private: https, or a
// loopback address.
func checkURL(u *url.URL) error {
	addr, err := netip.ParseAddr(u.Hostname())
	loopback := u.Hostname() == "localhost" || err == nil && addr.IsLoopback()
	if u.Scheme == "https" || u.Scheme == "http" && loopback {
		return nil
	}
	return fmt.Errorf("%s is not an https URL", u.Redacted())
}

// Verify returns a [token.Token] for an access token, with its scopes. The ID is its
// client_id, or its sub if it has none; the name is that of the person. A token that is not valid is a
// [token.RefusedError]. The error is [token.ErrUnverified] if the keys of the
// provider cannot be fetched.
func (i *Issuer) Verify(ctx context.Context, text string) (token.Token, error) {
	now := time.Now()
	i.mu.RLock()
	t, ok := i.verified.Get(text)
	i.mu.RUnlock()
	if ok && t.InForce(now) {
		return t, nil
	}
	t, err := i.verify(ctx, text, now)
	if err != nil {
		return token.Token{}, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.verified.Set(strings.Clone(text), t, len(text)+entrySize, now)
	return t, nil
}

func (i *Issuer) verify(ctx context.Context, text string, now time.Time) (token.Token, error) {
	if len(text) > maxLen {
		return token.Token{}, refused("longer than %d bytes", maxLen)
	}
	for part := range strings.SplitSeq(text, ".") {
		decoded, _ := base64.RawURLEncoding.DecodeString(part) // as far as it can be decoded
		// The library accepts other spellings, too: with line breaks, and with bits behind the last byte.
		if base64.RawURLEncoding.EncodeToString(decoded) != part {
			return token.Token{}, refused("not a signed JWT: a part is not base64url")
		}
	}
	jws, err := jose.ParseSignedCompact(text, algorithms)
	if err != nil {
		return token.Token{}, refused("not a signed JWT: %v", err)
	}
	header := jws.Signatures[0].Protected
	if _, ok := header.ExtraHeaders["crit"]; ok { // the library accepts an empty list, which RFC 7515 forbids
		return token.Token{}, refused("it has crit, and no extension is supported")
	}
	types := []string{"at+jwt", "jwt", ""} // with another one it says that it is no access token
	if i.config.RequireATJWT {
		types = types[:1]
	}
	typ := fmt.Sprint(cmp.Or(header.ExtraHeaders[jose.HeaderType], any("")))
	short := strings.TrimPrefix(strings.ToLower(typ), "application/") // RFC 9068, section 4
	if !slices.Contains(types, short) {
		return token.Token{}, refused("the type is %q, not at+jwt", typ)
	}
	t, err := i.config.read(jws.UnsafePayloadWithoutVerification(), now)
	if err != nil {
		return token.Token{}, err
	}
	keys, err := i.keys.find(ctx, header.KeyID)
	if err != nil {
		return token.Token{}, err
	}
	for _, key := range keys {
		algorithm := cmp.Or(key.Algorithm, header.Algorithm) // of a key that does not say it, any that fits
		if _, err := jws.Verify(key); err == nil && algorithm == header.Algorithm {
			return t, nil
		}
	}
	return token.Token{}, refused("the signature is wrong, or the algorithm %s is not the one of its key", header.Algorithm)
}

// refused returns the error for a token that is not valid.
func refused(format string, args ...any) error {
	return &token.RefusedError{Reason: shorten(fmt.Sprintf(format, args...))}
}

// maxQuote is the length of the longest text that is logged of what a client or the
// provider has sent.
const maxQuote = 300

func shorten(text string) string {
	if len(text) <= maxQuote {
		return text
	}
	return strings.ToValidUTF8(text[:maxQuote], "") + "…"
}
