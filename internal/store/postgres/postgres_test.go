package postgres

import (
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/pgtest"
	"github.com/plantstore/plantstore/internal/store/storetest"
	"github.com/plantstore/plantstore/internal/token"
)

func TestStore(t *testing.T) {
	storetest.Plants(t, func(t *testing.T) plant.Store { return open(t, pgtest.DSN(t)) })
	storetest.Tokens(t, func(t *testing.T) token.Store { return open(t, pgtest.DSN(t)) })
}

func open(t testing.TB, dsn string) *Store {
	t.Helper()
	store, err := Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}
