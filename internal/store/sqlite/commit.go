package sqlite

import (
	"context"
	"errors"
	"strconv"
	"time"

	"zombiezen.com/go/sqlite"

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

// apply implements [store.Apply].
func (s *Store) apply(ctx context.Context, c store.Change) error {
	defer s.durations.Since(time.Now(), c.Operation)
	return s.do(ctx, write{Change: c})
}

// write runs fn in a transaction, which other writes may share, and returns once
// the transaction is durable. If fn fails, its changes are rolled back. The end
// of ctx does not stop a write that has begun.
//
// fn may run twice; the changes of the first run are rolled back before. So fn
// must assign the variables that it captures, not add to them.
func (s *Store) write(ctx context.Context, fn func(*sqlite.Conn) error) error {
	return s.do(ctx, write{run: fn})
}

// do runs a write in a group.
func (s *Store) do(ctx context.Context, w write) error {
	err := translate(s.writes.Do(ctx, w))
	s.files.note(err)
	return s.failure.Note(err)
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

// readGroup reads the plants that a group of writes may change.
func readGroup(conn *sqlite.Conn, calls []*groupcommit.Call[write]) (*store.Group, error) {
	var ids []int64
	for _, c := range calls {
		ids = append(ids, c.Work.IDs...)
	}
	group := store.NewGroup(ids)
	if len(ids) == 0 {
		return group, nil
	}
	found := func(row *store.PlantRow) { group.Found(row.Stored()) }
	return group, plantColumns.query(conn, getPlantsQuery, found, jsonOf(group.IDs()))
}

// writePlants writes the effect of a group.
func writePlants(conn *sqlite.Conn, effect store.Effect) error {
	for i := range effect.Insert {
		if err := plantColumns.write(conn, insertPlantQuery, &effect.Insert[i]); err != nil {
			return err
		}
	}
	for i := range effect.Update {
		if err := plantColumns.write(conn, updatePlantQuery, &effect.Update[i]); err != nil {
			return err
		}
	}
	for _, id := range effect.Remove {
		if err := deletePlant(conn, id); err != nil {
			return err
		}
	}
	return nil
}

// storeChanges adds the row of a transaction that changes the plants with these IDs.
func storeChanges(conn *sqlite.Conn, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	return execute(conn, "INSERT INTO changes (ids, at) VALUES (?, ?)", jsonOf(ids), time.Now().UnixMicro())
}

// jsonOf returns IDs, of which there is at least one, as a JSON array. encoding/json
// takes three times as long, and would add 1 % to a create.
func jsonOf(ids []int64) string {
	text := append(make([]byte, 0, 21*len(ids)+1), '[')
	for _, id := range ids {
		text = append(strconv.AppendInt(text, id, 10), ',')
	}
	text[len(text)-1] = ']'
	return string(text)
}
