package httpapi_test

import (
	"testing"

	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/internal/testing/plantcontract"
	"github.com/plantstore/plantstore/internal/token"
)

// TestGeneratedRequests checks every promise of the document. Package contract derives
// the tests from the document.
func TestGeneratedRequests(t *testing.T) {
	t.Parallel()
	target := newService(t).target()
	for test := range plantcontract.Plants().Tests(t.Context()) {
		t.Run(test.Name, func(t *testing.T) { test.Run(t, target) })
	}
}

// target is the service for generated tests, with a token for each scope.
func (s *service) target() contracttest.Target {
	s.t.Helper()
	return plantcontract.Target(s.url, staticToken, newToken(s.t, s.store, token.Read), newToken(s.t, s.store, token.Write))
}
