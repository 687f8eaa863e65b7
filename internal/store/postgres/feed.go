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

// beginWrite begins a transaction that writes plants. At a higher level the statement that
// waits for the lock would fail, instead of reading what the holder has committed.
const beginWrite = `BEGIN ISOLATION LEVEL READ COMMITTED`

// lastPosition is the position of the last transaction. Its row is never deleted.
const lastPosition = `coalesce((SELECT max(position) FROM changes), 0)`

const (
	// storeChanges adds the row of a transaction that has locked the feed.
	storeChanges = `INSERT INTO changes (position, ids, at) VALUES (` + lastPosition + ` + 1, $1, $2)`

	// storeCreated adds the row of a transaction after createPlants, if that has inserted
	// the mark $2.
	storeCreated = `
		INSERT INTO changes (position, ids, at) SELECT ` + lastPosition + ` + 1, $1, at FROM marks WHERE id = $2`

	// selectFeed reads a [store.FeedState]. It returns no row if there is no feed.
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
		return nil, plant.Position{}, errSharded
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
			err := row.Scan(&state.Epoch, &state.Last, &state.Forgotten, &state.Known, &state.End)
			if errors.Is(err, pgx.ErrNoRows) {
				err = permanent{errNoFeed}
			}
			return err
		})
		if walk {
			selected, args := selectionOf(page)
			b.Queue(selectPlants+selected, args...).Query(func(rows pgx.Rows) (err error) {
				plants, more, err = scanPage(rows, limit)
				return err
			})
		} else {
			b.Queue(selectChanges, after.At, max(after.Index, 0), limit).Query(func(rows pgx.Rows) (err error) {
				changes, err = scanChanges(rows, &state)
				return err
			})
		}
		b.Queue(`COMMIT`)
		if err := conn.SendBatch(ctx, &b).Close(); err != nil {
			return err
		}
		var err error
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

var errNoFeed = plant.NoChangesError{
	Reason: "an earlier release created the database: once every server of that release has stopped, " +
		"run plantstore migrate --changes",
}

// scanChanges reads the rows of selectChanges.
func scanChanges(rows pgx.Rows, state *store.FeedState) (changes []plant.Change, err error) {
	var row store.PlantRow
	var position, id int64
	var n, total int
	var found bool
	targets := append([]any{&position, &n, &total, &id, &found}, plantColumns.targets(&row)...)
	_, err = pgx.ForEachRow(rows, targets, func() error {
		c := plant.Change{Position: state.After(position, n, total), ID: id}
		if found {
			c.Plant = new(row.Stored())
		}
		changes = append(changes, c)
		return nil
	})
	return changes, err
}

// confirm returns once every transaction up to a position, which the connection has
// read, will survive a failover to a synchronous standby. PostgreSQL can cancel the wait
// of a transaction for the standby. Readers then see the transaction although no standby
// has it. So confirm commits a write of its own on the same server, which waits until the
// standby has everything before it. The mark of this write has the given id.
func (s *Store) confirm(ctx context.Context, conn *pgx.Conn, epoch, last, id int64) error {
	if _, err := conn.Exec(ctx, mark, id, time.Now().UnixMicro(), true); err != nil {
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
// that lacks it, and draws it again, has a newer epoch; see beginOnServer.
type confirmed struct{ epoch, last int64 }

func (c *confirmed) has(epoch, last int64) bool {
	return c != nil && c.epoch == epoch && c.last >= last
}

// BeginEpoch implements [store.Store].
func (s *Store) BeginEpoch(ctx context.Context) error {
	if s.sharded {
		return nil
	}
	return s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		started, err := serverStart(ctx, conn)
		if err != nil {
			return err
		}
		return s.beginEpoch(ctx, conn, started)
	})
}

// beginEpoch begins an epoch if there is a feed, on a server that started at that time. A
// retry may begin a second one, which does no harm.
func (s *Store) beginEpoch(ctx context.Context, conn *pgx.Conn, started int64) error {
	var b pgx.Batch
	b.Queue(beginWrite)
	b.Queue(lockFeed)
	b.Queue(newEpoch+` HAVING count(*) > 0`, int64(rand.Uint64()))
	b.Queue(`COMMIT`)
	err := conn.SendBatch(ctx, &b).Close()
	if err == nil {
		s.started.Store(started)
	}
	return err
}

// beginOnServer begins an epoch before the first write to a database server that was
// restarted or replaced since this program last began one. If the server was an
// asynchronous standby, it lacks transactions that clients have seen, and the next ones
// get the same positions. The epoch begins before them, so the positions of those
// clients are not valid. If it lacks nothing, no position is beyond the beginning of
// the epoch, and all stay valid. Several programs may each begin an epoch here.
//
// A connection stays on its server, so each is asked once. Behind a pooler it can move
// to another server unnoticed.
func (s *Store) beginOnServer(ctx context.Context, conn *pgx.Conn) error {
	const checked = "plantstore: start of the server checked"
	last, data := s.started.Load(), conn.PgConn().CustomData()
	if last == 0 || data[checked] != nil {
		return nil
	}
	started, err := serverStart(ctx, conn)
	if err == nil && started != 0 && started != last {
		err = s.beginEpoch(ctx, conn, started)
	}
	if err != nil {
		return err
	}
	data[checked] = true
	return nil
}

// serverStart returns when the server of a connection was started, in microseconds since
// 1970, or 0 if the server does not tell it.
func serverStart(ctx context.Context, conn *pgx.Conn) (int64, error) {
	const query = `SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::BIGINT`
	at, err := readNumber(ctx, conn.PgConn(), query)
	if err != nil && !conn.IsClosed() {
		return 0, nil
	}
	return at, err
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

// EnableChanges gives the feed of changes to a database that an earlier release
// created. From then on programs of that release cannot write.
func EnableChanges(ctx context.Context, dsn string) (err error) {
	s, err := Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.sharded {
		return errSharded
	}
	return s.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, readCommitted, func(tx pgx.Tx) error { return enableChanges(ctx, tx) })
	})
}

// feedSchema is the lowest schema version whose program writes changes.
const feedSchema = 2

// enableChanges begins the first epoch, if there is none, and keeps out programs that write no
// changes.
func enableChanges(ctx context.Context, tx pgx.Tx) error {
	var b pgx.Batch
	requireMark(&b, "feeds", feedSchema)
	b.Queue(newEpoch+` HAVING count(*) = 0`, int64(rand.Uint64()))
	return tx.SendBatch(ctx, &b).Close()
}
