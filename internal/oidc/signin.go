package oidc

import (
	"context"
	"sync/atomic"
	"time"
)

// SignInPause is how often to call [SignIn.Update].
const SignInPause = fetchPause

// signInAge is the age at which the discovery document is fetched again.
const signInAge = time.Hour

// SignIn knows where people sign in at the provider: what its discovery document said.
type SignIn struct {
	keys    *keySet
	known   atomic.Pointer[discovery] // what was found last; nil: nothing yet
	fetched time.Time                 // when; only Update uses it
}

// NewSignIn returns a SignIn. It fetches nothing.
func NewSignIn(config Config) *SignIn { return &SignIn{keys: newKeySet(config)} }

// Update fetches the discovery document, which takes five seconds at most, if it is an hour
// old or was not found yet. If that fails, what is known stays.
func (s *SignIn) Update(ctx context.Context) {
	if s.known.Load() != nil && time.Since(s.fetched) < signInAge {
		return
	}
	found, err := s.keys.discover(ctx)
	if err == nil {
		err = found.checkSignIn()
	}
	switch {
	case ctx.Err() != nil: // the service stops
	case err != nil:
		s.keys.log.Warn("cannot find out where people sign in", "issuer", s.keys.issuer, "err", shorten(err.Error()))
	default:
		s.fetched = time.Now()
		s.known.Store(&found)
	}
}

// Endpoints returns the URLs of the authorization endpoint and of the token endpoint. They are
// empty until Update has found them. It does not wait.
func (s *SignIn) Endpoints() (authorization, token string) {
	known := s.known.Load()
	if known == nil {
		return "", ""
	}
	return known.Authorization, known.Token
}
