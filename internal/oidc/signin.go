package oidc

import (
	"context"
	"sync"
	"time"
)

// SignIn finds where people sign in at the provider. It keeps what the discovery document says.
type SignIn struct {
	keys *keySet

	mu    sync.Mutex
	found discovery
	next  time.Time // earliest start of the next fetch
}

// NewSignIn returns a SignIn. It fetches nothing.
func NewSignIn(config Config) *SignIn { return &SignIn{keys: newKeySet(config)} }

// Endpoints returns the URLs of the authorization endpoint and of the token endpoint. They are
// empty while the provider cannot be reached.
func (s *SignIn) Endpoints(context.Context) (authorization, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found.Token == "" && time.Now().After(s.next) {
		s.next = time.Now().Add(fetchPause)
		found, err := s.keys.discover()
		if err == nil {
			err = found.checkSignIn()
		}
		if err != nil {
			s.keys.log.Warn("the page cannot offer to sign in", "issuer", s.keys.issuer, "err", shorten(err.Error()))
			return "", ""
		}
		s.found = found
	}
	return s.found.Authorization, s.found.Token
}
