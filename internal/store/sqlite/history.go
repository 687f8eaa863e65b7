package sqlite

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
)

// The history of the plants. SQLite draws the numbers of the entries: their order is that of the changes, and new
// entries are at the end of the table. Those of a plant are a chain, from the newest one on. It begins in the row of
// the plant or, if that has none, with the newest entry of a delete.

const insertHistoryQuery = `
	INSERT INTO history (
		number, id, position, change, at, actor, name, tag, version, created_at, updated_at, changed_by, previous)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, coalesce(?13,
		(SELECT history FROM plants WHERE id = ?2),
		(SELECT max(number) FROM history WHERE id = ?2 AND change = 'deleted')))`

// storeHistory adds the entries of a transaction, and returns the number of the newest one of each plant.
func storeHistory(conn *sqlite.Conn, entries []plant.HistoryEntry, position int64) (map[int64]int64, error) {
	newest := map[int64]int64{}
	for _, entry := range entries {
		if err := insertEntry(conn, entry, position, newest[entry.Plant.ID]); err != nil {
			return nil, err
		}
		newest[entry.Plant.ID] = conn.LastInsertRowID()
	}
	return newest, nil
}

// insertEntry adds an entry. One without a number gets the next one, and one without another entry before it
// in the transaction the one that is stored.
func insertEntry(conn *sqlite.Conn, entry plant.HistoryEntry, position, previous int64) error {
	before := entry.Plant
	version, err := before.Version()
	if err != nil {
		return err
	}
	var number, tag, last any // NULL
	if entry.Number != 0 {
		number = entry.Number
	}
	if before.Tag != nil {
		tag = *before.Tag
	}
	if previous != 0 {
		last = previous
	}
	return execute(conn, insertHistoryQuery, number, before.ID, position, string(entry.Change), entry.At.UnixMicro(), entry.By,
		before.Name, tag, version, before.CreatedAt.UnixMicro(), before.UpdatedAt.UnixMicro(), before.ChangedBy, last)
}

// newestOf selects the number of the newest entry of the plant ?2.
const newestOf = `
	coalesce((SELECT history FROM plants WHERE id = ?2),
		(SELECT max(number) FROM history WHERE id = ?2 AND change = 'deleted'))`

// The queries of lists of entries. The first parameter is the largest number of rows; ?3 is the number that all
// entries are below.
const (
	plantHistoryQuery = `
		WITH RECURSIVE chain (entry) AS (
			SELECT iif(?3 = 0x7fffffffffffffff, ` + newestOf + `, (SELECT previous FROM history WHERE number = ?3 AND id = ?2))
			UNION ALL
			SELECT previous FROM chain JOIN history ON number = entry LIMIT ?1
		)
		SELECT number, change, at, actor, id, name, tag, version, created_at, updated_at, changed_by
		FROM chain CROSS JOIN history ON number = entry ORDER BY number DESC`
	allHistoryQuery = `
		SELECT number, change, at, actor, id, name, tag, version, created_at, updated_at, changed_by
		FROM history WHERE number > ?2 ORDER BY number LIMIT ?1`
)

// knownQuery finds out whether there is a plant or the history of one that was deleted.
const knownQuery = `
	SELECT EXISTS (SELECT 1 FROM plants WHERE id = ?1)
		OR EXISTS (SELECT 1 FROM history WHERE id = ?1 AND change = 'deleted')`

// History implements [plant.Store].
func (s *Store) History(
	ctx context.Context, id int64, page plant.HistoryPage,
) (entries []plant.HistoryEntry, more bool, err error) {
	defer s.durations.Since(time.Now(), "history")
	err = s.readMany(ctx, func(conn *sqlite.Conn) error {
		return inTransaction(conn, "BEGIN", func() error {
			entries, more, err = listHistory(conn, plantHistoryQuery, page.Limit, id, page.Until())
			if err != nil || len(entries) > 0 {
				return err
			}
			isKnown := false
			err := query(conn, knownQuery, func(stmt *sqlite.Stmt) error {
				isKnown = stmt.ColumnBool(0)
				return nil
			}, id)
			if err == nil && !isKnown {
				err = plant.ErrNotFound
			}
			return err
		})
	})
	return entries, more, err
}

// listHistory runs a query of a list of entries.
func listHistory(conn *sqlite.Conn, statement string, limit int, args ...any) ([]plant.HistoryEntry, bool, error) {
	rows := plant.Rows[plant.HistoryEntry]{Limit: limit, Size: plant.HistoryEntry.JSONSize}
	err := query(conn, statement, func(stmt *sqlite.Stmt) error {
		return rows.Add(plant.HistoryEntry{
			Number: stmt.ColumnInt64(0),
			Change: plant.ChangeKind(stmt.ColumnText(1)),
			At:     columnTime(stmt, 2),
			By:     stmt.ColumnText(3),
			Plant:  plantFromRow(stmt, 4),
		})
	}, append([]any{limit + 1}, args...)...)
	return rows.Items, rows.More, err
}

// forgetPlantQuery removes the history of the plant ?2.
const forgetPlantQuery = `
	WITH RECURSIVE chain (entry) AS (
		SELECT ` + newestOf + ` WHERE ?1
		UNION ALL
		SELECT previous FROM chain JOIN history ON number = entry
	)
	DELETE FROM history WHERE number IN (SELECT entry FROM chain)`

// forgetHistoryOf removes the history of plants.
func forgetHistoryOf(conn *sqlite.Conn, ids []int64) error {
	for _, id := range ids {
		if err := execute(conn, forgetPlantQuery, true, id); err != nil {
			return err
		}
	}
	return nil
}

// chainCopied are the statements that make chains of the entries of a copy.
var chainCopied = []string{
	"CREATE INDEX copied_history ON history (id)",
	`UPDATE history SET previous = (
		SELECT max(number) FROM history AS older WHERE older.id = history.id AND older.number < history.number)`,
	`UPDATE plants SET history = (SELECT max(number) FROM history WHERE history.id = plants.id)
		WHERE EXISTS (SELECT 1 FROM history WHERE history.id = plants.id)`,
	"DROP INDEX copied_history",
}

// forgetHistoryQuery removes those of the oldest entries that are older than ?1; ?2 limits how many it looks at.
const forgetHistoryQuery = `
	DELETE FROM history WHERE at < ?1 AND number IN (SELECT number FROM history ORDER BY number LIMIT ?2)`

// endChainsQuery ends the chains of plants whose newest entry is one of those. SQLite draws a number again when no entry
// has it or a higher one: the chain would lead to the entry of another plant. Within a chain the numbers of the entries
// that stay are higher than those of the removed ones.
const endChainsQuery = `
	UPDATE plants SET history = NULL WHERE (id, history) IN (
		SELECT id, number FROM (SELECT id, number, at FROM history ORDER BY number LIMIT ?2) WHERE at < ?1)`

// forgetEntries is the number of entries that a transaction of ForgetHistory removes. It limits
// how long other writes wait.
const forgetEntries = 200

// ForgetHistory implements [store.Store].
func (s *Store) ForgetHistory(ctx context.Context, before time.Time) error {
	for removed := forgetEntries; removed == forgetEntries; {
		err := s.runWrite(ctx, func(conn *sqlite.Conn) error {
			if err := execute(conn, endChainsQuery, before.UnixMicro(), forgetEntries); err != nil {
				return err
			}
			err := execute(conn, forgetHistoryQuery, before.UnixMicro(), forgetEntries)
			removed = conn.Changes()
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
