package sqlite

import (
	"errors"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/store/groupcommit"
)

// maxGroup is the maximum number of writes in a transaction. It limits how long
// the first write waits for the last one.
const maxGroup = 1024

// write is a write of a group: a function that runs statements and returns its
// own error.
type write = func(*sqlite.Conn) error

// commit runs a group of writes in one transaction and sets the error of each.
func (s *Store) commit(calls []*groupcommit.Call[write]) {
	conn := <-s.writer
	defer func() { s.writer <- conn }()
	err := s.files.checkLog()
	if err == nil {
		err = s.transact(conn, calls)
		if changed := s.files.check(); changed != nil { // it may also be why the transaction has failed
			err = changed
		}
	}
	if err != nil {
		// The transaction was rolled back, or the file will not be found at the
		// next start: no write has succeeded, and no error of a single write counts.
		for _, c := range calls {
			c.Err = err
		}
		return
	}
	if len(s.changed.ids) > 0 {
		s.committed.Send()
	}
	s.log.bound(conn, &s.reads)
}

// transact runs a group of writes in one transaction. It returns an error only
// if the transaction was rolled back.
//
// A write that fails must change nothing, and must not affect the other writes
// of the group. A savepoint for each write would do that, but costs a third of
// an insert. Almost every write that fails (an ID that is taken, an unknown
// plant) fails before it changes a row. So transact runs the group without
// savepoints and compares the number of changed rows before and after each
// write. Only if a write fails after a change does it roll the group back and
// run it again with savepoints.
func (s *Store) transact(conn *sqlite.Conn, calls []*groupcommit.Call[write]) error {
	err := s.inWrite(conn, func() error {
		if len(calls) == 1 {
			return attempt(conn, calls[0]) // an error rolls back the transaction
		}
		return runTogether(conn, calls)
	})
	if errors.Is(err, errSpoiled) {
		err = s.inWrite(conn, func() error { return s.runApart(conn, calls) })
	}
	return err
}

// inWrite runs fn in a transaction that stores which plants fn has changed.
func (s *Store) inWrite(conn *sqlite.Conn, fn func() error) error {
	s.changed.ids = s.changed.ids[:0]
	// IMMEDIATE takes the write lock now. A transaction that reads first and
	// writes later fails if another program has written in between.
	return inTransaction(conn, "BEGIN IMMEDIATE", func() error {
		if err := fn(); err != nil {
			return err
		}
		return s.changed.store(conn)
	})
}

// errSpoiled means that a write of a group failed after it had changed a row.
var errSpoiled = errors.New("group has to be run again")

// runTogether runs the writes without savepoints. It returns errSpoiled if one
// fails after a change.
func runTogether(conn *sqlite.Conn, calls []*groupcommit.Call[write]) error {
	before, err := totalChanges(conn)
	if err != nil {
		return err
	}
	for _, c := range calls {
		c.Err = attempt(conn, c)
		if err := stillOpen(conn, c); err != nil {
			return err
		}
		after, err := totalChanges(conn)
		if err != nil {
			return err
		}
		if c.Err != nil && after != before {
			return errSpoiled
		}
		before = after
	}
	return nil
}

// runApart runs the writes of a group again after errSpoiled, each in a
// savepoint. It skips those that have failed: they would fail again, because
// the writes before them have the same result as in the first run.
func (s *Store) runApart(conn *sqlite.Conn, calls []*groupcommit.Call[write]) error {
	for _, c := range calls {
		if c.Err != nil {
			continue
		}
		if err := execute(conn, "SAVEPOINT one"); err != nil {
			return err
		}
		changed := len(s.changed.ids)
		c.Err = attempt(conn, c)
		if err := stillOpen(conn, c); err != nil {
			return err
		}
		if c.Err != nil {
			s.changed.ids = s.changed.ids[:changed]
			if err := execute(conn, "ROLLBACK TO one"); err != nil {
				return err
			}
		}
		if err := execute(conn, "RELEASE one"); err != nil {
			return err
		}
	}
	return nil
}

// attempt runs one write.
func attempt(conn *sqlite.Conn, c *groupcommit.Call[write]) error {
	err := groupcommit.Try(func() error { return c.Work(conn) })
	if err != nil {
		// Resets all statements. A statement that is left between two rows, for
		// example by a panic, would keep the transaction from committing.
		conn.SetInterrupt(nil)
	}
	return err
}

// stillOpen returns an error if the transaction has ended while c ran. SQLite may
// roll back the whole transaction, for example if the disk is full. Each later
// write would then be committed on its own.
func stillOpen(conn *sqlite.Conn, c *groupcommit.Call[write]) error {
	if !conn.AutocommitEnabled() {
		return nil
	}
	if c.Err != nil {
		return c.Err
	}
	return errors.New("a write has ended the transaction of its group")
}

// inTransaction runs fn in a transaction that the statement begins. If it returns
// nil, the transaction is durable; if it returns an error, the transaction was
// rolled back.
func inTransaction(conn *sqlite.Conn, begin string, fn func() error) error {
	if err := execute(conn, begin); err != nil {
		return err
	}
	err := fn()
	if err == nil {
		err = execute(conn, "COMMIT")
	}
	if err != nil && !conn.AutocommitEnabled() {
		conn.SetInterrupt(nil) // or it would refuse this statement, too
		err = errors.Join(err, execute(conn, "ROLLBACK"))
	}
	return err
}

// totalChanges returns the number of rows changed since the connection was
// opened.
func totalChanges(conn *sqlite.Conn) (int64, error) {
	stmt, err := conn.Prepare("SELECT total_changes()")
	if err != nil {
		return 0, err
	}
	if _, err := stmt.Step(); err != nil {
		return 0, err
	}
	n := stmt.ColumnInt64(0)
	return n, stmt.Reset()
}

// execute runs a statement without rows. The statement stays prepared.
func execute(conn *sqlite.Conn, statement string, args ...any) error {
	return sqlitex.Execute(conn, statement, &sqlitex.ExecOptions{Args: args})
}
