package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/token"
)

// Snapshot implements [store.Store]. A checkpoint does not wait for it as it does
// for other reads of this program, because it may take minutes.
func (s *Store) Snapshot(ctx context.Context, read func(store.Snapshot) error) error {
	if err := s.files.err(); err != nil {
		return err
	}
	var failed error // of read, which may use other stores, too
	err := withConnection(ctx, s.readers, func(conn *sqlite.Conn) error {
		if err := execute(conn, "BEGIN"); err != nil {
			return err
		}
		snapshot := snapshot{conn}
		_, err := snapshot.Epochs(ctx) // the first read decides what the transaction sees
		if err == nil {
			failed = read(snapshot)
		}
		return errors.Join(err, execute(conn, "ROLLBACK"))
	})
	s.files.note(err)
	return errors.Join(failed, err)
}

// snapshot implements [store.Snapshot] on a connection.
type snapshot struct{ conn *sqlite.Conn }

func (s snapshot) Count(ctx context.Context) (n int64, err error) {
	return step(ctx, func() (int64, error) { return number(s.conn, "SELECT count(*) FROM plants") })
}

func (s snapshot) List(ctx context.Context, page plant.Page) (plants []plant.Plant, more bool, err error) {
	plants, err = step(ctx, func() (_ []plant.Plant, err error) {
		plants, more, err = listPlants(s.conn, page)
		return plants, err
	})
	return plants, more, err
}

func (s snapshot) Tokens(ctx context.Context) ([]token.Token, error) {
	return step(ctx, func() ([]token.Token, error) { return listTokens(s.conn) })
}

func (s snapshot) Epochs(ctx context.Context) ([]int64, error) {
	return step(ctx, func() ([]int64, error) { return numbers(s.conn, "SELECT id FROM epochs ORDER BY number DESC") })
}

func (s snapshot) LastChange(ctx context.Context) (int64, error) {
	return step(ctx, func() (int64, error) { return number(s.conn, "SELECT coalesce(max(position), 0) FROM changes") })
}

// step reads a part of a snapshot.
func step[T any](ctx context.Context, read func() (T, error)) (result T, err error) {
	if err := ctx.Err(); err != nil {
		return result, err
	}
	result, err = read()
	return result, advise(err)
}

// Target implements [store.Target] on one connection, which locks the file. Its
// application ID says that it is incomplete.
type Target struct {
	snapshot
	path string
}

var _ store.Target = (*Target)(nil)

// forgetSourceQuery deletes what remember has stored.
var forgetSourceQuery = fmt.Sprint("DELETE FROM epochs WHERE number = ", store.SourceNumber)

// OpenTarget opens the file at path as the target of a copy of the source with the given
// epochs, newest first. It creates the file if it does not exist.
func OpenTarget(ctx context.Context, path string, source []int64) (t *Target, err error) {
	defer describeOpen(path, &err)
	if _, err := checkFiles(path); err != nil {
		return nil, err
	}
	// The lock keeps out every other program, a running server included. It ends
	// with this process.
	conn, err := openWriter(path, "PRAGMA locking_mode = EXCLUSIVE")
	if err != nil {
		return nil, err
	}
	t = &Target{snapshot{conn}, path}
	if err := t.begin(ctx, source); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return t, nil
}

// begin marks the file as incomplete, unless it is already. It refuses a store that
// is not empty.
func (t *Target) begin(ctx context.Context, source []int64) error {
	id, err := number(t.conn, "PRAGMA application_id")
	if err != nil {
		return err
	}
	begun := id == incompleteID
	if id == 0 { // a new file, which is incomplete before it has a schema
		id = incompleteID
	} else if !begun {
		id = applicationID
	}
	if _, err := migrate(ctx, t.conn, int32(id)); err != nil {
		return err
	}
	// No read keeps SQLite from resetting the log, so it can make the checkpoints.
	if err := execute(t.conn, fmt.Sprint("PRAGMA wal_autocheckpoint = ", checkpointPages)); err != nil {
		return err
	}
	return inTransaction(t.conn, "BEGIN IMMEDIATE", func() error {
		if begun {
			return t.remember(source)
		}
		used, err := number(t.conn, "SELECT EXISTS (SELECT 1 FROM plants) OR EXISTS (SELECT 1 FROM tokens)")
		if err == nil && used != 0 {
			err = store.ErrNotEmpty
		}
		if err != nil {
			return err
		}
		return errors.Join(t.remember(source), t.mark(incompleteID))
	})
}

// remember stores the newest epoch of the source of a copy, or checks that the source
// has the one that was stored.
func (t *Target) remember(source []int64) error {
	begun, err := numbers(t.conn, "SELECT id FROM epochs WHERE number = ?", store.SourceNumber)
	switch {
	case err != nil:
		return err
	case len(begun) > 0 && !slices.Contains(source, begun[0]):
		return store.ErrOtherSource
	case len(begun) > 0 || len(source) == 0:
		return nil
	}
	return execute(t.conn, "INSERT INTO epochs (number, id, began) VALUES (?, ?, 0)", store.SourceNumber, source[0])
}

func (t *Target) mark(id int32) error {
	return execute(t.conn, fmt.Sprint("PRAGMA application_id = ", id))
}

// Replace implements [store.Target].
func (t *Target) Replace(ctx context.Context, remove []int64, plants []plant.Plant) error {
	rows, err := store.RowsOf(plants)
	if err != nil {
		return err
	}
	return t.write(ctx, func() error { return writePlants(t.conn, store.Effect{Insert: rows, Remove: remove}) })
}

// ReplaceTokens implements [store.Target].
func (t *Target) ReplaceTokens(ctx context.Context, tokens []token.Token) error {
	return t.write(ctx, func() error {
		if err := execute(t.conn, "DELETE FROM tokens"); err != nil {
			return err
		}
		for _, each := range tokens {
			if err := writeToken(t.conn, insertTokenQuery, each); err != nil {
				return err
			}
		}
		return nil
	})
}

// Finish implements [store.Target].
func (t *Target) Finish(ctx context.Context) error {
	return t.write(ctx, func() error {
		return errors.Join(t.mark(applicationID), execute(t.conn, forgetSourceQuery), execute(t.conn, renewEpochsQuery))
	})
}

// Close implements [store.Target].
func (t *Target) Close() error { return t.conn.Close() }

// write runs fn in a transaction.
func (t *Target) write(ctx context.Context, fn func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := inTransaction(t.conn, "BEGIN IMMEDIATE", fn); err != nil {
		return fmt.Errorf("%s: %w", t.path, advise(err))
	}
	return nil
}
