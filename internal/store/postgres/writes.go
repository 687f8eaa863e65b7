package postgres

// The calls of a write, from the outermost to the innermost:
//
//	apply         waits in a queue (locked.go)
//	run           splits what the queue has into transactions (committer)
//	runAll        runs parts of the writes on their own if they fail together
//	runTogether   ends writes whose deadline is over
//	transact      retries, and finds out whether a lost transaction was committed
//	try           takes a connection
//	group.run     creates plants in one round trip, or changes plants in two

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

// pendingWrite is a change with its deadline and its outcome.
type pendingWrite struct {
	store.Change
	deadline time.Time
	isProbe  bool // it is no change, but the write of Writable

	err   error // of the last attempt
	ended bool  // err is the outcome
}

func (w *pendingWrite) end(err error) { w.ended, w.err = true, err }

// run commits calls of a queue, in transactions of about maxGroupPlants.
func (s *Store) run(calls []*groupcommit.Call[*pendingWrite], lane lane) {
	for len(calls) > 0 {
		var writes []*pendingWrite
		for plants := 0; len(writes) < len(calls) && plants < maxGroupPlants; {
			pending := calls[len(writes)].Work
			if pending.isProbe {
				pending.end(s.probe(pending.deadline))
			}
			plants += len(pending.IDs)
			writes = append(writes, pending)
		}
		s.runAll(writes, &lane)
		for i, pending := range writes {
			calls[i].Err = pending.err
		}
		calls = calls[len(writes):]
	}
}

// runAll runs writes in a transaction. If that fails, each eighth of them runs in a transaction of
// its own, because one write may be the cause.
func (s *Store) runAll(writes []*pendingWrite, lane *lane) {
	err := s.runTogether(writes, lane)
	left := slices.DeleteFunc(slices.Clone(writes), func(pending *pendingWrite) bool { return pending.ended })
	isLocked := code(err) == lockNotAvailable
	switch {
	case err == nil, len(left) == 0:
	case isLocked && lane.waits:
		lane.waits = false
		s.runAll(left, lane)
	case isLocked && len(left) == 1:
		lane.locked = append(lane.locked, left[0].IDs...)
		left[0].end(errLocked)
	case len(left) == 1, errors.Is(err, plant.ErrUnavailable) && !isLocked:
		for _, pending := range left {
			pending.end(err)
		}
	default:
		for part := range slices.Chunk(left, (len(left)+7)/8) {
			s.runAll(part, lane)
		}
	}
}

// runTogether runs writes in one transaction, which it retries until the last deadline. If
// it returns nil, each write has its outcome: an error if it was refused.
func (s *Store) runTogether(writes []*pendingWrite, lane *lane) error {
	last := slices.MaxFunc(writes, func(a, b *pendingWrite) int { return a.deadline.Compare(b.deadline) })
	ctx, cancel := context.WithDeadline(context.Background(), last.deadline.Add(lane.grace))
	defer cancel()
	transaction := &group{sharded: s.sharded, lane: lane}
	err := s.transact(ctx, func(ctx context.Context, conn *pgx.Conn, mark int64) error {
		transaction.writes = unended(writes, lane)
		if len(transaction.writes) == 0 {
			return permanent{groupcommit.ErrExpired}
		}
		transaction.content = s.content.Load()
		return transaction.run(ctx, conn, mark)
	})
	if err == nil && len(transaction.changed) > 0 {
		s.content.Store(transaction.content)
		s.committed.Send()
	}
	return err
}

// unended ends the writes whose deadline is over, and those of plants that were found locked. It
// returns the others that have not ended.
func unended(writes []*pendingWrite, lane *lane) (left []*pendingWrite) {
	now := time.Now()
	isLocked := func(id int64) bool { return slices.Contains(lane.locked, id) }
	for _, pending := range writes {
		switch {
		case pending.ended:
		case now.After(pending.deadline):
			pending.end(unavailable(groupcommit.ErrExpired)) // its client has this response already
		case slices.ContainsFunc(pending.IDs, isLocked):
			pending.end(errLocked)
		default:
			left = append(left, pending)
		}
	}
	return left
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
	lane    *lane
	writes  []*pendingWrite
	plants  *store.Group
	changed []int64  // IDs of the plants that the transaction changes
	content *content // before the transaction, and after it; see content
}

func (g *group) run(ctx context.Context, conn *pgx.Conn, mark int64) error {
	mayBeStored := func(pending *pendingWrite) bool { return !pending.New }
	err := errStored
	if !g.sharded && !slices.ContainsFunc(g.writes, mayBeStored) {
		err = g.create(ctx, conn, mark)
	}
	if err == errStored {
		err = g.change(ctx, conn, mark)
	}
	if code(err) == uniqueViolation {
		return fmt.Errorf("%w: %w", errAgain, err) // another program has created one of the plants
	}
	return err
}

// reset forgets what is known about the plants.
func (g *group) reset() {
	var ids []int64
	for _, pending := range g.writes {
		ids = append(ids, pending.IDs...)
	}
	g.plants = store.NewGroup(ids)
}

// decide decides the writes, and returns what becomes of the plants. It returns false if it has
// refused all of them.
func (g *group) decide() (effect store.Effect, accepted bool) {
	for _, pending := range g.writes {
		pending.err = groupcommit.Try(func() error { return g.plants.Decide(pending.Change) })
		accepted = accepted || pending.err == nil
	}
	effect, g.changed = g.plants.Effect()
	return effect, accepted
}

// errStored means that the plants were not created, because one of them is stored.
var errStored = errors.New("one of the plants is stored")

// create runs the transaction as if none of the plants were stored.
func (g *group) create(ctx context.Context, conn *pgx.Conn, mark int64) error {
	g.reset()
	effect, _ := g.decide()
	arguments := append(plantArrays(effect.Insert), g.plants.IDs(), mark, time.Now().UnixMicro())
	var marks int64
	var batch pgx.Batch
	beginWrite(&batch)
	batch.Queue(limitLocks)
	batch.Queue(createPlants, arguments...).Exec(func(result pgconn.CommandTag) error {
		marks = result.RowsAffected()
		return nil
	})
	g.beginEpochIfReplaced(&batch, mark)
	batch.Queue(storeCreated, g.changed, mark)
	batch.Queue(`COMMIT`)
	err := conn.SendBatch(ctx, &batch).Close()
	if code(err) == lockNotAvailable { // of a plant, or of the feed, for which the other way waits
		for _, pending := range g.writes {
			pending.New = false
		}
		return fmt.Errorf("%w: %w", errAgain, err)
	}
	if err == nil && marks == 0 {
		return errStored
	}
	return err
}

// change reads and locks the plants, decides the writes, and stores their effect.
func (g *group) change(ctx context.Context, conn *pgx.Conn, mark int64) error {
	g.reset()
	if err := g.lock(ctx, conn); err != nil {
		return err
	}
	effect, accepted := g.decide()
	if !accepted {
		_, err := conn.Exec(ctx, `ROLLBACK`)
		return err
	}
	effect.Insert = append(effect.Insert, g.claims(effect.Remove)...)
	var batch pgx.Batch
	g.store(&batch, effect, mark)
	batch.Queue(`COMMIT`)
	return conn.SendBatch(ctx, &batch).Close()
}

// lock begins the transaction, locks its plants, and finds those that are stored. It ends the
// writes of plants that are locked, unless it waits for them.
func (g *group) lock(ctx context.Context, conn *pgx.Conn) error {
	found := func(rows pgx.Rows) error {
		return forEachPlant(rows, func(stored plant.Plant) error {
			g.plants.Found(stored)
			return nil
		})
	}
	var batch pgx.Batch
	var stored []int64
	beginWrite(&batch)
	option := ` SKIP LOCKED`
	if g.lane.waits {
		batch.Queue(limitLocks)
		option = ""
	}
	batch.Queue(storedIDs, g.plants.IDs()).Query(func(rows pgx.Rows) (err error) {
		stored, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	if g.sharded {
		// Only plants that are stored are locked: a batch of 1,000 new plants takes 0.1 s, and 0.65 s with
		// a lock for each. If another program creates one of them meanwhile, the insert fails; see run.
		if err := conn.SendBatch(ctx, &batch).Close(); err != nil {
			return err
		}
		batch = pgx.Batch{}
		for _, id := range stored {
			batch.Queue(lockOne+option, id).Query(found)
		}
	} else {
		batch.Queue(lockPlants+option, g.plants.IDs()).Query(found)
	}
	err := conn.SendBatch(ctx, &batch).Close()
	if err == nil && !g.lane.waits {
		g.lane.locked = append(g.lane.locked, slices.DeleteFunc(stored, g.plants.IsStored)...)
		g.writes = unended(g.writes, g.lane)
	}
	return err
}

// store queues the statements that store the effect of the transaction.
func (g *group) store(batch *pgx.Batch, effect store.Effect, mark int64) {
	now := time.Now().UnixMicro()
	batch.Queue(limitInserts)
	if g.sharded {
		writeSharded(batch, effect)
		batch.Queue(insertMark, mark, now, false)
		return
	}
	writePlants(batch, effect)
	batch.Queue(`SET LOCAL lock_timeout = 0`)
	batch.Queue(insertMark, mark, now, true)
	if len(g.changed) > 0 {
		batch.Queue(lockFeed)
		g.beginEpochIfReplaced(batch, mark)
		if len(effect.History) > 0 {
			batch.Queue(storeHistory, append(historyArrays(effect.History), g.changed, now)...)
		} else {
			batch.Queue(storeChanges, g.changed, now)
		}
	}
}

// claims returns empty rows for those plants to remove that are not stored: the transaction has created them
// itself, or they are to be forgotten. It inserts these rows before it removes the plants. So it fails if
// another program has created one of them since the transaction has looked: the history would have the
// changes of both in the wrong order, and the removal would be of the other's plant.
func (g *group) claims(removed []int64) (rows []store.PlantRow) {
	for _, id := range removed {
		if !g.plants.IsStored(id) {
			rows = append(rows, store.PlantRow{Plant: plant.Plant{ID: id}})
		}
	}
	return rows
}

// beginEpochIfReplaced queues the statement that begins an epoch if the content is another one.
// Nothing is queued if the content is not known.
func (g *group) beginEpochIfReplaced(batch *pgx.Batch, mark int64) {
	known := g.content
	if known == nil {
		return
	}
	begun := &content{epoch: int64(rand.Uint64())}
	queued := batch.Queue(beginIfReplaced, begun.epoch, known.epoch, known.xmin, known.started, mark)
	queued.Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&begun.xmin, &begun.started}, func() error {
			g.content = begun
			return nil
		})
		return err
	})
}
