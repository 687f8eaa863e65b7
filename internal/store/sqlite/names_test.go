package sqlite

import (
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/storetest"
)

func TestOtherUnicode(t *testing.T) {
	t.Parallel()
	s := openStore(t, Memory)
	storetest.OtherUnicode(t, s, func(t *testing.T) {
		must.NoError(t, s.runWrite(t.Context(), func(conn *sqlite.Conn) error {
			return execute(conn, "UPDATE name_keys SET version = version - 1")
		}))
	})
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
