package sqlite

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/groupcommit"
)

// maxGroup is the maximum number of writes in a transaction. It limits how long
// the first write waits for the last one.
const maxGroup = 1024

// groupedWrite is a write of a group: a change of plants or, if run is set, a function that
// runs other statements.
type groupedWrite struct {
	store.Change
	run func(*sqlite.Conn) error
}

// apply implements [store.Apply].
func (s *Store) apply(ctx context.Context, change store.Change) error {
	defer s.durations.Since(time.Now(), change.Operation)
	return s.submit(ctx, groupedWrite{Change: change})
}

// runWrite calls run in a transaction, which other writes may share, and returns once
// the transaction is durable. If run fails, its changes are rolled back. The end
// of ctx does not stop a write that has begun.
//
// run may be called twice; the changes of the first call are rolled back before. So it
// must assign the variables that it captures, not add to them.
func (s *Store) runWrite(ctx context.Context, run func(*sqlite.Conn) error) error {
	return s.submit(ctx, groupedWrite{run: run})
}

// submit runs a write in a group.
func (s *Store) submit(ctx context.Context, work groupedWrite) error {
	err := translate(s.writes.Do(ctx, work, nil))
	s.files.note(err)
	return s.failure.Note(err)
}

// commit runs a group of writes in one transaction and sets the error of each.
func (s *Store) commit(calls []*groupcommit.Call[groupedWrite]) {
	conn := <-s.writer
	defer func() { s.writer <- conn }()
	err := s.checkAndTransact(conn, calls)
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultIOErr {
		// The frames of a commit that was not synced stay behind the end of the log, and
		// would look like lost commits. They do not once the log begins anew.
		s.checkpointAt, s.checkpointFailed = min(s.checkpointAt, 1), true
	}
	if err != nil {
		// The transaction was rolled back, or the file will not be found at the
		// next start: no write has succeeded, and no error of a single write counts.
		for _, call := range calls {
			call.Err = err
		}
		return
	}
	s.markNewLog(conn)
	s.checkpointFailed = s.checkpointIfDue(conn) != nil // the writes are durable; the next commit tries again first
}

// checkAndTransact checks the files, runs a group of writes in one transaction, and checks the
// files again. If it returns an error, no write has succeeded.
func (s *Store) checkAndTransact(conn *sqlite.Conn, calls []*groupcommit.Call[groupedWrite]) error {
	if err := s.files.checkBeforeWrite(); err != nil {
		return err
	}
	if s.checkpointFailed {
		err := cmp.Or(s.checkpointIfDue(conn), s.files.err())
		if err != nil {
			return err
		}
	}
	mayBeStored := func(call *groupcommit.Call[groupedWrite]) bool { return !call.Work.New }
	failed := s.transact(conn, calls, slices.ContainsFunc(calls, mayBeStored))
	fault := s.files.checkAfterWrite(s.marked) // it may also be why the transaction has failed
	return cmp.Or(fault, failed)
}

// transact runs a group of writes in one transaction. It returns an error only if the
// transaction was rolled back.
//
// A change of plants that is refused changes nothing: all changes are decided before the
// first plant is written. If a write fails in another way, for example because it panics,
// the transaction is rolled back and each write runs in a transaction of its own.
// Running them again replaces savepoints, which cost a third of an insert.
//
// readFirst says whether it reads the plants before it decides. If it does not, it decides as
// if none were stored, and begins again with reading when a row cannot be inserted.
func (s *Store) transact(conn *sqlite.Conn, calls []*groupcommit.Call[groupedWrite], readFirst bool) error {
	var changed []int64
	var newContent *content // after the transaction
	var failed error        // of a write, and not of the transaction
	// IMMEDIATE takes the write lock now. A transaction that reads first and
	// writes later fails if another program has written in between.
	err := inTransaction(conn, "BEGIN IMMEDIATE", func() error {
		group, err := newGroup(conn, calls, readFirst)
		if err != nil {
			return err
		}
		for _, call := range calls {
			if call.Err, failed = attempt(conn, group, call); failed != nil {
				return failed
			}
		}
		var effect store.Effect
		effect, changed = group.Effect()
		if newContent, err = storeChanges(conn, s.content, changed); err != nil {
			return err
		}
		failed = writeEffect(conn, effect, newContent)
		return failed
	})
	if err == nil && len(changed) > 0 {
		s.content = newContent
		s.committed.Send()
	}
	switch {
	case failed != nil && !readFirst:
		return s.transact(conn, calls, true)
	case failed == nil || len(calls) == 1:
		return err
	}
	for i, call := range calls {
		if err := s.transact(conn, calls[i:i+1], true); err != nil {
			call.Err = err
		}
	}
	return nil
}

// writeEffect writes the effect of a group, whose row in changes is the last one of the content. The entries of the
// history come before the plants, whose rows have the entries before them.
func writeEffect(conn *sqlite.Conn, effect store.Effect, now *content) error {
	if len(effect.History)+len(effect.Forget) == 0 {
		return writePlants(conn, effect)
	}
	if err := forgetHistoryOf(conn, effect.Forget); err != nil {
		return err
	}
	newest, err := storeHistory(conn, effect.History, now.position)
	if err != nil {
		return err
	}
	if err := writePlants(conn, effect); err != nil {
		return err
	}
	for id, number := range newest {
		if err := execute(conn, "UPDATE plants SET history = ?2 WHERE id = ?1", id, number); err != nil {
			return err
		}
	}
	return nil
}

// attempt decides a change of plants, or runs another write. It returns the error of a
// write that has changed nothing, or another error.
func attempt(conn *sqlite.Conn, group *store.Group, call *groupcommit.Call[groupedWrite]) (refused, failed error) {
	failed = groupcommit.Try(func() error {
		if call.Work.run != nil {
			return call.Work.run(conn)
		}
		refused = group.Decide(call.Work.Change)
		return nil
	})
	if failed == nil && conn.AutocommitEnabled() {
		// SQLite may roll back the whole transaction, for example if the disk is full.
		// Each later write would then be committed on its own.
		failed = errors.New("a write has ended the transaction of its group")
	}
	return refused, failed
}

// newGroup returns a group of writes. If readFirst is set, it reads the plants that they may
// change.
func newGroup(conn *sqlite.Conn, calls []*groupcommit.Call[groupedWrite], readFirst bool) (*store.Group, error) {
	var ids []int64
	for _, call := range calls {
		ids = append(ids, call.Work.IDs...)
	}
	group := store.NewGroup(ids)
	if len(ids) == 0 || !readFirst {
		return group, nil
	}
	return group, findPlants(conn, group)
}
