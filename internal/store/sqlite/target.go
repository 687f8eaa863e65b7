package sqlite

import (
	"context"
	"errors"
	"fmt"

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

// OpenTarget opens the file at path as the target of a copy. It creates the file if
// it does not exist.
func OpenTarget(ctx context.Context, path string) (*Target, error) {
	t, err := openTarget(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, advise(err))
	}
	return t, nil
}

func openTarget(ctx context.Context, path string) (*Target, error) {
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
	if err := t.begin(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return t, nil
}

// begin marks the file as incomplete, unless it is already. It refuses a store that
// is not empty.
func (t *Target) begin(ctx context.Context) error {
	id, err := pragma(t.conn, "application_id")
	if err != nil {
		return err
	}
	if id == incompleteID {
		_, _, err := migrate(ctx, t.conn, incompleteID)
		return err
	}
	if _, _, err := migrate(ctx, t.conn, applicationID); err != nil {
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
		return t.mark(incompleteID)
	})
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
		stmt, err := t.conn.Prepare(copyPlantQuery)
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
		return errors.Join(t.mark(applicationID), execute(t.conn, renewEpochsQuery))
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
	t.log.bound(t.conn, &t.reads)
	return nil
}
