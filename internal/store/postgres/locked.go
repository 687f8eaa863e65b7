package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

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
// group run on their own, until the write is found that has to wait. Later writes of its plants
// wait in the slow lane without a try before, as long as it does.

// lockTime is how long a statement waits for a lock of a plant. The plants that two servers
// write at the same time are locked for the time of a commit.
const lockTime = 100 * time.Millisecond

// limitLocks lets a statement that waits for a lock fail after lockTime.
const limitLocks = `SET LOCAL lock_timeout = '100ms'`

// limitInserts does so sooner: the parts of a group wait for an insert one after the other.
const limitInserts = `SET LOCAL lock_timeout = '20ms'`

// errLocked is the error of a write that has to wait in the slow lane.
var errLocked = unavailable(plant.ErrLocked)

// lane says what a run does about locked plants.
type lane struct {
	waits  bool          // it waits for lockTime, in a fair order with other servers, before it leaves out writes
	locked []int64       // the plants that were found locked in this run
	grace  time.Duration // after the deadline: a wait that a deadline ends costs the connection
}

// apply implements [store.Apply]. It returns at the latest after callTime.
func (s *Store) apply(ctx context.Context, change store.Change) error {
	defer s.durations.Since(time.Now(), change.Operation)
	return s.failure.Note(s.submit(ctx, &pendingWrite{Change: change, deadline: deadlineOf(ctx)}))
}

// submit runs a write in a group, or in those of the slow lane while one of its plants is locked.
func (s *Store) submit(ctx context.Context, pending *pendingWrite) error {
	expired := time.After(time.Until(pending.deadline))
	err := errLocked
	if !s.isSlow(pending.IDs) {
		err = s.writes.Do(ctx, pending, expired)
	}
	if err == errLocked {
		return s.submitSlow(ctx, pending, expired)
	}
	if err == groupcommit.ErrExpired {
		if last := s.lastErr.Load(); last != nil {
			err = *last // says more
		}
		err = unavailable(err)
	}
	return err
}

// submitSlow runs a write in groups of the slow lane until it has an outcome.
func (s *Store) submitSlow(ctx context.Context, pending *pendingWrite, expired <-chan time.Time) error {
	s.countSlow(pending.IDs, 1)
	defer s.countSlow(pending.IDs, -1)
	err := errLocked
	for err == errLocked {
		pending.ended = false
		err = s.slowWrites.Do(ctx, pending, expired)
	}
	// The queue may say so, or the group that the write was in.
	if errors.Is(err, groupcommit.ErrExpired) || errors.Is(err, context.DeadlineExceeded) {
		return errLocked
	}
	return err
}

// isSlow reports whether a write in the slow lane waits for one of the plants.
func (s *Store) isSlow(ids []int64) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.slow) > 0 && slices.ContainsFunc(ids, func(id int64) bool { return s.slow[id] > 0 })
}

// countSlow adds to the number of writes in the slow lane of each plant.
func (s *Store) countSlow(ids []int64, change int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, id := range ids {
		if s.slow[id] += change; s.slow[id] == 0 {
			delete(s.slow, id)
		}
	}
}
