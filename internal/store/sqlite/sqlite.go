// Package sqlite keeps plants and tokens in one SQLite file. It is the store
// that `plantstore serve` uses unless told otherwise.
//
// There is one writer: SQLite admits no second one, and callers who queue here
// wait in order instead of being told "database is locked". Readers have
// connections of their own and never wait for the writer (WAL).
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/token"
)

// Memory is the path of a store that lives in memory and goes with Close.
const Memory = ":memory:"

// readers is how many reads run at once; the next one waits. Reads are short
// and run on the processor, so more connections than this buy only memory.
const readers = 4

// busyTimeout is how long a connection waits for another program that holds
// the file, `plantstore token` for one.
const busyTimeout = 5 * time.Second

// Store keeps plants and tokens in one SQLite file.
type Store struct {
	// Each channel holds the connections that are not in use.
	writer  chan *sqlite.Conn // one
	readers chan *sqlite.Conn // in memory: the same channel as writer
}

var (
	_ plant.Store = (*Store)(nil)
	_ token.Store = (*Store)(nil)
)

// Open opens the store in the file at path, creating the file and bringing its
// schema up to date where needed. The path [Memory] opens a store of its own
// that has no file.
func Open(ctx context.Context, path string) (*Store, error) {
	if err := checkPath(path); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	writer, err := openConn(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	s := &Store{writer: make(chan *sqlite.Conn, 1)}
	s.writer <- writer
	if err := prepareWriter(ctx, writer, path); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), s.Close())
	}
	if path == Memory {
		s.readers = s.writer // what is in memory belongs to its one connection
		return s, nil
	}
	s.readers = make(chan *sqlite.Conn, readers)
	for range readers {
		conn, err := openConn(path)
		if err == nil {
			s.readers <- conn
			err = sqlitex.ExecuteTransient(conn, "PRAGMA query_only = ON", nil)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), s.Close())
		}
	}
	return s, nil
}

// checkPath finds the mistakes for which SQLite has but one message, "unable to
// open database file".
func checkPath(path string) error {
	if path == Memory {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return errors.New("this is a folder: name a file")
	}
	folder := filepath.Dir(path)
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s does not exist: create it first", folder)
	}
	return nil
}

// openConn opens one connection. The path is a path, never a URI: a file name
// may hold a question mark.
func openConn(path string) (*sqlite.Conn, error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate, sqlite.OpenWAL)
	if err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(busyTimeout)
	return conn, nil
}

func prepareWriter(ctx context.Context, conn *sqlite.Conn, path string) error {
	// With NORMAL a commit in WAL mode does not wait for the disk: a power cut
	// would take plants back that have been acknowledged.
	if err := sqlitex.ExecuteTransient(conn, "PRAGMA synchronous = FULL", nil); err != nil {
		return err
	}
	if path != Memory {
		if err := checkDurable(conn); err != nil {
			return err
		}
	}
	return migrate(ctx, conn)
}

// checkDurable asks SQLite whether it took the settings that durability rests
// on; it ignores a pragma that it cannot honour without a word.
func checkDurable(conn *sqlite.Conn) error {
	const full = 2
	synchronous, err := pragma(conn, "synchronous")
	if err != nil {
		return err
	}
	if synchronous != full {
		return fmt.Errorf("synchronous is %d, need %d (FULL)", synchronous, full)
	}
	var mode string
	err = sqlitex.ExecuteTransient(conn, "PRAGMA journal_mode", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			mode = stmt.ColumnText(0)
			return nil
		},
	})
	if err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("journal_mode is %q, need wal: is the file on a network file system?", mode)
	}
	return nil
}

// Close waits for calls under way and closes the store. No method may be
// called after it.
func (s *Store) Close() error {
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
	return with(ctx, s.readers, fn)
}

// write runs fn in a transaction of its own and returns once that is durable.
// If fn fails nothing is changed. A write that has begun is not cancelled.
func (s *Store) write(ctx context.Context, fn func(*sqlite.Conn) error) error {
	return with(ctx, s.writer, func(conn *sqlite.Conn) (err error) {
		end, err := sqlitex.ImmediateTransaction(conn)
		if err != nil {
			return err
		}
		defer end(&err)
		return fn(conn)
	})
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

// translate marks the errors of SQLite that may pass, so that callers can tell
// them from broken ones.
func translate(err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultFull, sqlite.ResultReadOnly,
		sqlite.ResultIOErr, sqlite.ResultCantOpen, sqlite.ResultNoMem:
		return fmt.Errorf("sqlite: %w: %w: %w", plant.ErrUnavailable, token.ErrUnavailable, err)
	}
	return err
}
