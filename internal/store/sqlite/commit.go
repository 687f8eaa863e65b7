package sqlite

import (
	"errors"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/store/groupcommit"
)

// maxGroup is how many writes share a transaction at most. It bounds how long
// the first of them waits for the last.
const maxGroup = 1024

// write is one caller's write: a closure that runs its statements and returns
// its own outcome.
type write = func(*sqlite.Conn) error

// commit runs a group of writes in one transaction and sets the outcome of each.
func (s *Store) commit(calls []*groupcommit.Call[write]) {
	conn := <-s.writer
	defer func() { s.writer <- conn }()
	err := s.files.recheck()
	if err == nil {
		err = transact(conn, calls)
	}
	if err == nil {
		err = s.files.check()
	}
	if err != nil {
		// Whatever the writes found was in a transaction that never was, or in a
		// file that the next start does not find.
		for _, c := range calls {
			c.Err = err
		}
		return
	}
	s.log.bound(conn, &s.reads)
}

// transact returns an error only if nothing at all has been changed.
//
// A write that fails must leave no trace and not spoil its neighbours. A
// savepoint around each is the obvious way, and costs a third of an insert.
// But nearly every failure (a taken ID, no such plant) is found before anything
// has changed, so transact only watches the count of changed rows. Where a
// write does fail after a change, the group is taken back and run once more,
// with savepoints.
func transact(conn *sqlite.Conn, calls []*groupcommit.Call[write]) error {
	err := inTransaction(conn, func() error {
		if len(calls) == 1 {
			return attempt(conn, calls[0]) // the transaction undoes it
		}
		return runTogether(conn, calls)
	})
	if errors.Is(err, errSpoiled) {
		err = inTransaction(conn, func() error { return runApart(conn, calls) })
	}
	return err
}

// errSpoiled means that a write failed after it had changed something.
var errSpoiled = errors.New("group has to be run again")

// runTogether runs writes that it hopes to be harmless when they fail.
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

// runApart runs the writes of a group that runTogether has given up, each in a
// savepoint. Those that have failed already would only fail again: everything
// before them is run again and nothing else has changed.
func runApart(conn *sqlite.Conn, calls []*groupcommit.Call[write]) error {
	for _, c := range calls {
		if c.Err != nil {
			continue
		}
		if err := execute(conn, "SAVEPOINT one"); err != nil {
			return err
		}
		c.Err = attempt(conn, c)
		if err := stillOpen(conn, c); err != nil {
			return err
		}
		if c.Err != nil {
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
		// Resets every statement that the write has left in the middle of its
		// rows, a panic for one: it would keep the others from committing.
		conn.SetInterrupt(nil)
	}
	return err
}

// stillOpen returns an error if the transaction has ended under c. On a full
// disk, say, SQLite may roll back the whole of it, and what the next write
// changed would be committed there and then.
func stillOpen(conn *sqlite.Conn, c *groupcommit.Call[write]) error {
	if !conn.AutocommitEnabled() {
		return nil
	}
	if c.Err != nil {
		return c.Err
	}
	return errors.New("a write has ended the transaction of its group")
}

// inTransaction runs fn in a transaction that is durable when it returns nil,
// and has never been when it returns an error.
func inTransaction(conn *sqlite.Conn, fn func() error) error {
	// Immediate: a transaction that turns from reading to writing may find that
	// somebody else has written since, and can only start again.
	if err := execute(conn, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := fn()
	if err == nil {
		err = execute(conn, "COMMIT")
	}
	if err != nil && !conn.AutocommitEnabled() {
		err = errors.Join(err, execute(conn, "ROLLBACK"))
	}
	return err
}

// totalChanges returns how many rows have been changed since the connection
// was opened.
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

// execute runs a statement that takes and returns nothing, and keeps it prepared.
func execute(conn *sqlite.Conn, statement string) error {
	stmt, err := conn.Prepare(statement)
	if err != nil {
		return err
	}
	return run(stmt)
}
