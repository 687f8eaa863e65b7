package postgres

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/groupcommit"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// A write is retried if its plant is created between its two round trips.
func TestPlantCreatedDuringWrite(t *testing.T) {
	for name, c := range map[string]struct {
		write func(s *Store) error
		want  error
	}{
		"put": {func(s *Store) error {
			stored, created, err := s.Put(t.Context(), plant.Plant{ID: 1, Name: "put"}, plant.Precondition{})
			if err == nil && (created || stored.Name != "put") {
				err = errors.New("Put = created true or another plant")
			}
			return err
		}, nil},
		"put, if not there": {func(s *Store) error {
			_, _, err := s.Put(t.Context(), plant.Plant{ID: 1, Name: "put"}, plant.Precondition{IfNoneMatch: &plant.ETags{Any: true}})
			return err
		}, plant.ErrPrecondition},
		"batch": {func(s *Store) error {
			_, err := s.CreateAll(t.Context(), []plant.Plant{{ID: 1, Name: "batch"}})
			return err
		}, plant.ErrExists},
	} {
		t.Run(name, func(t *testing.T) {
			dsn := pgtest.DSN(t)
			store := open(t, dsn)
			conn := pgtest.Connect(t, dsn)
			tx, err := conn.Begin(t.Context())
			must.NoError(t, err)
			const insert = `INSERT INTO plants (id, name, version, created_at, updated_at) VALUES (1, 'first', 1, 1, 1)`
			execute(t, tx, insert)
			ended := make(chan error, 1)
			go func() { ended <- c.write(store) }()
			waitUntilBlocked(t, conn)
			must.NoError(t, tx.Commit(t.Context()))
			expect.Error(t, "the write", wait.For(t, "the end of the write", ended), c.want)
		})
	}
}

// A transaction is retried if one of its plants is created after its look at them, also if none of them is
// left by its writes: the plant of the other program was acknowledged, and the history must have its states.
func TestPlantCreatedBesideDelete(t *testing.T) {
	put := func(w store.Writer) error {
		_, _, err := w.Put(t.Context(), plant.Plant{ID: 1, Name: "put", ChangedBy: "Bob"}, plant.Precondition{})
		return err
	}
	patch := func(w store.Writer) error {
		_, err := w.Patch(t.Context(), 1, plant.Patch{Name: new("patch"), ChangedBy: "Cid"}, plant.Precondition{})
		return err
	}
	remove := func(w store.Writer) error { return w.Delete(t.Context(), 1, "Dan", plant.Precondition{}) }
	forget := func(w store.Writer) error { return w.Forget(t.Context(), 1) }
	for name, c := range map[string]struct {
		writes []func(store.Writer) error
		want   []string // names of the plants in the history, newest first
	}{
		"put and delete":        {[]func(store.Writer) error{put, remove}, []string{"put", "first"}},
		"put, patch and delete": {[]func(store.Writer) error{put, patch, remove}, []string{"patch", "put", "first"}},
		"forget":                {[]func(store.Writer) error{forget}, nil},
		"put and forget":        {[]func(store.Writer) error{put, forget}, nil},
		"put, delete and put":   {[]func(store.Writer) error{put, remove, put}, []string{"put", "first"}},
	} {
		t.Run(name, func(t *testing.T) {
			dsn := pgtest.DSN(t)
			s, other := open(t, dsn), open(t, dsn)
			var writes []*pendingWrite
			collect := func(_ context.Context, change store.Change) error {
				writes = append(writes, &pendingWrite{Change: change, deadline: time.Now().Add(wait.Limit)})
				return nil
			}
			for _, write := range c.writes {
				must.NoError(t, write(store.Writer{Apply: collect}))
			}
			decide, isCreated := writes[0].Decide, false
			writes[0].Decide = func(stored store.Stored) (store.Effect, error) {
				if !isCreated { // it may run again
					isCreated = true
					must.NoError(t, other.Create(t.Context(), plant.Plant{ID: 1, Name: "first", ChangedBy: "Ann"}))
				}
				return decide(stored)
			}
			must.NoError(t, s.runTogether(writes, &lane{}))
			var names []string
			entries, _, err := s.History(t.Context(), 1, plant.HistoryPage{Limit: 10})
			if err != nil && !errors.Is(err, plant.ErrNotFound) {
				t.Error(err)
			}
			for _, entry := range entries {
				names = append(names, entry.Plant.Name)
			}
			if !slices.Equal(names, c.want) {
				t.Errorf("the history has the plants %q, want %q", names, c.want)
			}
		})
	}
}

// A write that the database refuses fails; the others of its transaction succeed.
func TestRefusedWriteDoesNotFailOthers(t *testing.T) {
	ctx := t.Context()
	for name, kind := range map[string]func(w store.Writer, id int64){
		"creates": func(w store.Writer, id int64) { _ = w.Create(ctx, plant.Plant{ID: id}) },
		"batches": func(w store.Writer, id int64) { _, _ = w.CreateAll(ctx, []plant.Plant{{ID: id}}) },
		"puts":    func(w store.Writer, id int64) { _, _, _ = w.Put(ctx, plant.Plant{ID: id}, plant.Precondition{}) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, pgtest.DSN(t))
			execute(t, s.pool, `ALTER TABLE plants ADD CHECK (id <> 2)`)
			writes := writesOf(func(w store.Writer) {
				for id := range int64(3) {
					kind(w, id+1)
				}
			})
			s.runAll(writes, &lane{})
			for i, w := range writes {
				id := int64(i + 1)
				if refused := id == 2; (w.err != nil) != refused || errors.Is(w.err, plant.ErrUnavailable) {
					t.Errorf("write %d = %v, want an error of the database: %v", id, w.err, refused)
				}
				if _, err := s.Get(t.Context(), id); (err == nil) != (w.err == nil) {
					t.Errorf("write %d = %v, then Get = %v", id, w.err, err)
				}
			}
		})
	}
}

// Creates are first decided as if no plant were stored. No error is left of that if one is
// stored, even if the group does not insert it.
func TestCreatesBesideStoredPlants(t *testing.T) {
	s := open(t, pgtest.DSN(t))
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 2, Name: "stored"}))
	writes := writesOf(func(w store.Writer) {
		_ = w.Create(t.Context(), plant.Plant{ID: 1, Name: "n"})
		_, _ = w.CreateAll(t.Context(), []plant.Plant{{ID: 1, Name: "another"}, {ID: 2, Name: "another"}})
	})
	s.runAll(writes, &lane{})
	if taken, _ := errors.AsType[plant.ExistsError](writes[1].err); !slices.Equal(taken.Indexes, []int{0, 1}) {
		t.Errorf("CreateAll = %v, want that both plants are taken", writes[1].err)
	}
	for id, want := range map[int64]string{1: "n", 2: "stored"} {
		if p, err := s.Get(t.Context(), id); err != nil || p.Name != want {
			t.Errorf("Get(%d) = %+v, %v, want the name %q", id, p, err, want)
		}
	}
}

// A call that is tried until its deadline returns why it could not succeed before, and not
// that the last attempt had no time.
func TestRetryReturnsCause(t *testing.T) {
	s := open(t, pgtest.DSN(t))
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	attempts := 0
	err := s.retry(ctx, func(ctx context.Context, _ *pgx.Conn) error {
		if attempts++; attempts == 1 {
			return errAgain
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if attempts < 2 || !errors.Is(err, errAgain) {
		t.Errorf("after %d attempts retry = %v, want %v", attempts, err, errAgain)
	}
}

// writesOf returns the writes of send, in their order, to run them as one group.
func writesOf(send func(store.Writer)) (writes []*pendingWrite) {
	send(store.Writer{Apply: func(_ context.Context, c store.Change) error {
		writes = append(writes, &pendingWrite{Change: c, deadline: time.Now().Add(callTime)})
		return nil
	}})
	return writes
}

// The number of plants in a transaction is bounded.
func TestGroupPlants(t *testing.T) {
	s := open(t, pgtest.DSN(t))
	const size, batches = 400, 5
	writes := writesOf(func(w store.Writer) {
		for b := range int64(batches) {
			plants := make([]plant.Plant, size)
			for i := range plants {
				plants[i].ID = b*size + int64(i)
			}
			_, _ = w.CreateAll(t.Context(), plants)
		}
	})
	var calls []*groupcommit.Call[*pendingWrite]
	for _, w := range writes {
		calls = append(calls, &groupcommit.Call[*pendingWrite]{Work: w})
	}
	before := len(marks(t, s))
	s.run(calls, lane{})
	for i, c := range calls {
		if c.Err != nil {
			t.Errorf("batch %d = %v", i, c.Err)
		}
	}
	if n := len(marks(t, s)) - before; n != 2 {
		t.Errorf("%d batches of %d plants took %d transactions, want 2", batches, size, n)
	}
}
