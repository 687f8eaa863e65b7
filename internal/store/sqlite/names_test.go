package sqlite

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/storetest"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

func TestOtherUnicode(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, path)
	s.Watch(slog.New(slog.DiscardHandler))
	storetest.OtherUnicode(t, s, func(t *testing.T) {
		must.NoError(t, otherProgram(path, "UPDATE name_keys SET version = version - 1"))
		wait.Until(t, "the service sees other keys", s.otherNames.Load)
	})
	readOnly, err := OpenReadOnly(path)
	must.NoError(t, err)
	defer func() { expect.NoError(t, readOnly.Close()) }()
	_, _, err = readOnly.List(t.Context(), plant.Page{ByName: &plant.ByName{}, Limit: 1})
	expect.Error(t, "List by name of a read-only service", err, plant.ErrOtherUnicode)
}

// wantByName fails unless a store finds a plant by its name.
func wantByName(t *testing.T, s *Store, id int64) {
	t.Helper()
	p, err := s.Get(t.Context(), id)
	must.NoError(t, err)
	key := plant.NameKey(p.Name)
	page := plant.Page{ByName: &plant.ByName{Prefix: key, After: &plant.NamePlace{Key: key, ID: id - 1}}, Limit: 1}
	plants, _, err := s.List(t.Context(), page)
	if err != nil || len(plants) != 1 || plants[0].ID != id {
		t.Errorf("by its name plant %d is %v, %v", id, plants, err)
	}
}
