package sqlite

import (
	"errors"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/groupcommit"
)

// maxGroup is the maximum number of writes in a transaction. It limits how long
// the first write waits for the last one.
const maxGroup = 1024

// write is a write of a group: a change of plants or, if run is set, a function that
// runs other statements.
type write struct {
	store.Change
	run func(*sqlite.Conn) error
}

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
	s.checkpointIfDue(conn)
}

// transact runs a group of writes in one transaction. It returns an error only if the
// transaction was rolled back.
//
// A change of plants that is refused changes nothing: all of them are decided before the
// first row is written. If a write fails in another way, for example because it panics,
// the transaction is rolled back and each write runs in a transaction of its own.
// Savepoints would be needed otherwise, which cost a third of an insert.
func (s *Store) transact(conn *sqlite.Conn, calls []*groupcommit.Call[write]) error {
	var changed []int64
	var failed error // of a write, and not of the transaction
	// IMMEDIATE takes the write lock now. A transaction that reads first and
	// writes later fails if another program has written in between.
	err := inTransaction(conn, "BEGIN IMMEDIATE", func() error {
		group, err := readGroup(conn, calls)
		if err != nil {
			return err
		}
		for _, c := range calls {
			if c.Err, failed = attempt(conn, group, c); failed != nil {
				return failed
			}
		}
		var effect store.Effect
		effect, changed = group.Effect()
		if failed = writePlants(conn, effect); failed != nil {
			return failed
		}
		return storeChanges(conn, changed)
	})
	if err == nil && len(changed) > 0 {
		s.committed.Send()
	}
	if failed == nil || len(calls) == 1 {
		return err
	}
	for i, c := range calls {
		if err := s.transact(conn, calls[i:i+1]); err != nil {
			c.Err = err
		}
	}
	return nil
}

// attempt decides a change of plants, or runs another write. It returns the error of a
// write that has changed nothing, or another error.
func attempt(conn *sqlite.Conn, group *store.Group, c *groupcommit.Call[write]) (refused, failed error) {
	failed = groupcommit.Try(func() error {
		if c.Work.run != nil {
			return c.Work.run(conn)
		}
		refused = group.Decide(c.Work.Change)
		return nil
	})
	if failed == nil && conn.AutocommitEnabled() {
		// SQLite may roll back the whole transaction, for example if the disk is full.
		// Each later write would then be committed on its own.
		failed = errors.New("a write has ended the transaction of its group")
	}
	return refused, failed
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

// execute runs a statement without rows. The statement stays prepared.
func execute(conn *sqlite.Conn, statement string, args ...any) error {
	return sqlitex.Execute(conn, statement, &sqlitex.ExecOptions{Args: args})
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
