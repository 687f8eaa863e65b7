package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/backoff"
)

const (
	// markLife is how long a mark is kept that no program has deleted. No server
	// commits a transaction that long after it was sent.
	markLife = 24 * time.Hour

	// maxDiscarded is how many marks are deleted together. So many may stay behind when a
	// program is killed.
	maxDiscarded = 64

	// maxSwept is how many marks of programs that were killed are deleted when a store is
	// opened.
	maxSwept = 10_000
)

// sweepMarks deletes at most $2 marks that are older than $1. It reads all marks, because
// they have no index by time: it would cost more than it saves.
const sweepMarks = `DELETE FROM marks WHERE id IN (SELECT id FROM marks WHERE at < $1 LIMIT $2)`

// insertMark inserts the mark of a transaction: a random number that shows, once the
// transaction is committed, that it was. The store has a feed if $3 is true; see shard.
const insertMark = `INSERT INTO marks (id, done, at, feeds) VALUES ($1, true, $2, $3)`

// beginWrite queues the beginning of a transaction whose commit is acknowledged.
//
// With synchronous_commit = off a crash of the server would lose it. That can be set for the
// server, the database or the role at any time, and a pooler may give each transaction another
// session. So each transaction turns it on, for itself. The other values are kept: each of them
// survives a crash, and they say what a standby must have.
//
// At a higher level of isolation, a statement that waits for a lock would fail, instead of
// reading what the holder of the lock has committed.
func beginWrite(batch *pgx.Batch) {
	batch.Queue(`BEGIN ISOLATION LEVEL READ COMMITTED`)
	batch.Queue(`
		SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit', true) = 'off'`)
}

// deadlineOf returns the deadline of a call: callTime from now, or that of ctx if it is sooner.
func deadlineOf(ctx context.Context) time.Time {
	deadline := time.Now().Add(callTime)
	if sooner, ok := ctx.Deadline(); ok && sooner.Before(deadline) {
		return sooner
	}
	return deadline
}

// transact calls attempt, which runs a whole transaction that inserts the given
// mark, until an attempt commits. After any error except [plant.ErrUnavailable],
// nothing was committed.
//
// If the connection is lost, the transaction may have been committed, or may be
// committed a moment later. [Store.settle] finds out.
func (s *Store) transact(
	ctx context.Context, attempt func(ctx context.Context, conn *pgx.Conn, mark int64) error,
) error {
	var cause error
	for attempts := 1; ; attempts++ {
		mark := int64(rand.Uint64())
		warned := false
		err := s.try(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			notices := conn.PgConn().CustomData()
			delete(notices, warning)
			err := attempt(ctx, conn, mark)
			_, warned = notices[warning]
			return err
		})
		if err == nil {
			return s.committedWith(ctx, mark, warned)
		}
		cause = laterCause(cause, err)
		s.lastErr.Store(new(cause)) // for callers that do not wait until the last attempt has ended
		outcome := s.fateOf(err)
		if outcome == failed {
			return final(err)
		}
		s.resetIfLost(err)
		if outcome == unknown && !isNotSent(err) {
			committed, unsettled := s.settle(ctx, mark)
			if errors.Is(unsettled, context.DeadlineExceeded) {
				return unavailable(cause)
			}
			if unsettled != nil {
				return unavailable(unsettled)
			}
			if committed {
				return s.committedWith(ctx, mark, true)
			}
		}
		if !pause(ctx, attempts) {
			return unavailable(cause)
		}
	}
}

// committedWith ends a transaction that was committed with a mark. In a sharded store, parts
// of it may not be committed yet after a warning or a lost connection.
func (s *Store) committedWith(ctx context.Context, mark int64, partly bool) error {
	if s.sharded && partly {
		if err := s.retry(ctx, waitForPrepared); err != nil {
			return unavailable(err)
		}
	}
	s.discard(mark)
	s.lastErr.Store(nil)
	return nil
}

// settle reports whether the transaction with a mark was committed. If it was not,
// it never will be: settle inserts the mark itself, so the transaction's own
// insert fails. If the transaction is still running, this insert waits for it.
//
// If the mark is there, settle updates it. With synchronous replication, its
// commit therefore waits until a standby has the transaction, too. PostgreSQL can
// cancel the wait of the transaction itself. Readers then see the transaction
// although no standby has it.
func (s *Store) settle(ctx context.Context, mark int64) (committed bool, err error) {
	err = s.retry(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var batch pgx.Batch
		beginWrite(&batch)
		batch.Queue(settleMark, mark, time.Now().UnixMicro(), !s.sharded).QueryRow(func(row pgx.Row) error {
			return row.Scan(&committed)
		})
		batch.Queue(`COMMIT`)
		return conn.SendBatch(ctx, &batch).Close()
	})
	return committed, err
}

const settleMark = `
	INSERT INTO marks (id, done, at, feeds) VALUES ($1, false, $2, $3)
	ON CONFLICT (id) DO UPDATE SET at = excluded.at
	RETURNING done`

// read calls readOnce, which only reads, and retries it after a failure that may be
// temporary. Its connection is to the primary, so it sees every write that was
// acknowledged before. If a standby is promoted while the primary goes on, that is
// noticed within about a second; see [servers].
func (s *Store) read(ctx context.Context, readOnce func(context.Context, *pgx.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := s.retry(limited, readOnce)
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled): // not an error of the server
		return ctx.Err()
	case s.fateOf(err) == failed:
		return final(err)
	}
	return unavailable(err)
}

// retry calls attempt until it succeeds or fails with an error that another attempt would
// return, too, and for as long as ctx leaves time for another attempt. Then it returns the
// cause of the failures.
func (s *Store) retry(ctx context.Context, attempt func(context.Context, *pgx.Conn) error) error {
	var cause error
	for attempts := 1; ; attempts++ {
		err := s.try(ctx, attempt)
		canceled := errors.Is(ctx.Err(), context.Canceled)
		if err == nil || canceled {
			return err
		}
		if s.fateOf(err) == failed {
			return err
		}
		s.resetIfLost(err)
		cause = laterCause(cause, err)
		if !pause(ctx, attempts) {
			return cause
		}
	}
}

// laterCause returns the cause of failures after another attempt: the error of the last
// attempt that did not run into a deadline, which says nothing about the server.
func laterCause(cause, err error) error {
	if cause != nil && errors.Is(err, context.DeadlineExceeded) {
		return cause
	}
	return err
}

// withConnection calls use with a connection of the pool.
func (s *Store) withConnection(ctx context.Context, use func(context.Context, *pgx.Conn) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return notSent{err}
	}
	defer conn.Release() // closes it if it is broken or still in a transaction
	err = use(ctx, conn.Conn())
	if isPooled(err) {
		s.pooled.Store(true)
	}
	if err != nil && conn.Conn().PgConn().TxStatus() == 'E' {
		_, _ = conn.Exec(ctx, `ROLLBACK`)
	}
	return err
}

// notSent is the error of a transaction that got no connection.
type notSent struct{ error }

func (e notSent) Unwrap() error { return e.error }

func isNotSent(err error) bool {
	_, ok := err.(notSent)
	return ok
}

// try calls attempt with a connection and half of the remaining time, so that a server
// that does not respond leaves time to try another one.
func (s *Store) try(ctx context.Context, attempt func(context.Context, *pgx.Conn) error) error {
	if deadline, ok := ctx.Deadline(); ok {
		limited, cancel := context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
		ctx = limited
	}
	return s.withConnection(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return refused(ctx, conn, attempt(ctx, conn))
	})
}

// resetIfLost closes the idle connections after an error that shows that their
// server is lost or became a standby. That no connection became free in time does
// not show it.
func (s *Store) resetIfLost(err error) {
	if isNotSent(err) && errors.Is(err, context.DeadlineExceeded) {
		return
	}
	if fateOf(err) == unknown || code(err) == readOnlyTransaction {
		s.pool.Reset()
	}
}

// discard deletes the mark of a transaction whose outcome is known, together with
// others.
func (s *Store) discard(mark int64) {
	s.mutex.Lock()
	s.discarded = append(s.discarded, mark)
	var discarded []int64
	if len(s.discarded) >= maxDiscarded {
		discarded, s.discarded = s.discarded, nil
	}
	s.mutex.Unlock()
	s.deleteMarks(discarded)
}

// deleteMarks deletes marks. The next store that is opened a day later deletes what this leaves.
func (s *Store) deleteMarks(marks []int64) {
	if len(marks) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, _ = s.pool.Exec(ctx, `DELETE FROM marks WHERE id = ANY($1)`, marks)
	}
}

// pause waits before another attempt, and reports whether ctx leaves time for it. The first
// pauses are short, because most failures are conflicts with another program.
func pause(ctx context.Context, attempts int) bool {
	return backoff.Sleep(ctx, backoff.Pause(attempts, 4*time.Millisecond, 400*time.Millisecond))
}
