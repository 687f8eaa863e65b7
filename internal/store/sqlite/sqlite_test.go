package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/wait"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/storetest"
	"github.com/plantstore/plantstore/internal/token"
)

func TestStore(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]func(t *testing.T) string{
		"file":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "plants.db") },
		"memory": func(*testing.T) string { return Memory },
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Plants(t, func(t *testing.T) plant.Store { return openStore(t, path(t)) })
			storetest.Tokens(t, func(t *testing.T) token.Store { return openStore(t, path(t)) })
			storetest.Changes(t, func(t *testing.T) (one, two store.Store) {
				path := path(t)
				one = openStore(t, path)
				if path == Memory {
					return one, one
				}
				return one, openStore(t, path)
			})
		})
	}
}

func TestDurations(t *testing.T) { storetest.Durations(t, openStore(t, Memory)) }

func TestPageHasWholeBatches(t *testing.T) {
	t.Parallel()
	if parts := storetest.PartsOfBatches(t, openStore(t, filepath.Join(t.TempDir(), "plants.db"))); parts > 0 {
		t.Errorf("%d pages had a part of a batch", parts)
	}
}

func TestUpdatedAt(t *testing.T) {
	s := openStore(t, Memory)
	storetest.UpdatedAt(t, s, func(t *testing.T, by time.Duration) {
		err := s.write(t.Context(), func(conn *sqlite.Conn) error {
			return sqlitex.Execute(conn, `UPDATE plants SET created_at = created_at + ?1, updated_at = updated_at + ?1`,
				&sqlitex.ExecOptions{Args: []any{by.Microseconds()}})
		})
		must(t, err)
	})
}

func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a file?with=odd&name%20#.db")
	store, err := Open(t.Context(), path)
	must(t, err)
	want := plant.Plant{ID: 1, Name: "Ficus lyrata", Tag: new("Moraceae")}
	must(t, store.Create(t.Context(), want))
	must(t, store.Close())
	got, err := openStore(t, path).Get(t.Context(), 1)
	if err != nil || !got.Same(want) {
		t.Errorf("after reopening Get(1) = %v, %v, want %v", got, err, want)
	}
}

// checkDurable finds wrong settings.
func TestDurableSettings(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "plants.db"))
	conn := wait.For(t, "the writer", store.writer)
	defer func() { store.writer <- conn }()
	if err := checkDurable(conn); err != nil {
		t.Error(err)
	}
	for _, statement := range []string{"PRAGMA synchronous = NORMAL", "PRAGMA journal_mode = DELETE"} {
		other, err := openWriter(filepath.Join(t.TempDir(), "plants.db"))
		must(t, err)
		defer other.Close()
		must(t, sqlitex.ExecuteTransient(other, statement, nil))
		if err := checkDurable(other); err == nil {
			t.Errorf("after %s checkDurable = nil, want an error", statement)
		}
	}
}

// An empty path is a temporary database, for which SQLite has no log.
func TestOpenChecksDurable(t *testing.T) {
	store, err := Open(t.Context(), "")
	if err == nil {
		store.Close()
		t.Fatal("Open of a temporary database = nil, want an error")
	}
	if want := "want wal"; !strings.Contains(err.Error(), want) {
		t.Errorf("Open = %v, want %q", err, want)
	}
}

// Each page is a search in an index that is ordered by ID.
func TestListPlan(t *testing.T) {
	s := openStore(t, Memory)
	for want, query := range map[string]string{
		"SEARCH plants USING INTEGER PRIMARY KEY (rowid>?)":           listAllQuery,
		"SEARCH plants USING INDEX plants_by_tag (tag=? AND rowid>?)": listTaggedQuery,
	} {
		var steps []string
		err := s.read(t.Context(), func(conn *sqlite.Conn) error {
			return sqlitex.Execute(conn, "EXPLAIN QUERY PLAN "+query, &sqlitex.ExecOptions{
				Args: []any{1, 0, "tag"}[:strings.Count(query, "?")],
				ResultFunc: func(stmt *sqlite.Stmt) error {
					steps = append(steps, stmt.GetText("detail"))
					return nil
				},
			})
		})
		if err != nil || len(steps) != 1 || steps[0] != want {
			t.Errorf("plan of %s = %q, %v, want %q", query, steps, err, want)
		}
	}
}

// Without its file, the log of a store has the newest writes, and SQLite would delete it.
func TestLogWithoutStoreIsKept(t *testing.T) {
	store, moved := filepath.Join(t.TempDir(), "plants.db"), filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, store)
	must(t, s.Create(t.Context(), plant.Plant{ID: 1, Name: "n"}))
	copyFile := func(suffix string) {
		text, err := os.ReadFile(store + suffix)
		if err == nil {
			err = os.WriteFile(moved+suffix, text, 0o600)
		}
		must(t, err)
	}
	copyFile("-wal") // as after a crash, without the file
	_, err := Open(t.Context(), moved)
	_, errTarget := OpenTarget(t.Context(), moved, nil)
	for name, err := range map[string]error{"Open": err, "OpenTarget": errTarget} {
		if err == nil || !strings.Contains(err.Error(), moved+"-wal belongs to an old store") {
			t.Errorf("%s = %v, want that the log belongs to an old store", name, err)
		}
	}
	copyFile("")
	_, err = openStore(t, moved).Get(t.Context(), 1)
	wantErr(t, "after the file is back, Get", err, nil)
}

func TestNamesOfOtherFiles(t *testing.T) {
	for _, suffix := range []string{"-wal", "-shm", "-journal", "-last-backup"} {
		path := filepath.Join(t.TempDir(), "plants.db"+suffix)
		if _, err := Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "belongs to the store") {
			t.Errorf("Open(%s) = %v, want that the file belongs to a store", path, err)
		}
	}
}

// must ends the test if there is an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantErr fails the test unless a call has returned the error that it should, or nil.
func wantErr(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func openStore(t testing.TB, path string) *Store {
	t.Helper()
	store, err := Open(t.Context(), path)
	must(t, err)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}
