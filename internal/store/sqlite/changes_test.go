package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/storetest"
)

// A store that an earlier release created has no feed of changes until EnableChanges
// has run, and that fails while a program of that release may be running.
func TestFeedOfAnEarlierRelease(t *testing.T) {
	left, err := os.ReadFile(filepath.Join("testdata", "released", "003.db"))
	must.NoError(t, err)
	path := filepath.Join(t.TempDir(), "plants.db")
	must.NoError(t, os.WriteFile(path, left, 0o600))
	shortened, err := OpenShortening(t.Context(), path, func(plant.Plant) {})
	if err == nil {
		err = shortened.Close()
	}
	must.NoError(t, err)
	s, err := Open(t.Context(), path)
	must.NoError(t, err)
	storetest.WantNoFeed(t, s)
	err = errors.Join(s.Create(t.Context(), plant.Plant{ID: 123_456}), s.BeginEpoch(t.Context()))
	must.NoError(t, err)
	storetest.WantNoFeed(t, s)
	expect.Message(t, "EnableChanges while the file is open", EnableChanges(t.Context(), path), "another program has locked the file; stop it")
	storetest.WantNoFeed(t, s)
	must.NoError(t, errors.Join(s.Close(), EnableChanges(t.Context(), path)))
	s = openStore(t, path)
	f := &storetest.Follower{Store: s, Limit: 7}
	f.WantFeed(t)
	expect.Error(t, "EnableChanges again, while the file is open", EnableChanges(t.Context(), path), nil) // there is nothing to do
}

// If a file is replaced by an older copy of itself, every follower ends up with an
// equal copy.
func TestFileCopiedBack(t *testing.T) {
	for name, c := range map[string]struct {
		back  func(t *testing.T, backup, path string)
		begin bool // else the new file has a new epoch already
	}{
		"by hand": {func(t *testing.T, backup, path string) {
			must.NoError(t, os.Rename(backup, path))
		}, true},
		"by restore": {func(t *testing.T, backup, path string) {
			must.NoError(t, Copy(t.Context(), backup, path, ignore))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			path, backup := filepath.Join(t.TempDir(), "plants.db"), filepath.Join(t.TempDir(), "backup.db")
			storetest.Restored(t, storetest.Restore{
				Open: func(t *testing.T) store.Store {
					s, err := Open(t.Context(), path)
					must.NoError(t, err)
					return s
				},
				Backup: func(t *testing.T) {
					must.NoError(t, Backup(t.Context(), path, backup, false, ignore))
				},
				Restore: func(t *testing.T) {
					must.NoError(t, os.Remove(path))
					c.back(t, backup, path)
				},
				Begins: !c.begin,
			})
		})
	}
}

func TestForgottenEpochs(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "plants.db"))
	storetest.ForgottenEpochs(t, s, func(t *testing.T) (n int) {
		err := s.read(t.Context(), func(conn *sqlite.Conn) error {
			return sqlitex.Execute(conn, `SELECT count(*) FROM epochs`, &sqlitex.ExecOptions{
				ResultFunc: func(stmt *sqlite.Stmt) error { n = stmt.ColumnInt(0); return nil },
			})
		})
		must.NoError(t, err)
		return n
	})
}

// A new store has the feed of changes, also if several processes open it at once.
func TestNewStoreHasFeed(t *testing.T) {
	for range 10 {
		path := filepath.Join(t.TempDir(), "plants.db")
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				s, err := Open(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				if _, _, err := s.Changes(t.Context(), nil, 1); err != nil {
					t.Error(err)
				}
				expect.NoError(t, s.Close())
			})
		}
		wg.Wait()
	}
}
