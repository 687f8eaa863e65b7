package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// changes is a transaction of writes of any kind. It takes two round trips: the
// first reads and locks the plants, the second stores the result. In between, the
// writes are applied to the plants in memory, one after the other.
type changes struct {
	sharded bool // see citus.go
	writes  []*write
	errs    []error // of writes
	plants  map[int64]*change

	changed []int64 // IDs of the plants that the transaction changes
}

// change is a plant before and after a transaction; nil means that there is none.
// The pointers are equal if the transaction leaves the plant as it is.
type change struct {
	before, after *plant.Plant
	version       int64 // of after, if it is new

	unread bool // before is larger than every create of its ID, so its texts were not read
	later  bool // before is read in a later transaction
}

// errLater moves a write to a later transaction.
var errLater = errors.New("the transaction has read enough")

// set makes p the plant after the transaction.
func (c *change) set(p plant.Plant) {
	row := store.NewPlantRow(p, c.after)
	c.version, c.after = row.Version, new(row.Stored())
}

func (c *changes) run(ctx context.Context, conn *pgx.Conn, id int64) error {
	if err := c.read(ctx, conn); err != nil {
		return err
	}
	for _, w := range c.writes {
		c.errs = append(c.errs, c.apply(w))
	}
	if !slices.Contains(c.errs, nil) {
		_, err := conn.Exec(ctx, `ROLLBACK`)
		return err
	}
	err := c.write(ctx, conn, id)
	if code(err) == uniqueViolation {
		return fmt.Errorf("%w: %w", errAgain, err) // another program has created one of the plants
	}
	return err
}

// read fills c.plants with the stored plants. It locks rows in the order of their
// IDs, so that two programs rarely deadlock.
func (c *changes) read(ctx context.Context, conn *pgx.Conn) error {
	c.plants = map[int64]*change{}
	sizes := map[int64]int64{} // see storedStatement
	for _, w := range c.writes {
		if w.change != nil {
			c.plants[w.id], sizes[w.id] = &change{}, whole
		}
		for _, p := range w.create {
			c.plants[p.ID], sizes[p.ID] = &change{}, max(sizes[p.ID], int64(p.Size()))
		}
	}
	stored := func(rows pgx.Rows) error {
		return scanStored(rows, func(p *plant.Plant, read bool) {
			*c.plants[p.ID] = change{before: p, after: p, unread: !read, later: !read && sizes[p.ID] == whole}
		})
	}
	if c.sharded {
		return lockSharded(ctx, conn, sizes, stored)
	}
	var b pgx.Batch
	b.Queue(beginWrite)
	b.Queue(lockStored, storedArgs(sizes)...).Query(stored)
	return conn.SendBatch(ctx, &b).Close()
}

// apply applies w to c.plants, or changes nothing and returns an error.
func (c *changes) apply(w *write) error {
	w.stored, w.created, w.inserted = plant.Plant{}, false, 0
	if w.change == nil {
		return c.create(w)
	}
	plant := c.plants[w.id]
	if plant.later {
		return errLater
	}
	next, err := w.change(plant.after)
	switch {
	case err != nil:
		return err
	case next == nil:
		plant.after = nil
		return nil
	case plant.after == nil || !plant.after.Same(*next):
		w.created = plant.after == nil
		plant.set(*next)
	}
	w.stored = *plant.after
	return nil
}

func (c *changes) create(w *write) error {
	for i, p := range w.create {
		stored := c.plants[p.ID]
		if stored.later {
			return errLater
		}
		if current := stored.after; current != nil && (stored.unread || !current.Same(p)) {
			if w.batch {
				return plant.ExistsError{Index: i}
			}
			return plant.ErrExists
		}
	}
	for _, p := range w.create {
		if c.plants[p.ID].after == nil {
			c.plants[p.ID].set(p)
			w.inserted++
		}
	}
	return nil
}

// write stores c.plants and commits.
func (c *changes) write(ctx context.Context, conn *pgx.Conn, id int64) error {
	var removed []int64
	var inserted, updated []store.PlantRow
	for _, key := range slices.Sorted(maps.Keys(c.plants)) {
		switch plant := c.plants[key]; {
		case plant.after == plant.before:
		case plant.after == nil:
			removed = append(removed, key)
		case plant.before == nil:
			inserted = append(inserted, store.PlantRow{Plant: *plant.after, Version: plant.version})
		default:
			updated = append(updated, store.PlantRow{Plant: *plant.after, Version: plant.version})
		}
	}
	c.changed = slices.Concat(removed, idsOf(updated), idsOf(inserted))
	now := time.Now().UnixMicro()
	var b pgx.Batch
	if c.sharded {
		writeSharded(&b, removed, updated, inserted)
	} else {
		writeAll(&b, removed, updated, inserted)
	}
	if len(c.changed) > 0 && !c.sharded {
		b.Queue(markAndLock, id, now)
		b.Queue(storeChanges, c.changed, now)
	} else {
		b.Queue(mark, id, now, !c.sharded)
	}
	b.Queue(`COMMIT`)
	return conn.SendBatch(ctx, &b).Close()
}

// writeAll queues the statements that write plants.
func writeAll(b *pgx.Batch, removed []int64, updated, inserted []store.PlantRow) {
	if len(removed) > 0 {
		b.Queue(`DELETE FROM plants WHERE id = ANY($1)`, removed)
	}
	if len(updated) > 0 {
		b.Queue(updatePlants, plantColumns.args(updated)...)
	}
	if len(inserted) > 0 {
		b.Queue(insertPlants, plantColumns.args(inserted)...)
	}
}

func idsOf(rows []store.PlantRow) (ids []int64) {
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	return ids
}

// found does nothing: the outcome of each write was known before the commit.
func (c *changes) found([]int64) {}

func (c *changes) done(_ context.Context, s *Store) {
	if len(c.changed) > 0 {
		s.committed.Send()
	}
	for i, w := range c.writes {
		if c.errs[i] != errLater {
			w.end(c.errs[i])
		}
	}
}
