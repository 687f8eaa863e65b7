// Package sqlite stores plants and tokens in one SQLite file. It is the default
// store of `plantstore serve`.
//
// A [Store] has one connection that writes and several that read. SQLite allows
// one writer at a time, so writes wait in a queue; those that queue while a
// commit runs share the next transaction (commit.go and the package
// groupcommit). Reads do not wait for writes, because the file is in WAL mode;
// checkpoint.go keeps the write-ahead log short. plants.go, tokens.go and changes.go each have a table,
// its statements and its rows. path.go checks the path of a store, open.go and defensive.go open the
// connections, migrate.go updates the schema, and operators see health.go.
//
// Other programs may change the files. contents.go reads them before SQLite does: the database in
// header.go, a rollback journal in journal.go and the write-ahead log in log.go and the package wal.
// files.go watches them while they are open, fault.go decides what other programs have done to them,
// untouched.go notices what they do during a checkpoint, and damage.go records damage. backup.go
// copies the files, and copy.go copies the plants and tokens.
package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/groupcommit"
	"github.com/plantstore/plantstore/internal/store/sqlite/wal"
)

// Memory is the path of a store in memory. Close deletes it.
const Memory = ":memory:"

// EngineVersion is the version of SQLite, for example 3.50.1.
const EngineVersion = sqlite.Version

// Store implements [store.Store] on one SQLite file.
type Store struct {
	store.Writer
	store.Searcher
	path      string
	writes    *groupcommit.Queue[groupedWrite]
	durations store.Durations

	// Each channel is a pool: it holds the connections that are not in use.
	writer  chan *sqlite.Conn // one connection
	readers chan *sqlite.Conn // of a store in memory: the same channel as writer

	// The length of the write-ahead log, in pages, at which the next checkpoint is made; 0 in
	// memory, and of a store that is only read. Used with the writer only.
	checkpointAt     int
	checkpointFailed bool      // the next commit begins with a checkpoint: the last one, or the last commit, has failed
	marked           wal.Salts // the salts of the last log that has a mark of this store
	files            openFiles
	failure          store.WriteFailure
	trial            sync.Mutex // held by the call of Writable that tries a write

	committed store.Signal // a transaction has changed plants
	content   *content     // nil: BeginEpoch was not called. Used with the writer only

	otherNames atomic.Bool // the names have keys of another program; see checkNames

	found      int   // the number of migrations before Open
	incomplete int64 // bytes of a transaction at the end of the log before Open

	stopWatch func() // ends what Watch has begun
}

var _ store.Store = (*Store)(nil)

// Close waits for running calls and closes the store. No method may be called
// after it.
func (s *Store) Close() error {
	s.writes.Close()
	s.stopWatch()
	conn := <-s.writer
	_ = s.files.check()
	if s.files.final() {
		return nil // closing the last connection would write to a database that is damaged, or delete the log
	}
	if missing := s.files.missing(); missing != nil {
		// Closing the last connection would delete the log at this path, which another
		// database may need. The open database gets what the log has, wherever it is now.
		if missing.passing {
			_, _, _, _ = checkpoint(conn, "PASSIVE")
		}
		return nil
	}
	// Closing the last connection would also copy the log, but without a comparison after it.
	if _, _ = s.files.copyLog(conn); s.files.final() {
		return nil
	}
	defer s.files.close()
	return errors.Join(s.closeReaders(), conn.Close())
}

// closeReaders closes the connections that only read.
func (s *Store) closeReaders() error {
	var errs []error
	if s.readers != s.writer {
		for range cap(s.readers) { // none if there is no channel
			errs = append(errs, (<-s.readers).Close())
		}
	}
	return errors.Join(errs...)
}

// Schema implements [store.Store].
func (s *Store) Schema() (found, now int) { return s.found, len(schema) }

// read calls readFrom with a connection that sees every write that has returned.
func (s *Store) read(ctx context.Context, readFrom func(*sqlite.Conn) error) error {
	if err := s.files.err(); err != nil {
		return err
	}
	err := withConnection(ctx, s.readers, readFrom)
	s.files.note(err)
	return err
}

// readMany is read for statements with many rows. The end of ctx interrupts them. To be
// ready for that takes 4 to 7 µs of the processor, as much as reading one plant.
func (s *Store) readMany(ctx context.Context, readFrom func(*sqlite.Conn) error) error {
	return s.read(ctx, func(conn *sqlite.Conn) error {
		conn.SetInterrupt(ctx.Done())
		defer conn.SetInterrupt(nil)
		err := readFrom(conn)
		if sqlite.ErrCode(err) == sqlite.ResultInterrupt {
			return fmt.Errorf("sqlite: %w", ctx.Err())
		}
		return err
	})
}

// withConnection calls use with a connection from a pool.
func withConnection(ctx context.Context, pool chan *sqlite.Conn, use func(*sqlite.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err // select picks at random if a connection is free, too
	}
	select {
	case conn := <-pool:
		defer func() { pool <- conn }()
		return translate(use(conn))
	case <-ctx.Done():
		return ctx.Err()
	}
}

// translate marks the errors of SQLite that have a cause outside the program,
// such as a full disk, as ErrUnavailable. All others are bugs.
func translate(err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultFull, sqlite.ResultReadOnly,
		sqlite.ResultIOErr, sqlite.ResultCantOpen, sqlite.ResultNoMem, sqlite.ResultPerm, sqlite.ResultProtocol:
		return unavailable(advise(err))
	case sqlite.ResultCorrupt, sqlite.ResultNotADB: // it was a database when it was opened
		return unavailable(fmt.Errorf("%s (%w)", adviceDamaged, err))
	}
	return err
}

// unavailable marks an error as ErrUnavailable.
func unavailable(err error) error { return fmt.Errorf("sqlite: %w", store.Unavailable(err)) }

// inTransaction calls work in a transaction that the statement begins. If it returns
// nil, the transaction is durable; if it returns an error, the transaction was
// rolled back.
func inTransaction(conn *sqlite.Conn, begin string, work func() error) error {
	if err := execute(conn, begin); err != nil {
		return err
	}
	err := work()
	if err == nil {
		err = execute(conn, "COMMIT")
	}
	if err != nil && !conn.AutocommitEnabled() {
		conn.SetInterrupt(nil) // or it would refuse this statement, too
		err = errors.Join(err, execute(conn, "ROLLBACK"))
	}
	return err
}

// execute runs a statement without rows. The statement stays prepared.
func execute(conn *sqlite.Conn, statement string, args ...any) error {
	return sqlitex.Execute(conn, statement, &sqlitex.ExecOptions{Args: args})
}

// query calls found with each row of a statement, until that returns [plant.ErrPageEnd].
func query(conn *sqlite.Conn, statement string, found func(*sqlite.Stmt) error, args ...any) error {
	err := sqlitex.Execute(conn, statement, &sqlitex.ExecOptions{Args: args, ResultFunc: found})
	if errors.Is(err, plant.ErrPageEnd) {
		return nil
	}
	return err
}

// stepToRow moves a statement to its first row. It returns the error none if there is no row.
func stepToRow(stmt *sqlite.Stmt, none error) error {
	found, err := stmt.Step()
	if err != nil {
		return err
	}
	if !found {
		return cmp.Or(stmt.Reset(), none)
	}
	return nil
}

// columnTime returns the time in a column of a row: microseconds since 1970, or NULL, which is
// the zero time.
func columnTime(stmt *sqlite.Stmt, column int) time.Time {
	if stmt.ColumnIsNull(column) {
		return time.Time{}
	}
	return time.UnixMicro(stmt.ColumnInt64(column)).UTC()
}

// bindTime is the inverse of columnTime. The parameter must be NULL before.
func bindTime(stmt *sqlite.Stmt, parameter int, value time.Time) {
	if !value.IsZero() {
		stmt.BindInt64(parameter, value.UnixMicro())
	}
}

// executeAll runs statements one after the other, outside of a transaction.
func executeAll(conn *sqlite.Conn, statements ...string) error {
	for _, statement := range statements {
		if err := sqlitex.ExecuteTransient(conn, statement, nil); err != nil {
			return err
		}
	}
	return nil
}

// number returns the number that a statement reads.
func number(conn *sqlite.Conn, statement string) (int64, error) {
	stmt, err := conn.Prepare(statement)
	if err != nil {
		return 0, err
	}
	return sqlitex.ResultInt64(stmt)
}

// text returns the text that a statement reads.
func text(conn *sqlite.Conn, statement string) (string, error) {
	stmt, err := conn.Prepare(statement)
	if err != nil {
		return "", err
	}
	return sqlitex.ResultText(stmt)
}
