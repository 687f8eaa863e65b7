package storetest

import (
	"sync"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/token"
)

// BeforeMigration creates plant 1 and a token. The result fails the test unless a store has both as they were.
func BeforeMigration(t *testing.T, s store.Store) (wantSame func(store.Store)) {
	t.Helper()
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1, Name: "of this release"}))
	before, err := s.Get(t.Context(), 1)
	must.NoError(t, err)
	stored, text := token.New("n", []token.Scope{token.Read}, 0)
	must.NoError(t, s.CreateToken(t.Context(), stored))
	return func(s store.Store) {
		t.Helper()
		if after, err := s.Get(t.Context(), 1); err != nil || after.ETag != before.ETag || !after.Same(before) {
			t.Errorf("after the migration Get = %+v, %v, want %+v", after, err, before)
		}
		verifier := token.NewVerifier(s, "")
		_, err := verifier.Verify(t.Context(), text)
		must.NoError(t, err)
		must.NoError(t, verifier.Close())
	}
}

// MigrateAtOnce opens a store in several programs at the same time. Each of them must find the
// given number of migrations then.
func MigrateAtOnce(t *testing.T, programs, want int, open func() (store.Store, error)) {
	t.Helper()
	var wg sync.WaitGroup
	for range programs {
		wg.Go(func() {
			s, err := open()
			if err != nil {
				t.Errorf("Open = %v", err)
				return
			}
			if _, now := s.Schema(); now != want {
				t.Errorf("after Open the schema is %d, want %d", now, want)
			}
			if err := s.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
		})
	}
	wg.Wait()
}
