package sqlite

import (
	"context"
	"errors"
	"math"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// The feed of changes. Each transaction that changes plants adds a row to the table
// changes, just before its commit. SQLite runs one write transaction at a time, so
// the order of the positions is the order of the commits.

// Changed implements [plant.Feed].
func (s *Store) Changed() <-chan struct{} { return s.committed.Wait() }

// Changes implements [plant.Feed].
func (s *Store) Changes(
	ctx context.Context, after *plant.Position, limit int,
) (changes []plant.Change, next plant.Position, err error) {
	defer s.durations.Since(time.Now(), "changes")
	changes, next, err = s.changesPage(ctx, after, limit)
	walkEnded := store.InWalk(after) && len(changes) == 0
	if err == nil && walkEnded {
		changes, next, err = s.changesPage(ctx, &next, limit)
	}
	return changes, next, err
}

// changesPage reads a page of a walk or of the changes after it, in one snapshot.
func (s *Store) changesPage(
	ctx context.Context, after *plant.Position, limit int,
) (changes []plant.Change, next plant.Position, err error) {
	err = s.readMany(ctx, func(conn *sqlite.Conn) error {
		return inTransaction(conn, "BEGIN", func() error {
			changes, next, err = readChanges(conn, after, limit)
			return err
		})
	})
	return changes, next, err
}

func readChanges(
	conn *sqlite.Conn, after *plant.Position, limit int,
) ([]plant.Change, plant.Position, error) {
	state, err := feedState(conn, after)
	if err != nil {
		return nil, plant.Position{}, err
	}
	if !store.InWalk(after) {
		changes, err := changesAfter(conn, state, *after, limit)
		if err != nil {
			return nil, plant.Position{}, err
		}
		return state.ChangesPage(*after, changes)
	}
	page := plant.Page{Limit: limit}
	if after != nil {
		page.After = after.Walk
	}
	plants, more, err := listPlants(conn, page)
	if err != nil {
		return nil, plant.Position{}, err
	}
	return state.WalkPage(after, plants, more)
}

// feedStateQuery reads a [store.FeedState]. The parameter is the epoch of a position. If
// nothing was forgotten, the first position is 1.
const feedStateQuery = `
	SELECT newest.id, last, first - 1, given.number IS NOT NULL,
		coalesce((SELECT began FROM epochs WHERE number > given.number ORDER BY number LIMIT 1), last)
	FROM (
		SELECT coalesce((SELECT max(position) FROM changes), 0) AS last,
			coalesce((SELECT min(position) FROM changes), 1) AS first)
	CROSS JOIN (SELECT id FROM epochs ORDER BY number DESC LIMIT 1) AS newest
	LEFT JOIN epochs AS given ON given.id = ?`

// feedState reads the state of the feed for a position.
func feedState(conn *sqlite.Conn, after *plant.Position) (state store.FeedState, err error) {
	epoch := int64(0)
	if after != nil {
		epoch = after.Epoch
	}
	err = query(conn, feedStateQuery, func(stmt *sqlite.Stmt) error {
		state = store.FeedState{
			Epoch:     stmt.ColumnInt64(0),
			Last:      stmt.ColumnInt64(1),
			Forgotten: stmt.ColumnInt64(2),
			Known:     stmt.ColumnBool(3),
			End:       stmt.ColumnInt64(4),
		}
		return nil
	}, epoch)
	return state, err
}

// changesQuery reads the plants that have changed after a position: the first parameter
// is a transaction, the second how many changes of the next one to leave out, the third the
// maximum number of changes. CROSS JOIN fixes the order of the tables, so that the rows
// come in the order of positions without sorting, and no plant is read for a change that
// is left out. Who has deleted a plant is in the newest entry of a delete, if that was kept.
const changesQuery = `
	SELECT changes.position, json_each.key + 1, json_array_length(changes.ids), json_each.value,
		plants.id IS NOT NULL,
		plants.id, plants.name, plants.tag, plants.version, plants.created_at, plants.updated_at,
		coalesce(plants.changed_by, (
			SELECT iif(history.position >= changes.position, actor, '')
			FROM history WHERE history.id = json_each.value AND change = 'deleted' ORDER BY number DESC LIMIT 1))
	FROM changes CROSS JOIN json_each(changes.ids) LEFT JOIN plants ON plants.id = json_each.value
	WHERE changes.position > ?1 AND (changes.position - 1 > ?1 OR json_each.key >= ?2)
	ORDER BY changes.position LIMIT ?3`

// changesAfter reads a page of changes that is not part of a walk.
func changesAfter(
	conn *sqlite.Conn, state store.FeedState, from plant.Position, limit int,
) ([]plant.Change, error) {
	rows := plant.Rows[plant.Change]{Limit: limit, Size: plant.Change.JSONSize}
	err := query(conn, changesQuery, func(stmt *sqlite.Stmt) error {
		change := plant.Change{
			Position:  state.After(stmt.ColumnInt64(0), stmt.ColumnInt(1), stmt.ColumnInt(2)),
			ID:        stmt.ColumnInt64(3),
			ChangedBy: stmt.ColumnText(11),
		}
		if exists := stmt.ColumnBool(4); exists {
			change.Plant = new(plantFromRow(stmt, 5))
		}
		return rows.Add(change)
	}, from.At, from.Index, limit)
	return rows.Items, err
}

// content is what this program knows of the file. If another program has replaced the content
// by an earlier one, in a transaction like any other, the next transaction begins an epoch
// before its position, which another one has had. The .restore of sqlite3 raises the version of
// the schema. After other ways to go back, such as statements that delete the rows and insert
// those of a backup, the last transaction of this program is missing.
//
// Reads need no check: what they read has its own epochs, and positions beyond its end are
// not valid.
//
// All of them are transactions of another connection, which a number of SQLite counts for each
// connection. While it is the same, nothing else is read: that takes a fifth of the time.
type content struct{ othersVersion, schema, position, at int64 }

const (
	othersVersion = "PRAGMA data_version"
	schemaVersion = "PRAGMA schema_version"
)

// newEpochQuery begins an epoch after the last transaction.
const newEpochQuery = `
	INSERT INTO epochs (id, began)
	SELECT random(), coalesce((SELECT max(position) FROM changes), 0)`

// BeginEpoch implements [store.Store].
func (s *Store) BeginEpoch(ctx context.Context) error {
	return s.runWrite(ctx, func(conn *sqlite.Conn) (err error) {
		known := &content{}
		if known.othersVersion, err = number(conn, othersVersion); err != nil {
			return err
		}
		if known.schema, err = number(conn, schemaVersion); err != nil {
			return err
		}
		err = query(conn, "SELECT position, at FROM changes ORDER BY position DESC LIMIT 1", func(stmt *sqlite.Stmt) error {
			known.position, known.at = stmt.ColumnInt64(0), stmt.ColumnInt64(1)
			return nil
		})
		s.content = known
		return errors.Join(err, beginEpoch(conn))
	})
}

// beginEpoch begins an epoch.
func beginEpoch(conn *sqlite.Conn) error { return execute(conn, newEpochQuery) }

// beginIfReplacedQuery begins an epoch unless the schema is still the one of a [content],
// which the first parameter says, and its transaction, the others, is there.
const beginIfReplacedQuery = `
	INSERT INTO epochs (id, began)
	SELECT random(), coalesce((SELECT max(position) FROM changes), 0)
	WHERE NOT ?1 OR ?2 > 0 AND NOT EXISTS (SELECT 1 FROM changes WHERE position = ?2 AND at = ?3)`

// storeChanges adds the row of a transaction that changes the plants with these IDs. It returns
// the content after it. No epoch begins if known is nil.
func storeChanges(conn *sqlite.Conn, known *content, ids []int64) (*content, error) {
	if len(ids) == 0 {
		return known, nil
	}
	stored, err := known.renew(conn)
	if err != nil {
		return nil, err
	}
	now := time.Now().UnixMicro()
	if err := execute(conn, "INSERT INTO changes (ids, at) VALUES (?, ?)", jsonOf(ids), now); err != nil {
		return nil, err
	}
	stored.position, stored.at = conn.LastInsertRowID(), now
	return &stored, nil
}

// renew returns the versions that the file has now. It begins an epoch if another connection has
// replaced the content.
func (known *content) renew(conn *sqlite.Conn) (now content, err error) {
	if now.othersVersion, err = number(conn, othersVersion); err != nil {
		return now, err
	}
	if known != nil && known.othersVersion == now.othersVersion {
		return *known, nil
	}
	if now.schema, err = number(conn, schemaVersion); err != nil || known == nil {
		return now, err
	}
	return now, execute(conn, beginIfReplacedQuery, now.schema == known.schema, known.position, known.at)
}

// forgetQuery deletes the oldest rows that are older than the first parameter, at most as many
// as the second one says. Positions have no gaps, so the number of rows is limited by position.
// It keeps the row with the highest position, so that SQLite draws no position twice.
const forgetQuery = `
	WITH ends AS (
		SELECT coalesce((SELECT min(position) FROM changes), 1) AS first,
			coalesce((SELECT max(position) FROM changes), 0) AS last)
	DELETE FROM changes WHERE position < (
		SELECT min(last, coalesce(
			(SELECT position FROM changes WHERE position < first + ?2 AND at >= ?1 ORDER BY position LIMIT 1),
			first + ?2))
		FROM ends)`

// forgetEpochsQuery deletes the epochs whose positions have all been forgotten.
const forgetEpochsQuery = `
	DELETE FROM epochs WHERE number < (
		SELECT max(number) FROM epochs
		WHERE began < coalesce((SELECT min(position) FROM changes), 1) - 1)`

// forgetRows is the number of rows that a transaction of ForgetChanges deletes. It
// limits how long other writes wait.
const forgetRows = 500

// ForgetChanges implements [store.Store].
func (s *Store) ForgetChanges(ctx context.Context, before time.Time) error {
	for deleted := math.MaxInt; deleted > 0; {
		err := s.runWrite(ctx, func(conn *sqlite.Conn) error {
			if err := execute(conn, forgetQuery, before.UnixMicro(), forgetRows); err != nil {
				return err
			}
			if deleted = conn.Changes(); deleted > 0 {
				return nil
			}
			return execute(conn, forgetEpochsQuery)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
