package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/groupcommit"
	"github.com/plantstore/plantstore/internal/store/pgtest"
)

// The size of the writes in a transaction is bounded, for every kind of write and
// every text of a plant.
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
			const writes = maxGroupBytes>>20 + 1 // one more than fit into a transaction
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

// The size of the plants that a transaction reads is bounded too, so that small
// writes to large plants do not fill the memory.
func TestGroupReads(t *testing.T) {
	const plants = maxGroupBytes>>20 + 1 // one more than a transaction reads
	large := strings.Repeat("x", 1<<20)
	dsn := pgtest.DSN(t)
	proxy := newProxy(t, dsn)
	// In the text format a byte takes two.
	filler, store := open(t, dsn), open(t, strings.Replace(proxy.dsn, "exec_mode=exec", "exec_mode=cache_statement", 1))
	for id := range int64(plants) {
		if err := filler.Create(t.Context(), plant.Plant{ID: id, Name: large}); err != nil {
			t.Fatal(err)
		}
	}
	create := func(batch bool, name string) func(id int64) *write {
		return func(id int64) *write { return &write{create: []plant.Plant{{ID: id, Name: name}}, batch: batch} }
	}
	change := func(change func(*plant.Plant) *plant.Plant) func(id int64) *write {
		return func(id int64) *write {
			return &write{id: id, change: func(p *plant.Plant) (*plant.Plant, error) { return change(p), nil }}
		}
	}
	tag := func(text string) func(id int64) *write {
		return change(func(p *plant.Plant) *plant.Plant { return &plant.Plant{ID: p.ID, Name: p.Name, Tag: &text} })
	}
	all := &write{batch: true}
	for id := range int64(plants) {
		all.create = append(all.create, plant.Plant{ID: id, Name: large})
	}
	for _, c := range []struct {
		name         string
		kind         func(id int64) *write
		and          *write // or nil
		transactions int    // transactions that change something
		most         int64  // maximum MiB that the server sends
		want         error
	}{
		{"creates", create(false, "n"), nil, 1, 1, plant.ErrExists},
		{"empty creates", create(false, ""), nil, 1, 1, plant.ErrExists},
		{"equal creates", create(false, large), nil, 1, plants + 1, nil},
		{"batches", create(true, "n"), nil, 0, 1, plant.ErrExists},
		{"larger batches", create(true, large+"y"), nil, 0, plants + 1, plant.ErrExists},
		{"equal batches", create(true, large), nil, 1, plants + 1, nil},
		{"an equal batch and changes", tag("a"), all, 2, 2*plants + 1, nil},
		{"changes", tag("b"), nil, 2, plants + 1, nil},
		{"deletes", change(func(*plant.Plant) *plant.Plant { return nil }), nil, 2, plants + 1, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var writes []*write
			for id := range int64(plants) {
				writes = append(writes, c.kind(id))
			}
			if c.and != nil {
				writes = append(writes, c.and)
			}
			for _, w := range writes {
				w.deadline = time.Now().Add(time.Minute)
			}
			before, received := len(marks(t, filler)), proxy.received.Load()
			store.runAll(slices.Clone(writes))
			for i, w := range writes {
				want := c.want
				if w == c.and {
					want = plant.ErrExists // it follows the changes
				}
				if !errors.Is(w.err, want) || !w.ended {
					t.Errorf("write %d = %v, want %v", i, w.err, want)
				}
			}
			if n := proxy.received.Load() - received; n > c.most<<20 {
				t.Errorf("the server sent %d bytes, want at most %d MiB", n, c.most)
			}
			if n := len(marks(t, filler)) - before; n != c.transactions {
				t.Errorf("%d writes took %d transactions, want %d", len(writes), n, c.transactions)
			}
		})
	}
}
