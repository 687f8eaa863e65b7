package sqlite

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/storetest"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/token"
)

func TestMain(m *testing.M) {
	// The tests mostly wait for the disk, so more of them run than there are processors.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func TestStore(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]func(t *testing.T) string{
		"file":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "plants.db") },
		"memory": func(*testing.T) string { return Memory },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "memory" { // the tests of the API use it, too
				must.HaveTime(t)
			}
			t.Run("plants", func(t *testing.T) {
				t.Parallel()
				storetest.Plants(t, func(t *testing.T) plant.Store { return openStore(t, path(t)) })
			})
			t.Run("tokens", func(t *testing.T) {
				t.Parallel()
				storetest.Tokens(t, func(t *testing.T) token.Store { return openStore(t, path(t)) })
			})
			openTwo := func(t *testing.T) (one, two store.Store) {
				path := path(t)
				one = openStore(t, path)
				if path == Memory {
					return one, one
				}
				return one, openStore(t, path)
			}
			t.Run("changes", func(t *testing.T) {
				t.Parallel()
				storetest.Changes(t, openTwo)
			})
			t.Run("history", func(t *testing.T) {
				t.Parallel()
				storetest.History(t, openTwo)
			})
		})
	}
}

func TestMembers(t *testing.T) { storetest.Members(t, openStore(t, Memory)) }

func TestProbes(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "plants.db"))
	storetest.Probes(t, s, s.failure.Note)
}

func TestDurations(t *testing.T) { storetest.Durations(t, openStore(t, Memory)) }

func TestPageHasWholeBatches(t *testing.T) {
	t.Parallel()
	if parts := storetest.PartsOfBatches(t, openStore(t, filepath.Join(t.TempDir(), "plants.db"))); parts > 0 {
		t.Errorf("%d pages had a part of a batch", parts)
	}
}

func TestUpdatedAt(t *testing.T) {
	t.Parallel()
	s := openStore(t, Memory)
	storetest.UpdatedAt(t, s, func(t *testing.T, by time.Duration) {
		err := s.runWrite(t.Context(), func(conn *sqlite.Conn) error {
			return sqlitex.Execute(conn, `UPDATE plants SET created_at = created_at + ?1, updated_at = updated_at + ?1`,
				&sqlitex.ExecOptions{Args: []any{by.Microseconds()}})
		})
		must.NoError(t, err)
	})
}

// checkDurable finds wrong settings.
func TestDurableSettings(t *testing.T) {
	t.Parallel()
	store := openStore(t, filepath.Join(t.TempDir(), "plants.db"))
	conn := wait.For(t, "the writer", store.writer)
	defer func() { store.writer <- conn }()
	expect.NoError(t, checkDurable(conn))
	for _, statement := range []string{"PRAGMA synchronous = NORMAL", "PRAGMA journal_mode = DELETE"} {
		other, err := openWriter(filepath.Join(t.TempDir(), "plants.db"))
		must.NoError(t, err)
		defer other.Close()
		must.NoError(t, sqlitex.ExecuteTransient(other, statement, nil))
		if err := checkDurable(other); err == nil {
			t.Errorf("after %s checkDurable = nil, want an error", statement)
		}
	}
}

// An empty path is a temporary database, for which SQLite has no log.
func TestOpenChecksDurable(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), "")
	expect.Message(t, "Open of a temporary database", err, "want wal")
}

// Each page is a search in an index, which has the order of the page: so it reads no more
// plants than its limit, and one of each part of a MERGE. A page of tags makes one search for
// the first row of each tag.
func TestPlans(t *testing.T) {
	t.Parallel()
	s := openStore(t, Memory)
	plans := map[string][]string{
		allPlants.list: {"SEARCH plants USING INTEGER PRIMARY KEY (rowid>?)"},
		allPlants.count: {
			"CO-ROUTINE (subquery-1)", "SEARCH plants USING INTEGER PRIMARY KEY (rowid>?)", "SCAN (subquery-1)",
		},
		taggedPlants.list: {"SEARCH plants USING INDEX plants_by_tag (tag=? AND rowid>?)"},
		taggedPlants.count: {
			"CO-ROUTINE (subquery-1)", "SEARCH plants USING COVERING INDEX plants_by_tag (tag=? AND rowid>?)", "SCAN (subquery-1)",
		},
		plantsByName.list: {
			"MERGE (UNION ALL)", "LEFT", "SEARCH plants USING INDEX plants_by_name (name_key=? AND rowid>?)",
			"RIGHT", "SEARCH plants USING INDEX plants_by_name (name_key>? AND name_key<?)",
		},
		plantsByName.count: {
			"CO-ROUTINE (subquery-1)", "SEARCH plants USING COVERING INDEX plants_by_name (name_key>? AND name_key<?)",
			"SCAN (subquery-1)",
		},
		allDescending:    {"SEARCH plants USING INTEGER PRIMARY KEY (rowid<?)"},
		taggedDescending: {"SEARCH plants USING INDEX plants_by_tag (tag=? AND rowid<?)"},
		namesDescending: {
			"MERGE (UNION ALL)", "LEFT", "SEARCH plants USING INDEX plants_by_name (name_key=? AND rowid<?)",
			"RIGHT", "SEARCH plants USING INDEX plants_by_name (name_key>? AND name_key<?)",
		},
		updatesDescending: {
			"MERGE (UNION ALL)", "LEFT", "SEARCH plants USING INDEX plants_by_update (updated_at=? AND rowid<?)",
			"RIGHT", "SEARCH plants USING INDEX plants_by_update (updated_at<?)",
		},
		tagsQuery: {
			"CO-ROUTINE tags",
			"SETUP", "SCAN CONSTANT ROW",
			"SCALAR SUBQUERY 1", "SEARCH plants USING COVERING INDEX plants_by_tag (tag>? AND tag<?)",
			"RECURSIVE STEP", "SCAN tags",
			"CORRELATED SCALAR SUBQUERY 3", "SEARCH plants USING COVERING INDEX plants_by_tag (tag>? AND tag<?)",
			"SCAN tags",
		},
	}
	plans[plantHistoryQuery] = []string{
		"CO-ROUTINE chain", "SETUP", "SCAN CONSTANT ROW", "SCALAR SUBQUERY 1", "SEARCH plants USING INTEGER PRIMARY KEY (rowid=?)",
		"SCALAR SUBQUERY 2", "SEARCH history USING COVERING INDEX history_of_deleted (id=?)",
		"SCALAR SUBQUERY 3", "SEARCH history USING INTEGER PRIMARY KEY (rowid=?)",
		"RECURSIVE STEP", "SCAN chain", "SEARCH history USING INTEGER PRIMARY KEY (rowid=?)",
		"SCAN chain", "SEARCH history USING INTEGER PRIMARY KEY (rowid=?)", "USE TEMP B-TREE FOR ORDER BY",
	}
	plans[allHistoryQuery] = []string{"SEARCH history USING INTEGER PRIMARY KEY (rowid>?)"}
	plans[endChainsQuery] = []string{
		"SEARCH plants USING INTEGER PRIMARY KEY (rowid=?)",
		"LIST SUBQUERY 3", "CO-ROUTINE (subquery-1)", "SCAN history", "SCAN (subquery-1)",
		"LIST SUBQUERY 2", "CO-ROUTINE (subquery-1)", "SCAN history", "SCAN (subquery-1)", "CREATE BLOOM FILTER",
	}
	plans[forgetHistoryQuery] = []string{
		"SEARCH history USING INTEGER PRIMARY KEY (rowid=?)", "LIST SUBQUERY 1", "SCAN history",
	}
	for name, page := range storetest.Filters() {
		_, all := selectionOf(plant.Page{Limit: 100})
		selected, args := selectionOf(page)
		if selected == allPlants && slices.Equal(args, all) {
			t.Errorf("selectionOf in internal/store/sqlite/plants.go ignores %s", name)
		}
		if plans[selected.list] == nil || selected.count != "" && plans[selected.count] == nil {
			t.Errorf("this test has no plan of the statements with %s: %+v", name, selected)
		}
	}
	for query, want := range plans {
		args := []any{1, 0, "", ""}
		for !strings.Contains(query, fmt.Sprint("?", len(args))) {
			args = args[1:]
		}
		var steps []string
		err := s.read(t.Context(), func(conn *sqlite.Conn) error {
			return sqlitex.Execute(conn, "EXPLAIN QUERY PLAN "+query, &sqlitex.ExecOptions{
				Args: args,
				ResultFunc: func(stmt *sqlite.Stmt) error {
					steps = append(steps, stmt.GetText("detail"))
					return nil
				},
			})
		})
		if err != nil || !slices.Equal(steps, want) {
			t.Errorf("plan of %s = %q, %v, want %q", query, steps, err, want)
		}
	}
}

// Without its file, the log of a store has the newest writes, and SQLite would delete it.
func TestLogWithoutStoreIsKept(t *testing.T) {
	t.Parallel()
	store, moved := filepath.Join(t.TempDir(), "plants.db"), filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, store)
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1, Name: "n"}))
	copyFile := func(suffix string) {
		text, err := os.ReadFile(store + suffix)
		if err == nil {
			err = os.WriteFile(moved+suffix, text, 0o600)
		}
		must.NoError(t, err)
	}
	copyFile("-wal") // as after a crash, without the file
	_, err := Open(t.Context(), moved)
	_, errTarget := OpenTarget(t.Context(), moved)
	for name, err := range map[string]error{"Open": err, "OpenTarget": errTarget} {
		expect.Message(t, name, err, moved+"-wal belongs to an old store")
	}
	copyFile("")
	_, err = openStore(t, moved).Get(t.Context(), 1)
	expect.Error(t, "after the file is back, Get", err, nil)
}

func TestNamesOfOtherFiles(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"-wal", "-shm", "-journal", "-last-backup", "-unfinished-copy"} {
		path := filepath.Join(t.TempDir(), "plants.db"+suffix)
		_, err := Open(t.Context(), path)
		expect.Message(t, "Open("+path+")", err, "belongs to the store")
	}
}

func openStore(t testing.TB, path string) *Store {
	t.Helper()
	store, err := Open(t.Context(), path)
	must.NoError(t, err)
	t.Cleanup(func() { expect.NoError(t, store.Close()) })
	return store
}

// insertPlant stores a plant in the transaction of the connection.
func insertPlant(conn *sqlite.Conn, p plant.Plant) error {
	return writePlants(conn, store.Effect{Insert: []store.PlantRow{store.NewPlantRow(p, nil)}})
}

// No connection can damage its file with SQL, or runs what a prepared schema asks for.
func TestDefensive(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, path)
	readOnly, err := OpenReadOnly(path)
	must.NoError(t, err)
	defer readOnly.Close()
	source, err := OpenSource(path)
	must.NoError(t, err)
	defer source.Close()
	target, err := OpenTarget(t.Context(), filepath.Join(t.TempDir(), "target.db"))
	must.NoError(t, err)
	defer target.Close()
	copied, err := openCopied(path)
	must.NoError(t, err)
	defer copied.Close()
	empty := filepath.Join(t.TempDir(), "copy.db")
	must.NoError(t, os.WriteFile(empty, nil, 0o600))
	ofCopy, err := openCopy(empty)
	must.NoError(t, err)
	defer ofCopy.Close()
	conns := map[string]*sqlite.Conn{"of a target": target.conn, "of a backup": copied, "of a copy": ofCopy}
	for name, s := range map[string]*Store{"Open": s, "OpenReadOnly": readOnly, "OpenSource": source} {
		writer := wait.For(t, "the writer", s.writer)
		defer func() { s.writer <- writer }()
		conns["writer of "+name] = writer
		for i := range readers {
			reader := wait.For(t, "a reader", s.readers)
			defer func() { s.readers <- reader }()
			conns[fmt.Sprint("reader ", i, " of ", name)] = reader
		}
	}
	for name, conn := range conns {
		trusted, err := number(conn, "PRAGMA trusted_schema")
		if err != nil || trusted != 0 {
			t.Errorf("%s: trusted_schema = %d, %v, want 0", name, trusted, err)
		}
		_ = executeAll(conn, "PRAGMA writable_schema = ON") // is ignored
		const damage = "DELETE FROM sqlite_schema"
		if _, _, err := conn.PrepareTransient(damage); err == nil || !strings.Contains(err.Error(), "may not be modified") {
			t.Errorf("%s: %s: %v, want an error", name, damage, err)
		}
	}
}
