package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/token"
)

// Target implements [store.Target] with one transaction. Servers that run on the same
// database find it empty until the commit, and their writes wait for it.
type Target struct {
	snapshot
	store *Store
	held  *pgxpool.Conn
}

var _ store.Target = (*Target)(nil)

// OpenTarget opens the empty database with the given URL as the target of a copy. It creates
// the tables if they do not exist.
func OpenTarget(ctx context.Context, dsn string) (*Target, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	s, err := connect(ctx, config, func(ctx context.Context, conn *pgx.Conn) error {
		if _, _, err := migrate(ctx, conn); err != nil {
			return err
		}
		return checkPrivileges(ctx, conn)
	})
	if err != nil {
		return nil, err
	}
	held, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	t := &Target{snapshot: snapshot{held.Conn()}, store: s, held: held}
	if err := t.begin(ctx); err != nil {
		err = fmt.Errorf("open PostgreSQL: %w", explain(err, config.ConnConfig))
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// begin begins the transaction, and refuses a store that is not empty.
func (t *Target) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	var batch pgx.Batch
	beginWrite(&batch)
	// The copy may wait longer for its source than a write waits between two statements.
	batch.Queue(`SET LOCAL idle_in_transaction_session_timeout = '10min'`)
	// Another copy, or pg_dump, may keep its locks for hours.
	batch.Queue(`SET LOCAL lock_timeout = '3s'`)
	// Keeps out writes and other copies, and no reads. The order is that of the writers.
	batch.Queue(`LOCK TABLE plants, tokens IN SHARE ROW EXCLUSIVE MODE`)
	used := false
	batch.Queue(`
		SELECT EXISTS (SELECT 1 FROM plants) OR EXISTS (SELECT 1 FROM tokens) OR EXISTS (SELECT 1 FROM history)`).QueryRow(
		func(row pgx.Row) error { return row.Scan(&used) })
	if err := t.conn.SendBatch(ctx, &batch).Close(); err != nil {
		return err
	}
	if used {
		return store.ErrNotEmpty
	}
	return nil
}

// AddPlants implements [store.Target].
func (t *Target) AddPlants(ctx context.Context, plants []plant.Plant) error {
	rows, err := store.RowsOf(plants)
	if err != nil {
		return err
	}
	columns := []string{"id", "name", "tag", "version", "created_at", "updated_at", "name_key", "changed_by"}
	values := func(i int) ([]any, error) {
		row := &rows[i]
		return []any{
			row.ID, []byte(row.Name), optionalBytes(row.Tag), row.Version,
			row.CreatedAt.UnixMicro(), row.UpdatedAt.UnixMicro(), []byte(row.NameKey), []byte(row.ChangedBy),
		}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	_, err = t.conn.CopyFrom(ctx, pgx.Identifier{"plants"}, columns, pgx.CopyFromSlice(len(rows), values))
	return stepError(err)
}

// AddHistory implements [store.Target].
func (t *Target) AddHistory(ctx context.Context, entries []plant.HistoryEntry) error {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	numbers := make([]int64, len(entries))
	for i, entry := range entries {
		numbers[i] = entry.Number
	}
	_, err := t.conn.Exec(ctx, addHistory, append(historyArrays(entries), numbers)...)
	return stepError(err)
}

// AddTokens implements [store.Target].
func (t *Target) AddTokens(ctx context.Context, tokens []token.Token) error {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	var batch pgx.Batch
	for _, each := range tokens {
		queueToken(&batch, each)
	}
	return stepError(t.conn.SendBatch(ctx, &batch).Close())
}

// Publish implements [store.Target]. It locks the feed as every transaction does that begins
// an epoch, so that no epoch stays of a server that has found the store empty. A commit that
// has begun is finished even if ctx ends.
func (t *Target) Publish(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepTime)
	defer cancel()
	var batch pgx.Batch
	batch.Queue(lockFeed)
	batch.Queue(renewEpochs, rand.Int64()/2) // the sum is no overflow
	batch.Queue(`COMMIT`)
	err := t.conn.SendBatch(ctx, &batch).Close()
	if err == nil && t.store.sharded {
		err = waitForPrepared(ctx, t.conn)
	}
	return stepError(err)
}

// Close implements [store.Target]. Closing the connection ends the transaction.
func (t *Target) Close() error {
	t.held.Release()
	return t.store.Close()
}
