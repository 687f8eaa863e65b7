package postgres

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/groupcommit"
)

// Another program may lock a plant for long: a forgotten transaction in psql does. A group must
// not wait for it, because all writes wait for the group. So a group leaves out the writes of
// plants that are locked. They run in the groups of a second queue, the slow lane, which wait
// for lockTime, until the plant is free or the deadline of the write is over.
//
// SKIP LOCKED finds a locked row at once. Nothing tells that another transaction has inserted
// a plant and did not commit: only lock_timeout ends the wait of an insert. Then parts of the
// group run on their own, until the write is found that has to wait.

// lockTime is how long a statement waits for a lock of a plant. The plants that two servers
// write at the same time are locked for the time of a commit.
const lockTime = 100 * time.Millisecond

// limitLocks lets a statement that waits for a lock fail after lockTime.
const limitLocks = `SET LOCAL lock_timeout = '100ms'`

// errLocked is the error of a write that has to wait in the slow lane.
var errLocked = unavailable(plant.ErrLocked)

// lane says what a transaction does about locked plants.
type lane struct {
	waits bool      // it waits for them for lockTime, and fails; otherwise it leaves out their writes
	since time.Time // it leaves out writes of plants that were found locked since then, without a try
}

// runLocked is run for the slow lane. Its writes wait for the first plant that is locked, in a fair
// order with other servers, and then those run whose plants are free.
func (s *Store) runLocked(calls []*groupcommit.Call[*pendingWrite]) {
	s.run(calls, lane{waits: true, since: time.Now()})
}

// apply implements [store.Apply]. It returns at the latest after callTime.
func (s *Store) apply(ctx context.Context, change store.Change) error {
	defer s.durations.Since(time.Now(), change.Operation)
	return s.failure.Note(s.submit(ctx, &pendingWrite{Change: change, deadline: deadlineOf(ctx)}))
}

// submit runs a write in a group, and in those of the slow lane while one of its plants is locked.
func (s *Store) submit(ctx context.Context, pending *pendingWrite) error {
	expired := time.After(time.Until(pending.deadline))
	err := s.writes.Do(ctx, pending, expired)
	wasLocked := err == errLocked
	for err == errLocked {
		pending.ended = false
		err = s.slowWrites.Do(ctx, pending, expired)
	}
	isOver := err == groupcommit.ErrExpired || err == context.DeadlineExceeded
	if wasLocked && isOver {
		return errLocked
	}
	if err == groupcommit.ErrExpired {
		if last := s.lastErr.Load(); last != nil {
			err = *last // says more
		}
		err = unavailable(err)
	}
	return err
}

// maxLocked is the number of plants that are known to be locked at most.
const maxLocked = 10_000

// lockedPlants are the plants that were found locked, and not found free since then, with the
// time when they were found locked. The zero value is ready for use.
type lockedPlants struct {
	mutex sync.Mutex
	found map[int64]time.Time
}

// has reports whether one of the plants was found locked since a time.
func (l *lockedPlants) has(ids []int64, since time.Time) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.found) == 0 {
		return false
	}
	return slices.ContainsFunc(ids, func(id int64) bool {
		found, ok := l.found[id]
		return ok && !found.Before(since)
	})
}

// add records that plants are locked.
func (l *lockedPlants) add(ids []int64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.found == nil || len(l.found) > maxLocked {
		l.found = map[int64]time.Time{}
	}
	for _, id := range ids {
		l.found[id] = time.Now()
	}
}

// remove records that the plants of writes are free.
func (l *lockedPlants) remove(writes []*pendingWrite) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.found) == 0 {
		return
	}
	for _, pending := range writes {
		for _, id := range pending.IDs {
			delete(l.found, id)
		}
	}
}

// limitLocks queues the statement of this name. The workers of a sharded store have to get it, too.
func (g *group) limitLocks(batch *pgx.Batch) {
	if g.sharded {
		batch.Queue(`SET LOCAL citus.propagate_set_commands = 'local'`)
	}
	batch.Queue(limitLocks)
}
