package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/token"
)

// Target implements [store.Target]. While it is not finished, plantstore_schema has
// a copyRow, and the table marks has another name. So no program can write: every
// transaction that writes plants or tokens inserts a mark. An earlier release
// cannot start, either, because it sweeps the marks.
type Target struct {
	snapshot
	store *Store
	held  *pgxpool.Conn
	id    int32 // what copyRow has as long as no other copy has begun
}

var _ store.Target = (*Target)(nil)

// lockTime is how long OpenTarget waits for the locks of other programs. It is
// shorter than startTime, after which the server counts as down.
const lockTime = 3 * time.Second

const (
	hideMarks = `ALTER TABLE marks RENAME TO marks_of_copy`
	showMarks = `ALTER TABLE marks_of_copy RENAME TO marks`
)

// OpenTarget opens the database with the given URL as the target of a copy. It
// creates the tables if they do not exist.
func OpenTarget(ctx context.Context, dsn string) (*Target, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	t := &Target{id: rand.Int32()}
	s, err := connect(ctx, config, func(_ *Store, ctx context.Context, conn *pgx.Conn) error { return t.begin(ctx, conn) })
	if err != nil {
		return nil, err
	}
	t.store = s
	if t.held, err = s.pool.Acquire(ctx); err != nil {
		s.disconnect()
		return nil, err
	}
	t.conn = t.held.Conn()
	return t, nil
}

// begin marks the database as incomplete, or takes over what another copy has left.
func (t *Target) begin(ctx context.Context, conn *pgx.Conn) error {
	found, _, err := migrate(ctx, conn)
	if err != nil && !errors.Is(err, store.ErrIncomplete) {
		return err
	}
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	// READ COMMITTED, because ALTER TABLE waits for transactions that write, and
	// the check must see what they have written.
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT set_config('lock_timeout', $1, true)`, fmt.Sprint(lockTime.Milliseconds())); err != nil {
			return err
		}
		if _, err := number(ctx, conn, versionRow, ` FOR UPDATE`); err != nil {
			return err
		}
		switch err := checkComplete(ctx, conn); {
		case errors.Is(err, store.ErrIncomplete):
			if _, err := tx.Exec(ctx, showMarks); err != nil {
				return err
			}
			if err := apply(ctx, tx, names); err != nil { // an earlier release may have begun the copy
				return schemaError{found, len(names), err}
			}
			if _, err := tx.Exec(ctx, hideMarks); err != nil {
				return err
			}
		case err != nil:
			return err
		default:
			if _, err := tx.Exec(ctx, hideMarks); err != nil {
				return schemaError{len(names), len(names), err}
			}
			used := false
			err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM plants) OR EXISTS (SELECT 1 FROM tokens)`).Scan(&used)
			if err == nil && used {
				err = store.ErrNotEmpty
			}
			if err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, setNumber, copyRow, t.id)
		return err
	})
}

// Replace implements [store.Target].
func (t *Target) Replace(ctx context.Context, remove []int64, plants []plant.Plant) error {
	rows := make([]store.PlantRow, len(plants))
	for i, p := range plants {
		var err error
		if rows[i], err = store.RowOf(p); err != nil {
			return err
		}
	}
	return t.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if len(remove) > 0 {
			if _, err := tx.Exec(ctx, `DELETE FROM plants WHERE id = ANY($1)`, remove); err != nil {
				return err
			}
		}
		if len(rows) == 0 {
			return nil
		}
		_, err := tx.Exec(ctx, insertPlants, plantColumns.args(rows)...)
		return err
	})
}

// ReplaceTokens implements [store.Target].
func (t *Target) ReplaceTokens(ctx context.Context, tokens []token.Token) error {
	return t.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM tokens`); err != nil {
			return err
		}
		if len(tokens) == 0 {
			return nil
		}
		_, err := tx.Exec(ctx, insertToken, tokenColumns.args(tokens)...)
		return err
	})
}

// Finish implements [store.Target].
func (t *Target) Finish(ctx context.Context) error {
	return t.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM plantstore_schema WHERE id = $1`, copyRow); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, showMarks); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, renewEpochs, rand.Int64()/2) // the sum is no overflow
		return err
	})
}

// Close implements [store.Target].
func (t *Target) Close() error {
	t.held.Release()
	t.store.disconnect()
	return nil
}

// write runs fn in a transaction, unless another copy has begun.
func (t *Target) write(ctx context.Context, fn func(context.Context, pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	err := pgx.BeginTxFunc(ctx, t.conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		id, err := number(ctx, t.conn, copyRow, ` FOR UPDATE`)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && id != int(t.id) {
			return store.ErrSuperseded
		}
		if err != nil {
			return err
		}
		return fn(ctx, tx)
	})
	return stepError(err)
}
