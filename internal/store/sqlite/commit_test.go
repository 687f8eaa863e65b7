package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/groupcommit"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/storetest"
	"github.com/plantstore/plantstore/internal/token"
)

// A write may run twice. Here every write does, and the store must pass all tests:
// the first run must have no effect in the file and in variables.
func TestWritesCanRunTwice(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	errAgain := errors.New("once more")
	openTwice := func(t *testing.T) *Store {
		s := openStore(t, filepath.Join(t.TempDir(), "plants.db"))
		s.writes.Close()
		s.writes = groupcommit.New(maxGroup, func(calls []*groupcommit.Call[groupedWrite]) {
			conn := <-s.writer
			undone := inTransaction(conn, "BEGIN IMMEDIATE", func() error {
				group, err := newGroup(conn, calls, true)
				if err != nil {
					return err
				}
				for _, c := range calls {
					_, _ = attempt(conn, group, c)
				}
				effect, changed := group.Effect()
				err = writePlants(conn, effect)
				_, changesErr := storeChanges(conn, nil, changed)
				return errors.Join(err, changesErr, errAgain)
			})
			s.writer <- conn
			if !errors.Is(undone, errAgain) {
				t.Errorf("the first run = %v, want %v", undone, errAgain)
			}
			s.commit(calls)
		})
		return s
	}
	storetest.Plants(t, func(t *testing.T) plant.Store { return openTwice(t) })
	storetest.Tokens(t, func(t *testing.T) token.Store { return openTwice(t) })
}

// A write that fails does not affect the other writes of its group.
func TestWritesOfAGroupAreIndependent(t *testing.T) {
	t.Parallel()
	errLate := errors.New("failed after a change")
	insert := func(ids ...int64) groupedWrite {
		return groupedWrite{run: func(conn *sqlite.Conn) error {
			for _, id := range ids {
				if err := insertPlant(conn, plant.Plant{ID: id, Name: "n"}); err != nil {
					return err
				}
			}
			return nil
		}}
	}
	then := func(w groupedWrite, end func(conn *sqlite.Conn) error) groupedWrite {
		return groupedWrite{run: func(conn *sqlite.Conn) error {
			if err := w.run(conn); err != nil {
				return err
			}
			return end(conn)
		}}
	}
	fail := func(*sqlite.Conn) error { return errLate }
	decide := func(effect store.Effect, err error) groupedWrite {
		return groupedWrite{Change: store.Change{IDs: []int64{10}, Decide: func(func(int64) *plant.Plant) (store.Effect, error) { return effect, err }}}
	}
	for name, bad := range map[string]groupedWrite{
		"a change that is refused":                    decide(store.Effect{}, errLate),
		"a write that fails at once":                  {run: fail},
		"a write that fails after a change":           then(insert(10), fail),
		"a batch that fails in its middle":            then(insert(10, 11, 12), fail),
		"a write that changes a row of another write": then(executes(`UPDATE plants SET name = 'changed'`), fail),
		"a statement that violates a constraint":      executes(`INSERT INTO plants (id, name, version, created_at, updated_at) VALUES (10, NULL, 0, 0, 0)`),
		"the same after a change":                     then(insert(10), executes(`INSERT INTO plants (id, name, version, created_at, updated_at) VALUES (11, NULL, 0, 0, 0)`).run),
		"a transaction that it ends":                  executes("ROLLBACK"),
		"a transaction that SQLite rolls back":        then(insert(10), executes(`INSERT OR ROLLBACK INTO plants (id, name, version, created_at, updated_at) VALUES (11, NULL, 0, 0, 0)`).run),
		"a panic":                                     {run: func(*sqlite.Conn) error { panic("oh") }},
		"a panic after a change":                      then(insert(10), func(*sqlite.Conn) error { panic("oh") }),
		"a panic in the middle of an UPDATE":          then(insert(10), leaveOpen),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, at := range []int{0, 1, 3} {
				s := openStore(t, filepath.Join(t.TempDir(), "plants.db"))
				writes := []groupedWrite{insert(1), insert(2, 3), insert(4)}
				writes = append(slices.Insert(writes, at, bad), bad) // a group of 5
				for i, err := range inOneGroup(s, writes) {
					if failed := err != nil; failed != (i == at || i == 4) {
						t.Errorf("with failing writes at %d and 4, write %d = %v", at, i, err)
					}
				}
				wantIDs(t, s, 1, 2, 3, 4)
			}
			s := openStore(t, filepath.Join(t.TempDir(), "plants.db"))
			if errs := inOneGroup(s, []groupedWrite{bad}); errs[0] == nil {
				t.Error("alone it returned nil")
			}
			wantIDs(t, s)
			if errs := inOneGroup(s, []groupedWrite{insert(1)}); errs[0] != nil {
				t.Errorf("the next write = %v, want nil", errs[0])
			}
			wantIDs(t, s, 1)
		})
	}
}

// Creates are decided as if nothing were stored. A group with a plant that is stored is
// decided again, with what is stored.
func TestCreatesBesideStoredPlants(t *testing.T) {
	t.Parallel()
	s := openStore(t, filepath.Join(t.TempDir(), "plants.db"))
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 2, Name: "stored"}))
	var writes []groupedWrite
	w := store.Writer{Apply: func(_ context.Context, c store.Change) error {
		writes = append(writes, groupedWrite{Change: c})
		return nil
	}}
	for _, p := range []plant.Plant{{ID: 1, Name: "n"}, {ID: 2, Name: "another"}, {ID: 2, Name: "stored"}, {ID: 4, Name: "n"}} {
		must.NoError(t, w.Create(t.Context(), p))
	}
	_, err := w.CreateAll(t.Context(), []plant.Plant{{ID: 1, Name: "another"}, {ID: 3, Name: "n"}})
	must.NoError(t, err)
	errs := inOneGroup(s, writes)
	if errs[0] != nil || !errors.Is(errs[1], plant.ErrExists) || errs[2] != nil || errs[3] != nil || !errors.Is(errs[4], plant.ErrExists) {
		t.Errorf("the group = %v, want that only the second and the last are taken", errs)
	}
	wantIDs(t, s, 1, 4)
	must.NoError(t, s.read(t.Context(), func(conn *sqlite.Conn) error {
		transactions, err := sqlitex.ResultInt64(conn.Prep("SELECT count(*) FROM changes"))
		if transactions != 2 {
			t.Errorf("the plants were stored in %d transactions, want 2", transactions)
		}
		return err
	}))
}

func executes(statement string) groupedWrite {
	return groupedWrite{run: func(conn *sqlite.Conn) error { return sqlitex.Execute(conn, statement, nil) }}
}

// leaveOpen panics between two rows of an UPDATE.
func leaveOpen(conn *sqlite.Conn) error {
	stmt, err := conn.Prepare(`UPDATE plants SET name = 'changed' RETURNING id`)
	if err != nil {
		return err
	}
	if _, err := stmt.Step(); err != nil {
		return err
	}
	panic("oh")
}

// inOneGroup runs writes as one group and returns their errors.
func inOneGroup(s *Store, writes []groupedWrite) []error {
	var calls []*groupcommit.Call[groupedWrite]
	for _, w := range writes {
		calls = append(calls, &groupcommit.Call[groupedWrite]{Work: w})
	}
	s.commit(calls)
	var errs []error
	for _, c := range calls {
		errs = append(errs, c.Err)
	}
	return errs
}

// wantIDs fails unless the store has exactly the plants with these IDs, unchanged.
func wantIDs(t *testing.T, s *Store, want ...int64) {
	t.Helper()
	var got []int64
	err := s.read(t.Context(), func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, `SELECT id FROM plants WHERE name = 'n' ORDER BY id`, &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error {
				got = append(got, stmt.ColumnInt64(0))
				return nil
			},
		})
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("stored plants = %v, %v, want %v", got, err, want)
	}
}
