package sqlite

import (
	"cmp"
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
)

// The history of the plants. A transaction adds its entries after its row in changes, which has their
// position. SQLite draws their numbers: the order of the numbers is that of the changes, and new
// entries are at the end of the table.

const insertHistoryQuery = `
	INSERT INTO history (
		number, id, position, change, at, actor, name, tag, version, created_at, updated_at, changed_by)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// storeHistory adds the entries of a transaction, whose row in changes is the last one of the content.
func storeHistory(conn *sqlite.Conn, entries []plant.HistoryEntry, now *content) error {
	if len(entries) == 0 {
		return nil
	}
	return insertHistory(conn, entries, now.position)
}

// insertHistory adds entries with one position. Those without a number get the next ones.
func insertHistory(conn *sqlite.Conn, entries []plant.HistoryEntry, position int64) error {
	for _, entry := range entries {
		version, err := entry.Plant.Version()
		if err != nil {
			return err
		}
		stmt, err := conn.Prepare(insertHistoryQuery) // with NULL as each parameter
		if err != nil {
			return err
		}
		if entry.Number != 0 {
			stmt.BindInt64(1, entry.Number)
		}
		stmt.BindInt64(2, entry.Plant.ID)
		stmt.BindInt64(3, position)
		stmt.BindText(4, string(entry.Change))
		stmt.BindInt64(5, entry.At.UnixMicro())
		stmt.BindText(6, entry.By)
		stmt.BindText(7, entry.Plant.Name)
		if entry.Plant.Tag != nil {
			stmt.BindText(8, *entry.Plant.Tag)
		}
		stmt.BindInt64(9, version)
		stmt.BindInt64(10, entry.Plant.CreatedAt.UnixMicro())
		stmt.BindInt64(11, entry.Plant.UpdatedAt.UnixMicro())
		stmt.BindText(12, entry.Plant.ChangedBy)
		_, err = stmt.Step()
		if err := cmp.Or(err, stmt.Reset()); err != nil {
			return err
		}
	}
	return nil
}

// The queries of lists of entries. The first parameter is the largest number of rows.
const (
	plantHistoryQuery = `
		SELECT number, change, at, actor, id, name, tag, version, created_at, updated_at, changed_by
		FROM history WHERE id = ?2 AND number < ?3 ORDER BY number DESC LIMIT ?1`
	allHistoryQuery = `
		SELECT number, change, at, actor, id, name, tag, version, created_at, updated_at, changed_by
		FROM history WHERE number > ?2 ORDER BY number LIMIT ?1`
)

// knownQuery finds out whether there is a plant or a history.
const knownQuery = `SELECT EXISTS (SELECT 1 FROM plants WHERE id = ?1) OR EXISTS (SELECT 1 FROM history WHERE id = ?1)`

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

// forgetHistoryOf removes the history of plants.
func forgetHistoryOf(conn *sqlite.Conn, ids []int64) error {
	for _, id := range ids {
		if err := execute(conn, "DELETE FROM history WHERE id = ?", id); err != nil {
			return err
		}
	}
	return nil
}

// forgetHistoryQuery removes those of the oldest entries that are older than the first parameter. The second
// one limits how many it looks at.
const forgetHistoryQuery = `
	DELETE FROM history WHERE at < ?1 AND number IN (SELECT number FROM history ORDER BY number LIMIT ?2)`

// forgetEntries is the number of entries that a transaction of ForgetHistory removes. It limits
// how long other writes wait.
const forgetEntries = 200

// ForgetHistory implements [store.Store].
func (s *Store) ForgetHistory(ctx context.Context, before time.Time) error {
	for removed := forgetEntries; removed == forgetEntries; {
		err := s.runWrite(ctx, func(conn *sqlite.Conn) error {
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
