package httpapi_test

import (
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/contract"
	"github.com/plantstore/plantstore/internal/testing/plantcontract"
	"github.com/plantstore/plantstore/internal/token"
)

// TestGeneratedRequests checks every promise of the document. Package contract derives
// the tests from the document.
func TestGeneratedRequests(t *testing.T) {
	t.Parallel()
	target := newService(t).target()
	for _, test := range plantcontract.Plants().Tests(1_000_000) {
		t.Run(test.Name, func(t *testing.T) { test.Run(t, target) })
	}
}

// TestRandomBodies sends random bodies that match the schemas.
func TestRandomBodies(t *testing.T) {
	t.Parallel()
	plantcontract.Plants().Random(t, newService(t).target(), 1_000_000)
}

// target is the service for generated tests, with a token for each scope.
func (s *service) target() contract.Target {
	s.t.Helper()
	var only []string
	for _, scope := range []token.Scope{token.Read, token.Write} {
		stored, issued := token.New("may only "+string(scope), []token.Scope{scope}, time.Hour)
		if err := s.store.CreateToken(s.t.Context(), stored); err != nil {
			s.t.Fatal(err)
		}
		only = append(only, issued)
	}
	return plantcontract.Target(s.url, staticToken, only[0], only[1])
}
