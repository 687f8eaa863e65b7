package postgres

import (
	"cmp"
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

// Changed implements [plant.Feed].
func (s *Store) Changed() <-chan struct{} { return s.committed.Wait() }

// Changes implements [plant.Feed].
func (s *Store) Changes(
	ctx context.Context, after *plant.Position, limit int,
) ([]plant.Change, plant.Position, error) {
	defer s.durations.Since(time.Now(), "changes")
	if s.sharded {
		return nil, plant.Position{}, plant.ErrNoChanges
	}
	page, err := s.readPage(ctx, after, limit)
	walkEnded := store.InWalk(after) && len(page.changes) == 0
	if err == nil && walkEnded {
		page, err = s.readPage(ctx, &page.next, limit)
	}
	return page.changes, page.next, err
}

// changesPage is a page of the feed.
type changesPage struct {
	state   store.FeedState
	changes []plant.Change
	next    plant.Position
}

// readPage reads a page of a walk or of the changes after it, and returns it once what it
// has read will survive a failover.
func (s *Store) readPage(ctx context.Context, after *plant.Position, limit int) (page changesPage, err error) {
	confirmMark := int64(0)
	err = s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		confirmed := s.confirmed.Load()
		page, err = readChanges(ctx, conn, after, limit)
		if err != nil || confirmed.has(page.state.Epoch, page.state.Last) {
			return err
		}
		confirmMark = int64(rand.Uint64())
		return s.confirm(ctx, conn, page.state, confirmMark)
	})
	if confirmMark != 0 {
		s.discard(confirmMark) // after the read: it may need a connection, too
	}
	return page, err
}

// readChanges reads a page and the state of the feed in one snapshot and one round trip.
func readChanges(ctx context.Context, conn *pgx.Conn, after *plant.Position, limit int) (changesPage, error) {
	epoch, page := int64(0), plant.Page{Limit: limit}
	if after != nil {
		epoch, page.After = after.Epoch, after.Walk
	}
	var batch pgx.Batch
	batch.Queue(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`)
	batch.Queue(selectFeed, epoch)
	if store.InWalk(after) {
		selected, args := selectionOf(page)
		batch.Queue(selected.list, args...)
	} else {
		batch.Queue(selectChanges, after.At, max(after.Index, 0), limit)
	}
	batch.Queue(`COMMIT`)
	results := conn.SendBatch(ctx, &batch)
	changes, err := scanChangesPage(results, after, limit)
	if closed := results.Close(); err == nil {
		err = closed
	}
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		err = whyNoEpoch(ctx, conn)
	case errors.Is(err, plant.ErrPosition):
		err = permanent{err}
	}
	return changes, err
}

// scanChangesPage reads the results of readChanges.
func scanChangesPage(results pgx.BatchResults, after *plant.Position, limit int) (page changesPage, err error) {
	if _, err := results.Exec(); err != nil { // BEGIN
		return changesPage{}, err
	}
	if page.state, err = scanFeedState(results.QueryRow()); err != nil {
		return changesPage{}, err
	}
	rows, _ := results.Query() // scanChanges and forEachPlant return the error
	if store.InWalk(after) {
		found := plant.Rows[plant.Plant]{Limit: limit, Size: plant.Plant.JSONSize}
		if err := forEachPlant(rows, found.Add); err != nil {
			return changesPage{}, err
		}
		page.changes, page.next, err = page.state.WalkPage(after, found.Items, found.More)
		return page, err
	}
	changes, err := scanChanges(rows, page.state, limit)
	if err != nil {
		return changesPage{}, err
	}
	page.changes, page.next, err = page.state.ChangesPage(*after, changes)
	return page, err
}

// selectFeed reads a [store.FeedState] for the epoch $1. It returns no row if the store is
// sharded.
const selectFeed = `
	SELECT newest.id, last, forgotten, given.number IS NOT NULL,
		coalesce((SELECT began FROM epochs WHERE number > given.number ORDER BY number LIMIT 1), last)
	FROM (
		SELECT forgotten, coalesce((SELECT max(position) FROM changes), 0) AS last FROM feed WHERE id = 1
	) AS feed
	CROSS JOIN (SELECT id FROM epochs ORDER BY number DESC LIMIT 1) AS newest
	LEFT JOIN epochs AS given ON given.id = $1`

// scanFeedState reads the row of selectFeed.
func scanFeedState(row pgx.Row) (state store.FeedState, err error) {
	err = row.Scan(&state.Epoch, &state.Last, &state.Forgotten, &state.Known, &state.End)
	return state, err
}

// errNoFeed means that rows were deleted by hand. BeginEpoch restores them.
var errNoFeed = errors.New("the table feed or the table epochs has no row, which the feed of changes needs: " +
	"restart plantstore, which restores it")

// whyNoEpoch returns the error of a read that has found no state of the feed. A restore may have
// replaced the tables after its snapshot began, which has none of their new rows.
func whyNoEpoch(ctx context.Context, conn *pgx.Conn) error {
	var found bool
	err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM epochs) AND EXISTS (SELECT 1 FROM feed WHERE id = 1)`).Scan(&found)
	if err != nil {
		return err
	}
	if found {
		return errAgain
	}
	sharded, err := isSharded(ctx, conn)
	if sharded {
		return permanent{plant.ErrNoChanges} // the store was distributed meanwhile
	}
	return cmp.Or(err, error(permanent{store.Unavailable(errNoFeed)}))
}

// selectChanges reads at most $3 changes after the position $1, without the first $2. The
// limits inside avoid two costs: reading the plant of a change that is not returned, and
// reading a long array more than once. Who has deleted a plant is in the newest entry of its history,
// if that was kept.
const selectChanges = `
	SELECT position, n, total, plants.id IS NOT NULL,
		changed, plants.name, plants.tag, coalesce(plants.version, 0), plants.created_at, plants.updated_at,
		coalesce(plants.changed_by, (
			SELECT CASE WHEN change = 'deleted' AND history.position >= page.position THEN actor END
			FROM history WHERE (history.id, number) < (changed, 9223372036854775807) AND history.id >= changed
			ORDER BY history.id DESC, number DESC LIMIT 1))
	FROM (
		SELECT position, n, total, changed
		FROM (
			SELECT position, ids, cardinality(ids) AS total FROM changes WHERE position > $1 ORDER BY position LIMIT $3
		) AS later
		CROSS JOIN unnest(ids) WITH ORDINALITY AS each_id (changed, n)
		WHERE position - 1 > $1 OR n > $2 ORDER BY position, n LIMIT $3
	) AS page LEFT JOIN plants ON plants.id = changed
	ORDER BY position, n`

// scanChanges reads the rows of selectChanges.
func scanChanges(rows pgx.Rows, state store.FeedState, limit int) ([]plant.Change, error) {
	page := plant.Rows[plant.Change]{Limit: limit, Size: plant.Change.JSONSize}
	var row store.PlantRow
	var position int64
	var index, total int
	var exists bool
	targets := append([]any{&position, &index, &total, &exists}, plantTargets(&row)...)
	_, err := pgx.ForEachRow(rows, targets, func() error {
		change := plant.Change{Position: state.After(position, index, total), ID: row.ID, ChangedBy: row.ChangedBy}
		if exists {
			change.Plant = new(row.Stored())
		}
		return page.Add(change)
	})
	return page.Items, pageError(err)
}

// confirm returns once every transaction up to a position, which the connection has
// read, will survive a failover to a synchronous standby. PostgreSQL can cancel the wait
// of a transaction for the standby. Readers then see the transaction although no standby
// has it. So confirm commits a write of its own on the same server, which waits until the
// standby has everything before it. This write has the given mark.
func (s *Store) confirm(ctx context.Context, conn *pgx.Conn, state store.FeedState, mark int64) error {
	var batch pgx.Batch
	beginWrite(&batch)
	batch.Queue(insertMark, mark, time.Now().UnixMicro(), true)
	batch.Queue(`COMMIT`)
	if err := conn.SendBatch(ctx, &batch).Close(); err != nil {
		return err
	}
	for {
		before := s.confirmed.Load()
		now := &confirmed{epoch: state.Epoch, last: state.Last}
		if before.has(now.epoch, now.last) || s.confirmed.CompareAndSwap(before, now) {
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

// beginIfReplaced begins an epoch in the transaction with the mark $5, which has locked
// the feed, unless the database has the [content] $2, $3 and $4.
const beginIfReplaced = `
	INSERT INTO epochs (number, id, began)
	SELECT coalesce((SELECT max(number) FROM epochs), 0) + 1, $1, coalesce((SELECT max(position) FROM changes), 0)
	WHERE EXISTS (SELECT 1 FROM marks WHERE id = $5) AND NOT EXISTS (
		SELECT 1 FROM epochs WHERE id = $2 AND xmin::TEXT = $3 AND pg_postmaster_start_time() = $4)
	RETURNING xmin::TEXT, pg_postmaster_start_time()`

const lockFeed = `SELECT id FROM feed WHERE id = 1 FOR UPDATE`

// restoreFeed inserts the row of feed if it was deleted by hand. Positions have no gaps, so those
// before the first row of changes are the forgotten ones.
const restoreFeed = `
	INSERT INTO feed (id, forgotten) SELECT 1, coalesce((SELECT min(position) FROM changes), 1) - 1
	ON CONFLICT (id) DO NOTHING`

// newEpoch begins an epoch with the random number $1.
const newEpoch = `
	INSERT INTO epochs (number, id, began)
	SELECT coalesce(max(number), 0) + 1, $1, coalesce((SELECT max(position) FROM changes), 0) FROM epochs`

// BeginEpoch implements [store.Store]. A retry may begin a second epoch, which does no harm.
func (s *Store) BeginEpoch(ctx context.Context) error {
	if s.sharded {
		return nil
	}
	return s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		begun, err := beginEpoch(ctx, conn)
		if begun != nil {
			s.content.Store(begun)
		}
		return err
	})
}

// beginEpoch begins an epoch and returns the content that has it: nil if the server is not
// PostgreSQL and does not tell.
func beginEpoch(ctx context.Context, conn *pgx.Conn) (*content, error) {
	begun := &content{epoch: int64(rand.Uint64())}
	var batch pgx.Batch
	beginWrite(&batch)
	batch.Queue(restoreFeed)
	batch.Queue(lockFeed)
	batch.Queue(newEpoch, begun.epoch)
	batch.Queue(`COMMIT`)
	if err := conn.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, err
	}
	row := conn.QueryRow(ctx, `SELECT xmin::TEXT, pg_postmaster_start_time() FROM epochs WHERE id = $1`, begun.epoch)
	err := row.Scan(&begun.xmin, &begun.started)
	if err == nil {
		return begun, nil
	}
	if errors.Is(err, pgx.ErrNoRows) {
		err = errAgain // a restore has replaced the tables
	}
	if notAsNeeded(code(err)) {
		return nil, nil
	}
	return nil, err
}

// renewEpochs makes all positions invalid: the plants were replaced without rows in
// changes. $1 is a random number.
const renewEpochs = `UPDATE epochs SET id = $1 + number`

// storeChanges adds the row of a transaction that has locked the feed.
const storeChanges = `
	INSERT INTO changes (position, ids, at)
	VALUES (coalesce((SELECT max(position) FROM changes), 0) + 1, $1, $2)`

// storeCreated adds the row of a transaction after createPlants, if that has inserted
// the mark $2.
const storeCreated = `
	INSERT INTO changes (position, ids, at)
	SELECT coalesce((SELECT max(position) FROM changes), 0) + 1, $1, at FROM marks WHERE id = $2`

// selectOldest reads which positions are forgotten, the last position, and the first
// of the next $2 transactions that is not older than $1.
const selectOldest = `
	SELECT forgotten, coalesce((SELECT max(position) FROM changes), 0), (
		SELECT position FROM changes
		WHERE position > forgotten AND position <= forgotten + $2 AND at >= $1 ORDER BY position LIMIT 1)
	FROM feed WHERE id = 1`

// forgetEpochs deletes the epochs whose positions have all been forgotten.
const forgetEpochs = `
	DELETE FROM epochs WHERE number < (
		SELECT max(number) FROM epochs WHERE began < (SELECT forgotten FROM feed WHERE id = 1))`

// forgetRows is the number of rows that ForgetChanges deletes at once.
const forgetRows = 500

// ForgetChanges implements [store.Store].
func (s *Store) ForgetChanges(ctx context.Context, before time.Time) error {
	if s.sharded {
		return nil
	}
	for more := true; more; {
		err := s.read(ctx, func(ctx context.Context, conn *pgx.Conn) (err error) {
			more, err = forgetSome(ctx, conn, before)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// forgetSome forgets at most forgetRows transactions. It returns false if no older one is left.
func forgetSome(ctx context.Context, conn *pgx.Conn, before time.Time) (more bool, err error) {
	var forgotten, last int64
	var kept *int64
	row := conn.QueryRow(ctx, selectOldest, before.UnixMicro(), int64(forgetRows))
	if err := row.Scan(&forgotten, &last, &kept); err != nil {
		return false, err
	}
	upto := forgotten + forgetRows // positions have no gaps
	if kept != nil {
		upto = *kept - 1
	}
	upto = min(upto, last-1) // the next position is the last one plus 1
	if upto <= forgotten {
		_, err := conn.Exec(ctx, forgetEpochs)
		return false, err
	}
	// A reader must know that changes were forgotten before they are deleted.
	_, err = conn.Exec(ctx, `UPDATE feed SET forgotten = $1 WHERE id = 1 AND forgotten < $1`, upto)
	if err != nil {
		return false, err
	}
	_, err = conn.Exec(ctx, `DELETE FROM changes WHERE position <= $1`, upto)
	return true, err
}
