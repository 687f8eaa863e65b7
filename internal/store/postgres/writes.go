package postgres

// The calls of a write, from the outermost to the innermost:
//
//	apply         waits in the queue
//	run           splits what the queue has into transactions (committer)
//	runAll        runs each write on its own if they fail together
//	runTogether   ends writes whose deadline is over
//	transact      retries, and finds out whether a lost transaction was committed
//	try, on       take a connection
//	group.run     creates plants in one round trip, or changes plants in two

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/groupcommit"
)

const (
	// maxGroup is the maximum number of writes in a transaction.
	maxGroup = 512

	// maxGroupPlants is the number of plants at which a transaction takes no more
	// writes. A plant takes at most 6 KB, and is in memory several times: as texts, as a
	// message of the protocol, and on the server. A slow server must run a transaction
	// within half of callTime.
	maxGroupPlants = 1000
)

// write is a change with its deadline and its outcome.
type write struct {
	store.Change
	deadline time.Time

	err   error // of the last attempt
	ended bool  // err is the outcome
}

func (w *write) end(err error) { w.ended, w.err = true, err }

// apply implements [store.Apply]. It returns at the latest after callTime.
func (s *Store) apply(ctx context.Context, c store.Change) error {
	defer s.durations.Since(time.Now(), c.Operation)
	w := &write{Change: c, deadline: time.Now().Add(callTime)}
	if end, ok := ctx.Deadline(); ok && end.Before(w.deadline) {
		w.deadline = end
	}
	err := s.writes.Do(ctx, w, time.After(time.Until(w.deadline)))
	if err == groupcommit.ErrExpired {
		if last := s.lastErr.Load(); last != nil {
			err = *last // says more
		}
		err = unavailable(err)
	}
	return s.failure.Note(err)
}

// run commits calls of the queue, in transactions of about maxGroupPlants.
func (s *Store) run(calls []*groupcommit.Call[*write]) {
	for len(calls) > 0 {
		var writes []*write
		for plants := 0; len(writes) < len(calls) && plants < maxGroupPlants; {
			w := calls[len(writes)].Work
			plants += len(w.IDs)
			writes = append(writes, w)
		}
		s.runAll(writes)
		for i, w := range writes {
			calls[i].Err = w.err
		}
		calls = calls[len(writes):]
	}
}

// runAll runs writes in a transaction. If that fails, each runs in a transaction of
// its own, because one of them may be the cause.
func (s *Store) runAll(writes []*write) {
	err := s.runTogether(writes)
	for _, w := range writes {
		switch {
		case w.ended:
		case err == nil:
			w.ended = true
		case len(writes) == 1, errors.Is(err, plant.ErrUnavailable):
			w.end(err)
		default:
			s.runAll([]*write{w})
		}
	}
}

// runTogether runs writes in one transaction, which it retries until the last deadline. If
// it returns nil, each write has its outcome: an error if it was refused.
func (s *Store) runTogether(writes []*write) error {
	last := slices.MaxFunc(writes, func(a, b *write) int { return a.deadline.Compare(b.deadline) })
	ctx, cancel := context.WithDeadline(context.Background(), last.deadline)
	defer cancel()
	g := &group{sharded: s.sharded}
	err := s.transact(ctx, func(ctx context.Context, conn *pgx.Conn, id int64) error {
		g.writes = nil
		for _, w := range writes {
			if !w.ended && time.Now().After(w.deadline) {
				w.end(unavailable(groupcommit.ErrExpired)) // its client has this response already
			}
			if !w.ended {
				g.writes = append(g.writes, w)
			}
		}
		if len(g.writes) == 0 {
			return permanent{groupcommit.ErrExpired}
		}
		g.content = s.content.Load()
		return g.run(ctx, conn, id)
	})
	if err == nil && len(g.changed) > 0 {
		s.content.Store(g.content)
		s.committed.Send()
	}
	return err
}

// group is a transaction of writes. It takes two round trips: the first reads and locks
// the plants, the second stores what has become of them. In between, the writes are
// decided.
//
// If all writes create plants, they are first decided as if none of the plants were
// stored, and then one round trip stores the plants if that is so. Over a network with
// 1 ms a client that creates one plant after the other is nearly twice as fast.
type group struct {
	sharded bool // see citus.go
	writes  []*write
	plants  *store.Group
	changed []int64  // IDs of the plants that the transaction changes
	content *content // before the transaction, and after it; see content
}

func (g *group) setContent(begun *content) { g.content = begun }

func (g *group) run(ctx context.Context, conn *pgx.Conn, id int64) error {
	err := errStored
	if !g.sharded && !slices.ContainsFunc(g.writes, func(w *write) bool { return !w.New }) {
		err = g.create(ctx, conn, id)
	}
	if err == errStored {
		err = g.change(ctx, conn, id)
	}
	if code(err) == uniqueViolation {
		return fmt.Errorf("%w: %w", errAgain, err) // another program has created one of the plants
	}
	return err
}

// reset forgets what is known about the plants.
func (g *group) reset() {
	var ids []int64
	for _, w := range g.writes {
		ids = append(ids, w.IDs...)
	}
	g.plants = store.NewGroup(ids)
}

// decide decides the writes, and returns what becomes of the plants.
func (g *group) decide() (all store.Effect) {
	for _, w := range g.writes {
		w.err = groupcommit.Try(func() error { return g.plants.Decide(w.Change) })
	}
	all, g.changed = g.plants.Effect()
	return all
}

// errStored means that the plants were not created, because one of them is stored.
var errStored = errors.New("one of the plants is stored")

// create runs the transaction as if none of the plants were stored.
func (g *group) create(ctx context.Context, conn *pgx.Conn, id int64) error {
	g.reset()
	rows := g.decide().Insert
	var marks int64
	var b pgx.Batch
	beginWrite(&b)
	b.Queue(createPlants, append(plantArrays(rows), g.plants.IDs(), id, time.Now().UnixMicro())...).Exec(
		func(tag pgconn.CommandTag) error { marks = tag.RowsAffected(); return nil })
	g.content.beginIfReplaced(&b, id, g.setContent)
	b.Queue(storeCreated, g.changed, id)
	b.Queue(`COMMIT`)
	err := conn.SendBatch(ctx, &b).Close()
	if err == nil && marks == 0 {
		return errStored
	}
	return err
}

// change reads and locks the plants, decides the writes, and stores their effect.
func (g *group) change(ctx context.Context, conn *pgx.Conn, id int64) error {
	g.reset()
	found := func(rows pgx.Rows) error {
		return forEachPlant(rows, func(p plant.Plant) error {
			g.plants.Found(p)
			return nil
		})
	}
	if err := g.lock(ctx, conn, found); err != nil {
		return err
	}
	all := g.decide()
	if !slices.ContainsFunc(g.writes, func(w *write) bool { return w.err == nil }) {
		_, err := conn.Exec(ctx, `ROLLBACK`)
		return err
	}
	var b pgx.Batch
	g.store(&b, all, id)
	b.Queue(`COMMIT`)
	return conn.SendBatch(ctx, &b).Close()
}

// store queues the statements that store the effect of the transaction.
func (g *group) store(b *pgx.Batch, all store.Effect, id int64) {
	if g.sharded {
		writeSharded(b, all)
	} else {
		writePlants(b, all)
	}
	now := time.Now().UnixMicro()
	b.Queue(insertMark, id, now, !g.sharded)
	if len(g.changed) > 0 && !g.sharded {
		b.Queue(lockFeed)
		g.content.beginIfReplaced(b, id, g.setContent)
		b.Queue(storeChanges, g.changed, now)
	}
}

// lock begins the transaction, locks its plants, and calls found with the rows of those that
// are stored.
func (g *group) lock(ctx context.Context, conn *pgx.Conn, found func(pgx.Rows) error) error {
	if g.sharded {
		someNew := slices.ContainsFunc(g.writes, func(w *write) bool { return w.New })
		return lockSharded(ctx, conn, g.plants.IDs(), someNew, found)
	}
	var b pgx.Batch
	beginWrite(&b)
	b.Queue(lockPlants, g.plants.IDs()).Query(found)
	return conn.SendBatch(ctx, &b).Close()
}
