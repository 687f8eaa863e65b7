// Package sqlite keeps plants and tokens in one SQLite file. It is the store
// that `plantstore serve` uses unless told otherwise.
//
// There is one writer: SQLite admits no second one, and callers who queue here
// wait in order instead of being told "database is locked". The writes that
// queue while a commit runs share the next one (internal/store/groupcommit, commit.go).
// Readers have connections of their own and never wait for the writer (WAL).
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/groupcommit"
	"github.com/plantstore/plantstore/internal/token"
)

// Memory is the path of a store that lives in memory and goes with Close.
const Memory = ":memory:"

// EngineVersion is the version of SQLite, as in 3.50.1.
const EngineVersion = sqlite.Version

// Store keeps plants and tokens in one SQLite file.
type Store struct {
	path   string
	writes *groupcommit.Queue[write]

	// Each channel holds the connections that are not in use.
	writer  chan *sqlite.Conn // one
	readers chan *sqlite.Conn // in memory: the same channel as writer

	log   walLog // belongs to whoever holds the writer
	reads reads
	files openFiles

	closed chan struct{}  // closed by Close
	watch  sync.WaitGroup // for Watch
}

var (
	_ plant.Store = (*Store)(nil)
	_ token.Store = (*Store)(nil)
)

// Close waits for calls under way and closes the store. No method may be
// called after it.
func (s *Store) Close() error {
	s.writes.Close()
	close(s.closed)
	s.watch.Wait()
	var errs []error
	if s.readers != nil && s.readers != s.writer {
		for range cap(s.readers) {
			errs = append(errs, (<-s.readers).Close())
		}
	}
	errs = append(errs, (<-s.writer).Close())
	return errors.Join(errs...)
}

// read runs fn with a connection that sees every write acknowledged so far.
func (s *Store) read(ctx context.Context, fn func(*sqlite.Conn) error) error {
	err := with(ctx, s.readers, func(conn *sqlite.Conn) error {
		defer s.reads.begin().Add(-1)
		return fn(conn)
	})
	s.files.note(err)
	return err
}

// write runs fn in a transaction, which it may share with others, and returns
// once that is durable. If fn fails, nothing that it did is kept. A write that
// has begun is not cancelled.
//
// fn may run twice, the second time as if the first had not been: it sets the
// variables that it captures and does not add to them.
func (s *Store) write(ctx context.Context, fn func(*sqlite.Conn) error) error {
	err := translate(s.writes.Do(ctx, fn))
	s.files.note(err)
	return err
}

// with runs fn with a connection of a pool.
func with(ctx context.Context, pool chan *sqlite.Conn, fn func(*sqlite.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err // select would toss a coin
	}
	select {
	case conn := <-pool:
		defer func() { pool <- conn }()
		return translate(fn(conn))
	case <-ctx.Done():
		return ctx.Err()
	}
}

// translate marks the errors of SQLite whose cause may pass or be removed while
// the program runs, so that callers can tell them from faults of ours.
func translate(err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultFull, sqlite.ResultReadOnly,
		sqlite.ResultIOErr, sqlite.ResultCantOpen, sqlite.ResultNoMem, sqlite.ResultPerm, sqlite.ResultProtocol:
		return fmt.Errorf("sqlite: %w: %w: %w", plant.ErrUnavailable, token.ErrUnavailable, err)
	case sqlite.ResultCorrupt, sqlite.ResultNotADB: // it was a database when it was opened
		return fmt.Errorf("sqlite: %w: %w: %s (%w)", plant.ErrUnavailable, token.ErrUnavailable, adviceDamaged, err)
	}
	return err
}
