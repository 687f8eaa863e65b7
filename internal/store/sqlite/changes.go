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

// lastPosition is the position of the last transaction. Its row is never deleted.
const lastPosition = "coalesce((SELECT max(position) FROM changes), 0)"

// firstPosition is the position of the oldest transaction that was not forgotten.
const firstPosition = "coalesce((SELECT min(position) FROM changes), 1)"

const (
	// newEpochQuery begins an epoch.
	newEpochQuery = "INSERT INTO epochs (id, began) SELECT random(), " + lastPosition

	// beginIfReplacedQuery begins an epoch unless the schema is still the one of a [content],
	// which the first parameter says, and its transaction is there.
	beginIfReplacedQuery = newEpochQuery +
		" WHERE NOT ?1 OR ?2 > 0 AND NOT EXISTS (SELECT 1 FROM changes WHERE position = ?2 AND at = ?3)"

	// renewEpochsQuery makes all positions invalid: the plants were replaced without
	// rows in changes.
	renewEpochsQuery = "UPDATE epochs SET id = random()"

	// feedStateQuery reads a [store.FeedState].
	feedStateQuery = `
		SELECT newest.id, ` + lastPosition + `, ` + firstPosition + ` - 1, given.number,
			coalesce((SELECT began FROM epochs WHERE number > given.number ORDER BY number LIMIT 1),
				` + lastPosition + `)
		FROM (SELECT id FROM epochs ORDER BY number DESC LIMIT 1) AS newest
		LEFT JOIN epochs AS given ON given.id = ?`

	// forgetQuery deletes the oldest rows that are older than the first parameter.
	// Positions have no gaps, so the number of rows is limited by position. It keeps
	// the row with the highest position, so that SQLite draws no position twice.
	forgetQuery = `
		DELETE FROM changes WHERE position < min(` + lastPosition + `, coalesce(
			(SELECT position FROM changes
				WHERE position < ` + firstPosition + ` + ?2 AND at >= ?1 ORDER BY position LIMIT 1),
			` + firstPosition + ` + ?2))`

	// forgetEpochsQuery deletes the epochs whose positions have all been forgotten.
	forgetEpochsQuery = "DELETE FROM epochs WHERE number < " +
		"(SELECT max(number) FROM epochs WHERE began < " + firstPosition + " - 1)"
)

// changesQuery reads the plants that have changed after a position: the first parameter
// is a transaction, the second how many changes of the next one to leave out, the third the
// maximum number of changes. CROSS JOIN fixes the order of the tables, so that the rows
// come in the order of positions without sorting, and no plant is read for a change that
// is left out.
var changesQuery = `
	SELECT changes.position, json_each.key + 1, json_array_length(changes.ids), json_each.value,
		plants.id IS NOT NULL, ` + plantColumns.names("plants.") + `
	FROM changes CROSS JOIN json_each(changes.ids) LEFT JOIN plants ON plants.id = json_each.value
	WHERE changes.position > ?1 AND (changes.position - 1 > ?1 OR json_each.key >= ?2)
	ORDER BY changes.position LIMIT ?3`

// Changed implements [plant.Feed].
func (s *Store) Changed() <-chan struct{} { return s.committed.Wait() }

// Changes implements [plant.Feed].
func (s *Store) Changes(ctx context.Context, after *plant.Position, limit int) ([]plant.Change, plant.Position, error) {
	defer s.durations.Since(time.Now(), "changes")
	return s.changes(ctx, after, limit)
}

func (s *Store) changes(
	ctx context.Context, after *plant.Position, limit int,
) (changes []plant.Change, next plant.Position, err error) {
	walk := after == nil || after.Walk != nil
	err = s.readMany(ctx, func(conn *sqlite.Conn) error {
		return inTransaction(conn, "BEGIN", func() error {
			state, err := feedState(conn, after)
			if err != nil {
				return err
			}
			var plants []plant.Plant
			more := false
			switch {
			case !walk:
				changes, err = changesAfter(conn, state, *after, limit)
			case after == nil:
				plants, more, err = listPlants(conn, plant.Page{Limit: limit})
			default:
				plants, more, err = listPlants(conn, plant.Page{After: after.Walk, Limit: limit})
			}
			if err == nil {
				changes, next, err = state.Page(after, plants, more, changes)
			}
			return err
		})
	})
	if err == nil && walk && len(changes) == 0 {
		return s.changes(ctx, &next, limit) // the walk has ended
	}
	return changes, next, err
}

// feedState reads the state of the feed for a position.
func feedState(conn *sqlite.Conn, after *plant.Position) (state store.FeedState, err error) {
	epoch := int64(0)
	if after != nil {
		epoch = after.Epoch
	}
	err = query(conn, feedStateQuery, func(stmt *sqlite.Stmt) error {
		state = store.FeedState{
			Epoch: stmt.ColumnInt64(0), Last: stmt.ColumnInt64(1), Forgotten: stmt.ColumnInt64(2),
			Known: !stmt.ColumnIsNull(3), End: stmt.ColumnInt64(4),
		}
		return nil
	}, epoch)
	return state, err
}

// changesAfter reads a page of changes that is not part of a walk.
func changesAfter(
	conn *sqlite.Conn, state store.FeedState, from plant.Position, limit int,
) (changes []plant.Change, err error) {
	rows := plant.Rows[plant.Change]{Limit: limit, Size: plant.Change.JSONSize}
	read := func(stmt *sqlite.Stmt) error {
		c := plant.Change{
			Position: state.After(stmt.ColumnInt64(0), stmt.ColumnInt(1), stmt.ColumnInt(2)),
			ID:       stmt.ColumnInt64(3),
		}
		if stmt.ColumnBool(4) {
			var row store.PlantRow
			if err := plantColumns.scan(stmt, 5, &row); err != nil {
				return err
			}
			c.Plant = new(row.Stored())
		}
		return rows.Add(c)
	}
	err = query(conn, changesQuery, read, from.At, from.Index, limit)
	return rows.Items, err
}

// BeginEpoch implements [store.Store].
func (s *Store) BeginEpoch(ctx context.Context) error {
	return s.write(ctx, func(conn *sqlite.Conn) (err error) {
		known := &content{}
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

// forgetRows is the number of rows that a transaction of ForgetChanges deletes. It
// limits how long other writes wait.
const forgetRows = 500

// ForgetChanges implements [store.Store].
func (s *Store) ForgetChanges(ctx context.Context, before time.Time) error {
	for deleted := math.MaxInt; deleted > 0; {
		err := s.write(ctx, func(conn *sqlite.Conn) error {
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

// content is what this program knows of the file. If another program has replaced the content
// by an earlier one, in a transaction like any other, the next transaction begins an epoch
// before its position, which another one has had. The .restore of sqlite3 raises the version of
// the schema. After other ways to go back, such as statements that delete the rows and insert
// those of a backup, the last transaction of this program is missing.
//
// Reads need no check: what they read has its own epochs, and positions beyond its end are
// not valid.
type content struct{ schema, position, at int64 }

const schemaVersion = "PRAGMA schema_version"

// storeChanges adds the row of a transaction that changes the plants with these IDs. It returns
// the content after it. No epoch begins if known is nil.
func storeChanges(conn *sqlite.Conn, known *content, ids []int64) (now *content, err error) {
	if len(ids) == 0 {
		return known, nil
	}
	now = &content{at: time.Now().UnixMicro()}
	if now.schema, err = number(conn, schemaVersion); err != nil {
		return nil, err
	}
	if known != nil {
		err = execute(conn, beginIfReplacedQuery, now.schema == known.schema, known.position, known.at)
	}
	if err == nil {
		err = execute(conn, "INSERT INTO changes (ids, at) VALUES (?, ?)", jsonOf(ids), now.at)
	}
	now.position = conn.LastInsertRowID()
	return now, err
}
