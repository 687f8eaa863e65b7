package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/storetest"
)

// A store that an earlier release created has no feed of changes until EnableChanges
// has run, and that fails while a program of that release may be running.
func TestFeedOfAnEarlierRelease(t *testing.T) {
	left, err := os.ReadFile(filepath.Join("testdata", "released", "003.db"))
	must(t, err)
	path := filepath.Join(t.TempDir(), "plants.db")
	must(t, os.WriteFile(path, left, 0o600))
	shortened, err := OpenShortening(t.Context(), path, func(plant.Plant) {})
	if err == nil {
		err = shortened.Close()
	}
	must(t, err)
	s, err := Open(t.Context(), path)
	must(t, err)
	wantNoFeed := func() {
		t.Helper()
		_, _, err := s.Changes(t.Context(), nil, 10)
		if e, ok := errors.AsType[plant.NoChangesError](err); !ok || !strings.Contains(e.Reason, "plantstore migrate --changes") {
			t.Errorf("Changes = %v, want a NoChangesError with plantstore migrate --changes", err)
		}
	}
	wantNoFeed()
	err = errors.Join(s.Create(t.Context(), plant.Plant{ID: 123_456}), s.BeginEpoch(t.Context()))
	must(t, err)
	wantNoFeed()
	if err := EnableChanges(t.Context(), path); err == nil || !strings.Contains(err.Error(), "another program has locked the file; stop it") {
		t.Errorf("EnableChanges while the file is open = %v", err)
	}
	wantNoFeed()
	must(t, errors.Join(s.Close(), EnableChanges(t.Context(), path)))
	s = openStore(t, path)
	f := &storetest.Follower{Store: s, Limit: 7}
	f.Drain(t)
	must(t, s.Create(t.Context(), plant.Plant{ID: 123_457}))
	if all := f.Drain(t); len(all) != 1 {
		t.Errorf("after a create the feed has %d changes, want 1", len(all))
	}
	f.WantCopy(t)
	wantErr(t, "EnableChanges again, while the file is open", EnableChanges(t.Context(), path), nil) // there is nothing to do
}

// If a file is replaced by an older copy of itself, every follower ends up with an
// equal copy.
func TestFileCopiedBack(t *testing.T) {
	for name, c := range map[string]struct {
		back  func(t *testing.T, backup, path string)
		begin bool // else the new file has a new epoch already
	}{
		"by hand": {func(t *testing.T, backup, path string) {
			must(t, os.Rename(backup, path))
		}, true},
		"by restore": {func(t *testing.T, backup, path string) {
			must(t, Copy(t.Context(), backup, path, ignore))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			path, backup := filepath.Join(t.TempDir(), "plants.db"), filepath.Join(t.TempDir(), "backup.db")
			storetest.Restored(t, storetest.Restore{
				Open: func(t *testing.T) store.Store {
					s, err := Open(t.Context(), path)
					must(t, err)
					return s
				},
				Backup: func(t *testing.T) {
					must(t, Backup(t.Context(), path, backup, false, ignore))
				},
				Restore: func(t *testing.T) {
					must(t, os.Remove(path))
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
		must(t, err)
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
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}
