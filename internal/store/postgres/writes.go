package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/groupcommit"
)

const (
	// maxGroup is the maximum number of writes in a transaction.
	maxGroup = 512

	// maxGroupBytes is the size of the writes at which a transaction takes no
	// more of them. A transaction is in memory several times: as texts, as a
	// message of the protocol, and on the server. A slow server must run it within
	// half of callTime.
	maxGroupBytes = 4 << 20

	// plantBytes is the size of a plant without its texts: its row, its elements
	// of the arrays, and the hash of its tag.
	plantBytes = 256
)

// write is one call of a method that writes plants, and its result.
type write struct {
	deadline time.Time
	size     int // see sizeOf

	// Either all of the plants in create are created or none; or change is applied
	// to the plant with the ID.
	create []plant.Plant
	batch  bool // an error says which plant of create it is about
	id     int64
	change func(current *plant.Plant) (*plant.Plant, error)

	ended    bool // the following members are set
	err      error
	stored   plant.Plant // result of change
	created  bool        // change created the plant
	inserted int         // number of plants of create that were not stored before
}

// sizeOf returns the number of bytes that a write of these plants takes.
func sizeOf(plants ...plant.Plant) (size int) {
	for _, p := range plants {
		size += p.Size() + plantBytes
	}
	return size
}

func (w *write) end(err error) { w.ended, w.err = true, err }

// write returns once w is durable or has failed, and at the latest at its deadline.
func (s *Store) write(ctx context.Context, w *write) error {
	w.deadline = time.Now().Add(callTime)
	if end, ok := ctx.Deadline(); ok && end.Before(w.deadline) {
		w.deadline = end
	}
	queued := *w // which the committer may still use after the deadline
	err := s.writes.DoWithin(ctx, time.Until(w.deadline), &queued)
	if err == groupcommit.ErrExpired {
		if last := s.lastErr.Load(); last != nil {
			err = *last // says more
		}
		err = unavailable(err)
	} else {
		*w = queued
	}
	return s.failure.Note(err)
}

// run commits the calls of the queue, in transactions of at most maxGroupBytes.
func (s *Store) run(calls []*groupcommit.Call[*write]) {
	for len(calls) > 0 {
		var writes []*write
		for size := 0; len(writes) < len(calls) && size < maxGroupBytes; {
			w := calls[len(writes)].Work
			size += w.size
			writes = append(writes, w)
		}
		s.runAll(slices.Clone(writes))
		for i, w := range writes {
			calls[i].Err = w.err
		}
		calls = calls[len(writes):]
	}
}

// runAll runs writes until each has ended. If their transaction fails, each runs
// in a transaction of its own, because one of them may be the cause.
func (s *Store) runAll(writes []*write) {
	for len(writes) > 0 {
		err := s.runOnce(writes)
		if err != nil {
			for _, w := range writes {
				switch {
				case w.ended:
				case len(writes) == 1, errors.Is(err, plant.ErrUnavailable):
					w.end(err)
				default:
					s.runAll([]*write{w})
				}
			}
			return
		}
		writes = slices.DeleteFunc(writes, func(w *write) bool { return w.ended })
	}
}

// errExpired ends the attempts once the deadlines of all writes are over.
var errExpired = errors.New("deadline exceeded")

// runOnce runs writes in one transaction. A write that has not ended afterwards
// has changed nothing and needs another transaction.
func (s *Store) runOnce(writes []*write) error {
	last := slices.MaxFunc(writes, func(a, b *write) int { return a.deadline.Compare(b.deadline) })
	ctx, cancel := context.WithDeadline(context.Background(), last.deadline)
	defer cancel()
	var attempt interface {
		run(ctx context.Context, conn *pgx.Conn, id int64) error
		found(inserted []int64)
		done(ctx context.Context, s *Store)
	}
	err := s.transact(ctx, func(ctx context.Context, conn *pgx.Conn, id int64) error {
		var live []*write
		for _, w := range writes {
			if !w.ended && time.Now().After(w.deadline) {
				w.end(unavailable(errExpired)) // its client has this response already
			}
			if !w.ended {
				live = append(live, w)
			}
		}
		if len(live) == 0 {
			return permanent{errExpired}
		}
		if err := s.beginOnServer(ctx, conn); err != nil {
			return err
		}
		if s.sharded || slices.ContainsFunc(live, func(w *write) bool { return w.batch || w.change != nil }) {
			attempt = &changes{sharded: s.sharded, writes: live}
		} else {
			attempt = newCreates(live)
		}
		return attempt.run(ctx, conn, id)
	}, func(inserted []int64) { attempt.found(inserted) })
	if err == nil {
		attempt.done(ctx, s)
	}
	return err
}

// creates is a transaction of creates of one plant each. It takes one round trip.
type creates struct {
	writes []*write
	plants []*plant.Plant // the first plant of each ID in writes, by ascending ID
	stored []*plant.Plant // the stored plants with the IDs of plants; nil: not known yet
	larger []bool         // the stored plant is larger than every create of its ID, and was not read

	changed bool // the transaction has inserted plants
}

func newCreates(writes []*write) *creates {
	c := &creates{writes: writes}
	for _, w := range writes {
		c.plants = append(c.plants, &w.create[0])
	}
	// Two programs that insert in the same order never deadlock.
	slices.SortStableFunc(c.plants, func(a, b *plant.Plant) int { return cmp.Compare(a.ID, b.ID) })
	c.plants = slices.CompactFunc(c.plants, func(a, b *plant.Plant) bool { return a.ID == b.ID })
	c.stored, c.larger = make([]*plant.Plant, len(c.plants)), make([]bool, len(c.plants))
	return c
}

func (c *creates) at(id int64) (int, bool) {
	return slices.BinarySearchFunc(c.plants, id, func(p *plant.Plant, id int64) int { return cmp.Compare(p.ID, id) })
}

// run inserts the plants whose IDs are free.
func (c *creates) run(ctx context.Context, conn *pgx.Conn, id int64) error {
	rows := make([]store.PlantRow, len(c.plants))
	for i, p := range c.plants {
		rows[i] = store.NewPlantRow(*p, nil)
	}
	var inserted []int64
	var b pgx.Batch
	b.Queue(beginWrite)
	b.Queue(createPlants, plantColumns.args(rows, id, time.Now().UnixMicro())...).QueryRow(func(row pgx.Row) error { return row.Scan(&inserted) })
	b.Queue(storeCreated, id)
	b.Queue(`COMMIT`)
	if err := conn.SendBatch(ctx, &b).Close(); err != nil {
		return err
	}
	c.found(inserted)
	return nil
}

// found records that the plants with these IDs were inserted.
func (c *creates) found(inserted []int64) {
	c.changed = len(inserted) > 0
	for _, id := range inserted {
		if i, ok := c.at(id); ok {
			c.stored[i] = c.plants[i]
		}
	}
}

// done ends the writes. The plants whose IDs were not free are read only now,
// because they may not have been committed before. A write whose plant was deleted
// in the meantime is not ended, so it runs again.
func (c *creates) done(ctx context.Context, s *Store) {
	if c.changed {
		s.committed.Send()
	}
	err := c.readOthers(ctx, s)
	for _, w := range c.writes {
		i, _ := c.at(w.create[0].ID)
		switch p := c.stored[i]; {
		case p == nil && err != nil:
			w.end(err)
		case p == nil:
		case !c.larger[i] && p.Same(w.create[0]):
			w.end(nil)
		default:
			w.end(plant.ErrExists)
		}
	}
}

// readOthers reads the stored plants with the IDs that were not inserted.
func (c *creates) readOthers(ctx context.Context, s *Store) error {
	sizes := map[int64]int64{} // see storedStatement
	for _, w := range c.writes {
		p := w.create[0]
		if i, _ := c.at(p.ID); c.stored[i] == nil {
			sizes[p.ID] = max(sizes[p.ID], int64(p.Size()))
		}
	}
	if len(sizes) == 0 {
		return nil
	}
	return s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, _ := conn.Query(ctx, selectStored, storedArgs(sizes)...) // scanStored returns the error
		return scanStored(rows, func(p *plant.Plant, read bool) {
			if i, ok := c.at(p.ID); ok {
				c.stored[i], c.larger[i] = p, !read
			}
		})
	})
}
