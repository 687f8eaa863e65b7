package httpapi_test

import (
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/contract"
	"github.com/plantstore/plantstore/internal/token"
)

// TestGenerated tries on the service everything that the document promises. No
// test of it is written here: the document makes them.
func TestGenerated(t *testing.T) {
	t.Parallel()
	target := start(t, nil).target()
	tests, err := contract.Generated(1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.Name, func(t *testing.T) { test.Run(t, target) })
	}
}

// TestRandom draws bodies from the schemas.
func TestRandom(t *testing.T) {
	t.Parallel()
	contract.Random(t, start(t, nil).target(), 1_000_000)
}

// target is the service for generated tests, with a token for each scope.
func (s *service) target() contract.Target {
	s.t.Helper()
	target := contract.Target{URL: s.url, Token: staticToken}
	for scope, text := range map[token.Scope]*string{token.Read: &target.ReadOnly, token.Write: &target.WriteOnly} {
		stored, issued := token.New("may only "+string(scope), []token.Scope{scope}, time.Hour)
		if err := s.store.CreateToken(s.t.Context(), stored); err != nil {
			s.t.Fatal(err)
		}
		*text = issued
	}
	return target
}
