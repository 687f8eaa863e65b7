package postgres

import (
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

	ended bool // err is set
	err   error
}

func (w *write) end(err error) { w.ended, w.err = true, err }

// apply implements [store.Apply]. It returns at the latest after callTime.
func (s *Store) apply(ctx context.Context, c store.Change) error {
	defer s.durations.Since(time.Now(), c.Operation)
	w := &write{Change: c, deadline: time.Now().Add(callTime)}
	if end, ok := ctx.Deadline(); ok && end.Before(w.deadline) {
		w.deadline = end
	}
	err := s.writes.DoWithin(ctx, time.Until(w.deadline), w)
	if err == groupcommit.ErrExpired {
		if last := s.lastErr.Load(); last != nil {
			err = *last // says more
		}
		err = unavailable(err)
	}
	return s.failure.Note(err)
}

// run commits the calls of the queue, in transactions of about maxGroupPlants.
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
	err := s.runOnce(writes)
	for _, w := range writes {
		switch {
		case w.ended:
		case len(writes) == 1, errors.Is(err, plant.ErrUnavailable):
			w.end(err)
		default:
			s.runAll([]*write{w})
		}
	}
}

// errExpired ends the attempts once the deadlines of all writes are over.
var errExpired = errors.New("deadline exceeded")

// runOnce runs writes in one transaction. If it returns nil, every write has ended.
func (s *Store) runOnce(writes []*write) error {
	last := slices.MaxFunc(writes, func(a, b *write) int { return a.deadline.Compare(b.deadline) })
	ctx, cancel := context.WithDeadline(context.Background(), last.deadline)
	defer cancel()
	var attempt *changes
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
		attempt = &changes{sharded: s.sharded, writes: live}
		return attempt.run(ctx, conn, id)
	})
	if err == nil {
		attempt.end(s)
	}
	return err
}
