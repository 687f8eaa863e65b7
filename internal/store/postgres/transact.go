package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// markLife is how long the mark of a transaction stays that was given up.
	// No server carries out a transaction so much later.
	markLife = 24 * time.Hour

	// maxSpent is how many marks gather before they are removed together.
	maxSpent = 64

	// sweepInterval is how often the marks are removed that programs left which
	// were killed, and maxSwept how many at once. It reads all marks, for they
	// have no index by time: one would cost more than it saves.
	sweepInterval = time.Hour
	maxSwept      = 10_000
)

// sweepMarks removes marks of before $1, at most $2. No transaction with one of
// them is still being settled.
const sweepMarks = `DELETE FROM marks WHERE id IN (SELECT id FROM marks WHERE at < $1 LIMIT $2)`

// mark makes a transaction one that can be found again, by the number it drew.
const mark = `INSERT INTO marks (id, done, at) VALUES ($1, true, $2)`

// transact runs attempt, a whole transaction with the given mark in it, until
// one has been committed, and returns nil then. An error that is not
// unavailable means that none was.
//
// If the connection is lost the transaction may have been committed, or may be
// so in a moment. Its mark tells: see [Store.settle]. If it was, found is called
// with the plants that the mark lists.
func (s *Store) transact(ctx context.Context, attempt func(ctx context.Context, conn *pgx.Conn, id int64) error, found func(inserted []int64)) error {
	for wait := newBackoff(); ; {
		id := int64(rand.Uint64())
		err := s.try(ctx, func(ctx context.Context, conn *pgx.Conn) error { return attempt(ctx, conn, id) })
		if err == nil {
			s.spend(id)
			return nil
		}
		outcome := fateOf(err)
		if outcome == failed {
			return final(err)
		}
		s.suspect(err)
		if _, ok := err.(notBegun); !ok && outcome == unknown {
			done, inserted, settleErr := s.settle(ctx, id)
			switch {
			case settleErr != nil:
				return unavailable(settleErr)
			case done:
				s.spend(id)
				if found != nil {
					found(inserted)
				}
				return nil
			}
		}
		if !wait.sleep(ctx) {
			return unavailable(err)
		}
	}
}

// settle finds out whether the transaction with a mark was committed, and if
// not, sees to it that it never will be: while it runs the insert here waits for
// it, and once the mark is there its own insert fails.
//
// It always writes, so where a standby must confirm a commit it has confirmed
// what was found here too: a transaction that a cancelled wait or a crash of the
// primary left behind is visible before any standby has it.
func (s *Store) settle(ctx context.Context, id int64) (done bool, inserted []int64, err error) {
	for wait := newBackoff(); ; {
		err := s.try(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			return conn.QueryRow(ctx, `
				INSERT INTO marks (id, done, at) VALUES ($1, false, $2)
				ON CONFLICT (id) DO UPDATE SET at = excluded.at
				RETURNING done, inserted`, id, time.Now().UnixMicro()).Scan(&done, &inserted)
		})
		if err == nil {
			return done, inserted, nil
		}
		s.suspect(err)
		if fateOf(err) == failed || !wait.sleep(ctx) {
			return false, nil, err
		}
	}
}

// try runs fn with a connection and half of the time that is left, so that a
// server that is gone without a word leaves time to ask another one.
func (s *Store) try(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error {
	if end, ok := ctx.Deadline(); ok {
		limited, cancel := context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
		ctx = limited
	}
	return s.on(ctx, fn)
}

// suspect drops the idle connections after an error that others of them will
// meet too: their server is gone, or has become a standby. That none of them came
// free in time is no such error.
func (s *Store) suspect(err error) {
	if _, ok := err.(notBegun); ok && errors.Is(err, context.DeadlineExceeded) {
		return
	}
	if fateOf(err) == unknown || code(err) == readOnlyTransaction {
		s.pool.Reset()
	}
}

// spend has the mark of a transaction removed some time: its outcome is known.
// Once in sweepInterval it also removes those that other programs left.
func (s *Store) spend(id int64) {
	s.mu.Lock()
	s.spent = append(s.spent, id)
	var spent []int64
	if len(s.spent) >= maxSpent {
		spent, s.spent = s.spent, nil
	}
	sweep := spent != nil && time.Since(s.swept) > sweepInterval
	if sweep {
		s.swept = time.Now()
	}
	s.mu.Unlock()
	if spent == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = s.pool.Exec(ctx, `DELETE FROM marks WHERE id = ANY($1)`, spent) // or a sweep does
	if sweep {
		_, _ = s.pool.Exec(ctx, sweepMarks, oldestMark(), maxSwept) // or the next one does
	}
}

// oldestMark is when the oldest mark may have been made that is still needed.
func oldestMark() int64 { return time.Now().Add(-markLife).UnixMicro() }

// backoff is how long to wait before the next attempt: at first hardly at all,
// because most of what fails is another program that was faster.
type backoff struct{ next time.Duration }

func newBackoff() *backoff { return &backoff{2 * time.Millisecond} }

// sleep reports false if ctx ended or would end meanwhile.
func (b *backoff) sleep(ctx context.Context) bool {
	wait := b.next/2 + rand.N(b.next)
	b.next = min(2*b.next, 200*time.Millisecond)
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
