package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
)

// changes is a transaction of any writes, in two round trips: it reads and locks
// what they are about, carries them out here, one after the other, and writes
// what has become of it.
type changes struct {
	writes []*write
	errs   []error // of writes
	plants map[int64]*change
}

// change is what becomes of a plant; nil is none.
type change struct {
	before, after *plant.Plant // one and the same if nothing does
	version       int64        // of after, unless that is before

	unread bool // before is larger than every create of it: only its ID is known
	later  bool // before is not read in this transaction
}

// errLater ends the part of a write in one transaction: it wants another one.
var errLater = errors.New("the transaction has read enough")

func (c *change) set(p plant.Plant, createdAt, updatedAt int64) {
	c.version = int64(rand.Uint64())
	c.after = new(p.Stamped(c.version, createdAt, updatedAt))
}

func (c *changes) run(ctx context.Context, conn *pgx.Conn, id int64) error {
	if err := c.read(ctx, conn); err != nil {
		return err
	}
	now := time.Now().UnixMicro()
	c.errs = c.errs[:0]
	for _, w := range c.writes {
		c.errs = append(c.errs, c.apply(w, now))
	}
	if !slices.Contains(c.errs, nil) {
		_, err := conn.Exec(ctx, `ROLLBACK`)
		return err
	}
	err := c.write(ctx, conn, id, now)
	if code(err) == uniqueViolation {
		return errAgain // somebody has created one of the plants meanwhile
	}
	return err
}

// read fills c.plants with what is stored. Rows are locked in the order of their
// IDs, so that two programs seldom wait for each other.
func (c *changes) read(ctx context.Context, conn *pgx.Conn) error {
	c.plants = map[int64]*change{}
	most := map[int64]int64{} // bytes to read of each
	for _, w := range c.writes {
		if w.change != nil {
			c.plants[w.id], most[w.id] = &change{}, whole
		}
		for _, p := range w.create {
			c.plants[p.ID], most[p.ID] = &change{}, max(most[p.ID], int64(p.Size()))
		}
	}
	var b pgx.Batch
	b.Queue(`BEGIN`)
	b.Queue(readStored(`FOR UPDATE OF plants`), storedArgs(most)...).
		Query(func(rows pgx.Rows) error {
			return scanStored(rows, func(p *plant.Plant, read bool) {
				*c.plants[p.ID] = change{before: p, after: p, unread: !read, later: !read && most[p.ID] == whole}
			})
		})
	return conn.SendBatch(ctx, &b).Close()
}

// apply does to c.plants what w wants, or nothing.
func (c *changes) apply(w *write, now int64) error {
	w.stored, w.created, w.inserted = plant.Plant{}, false, 0
	if w.change == nil {
		return c.create(w, now)
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
	case plant.after == nil:
		w.created = true
		plant.set(*next, now, now)
	case !plant.after.Same(*next):
		// The clock of another machine may be ahead.
		plant.set(*next, plant.after.CreatedAt.UnixMicro(), max(now, plant.after.UpdatedAt.UnixMicro()))
	}
	w.stored = *plant.after
	return nil
}

func (c *changes) create(w *write, now int64) error {
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
			c.plants[p.ID].set(p, now, now)
			w.inserted++
		}
	}
	return nil
}

// write stores what c.plants has become.
func (c *changes) write(ctx context.Context, conn *pgx.Conn, id, now int64) error {
	var removed []int64
	inserted, updated := newPlantRows(len(c.plants)), newPlantRows(len(c.plants))
	for _, key := range slices.Sorted(maps.Keys(c.plants)) {
		switch plant := c.plants[key]; {
		case plant.after == plant.before:
		case plant.after == nil:
			removed = append(removed, key)
		case plant.before == nil:
			inserted.add(plant.after, plant.version)
		default:
			updated.add(plant.after, plant.version)
		}
	}
	var b pgx.Batch
	if len(removed) > 0 {
		b.Queue(`DELETE FROM plants WHERE id = ANY($1)`, removed)
	}
	if len(updated.ids) > 0 {
		b.Queue(`
			UPDATE plants SET name = new.name, tag = new.tag, tag_hash = new.tag_hash,
				version = new.version, created_at = new.created_at, updated_at = new.updated_at
			FROM `+unnestPlants+` AS new (`+storedColumns+`)
			WHERE plants.id = new.id`, updated.args()...)
	}
	if len(inserted.ids) > 0 {
		b.Queue(`INSERT INTO plants (`+storedColumns+`) SELECT * FROM `+unnestPlants, inserted.args()...)
	}
	b.Queue(mark, id, now)
	b.Queue(`COMMIT`)
	return conn.SendBatch(ctx, &b).Close()
}

// found has nothing to do: how each write ends was known before the commit.
func (c *changes) found([]int64) {}

func (c *changes) done(context.Context, *Store) {
	for i, w := range c.writes {
		if c.errs[i] != errLater {
			w.end(c.errs[i])
		}
	}
}

const (
	storedColumns = `id, name, tag, tag_hash, version, created_at, updated_at`

	// unnestPlants is a table of storedColumns, made of one array for each: one
	// statement for any number of plants.
	unnestPlants = `unnest($1::BIGINT[], $2::BYTEA[], $3::BYTEA[], $4::BYTEA[], $5::BIGINT[], $6::BIGINT[], $7::BIGINT[])`
)

// tagHash is what the index of tags has instead of them.
func tagHash(tag *string) []byte {
	if tag == nil {
		return nil
	}
	sum := sha256.Sum256([]byte(*tag))
	return sum[:]
}
