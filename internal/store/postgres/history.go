package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// The history of the plants. A transaction adds its entries together with its row in changes, when it
// has locked the feed: so the order of the numbers is that of the commits.

// storeHistory adds the row of a transaction that has locked the feed, as storeChanges does, and the
// entries that historyArrays returns.
const storeHistory = `
	WITH stored AS (
		INSERT INTO changes (position, ids, at)
		VALUES (coalesce((SELECT max(position) FROM changes), 0) + 1, $11, $12) RETURNING position
	)
	INSERT INTO history (number, id, position, change, at, actor, name, tag, version, created_at, updated_at, changed_by)
	SELECT coalesce((SELECT max(number) FROM history), 0) + n, id, position, change, at, actor, name, tag, version,
		created_at, updated_at, changed_by
	FROM stored CROSS JOIN unnest($1::BIGINT[], $2::BYTEA[], $3::BIGINT[], $4::BYTEA[], $5::BYTEA[], $6::BYTEA[],
		$7::BIGINT[], $8::BIGINT[], $9::BIGINT[], $10::BYTEA[])
		WITH ORDINALITY AS entry (id, change, at, actor, name, tag, version, created_at, updated_at, changed_by, n)`

// addHistory adds the entries that historyArrays returns with the numbers $11.
const addHistory = `
	INSERT INTO history (number, id, position, change, at, actor, name, tag, version, created_at, updated_at, changed_by)
	SELECT number, id, 0, change, at, actor, name, tag, version, created_at, updated_at, changed_by
	FROM unnest($1::BIGINT[], $2::BYTEA[], $3::BIGINT[], $4::BYTEA[], $5::BYTEA[], $6::BYTEA[],
		$7::BIGINT[], $8::BIGINT[], $9::BIGINT[], $10::BYTEA[], $11::BIGINT[])
		AS entry (id, change, at, actor, name, tag, version, created_at, updated_at, changed_by, number)`

// historyArrays returns the first ten arguments of storeHistory and addHistory: an array for each column.
func historyArrays(entries []plant.HistoryEntry) []any {
	count := len(entries)
	ids, times, versions := make([]int64, count), make([]int64, count), make([]int64, count)
	created, updated := make([]int64, count), make([]int64, count)
	changes, actors, names := make([][]byte, count), make([][]byte, count), make([][]byte, count)
	tags, changedBy := make([][]byte, count), make([][]byte, count)
	for i, entry := range entries {
		ids[i] = entry.Plant.ID
		changes[i] = []byte(entry.Change)
		times[i] = entry.At.UnixMicro()
		actors[i] = []byte(entry.By)
		names[i] = []byte(entry.Plant.Name)
		tags[i] = optionalBytes(entry.Plant.Tag)
		versions[i], _ = entry.Plant.Version() // stored plants have one
		created[i] = entry.Plant.CreatedAt.UnixMicro()
		updated[i] = entry.Plant.UpdatedAt.UnixMicro()
		changedBy[i] = []byte(entry.Plant.ChangedBy)
	}
	return []any{ids, changes, times, actors, names, tags, versions, created, updated, changedBy}
}

// The statements of lists of entries. $1 is the largest number of rows.
const (
	plantHistory = `
		SELECT number, change, at, actor, id, name, tag, version, created_at, updated_at, changed_by
		FROM history WHERE (id, number) < ($2, $3) AND id >= $2 ORDER BY id DESC, number DESC LIMIT $1`
	allHistory = `
		SELECT number, change, at, actor, id, name, tag, version, created_at, updated_at, changed_by
		FROM history WHERE number > $2 ORDER BY number LIMIT $1`
)

// isKnown finds out whether there is a plant or a history.
const isKnown = `SELECT EXISTS (SELECT 1 FROM plants WHERE id = $1) OR EXISTS (SELECT 1 FROM history WHERE id = $1)`

// History implements [plant.Store].
func (s *Store) History(
	ctx context.Context, id int64, page plant.HistoryPage,
) (entries []plant.HistoryEntry, more bool, err error) {
	defer s.durations.Since(time.Now(), "history")
	if s.sharded {
		return nil, false, plant.ErrNoChanges
	}
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		entries, more, err = listHistory(ctx, conn, plantHistory, page.Limit, id, page.Until())
		if err != nil || len(entries) > 0 {
			return err
		}
		var known bool // the plant may be deleted after the first statement: then it has an entry
		err := conn.QueryRow(ctx, isKnown, id).Scan(&known)
		if err == nil && !known {
			err = permanent{plant.ErrNotFound}
		}
		return err
	})
	return entries, more, err
}

// listHistory runs a statement of a list of entries.
func listHistory(
	ctx context.Context, conn *pgx.Conn, statement string, limit int, args ...any,
) ([]plant.HistoryEntry, bool, error) {
	found := plant.Rows[plant.HistoryEntry]{Limit: limit, Size: plant.HistoryEntry.JSONSize}
	var entry plant.HistoryEntry
	var row store.PlantRow
	targets := append([]any{&entry.Number, (*text)(&entry.Change), (*timestamp)(&entry.At), (*text)(&entry.By)}, plantTargets(&row)...)
	rows, _ := conn.Query(ctx, statement, append([]any{limit + 1}, args...)...) // ForEachRow returns the error
	_, err := pgx.ForEachRow(rows, targets, func() error {
		entry.Plant = row.Stored()
		return found.Add(entry)
	})
	return found.Items, found.More, pageError(err)
}

const forgetHistoryOf = `DELETE FROM history WHERE id = ANY($1)`

// forgetHistory removes those entries older than $1 that are among the oldest $3 after the number $2, and
// returns how many it has looked at and removed, and the last number.
const forgetHistory = `
	WITH oldest AS (SELECT number, at FROM history WHERE number > $2 ORDER BY number LIMIT $3),
	removed AS (DELETE FROM history WHERE number IN (SELECT number FROM oldest WHERE at < $1) RETURNING number)
	SELECT (SELECT count(*) FROM removed), coalesce((SELECT max(number) FROM oldest), 0)`

// forgetEntries is the number of entries that ForgetHistory removes at once.
const forgetEntries = 500

// ForgetHistory implements [store.Store]. It passes over no row that it has removed: they stay in the index
// until PostgreSQL vacuums it.
func (s *Store) ForgetHistory(ctx context.Context, before time.Time) error {
	last := int64(-1)
	for removed := forgetEntries; removed == forgetEntries; {
		err := s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			return conn.QueryRow(ctx, forgetHistory, before.UnixMicro(), last, forgetEntries).Scan(&removed, &last)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
