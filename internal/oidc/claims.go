package oidc

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/plantstore/plantstore/internal/token"
)

// leeway is how far the clocks of the provider and of this machine may be apart.
const leeway = time.Minute

// maxID is the length of the longest client_id or sub, which is logged with requests.
const maxID = 256

// scopeClaims are the claims that providers put scopes into.
var scopeClaims = []string{"scope", "scp", "permissions"}

// claims are the claims of a token. Names that differ in case are different claims.
type claims map[string]any

// read checks the claims of a token and returns the token. It does not check who
// made them.
func (c Config) read(payload []byte, now time.Time) (token.Token, error) {
	var got claims
	if err := json.Unmarshal(payload, &got); err != nil { // refuses duplicate names
		return token.Token{}, refused("the claims are not a JSON object: %v", err)
	}
	if iss, _ := got["iss"].(string); iss != c.Issuer {
		return token.Token{}, refused("the issuer is %q, not %q", iss, c.Issuer)
	}
	if aud := got.texts("aud"); !slices.Contains(aud, c.Audience) {
		return token.Token{}, refused("the audience is %q, without %q", aud, c.Audience)
	}
	if _, ok := got["at_hash"]; ok {
		return token.Token{}, refused("it is an ID token: it has at_hash")
	}
	expires, err := c.period(got, now)
	if err != nil {
		return token.Token{}, err
	}
	client, _ := got["client_id"].(string)
	subject, _ := got["sub"].(string)
	id := cmp.Or(client, subject)
	if id == "" || len(id) > maxID {
		return token.Token{}, refused("neither client_id nor sub is a string of 1 to %d bytes", maxID)
	}
	person, _ := got[c.NameClaim].(string)
	name := cmp.Or(person, subject, client)
	if len(name) > maxID {
		return token.Token{}, refused("the name of its person is longer than %d bytes", maxID)
	}
	return token.Token{ID: id, Name: name, Scopes: c.scopes(got), ExpiresAt: expires}, nil
}

// period checks when a token is valid, and returns the end.
func (c Config) period(got claims, now time.Time) (expires time.Time, err error) {
	issued, issuedOK := got.time("iat")
	expires, expiresOK := got.time("exp")
	if !issuedOK || !expiresOK {
		return time.Time{}, refused("iat or exp is not a time")
	}
	if issued.After(now.Add(leeway)) {
		return time.Time{}, refused("it was issued in the future, at %v", issued)
	}
	if _, ok := got["nbf"]; ok {
		if from, ok := got.time("nbf"); !ok || from.After(now.Add(leeway)) {
			return time.Time{}, refused("it is not valid yet: nbf is %v", got["nbf"])
		}
	}
	if lifetime := expires.Sub(issued); lifetime > c.MaxLifetime {
		return time.Time{}, refused("it is valid for %v, longer than --oidc-max-lifetime %v", lifetime, c.MaxLifetime)
	}
	expires = expires.Add(leeway)
	if !now.Before(expires) {
		return time.Time{}, refused("it expired at %v", expires.Add(-leeway))
	}
	return expires, nil
}

// scopes returns the scopes of ours that a token has.
func (c Config) scopes(got claims) (scopes []token.Scope) {
	names := scopeClaims
	if c.ScopeClaim != "" {
		names = []string{c.ScopeClaim}
	}
	for _, name := range names {
		if _, ok := got[name]; !ok {
			continue
		}
		for _, text := range got.texts(name) {
			for word := range strings.SplitSeq(text, " ") { // RFC 6749, section 3.3
				scope, ok := strings.CutPrefix(word, c.ScopePrefix)
				if s := token.Scope(scope); ok && s.Valid() && !slices.Contains(scopes, s) {
					scopes = append(scopes, s)
				}
			}
		}
		return scopes
	}
	return nil
}

// texts returns a claim that is a string or an array of strings.
func (c claims) texts(name string) (all []string) {
	switch v := c[name].(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok {
				all = append(all, s)
			}
		}
	}
	return all
}

// maxTime is the end of the year 9999. A time.Time cannot hold every number.
const maxTime = 253402300799

// time returns a claim that is a time: seconds since 1970, maybe with a fraction.
func (c claims) time(name string) (time.Time, bool) {
	seconds, ok := c[name].(float64)
	if !ok || seconds < 0 || seconds > maxTime {
		return time.Time{}, false
	}
	return time.Unix(int64(seconds), 0).UTC(), true
}
