package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/storetest"
)

// earlierStore returns the path of a store of the release before the order of names.
func earlierStore(t *testing.T) string {
	t.Helper()
	left, err := os.ReadFile(storetest.ReleasedFile(5, ".db"))
	must.NoError(t, err)
	path := filepath.Join(t.TempDir(), "plants.db")
	must.NoError(t, os.WriteFile(path, left, 0o600))
	return path
}

func TestNamesOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	path := earlierStore(t)
	storetest.IndexNames(t, storetest.Earlier{
		Open: func(t *testing.T) store.Store {
			s, err := Open(t.Context(), path)
			must.NoError(t, err)
			return s
		},
		Index: func(ctx context.Context, progress func(int)) error { return IndexNames(ctx, path, progress) },
		Execute: func(t *testing.T, statement string) {
			conn, err := openWriter(path)
			must.NoError(t, err)
			must.NoError(t, errors.Join(executeAll(conn, statement), conn.Close()))
		},
		AddVersion: "UPDATE name_keys SET version = version + %d",
	})
}

// IndexNames fails while a program that writes no keys may have the file open. Such a program
// cannot open it from then on, because it does not know its schema.
func TestIndexNamesOfOpenStore(t *testing.T) {
	path := earlierStore(t)
	earlier, err := openConn(path, nil, 0) // of a server that was started before
	must.NoError(t, err)
	_, err = number(earlier, "SELECT count(*) FROM plants")
	must.NoError(t, err)
	err = IndexNames(t.Context(), path, func(int) { t.Error("names are indexed") })
	if err == nil || !strings.Contains(err.Error(), "another program has locked the file; stop it") {
		t.Errorf("IndexNames while the file is open = %v", err)
	}
	if have, err := number(earlier, "PRAGMA user_version"); err != nil || have < 6 {
		t.Errorf("the file has schema %d, %v, which a program of the earlier release opens", have, err)
	}
	must.NoError(t, errors.Join(earlier.Close(), IndexNames(t.Context(), path, func(int) {})))
	s := openStore(t, path)
	wantByName(t, s, 1001)
	// There is nothing to do, so the file may be open.
	must.NoError(t, IndexNames(t.Context(), path, func(int) { t.Error("again") }))
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

// A backup and what is restored from it keep the keys of the names.
func TestBackupKeepsNames(t *testing.T) {
	path, backup, restored := filepath.Join(t.TempDir(), "plants.db"), filepath.Join(t.TempDir(), "backup.db"),
		filepath.Join(t.TempDir(), "restored.db")
	must.NoError(t, openStore(t, path).Create(t.Context(), plant.Plant{ID: 1, Name: "n"}))
	must.NoError(t, errors.Join(
		Backup(t.Context(), path, backup, false, ignore),
		Copy(t.Context(), backup, restored, ignore),
	))
	for _, path := range []string{backup, restored} {
		wantByName(t, openStore(t, path), 1)
	}
}
