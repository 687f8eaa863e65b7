package httpapi_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/postgres"
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

// Two servers with one database behave as one service for a client whose requests go
// to both in turn.
func TestGeneratedRequestsToTwoServers(t *testing.T) {
	t.Parallel()
	dsn := newDSN(t)
	var servers []http.Handler
	var store store.Store
	for range 2 {
		opening, err := postgres.Open(t.Context(), dsn)
		store = opened(t, opening, err)
		servers = append(servers, newService(t, withStore(store)).handler)
	}
	var requests atomic.Int64
	inTurn := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		servers[requests.Add(1)%2].ServeHTTP(w, r)
	})
	target := newService(t, withStore(store), withHandler(inTurn)).target()
	for test := range plantcontract.Plants().Tests(t.Context()) {
		t.Run(test.Name, func(t *testing.T) { test.Run(t, target) })
	}
}

// target is the service for generated tests, with a token for each scope.
func (s *service) target() contracttest.Target {
	s.t.Helper()
	return plantcontract.Target(s.url, staticToken, newToken(s.t, s.store, token.Read), newToken(s.t, s.store, token.Write))
}
