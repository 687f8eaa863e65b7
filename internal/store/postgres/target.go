package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/token"
)

// Target implements [store.Target]. While it is not finished, plantstore_schema has
// a copyRow, and the tables in hidden have other names. So no other program, whatever
// its release, can read or write plants or tokens: its statements fail, and it needs no
// check of its own. An earlier release cannot start, either, because it sweeps the
// marks.
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

// hidden are the tables that have the suffix hiddenSuffix while a copy is incomplete.
// Every transaction that writes inserts a mark, as the last of these tables: so hiding
// the tables in this order waits for such a transaction, and makes no deadlock with it.
var hidden = []string{"plants", "tokens", "marks"}

const hiddenSuffix = "_of_copy"

// hide hides the tables.
func hide(ctx context.Context, tx pgx.Tx) error { return rename(ctx, tx, "", hiddenSuffix) }

// show undoes hide.
func show(ctx context.Context, tx pgx.Tx) error { return rename(ctx, tx, hiddenSuffix, "") }

func rename(ctx context.Context, tx pgx.Tx, from, to string) error {
	for _, table := range hidden {
		if _, err := tx.Exec(ctx, `ALTER TABLE IF EXISTS `+table+from+` RENAME TO `+table+to); err != nil {
			return err
		}
	}
	return nil
}

// toHidden makes a statement about plants or tokens one about the hidden table.
var toHidden = strings.NewReplacer(
	"INTO plants", "INTO plants"+hiddenSuffix,
	"INTO tokens", "INTO tokens"+hiddenSuffix,
	"FROM plants", "FROM plants"+hiddenSuffix+" AS plants",
	"FROM tokens", "FROM tokens"+hiddenSuffix+" AS tokens")

// hideTables makes the queued statements ones about the hidden tables.
func hideTables(b *pgx.Batch) {
	for _, queued := range b.QueuedQueries {
		queued.SQL = toHidden.Replace(queued.SQL)
	}
}

// OpenTarget opens the database with the given URL as the target of a copy of the
// source with the given epochs, newest first. It creates the tables if they do not
// exist.
func OpenTarget(ctx context.Context, dsn string, source []int64) (*Target, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	t := &Target{id: rand.Int32()}
	t.store, err = connect(ctx, config, func(ctx context.Context, conn *pgx.Conn) error {
		return t.begin(ctx, conn, source)
	})
	if err != nil {
		return nil, err
	}
	if t.held, err = t.store.pool.Acquire(ctx); err != nil {
		return nil, errors.Join(err, t.store.Close())
	}
	t.snapshot = snapshot{t.held.Conn(), toHidden.Replace}
	return t, nil
}

// begin marks the database as incomplete, or takes over what another copy has left.
func (t *Target) begin(ctx context.Context, conn *pgx.Conn, source []int64) error {
	found, _, err := migrate(ctx, conn)
	if err != nil && !errors.Is(err, store.ErrIncomplete) {
		return err
	}
	// READ COMMITTED, because ALTER TABLE waits for transactions that write, and
	// the check must see what they have written.
	return pgx.BeginTxFunc(ctx, conn, readCommitted, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SELECT set_config('lock_timeout', $1, true)`, fmt.Sprint(lockTime.Milliseconds()))
		if err != nil {
			return err
		}
		if _, err := number(ctx, conn, versionRow, ` FOR UPDATE`); err != nil {
			return err
		}
		// write locks copyRow before it locks a table, so this must, too, or two copies
		// wait for each other.
		_, err = number(ctx, conn, copyRow, ` FOR UPDATE`)
		first := errors.Is(err, pgx.ErrNoRows) // else another copy is not complete
		if err != nil && !first {
			return err
		}
		if err := show(ctx, tx); err != nil {
			return err
		}
		if err := apply(ctx, tx); err != nil { // an older program may have begun the other copy
			return schemaError{found, len(schema), err}
		}
		if err := hide(ctx, tx); err != nil {
			return schemaError{len(schema), len(schema), err}
		}
		if err := remember(ctx, tx, source); err != nil {
			return err
		}
		used := false
		const query = `SELECT EXISTS (SELECT 1 FROM plants) OR EXISTS (SELECT 1 FROM tokens)`
		if err := tx.QueryRow(ctx, toHidden.Replace(query)).Scan(&used); err != nil {
			return err
		}
		if first && used {
			return store.ErrNotEmpty
		}
		_, err = tx.Exec(ctx, setNumber, copyRow, t.id)
		return err
	})
}

// remember stores the newest epoch of the source of a copy, or checks that the source
// has the one that was stored.
func remember(ctx context.Context, tx pgx.Tx, source []int64) error {
	var begun int64
	err := tx.QueryRow(ctx, `SELECT id FROM epochs WHERE number = $1`, store.SourceNumber).Scan(&begun)
	switch {
	case err == nil && !slices.Contains(source, begun):
		return store.ErrOtherSource
	case errors.Is(err, pgx.ErrNoRows) && len(source) > 0:
		_, err = tx.Exec(ctx, `INSERT INTO epochs (number, id, began) VALUES ($1, $2, 0)`,
			store.SourceNumber, source[0])
		return err
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	}
	return err
}

// Replace implements [store.Target].
func (t *Target) Replace(ctx context.Context, remove []int64, plants []plant.Plant) error {
	rows, err := store.RowsOf(plants)
	if err != nil {
		return err
	}
	return t.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if len(remove) > 0 {
			if _, err := tx.Exec(ctx, toHidden.Replace(`DELETE FROM plants WHERE id = ANY($1)`), remove); err != nil {
				return err
			}
		}
		var b pgx.Batch
		queueInserts(&b, rows)
		hideTables(&b)
		return tx.SendBatch(ctx, &b).Close()
	})
}

// ReplaceTokens implements [store.Target].
func (t *Target) ReplaceTokens(ctx context.Context, tokens []token.Token) error {
	return t.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, toHidden.Replace(`DELETE FROM tokens`)); err != nil {
			return err
		}
		var b pgx.Batch
		for _, each := range tokens {
			queueToken(&b, each)
		}
		hideTables(&b)
		return tx.SendBatch(ctx, &b).Close()
	})
}

// Finish implements [store.Target].
func (t *Target) Finish(ctx context.Context) error {
	return t.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM plantstore_schema WHERE id = $1`, copyRow); err != nil {
			return err
		}
		if err := show(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM epochs WHERE number = $1`, store.SourceNumber); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, renewEpochs, rand.Int64()/2) // the sum is no overflow
		return err
	})
}

// Close implements [store.Target].
func (t *Target) Close() error {
	t.held.Release()
	return t.store.Close()
}

// write runs fn in a transaction, unless another copy has begun.
func (t *Target) write(ctx context.Context, fn func(context.Context, pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	err := pgx.BeginTxFunc(ctx, t.conn, readCommitted, func(tx pgx.Tx) error {
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
