package postgres

import (
	"context"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/groupcommit"
	"github.com/plantstore/plantstore/internal/store/pgtest"
)

// A transaction ends where its writes carry enough bytes, whatever kind of
// write carries them, and in whatever part of a plant.
func TestGroupBytes(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	for name, send := range map[string]func(ctx context.Context, s *Store, id int64) error{
		"create, name": func(ctx context.Context, s *Store, id int64) error {
			return s.Create(ctx, plant.Plant{ID: id, Name: large})
		},
		"create, tag": func(ctx context.Context, s *Store, id int64) error {
			return s.Create(ctx, plant.Plant{ID: id, Tag: &large})
		},
		"batch": func(ctx context.Context, s *Store, id int64) error {
			_, err := s.CreateAll(ctx, []plant.Plant{{ID: id, Name: large[:len(large)/2]}, {ID: -id, Tag: new(large[:len(large)/2])}})
			return err
		},
		"put": func(ctx context.Context, s *Store, id int64) error {
			_, _, err := s.Put(ctx, plant.Plant{ID: id, Tag: &large}, plant.Precondition{})
			return err
		},
		"patch, name": func(ctx context.Context, s *Store, id int64) error {
			_, err := s.Patch(ctx, id, plant.Patch{Name: &large}, plant.Precondition{})
			return err
		},
		"patch, tag": func(ctx context.Context, s *Store, id int64) error {
			_, err := s.Patch(ctx, id, plant.Patch{SetTag: true, Tag: &large}, plant.Precondition{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := open(t, pgtest.DSN(t))
			const writes = maxGroupBytes>>20 + 1 // one more than a transaction takes
			if strings.HasPrefix(name, "patch") {
				for id := range int64(writes) {
					if err := store.Create(t.Context(), plant.Plant{ID: id + 1}); err != nil {
						t.Fatal(err)
					}
				}
			}
			var calls []*groupcommit.Call[*write]
			queue := store.writes
			store.writes = groupcommit.New(maxGroup, func(queued []*groupcommit.Call[*write]) {
				calls = append(calls, &groupcommit.Call[*write]{Work: queued[0].Work})
			})
			for id := range int64(writes) {
				if err := send(t.Context(), store, id+1); err != nil {
					t.Fatal(err)
				}
			}
			store.writes = queue
			before := len(marks(t, store))
			store.run(calls)
			for i, c := range calls {
				if c.Err != nil {
					t.Errorf("write %d = %v", i, c.Err)
				}
			}
			if n := len(marks(t, store)) - before; n != 2 {
				t.Errorf("%d writes of 1 MiB took %d transactions, want 2", writes, n)
			}
		})
	}
}
