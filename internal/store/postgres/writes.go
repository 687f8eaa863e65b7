package postgres

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/groupcommit"
)

const (
	// maxGroup is how many writes share a transaction at most.
	maxGroup = 512

	// maxGroupBytes is how many bytes the writes of a transaction may carry
	// before the next write gets another one. A transaction is in memory several
	// times: as texts, as a message of the protocol, and on the server. A slow
	// server must carry it out within half of callTime.
	maxGroupBytes = 4 << 20

	// plantBytes is what a plant takes beside its name and tag: its place in the
	// arrays of plantRows, and the hash of its tag.
	plantBytes = 256
)

// write is what one caller wants and how it ended.
type write struct {
	deadline time.Time
	size     int // what it carries: see sizeOf

	create []plant.Plant // all of them or none; or
	batch  bool          // whether an error names one of create
	id     int64         // the plant that change is about,
	change func(current *plant.Plant) (*plant.Plant, error)

	ended   bool // the rest is known
	err     error
	stored  plant.Plant // by change
	created bool

	inserted int // how many of create
}

// sizeOf is the number of bytes that a write of these plants carries.
func sizeOf(plants ...plant.Plant) (size int) {
	for _, p := range plants {
		size += p.Size() + plantBytes
	}
	return size
}

func (w *write) end(err error) { w.ended, w.err = true, err }

// write returns once w is durable, with its own outcome.
func (s *Store) write(ctx context.Context, w *write) error {
	w.deadline = time.Now().Add(callTime)
	if end, ok := ctx.Deadline(); ok && end.Before(w.deadline) {
		w.deadline = end
	}
	return s.writes.Do(ctx, w)
}

// run is the function of the queue.
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

// runAll runs writes until each of them has ended. If they fail together, for
// what may be the fault of one, each runs alone.
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

// errNobody ends the attempts for writes whose callers have all gone.
var errNobody = errors.New("too late")

// runOnce runs writes in one transaction. Those that have not ended then have
// changed nothing and want another one.
func (s *Store) runOnce(writes []*write) error {
	last := slices.MaxFunc(writes, func(a, b *write) int { return a.deadline.Compare(b.deadline) })
	ctx, cancel := context.WithDeadline(context.Background(), last.deadline)
	defer cancel()
	var attempt interface {
		run(ctx context.Context, conn *pgx.Conn, id int64) error
		found(inserted []int64)
		done(ctx context.Context, s *Store)
	}
	var lastErr error
	err := s.transact(ctx, func(ctx context.Context, conn *pgx.Conn, id int64) error {
		var live []*write
		for _, w := range writes {
			if lastErr != nil && !w.ended && time.Now().After(w.deadline) {
				w.end(unavailable(lastErr))
			}
			if !w.ended {
				live = append(live, w)
			}
		}
		if len(live) == 0 {
			return answer{errNobody}
		}
		if slices.ContainsFunc(live, func(w *write) bool { return w.batch || w.change != nil }) {
			attempt = &changes{writes: live}
		} else {
			attempt = newCreates(live)
		}
		lastErr = attempt.run(ctx, conn, id)
		return lastErr
	}, func(inserted []int64) { attempt.found(inserted) })
	if err == nil {
		attempt.done(ctx, s)
	}
	return err
}

// creates is a transaction of creates of one plant each, in one round trip.
type creates struct {
	writes []*write
	plants []*plant.Plant // those of writes, by ID and without those of an ID that is there already
	stored []*plant.Plant // what is stored under the IDs of plants now; nil: not known
	larger []bool         // what is stored is larger than every create of it, and was not read
}

func newCreates(writes []*write) *creates {
	c := &creates{writes: writes}
	c.plants = make([]*plant.Plant, len(writes))
	for i, w := range writes {
		c.plants[i] = &w.create[0]
	}
	// Two programs that insert in one order never wait for each other.
	slices.SortStableFunc(c.plants, func(a, b *plant.Plant) int { return cmp.Compare(a.ID, b.ID) })
	c.plants = slices.CompactFunc(c.plants, func(a, b *plant.Plant) bool { return a.ID == b.ID })
	c.stored, c.larger = make([]*plant.Plant, len(c.plants)), make([]bool, len(c.plants))
	return c
}

func (c *creates) at(id int64) (int, bool) {
	return slices.BinarySearchFunc(c.plants, id, func(p *plant.Plant, id int64) int { return cmp.Compare(p.ID, id) })
}

// run inserts the plants whose IDs are free. One statement is a transaction of
// its own: it is durable once it has been answered.
func (c *creates) run(ctx context.Context, conn *pgx.Conn, id int64) error {
	clear(c.stored)
	clear(c.larger)
	now := time.Now()
	rows := newPlantRows(len(c.plants))
	for _, p := range c.plants {
		p.CreatedAt, p.UpdatedAt = now, now
		rows.add(p, int64(rand.Uint64()))
	}
	var inserted []int64
	err := conn.QueryRow(ctx, `
		WITH new AS (
			INSERT INTO plants (`+storedColumns+`) SELECT * FROM `+unnestPlants+`
			ON CONFLICT (id) DO NOTHING
			RETURNING id
		)
		INSERT INTO marks (id, done, inserted, at) SELECT $8, true, array_agg(id), $9 FROM new
		RETURNING inserted`, append(rows.args(), id, now.UnixMicro())...).Scan(&inserted)
	c.found(inserted)
	return err
}

// found notes the plants that were inserted.
func (c *creates) found(inserted []int64) {
	for _, id := range inserted {
		if i, ok := c.at(id); ok {
			c.stored[i] = c.plants[i]
		}
	}
}

// done ends the writes. What is under the IDs that were not free is read only
// now, when it has been committed. One whose ID is free again by then changed
// nothing: it is not ended and begins again.
func (c *creates) done(ctx context.Context, s *Store) {
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

// readOthers reads what is stored under the IDs that were not inserted.
func (c *creates) readOthers(ctx context.Context, s *Store) error {
	most := map[int64]int64{} // bytes to read of each
	for _, w := range c.writes {
		p := w.create[0]
		if i, _ := c.at(p.ID); c.stored[i] == nil {
			most[p.ID] = max(most[p.ID], int64(p.Size()))
		}
	}
	if len(most) == 0 {
		return nil
	}
	return s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, readStored(""), storedArgs(most)...)
		if err != nil {
			return err
		}
		return scanStored(rows, func(p *plant.Plant, read bool) {
			if i, ok := c.at(p.ID); ok {
				c.stored[i], c.larger[i] = p, !read
			}
		})
	})
}
