package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// The feed of changes. Each transaction that changes plants locks the row of the
// table feed after it has written them, draws the next position and adds a row to
// the table changes. The lock ends with the commit, so a reader never sees a position
// appear after a higher one. The order "plants, then feed" is the same in every
// transaction, and the holder of the lock waits for nothing else: the statements up to
// the COMMIT are on their way already.
//
// The position is the highest one in changes plus 1, read by a statement that begins
// when the lock is held. A counter in the table feed would be simpler. But every
// update leaves a dead row, and while a long transaction such as pg_dump runs,
// PostgreSQL keeps these rows and each later update has to pass over all of them.

// lastPosition is the position of the last transaction. Its row is never deleted.
const lastPosition = `coalesce((SELECT max(position) FROM changes), 0)`

const (
	// storeChanges adds the row of a transaction that has locked the feed.
	storeChanges = `INSERT INTO changes (position, ids, at) VALUES (` + lastPosition + ` + 1, $1, $2)`

	// storeCreated adds the row of a transaction after createPlants, if that has inserted
	// the mark $2.
	storeCreated = `
		INSERT INTO changes (position, ids, at) SELECT ` + lastPosition + ` + 1, $1, at FROM marks WHERE id = $2`

	// selectFeed reads a [store.FeedState]. It returns no row if the store is sharded.
	selectFeed = `
		SELECT newest.id, last, forgotten, given.number IS NOT NULL,
			coalesce((SELECT began FROM epochs WHERE number > given.number ORDER BY number LIMIT 1), last)
		FROM (SELECT forgotten, ` + lastPosition + ` AS last FROM feed WHERE id = 1) AS feed
		CROSS JOIN (SELECT id FROM epochs ORDER BY number DESC LIMIT 1) AS newest
		LEFT JOIN epochs AS given ON given.id = $1`

	lockFeed = `SELECT id FROM feed WHERE id = 1 FOR UPDATE`

	// newEpoch begins an epoch with the random number $1.
	newEpoch = `
		INSERT INTO epochs (number, id, began)
		SELECT coalesce(max(number), 0) + 1, $1, ` + lastPosition + ` FROM epochs`

	// beginIfReplaced begins an epoch in the transaction with the mark $5, which has locked
	// the feed, unless the database has the [content] $2, $3 and $4.
	beginIfReplaced = `
		INSERT INTO epochs (number, id, began)
		SELECT (SELECT max(number) FROM epochs) + 1, $1, ` + lastPosition + `
		WHERE EXISTS (SELECT 1 FROM marks WHERE id = $5) AND NOT EXISTS (
			SELECT 1 FROM epochs WHERE id = $2 AND xmin::TEXT = $3 AND pg_postmaster_start_time() = $4)
		RETURNING xmin::TEXT, pg_postmaster_start_time()`

	// renewEpochs makes all positions invalid: the plants were replaced without rows in
	// changes. $1 is a random number.
	renewEpochs = `UPDATE epochs SET id = $1 + number`

	// selectOldest reads which positions are forgotten, the last position, and the first
	// of the next $2 transactions that is not older than $1.
	selectOldest = `
		SELECT forgotten, ` + lastPosition + `, (
			SELECT position FROM changes
			WHERE position > forgotten AND position <= forgotten + $2 AND at >= $1 ORDER BY position LIMIT 1)
		FROM feed WHERE id = 1`

	// forgetEpochs deletes the epochs whose positions have all been forgotten.
	forgetEpochs = `
		DELETE FROM epochs WHERE number < (
			SELECT max(number) FROM epochs WHERE began < (SELECT forgotten FROM feed WHERE id = 1))`
)

// selectChanges reads at most $3 changes after the position $1, without the first $2. The
// limits inside avoid two costs: reading the plant of a change that is not returned, and
// reading a long array more than once.
var selectChanges = `
	SELECT position, n, total, changed, plants.id IS NOT NULL, ` + plantColumns.each("plants.NAME", ", ") + ` FROM (
		SELECT position, n, total, changed
		FROM (
			SELECT position, ids, cardinality(ids) AS total FROM changes WHERE position > $1 ORDER BY position LIMIT $3
		) AS later
		CROSS JOIN unnest(ids) WITH ORDINALITY AS each_id (changed, n)
		WHERE position - 1 > $1 OR n > $2 ORDER BY position, n LIMIT $3
	) AS page LEFT JOIN plants ON plants.id = changed
	ORDER BY position, n`

// Changed implements [plant.Feed].
func (s *Store) Changed() <-chan struct{} { return s.committed.Wait() }

// Changes implements [plant.Feed].
func (s *Store) Changes(ctx context.Context, after *plant.Position, limit int) ([]plant.Change, plant.Position, error) {
	defer s.durations.Since(time.Now(), "changes")
	return s.changes(ctx, after, limit)
}

func (s *Store) changes(ctx context.Context, after *plant.Position, limit int) (
	changes []plant.Change, next plant.Position, err error,
) {
	if s.sharded {
		return nil, plant.Position{}, plant.ErrNoChanges
	}
	walk, marked := after == nil || after.Walk != nil, int64(0)
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		epoch, page := int64(0), plant.Page{Limit: limit}
		if after != nil {
			epoch, page.After = after.Epoch, after.Walk
		}
		before := s.confirmed.Load()
		var state store.FeedState
		var plants []plant.Plant
		more := false
		changes = nil
		var b pgx.Batch
		b.Queue(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`) // one snapshot for both statements
		b.Queue(selectFeed, epoch).QueryRow(func(row pgx.Row) error {
			return row.Scan(&state.Epoch, &state.Last, &state.Forgotten, &state.Known, &state.End)
		})
		if walk {
			selected, args := selectionOf(page)
			b.Queue(selectPlants+selected, args...).Query(func(rows pgx.Rows) (err error) {
				plants, more, err = scanPage(rows, limit)
				return err
			})
		} else {
			b.Queue(selectChanges, after.At, max(after.Index, 0), limit).Query(func(rows pgx.Rows) (err error) {
				changes, err = scanChanges(rows, &state, limit)
				return err
			})
		}
		b.Queue(`COMMIT`)
		err := conn.SendBatch(ctx, &b).Close()
		if errors.Is(err, pgx.ErrNoRows) {
			err = whyNoEpoch(ctx, conn)
		}
		if err != nil {
			return err
		}
		if changes, next, err = state.Page(after, plants, more, changes); err != nil {
			return permanent{err}
		}
		if !before.has(state.Epoch, state.Last) {
			marked = int64(rand.Uint64())
			return s.confirm(ctx, conn, state.Epoch, state.Last, marked)
		}
		return nil
	})
	if marked != 0 {
		s.discard(marked) // after the read: it may need a connection, too
	}
	if err == nil && walk && len(changes) == 0 {
		return s.changes(ctx, &next, limit) // the walk has ended
	}
	return changes, next, err
}

// whyNoEpoch returns the error of a read that has found no epoch. A restore may have replaced
// the tables after its snapshot began, which has none of their new rows.
func whyNoEpoch(ctx context.Context, conn *pgx.Conn) error {
	var found bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM epochs)`).Scan(&found); err != nil {
		return err
	}
	if found {
		return errAgain
	}
	return permanent{plant.ErrNoChanges} // the store was distributed meanwhile
}

// scanChanges reads the rows of selectChanges.
func scanChanges(rows pgx.Rows, state *store.FeedState, limit int) ([]plant.Change, error) {
	page := plant.Rows[plant.Change]{Limit: limit, Size: plant.Change.JSONSize}
	var row store.PlantRow
	var position, id int64
	var n, total int
	var found bool
	targets := append([]any{&position, &n, &total, &id, &found}, plantColumns.targets(&row)...)
	_, err := pgx.ForEachRow(rows, targets, func() error {
		c := plant.Change{Position: state.After(position, n, total), ID: id}
		if found {
			c.Plant = new(row.Stored())
		}
		return page.Add(c)
	})
	return page.Items, pageError(err)
}

// confirm returns once every transaction up to a position, which the connection has
// read, will survive a failover to a synchronous standby. PostgreSQL can cancel the wait
// of a transaction for the standby. Readers then see the transaction although no standby
// has it. So confirm commits a write of its own on the same server, which waits until the
// standby has everything before it. The mark of this write has the given id.
func (s *Store) confirm(ctx context.Context, conn *pgx.Conn, epoch, last, id int64) error {
	var b pgx.Batch
	beginWrite(&b)
	b.Queue(mark, id, time.Now().UnixMicro(), true)
	b.Queue(`COMMIT`)
	if err := conn.SendBatch(ctx, &b).Close(); err != nil {
		return err
	}
	for {
		before := s.confirmed.Load()
		if before.has(epoch, last) || s.confirmed.CompareAndSwap(before, &confirmed{epoch, last}) {
			return nil
		}
	}
}

// confirmed is a position that was confirmed while the epoch was the newest one. A server
// that lacks it, and draws it again, has a newer epoch; see content.
type confirmed struct{ epoch, last int64 }

func (c *confirmed) has(epoch, last int64) bool {
	return c != nil && c.epoch == epoch && c.last >= last
}

// content identifies what the database holds, by the row of an epoch that this program has
// begun, or by a later one. Each transaction that changes plants looks for that row, and begins
// an epoch if it is missing, was stored again, or is on a server that was started later:
//
//   - A backup was restored while this program was running. Even if it has the epoch, the rows
//     that pg_restore stores have another xmin, which is the number of the transaction.
//   - The server was an asynchronous standby, and lacks transactions that clients have seen.
//
// The next transactions get the same positions as those that are gone. The epoch begins before
// them, so the positions of clients that have seen these are not valid. If nothing is gone, no
// position is beyond the beginning of the epoch, and all stay valid. Several programs may each
// begin an epoch.
//
// To compare the last position with the one that this program knows would not be enough: it
// need not know the last one that another program has returned to a client.
type content struct {
	epoch   int64
	xmin    string
	started time.Time // the server
}

// beginIfReplaced queues the statement of the same name. If it begins an epoch, found gets the
// content. Nothing is queued if the content is not known.
func (known *content) beginIfReplaced(b *pgx.Batch, mark int64, found **content) {
	if known == nil {
		return
	}
	now := &content{epoch: int64(rand.Uint64())}
	b.Queue(beginIfReplaced, now.epoch, known.epoch, known.xmin, known.started, mark).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&now.xmin, &now.started}, func() error { *found = now; return nil })
		return err
	})
}

// BeginEpoch implements [store.Store]. A retry may begin a second epoch, which does no harm.
func (s *Store) BeginEpoch(ctx context.Context) error {
	if s.sharded {
		return nil
	}
	return s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		now := &content{epoch: int64(rand.Uint64())}
		var b pgx.Batch
		beginWrite(&b)
		b.Queue(lockFeed)
		b.Queue(newEpoch+` HAVING count(*) > 0`, now.epoch)
		b.Queue(`COMMIT`)
		if err := conn.SendBatch(ctx, &b).Close(); err != nil {
			return err
		}
		row := conn.QueryRow(ctx, `SELECT xmin::TEXT, pg_postmaster_start_time() FROM epochs WHERE id = $1`, now.epoch)
		err := row.Scan(&now.xmin, &now.started)
		if errors.Is(err, pgx.ErrNoRows) {
			err = whyNoEpoch(ctx, conn)
		}
		switch {
		case err == nil:
			s.content.Store(now)
		case notAsNeeded(code(err)), errors.Is(err, plant.ErrNoChanges): // not PostgreSQL, or without a feed
			return nil
		}
		return err
	})
}

// forgetRows is the number of rows that ForgetChanges deletes at once.
const forgetRows = 500

// ForgetChanges implements [store.Store].
func (s *Store) ForgetChanges(ctx context.Context, before time.Time) error {
	if s.sharded {
		return nil
	}
	for {
		var forgotten, last, upto int64
		err := s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			var kept *int64
			row := conn.QueryRow(ctx, selectOldest, before.UnixMicro(), int64(forgetRows))
			if err := row.Scan(&forgotten, &last, &kept); err != nil {
				return err
			}
			upto = forgotten + forgetRows // positions have no gaps
			if kept != nil {
				upto = *kept - 1
			}
			upto = min(upto, last-1) // the next position is the last one plus 1
			if upto <= forgotten {
				_, err := conn.Exec(ctx, forgetEpochs)
				return err
			}
			// A reader must know that changes were forgotten before they are deleted.
			_, err := conn.Exec(ctx, `UPDATE feed SET forgotten = $1 WHERE id = 1 AND forgotten < $1`, upto)
			if err != nil {
				return err
			}
			_, err = conn.Exec(ctx, `DELETE FROM changes WHERE position <= $1`, upto)
			return err
		})
		if err != nil || upto <= forgotten {
			return err
		}
	}
}
