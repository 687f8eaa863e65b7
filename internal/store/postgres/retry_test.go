package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/pgtest"
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
			if err != nil {
				t.Fatal(err)
			}
			const insert = `INSERT INTO plants (id, name, version, created_at, updated_at) VALUES (1, 'first', 1, 1, 1)`
			if _, err := tx.Exec(t.Context(), insert); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- c.write(store) }()
			waitUntilBlocked(t, conn)
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := pgtest.Wait(t, "the write ends", ended); !errors.Is(err, c.want) {
				t.Errorf("the write = %v, want %v", err, c.want)
			}
		})
	}
}

// A write that the database refuses fails; the others of its transaction succeed.
func TestRefusedWriteDoesNotFailOthers(t *testing.T) {
	create := func(id int64) *write { return &write{create: []plant.Plant{{ID: id}}} }
	batch := func(id int64) *write { return &write{create: []plant.Plant{{ID: id}}, batch: true} }
	put := func(id int64) *write {
		return &write{id: id, change: func(*plant.Plant) (*plant.Plant, error) { return &plant.Plant{ID: id}, nil }}
	}
	for name, kind := range map[string]func(int64) *write{"creates": create, "batches": batch, "puts": put} {
		t.Run(name, func(t *testing.T) {
			store := open(t, pgtest.DSN(t))
			if _, err := store.pool.Exec(t.Context(), `ALTER TABLE plants ADD CHECK (id <> 2)`); err != nil {
				t.Fatal(err)
			}
			writes := []*write{kind(1), kind(2), kind(3)}
			for _, w := range writes {
				w.deadline = time.Now().Add(callTime)
			}
			store.runAll(writes)
			for i, w := range writes {
				id := int64(i + 1)
				if refused := id == 2; (w.err != nil) != refused || errors.Is(w.err, plant.ErrUnavailable) {
					t.Errorf("write %d = %v, want an error of the database: %v", id, w.err, refused)
				}
				if _, err := store.Get(t.Context(), id); (err == nil) != (w.err == nil) {
					t.Errorf("write %d = %v, then Get = %v", id, w.err, err)
				}
			}
		})
	}
}
