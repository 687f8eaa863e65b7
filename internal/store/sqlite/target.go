package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/token"
)

// Target implements [store.Target] on one connection, which locks the file. Its
// application ID says that it is incomplete.
type Target struct {
	snapshot
	path  string
	log   walLog
	reads reads
}

var _ store.Target = (*Target)(nil)

// forgetSourceQuery deletes what remember has stored.
var forgetSourceQuery = fmt.Sprint("DELETE FROM epochs WHERE number = ", store.SourceNumber)

// OpenTarget opens the file at path as the target of a copy of the source with the given
// epochs, newest first. It creates the file if it does not exist.
func OpenTarget(ctx context.Context, path string, source []int64) (*Target, error) {
	t, err := openTarget(ctx, path, source)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, advise(err))
	}
	return t, nil
}

func openTarget(ctx context.Context, path string, source []int64) (*Target, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	// The lock keeps out every other program, a running server included. It ends
	// with this process.
	conn, err := openWriterWith(path, "PRAGMA locking_mode = EXCLUSIVE;")
	if err != nil {
		return nil, err
	}
	t := &Target{snapshot: snapshot{conn}, path: path, log: walLog{due: checkpointPages}}
	if err := t.begin(ctx, source); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return t, nil
}

// begin marks the file as incomplete, unless it is already. It refuses a store that
// is not empty.
func (t *Target) begin(ctx context.Context, source []int64) error {
	id, err := pragma(t.conn, "application_id")
	if err != nil {
		return err
	}
	if id == incompleteID {
		if _, _, err := migrate(ctx, t.conn, incompleteID, nil); err != nil {
			return err
		}
		return inTransaction(t.conn, "BEGIN IMMEDIATE", func() error { return t.remember(source) })
	}
	if _, _, err := migrate(ctx, t.conn, applicationID, nil); err != nil {
		return err
	}
	return inTransaction(t.conn, "BEGIN IMMEDIATE", func() error {
		used := false
		err := sqlitex.ExecuteTransient(t.conn, "SELECT EXISTS (SELECT 1 FROM plants) OR EXISTS (SELECT 1 FROM tokens)", &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error {
				used = stmt.ColumnBool(0)
				return nil
			},
		})
		if err == nil && used {
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
	begun, found := int64(0), false
	err := sqlitex.ExecuteTransient(t.conn, "SELECT id FROM epochs WHERE number = ?", &sqlitex.ExecOptions{
		Args: []any{store.SourceNumber},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			begun, found = stmt.ColumnInt64(0), true
			return nil
		},
	})
	switch {
	case err != nil:
		return err
	case found && !slices.Contains(source, begun):
		return store.ErrOtherSource
	case found || len(source) == 0:
		return nil
	}
	return sqlitex.ExecuteTransient(t.conn, "INSERT INTO epochs (number, id, began) VALUES (?, ?, 0)",
		&sqlitex.ExecOptions{Args: []any{store.SourceNumber, source[0]}})
}

func (t *Target) mark(id int32) error {
	return sqlitex.ExecuteTransient(t.conn, fmt.Sprintf("PRAGMA application_id = %d", id), nil)
}

// Replace implements [store.Target].
func (t *Target) Replace(ctx context.Context, remove []int64, plants []plant.Plant) error {
	return t.write(ctx, func() error {
		for _, id := range remove {
			if err := deletePlant(t.conn, id); err != nil {
				return err
			}
		}
		stmt, err := t.conn.Prepare(insertPlantQuery)
		if err != nil {
			return err
		}
		for _, p := range plants {
			row, err := store.RowOf(p)
			if err != nil {
				return err
			}
			plantColumns.bind(stmt, &row)
			if err := run(stmt); err != nil {
				return err
			}
		}
		return nil
	})
}

// ReplaceTokens implements [store.Target].
func (t *Target) ReplaceTokens(ctx context.Context, tokens []token.Token) error {
	return t.write(ctx, func() error {
		if err := execute(t.conn, "DELETE FROM tokens"); err != nil {
			return err
		}
		for _, each := range tokens {
			if err := insertToken(t.conn, each); err != nil {
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
	t.log.bound(t.conn, &t.reads, &openFiles{})
	return nil
}
