package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// Citus is an extension of PostgreSQL that spreads the rows of a table over several
// servers, the workers, by the hash of a column. A part is called a shard. Clients
// connect to the coordinator. Here plants and marks are sharded by their IDs, and
// each worker has all tokens. The other tables stay on the coordinator.
//
// Such a store has statements of its own, because with Citus 13:
//   - SELECT … FOR UPDATE works on one shard only. So each plant is locked by a
//     statement of its own, which finds the shard by the ID.
//   - INSERT … SELECT FROM unnest is not atomic when a worker crashes: of nine
//     crashes under load, two tore acknowledged batches. INSERT … VALUES is atomic.
//   - a recursive query is not possible, so each tag of a list is a query.
//   - a lateral join with OFFSET is not possible, so a search joins as the planner likes.
//   - a transaction can appear on one shard before it appears on another, so there is
//     no order of commits, no feed of changes, and no history. A plant has the name of who
//     stored it.

// isSharded reports whether the table plants is sharded.
func isSharded(ctx context.Context, conn *pgx.Conn) (sharded bool, err error) {
	var hasCitus bool // pg_dist_partition is its catalog of sharded tables
	err = conn.QueryRow(ctx, `SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL`).Scan(&hasCitus)
	if code(err) == undefinedFunction { // not PostgreSQL, but compatible with it
		return false, nil
	}
	if err != nil || !hasCitus {
		return false, err
	}
	err = conn.QueryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = to_regclass('plants'))`).Scan(&sharded)
	return sharded, err
}

// checkWorkers returns an error if a worker that responds acknowledges commits that a crash can
// undo: what beginWrite sets does not reach the workers.
func checkWorkers(ctx context.Context, conn *pgx.Conn) error {
	var worker string
	err := conn.QueryRow(ctx, `
		SELECT format('%s:%s', nodename, nodeport) FROM run_command_on_workers('SHOW synchronous_commit')
		WHERE success AND result = 'off' LIMIT 1`).Scan(&worker)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("synchronous_commit is off, so a crash of worker %s would lose acknowledged writes: set it to on", worker)
	}
	return err
}

var errPrepared = errors.New("transactions are still prepared on a worker, or a worker does not respond: " +
	"start every worker, stop all writes, and wait for citus.recover_2pc_interval")

// noteWarning records that the coordinator has sent a warning. It acknowledges a commit of
// which it has lost a worker between the two phases, and only warns about it.
func noteWarning(conn *pgconn.PgConn, notice *pgconn.Notice) {
	if notice.SeverityUnlocalized == "WARNING" {
		conn.CustomData()[warning] = true
	}
}

const warning = "plantstore.warning"

// waitForPrepared returns once no transaction is prepared on a worker that was prepared
// before the call. If a worker or its connection is lost, a part of a transaction that the
// coordinator has acknowledged stays prepared until the coordinator commits it, after
// citus.recover_2pc_interval. Until then, no statement sees this part.
func waitForPrepared(ctx context.Context, conn *pgx.Conn) error {
	const prepared = `SELECT EXISTS (SELECT FROM run_command_on_workers(format(
		'SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()
			AND prepared < now() - %s * interval ''1 millisecond''', $1::BIGINT))
		WHERE NOT success OR result <> '0')`
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	for attempts := 1; ; attempts++ {
		var found bool
		err := conn.QueryRow(limited, prepared, time.Since(began).Milliseconds()).Scan(&found)
		if err == nil && !found {
			return nil
		}
		if err != nil && limited.Err() == nil {
			return err
		}
		if !pause(limited, attempts) {
			return cmp.Or(ctx.Err(), errPrepared)
		}
	}
}

// ErrNoCitus means that a database cannot be distributed.
var ErrNoCitus = errors.New("the database does not have the extension citus: " +
	"install Citus on every server, add the workers with citus_add_node, " +
	"and run CREATE EXTENSION citus in the database of each")

// Distribute shards the tables over the workers of a database with the extension
// Citus. A store that was opened before cannot write afterwards, and has no feed of
// changes. Distribute does nothing if all is done, and completes what was interrupted.
func Distribute(ctx context.Context, dsn string) (err error) {
	s, err := Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.withConnection(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		if !s.sharded {
			if err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return shard(ctx, tx) }); err != nil {
				return err
			}
		}
		// The rows are on the workers. Citus leaves them on the coordinator as well,
		// where no statement finds them.
		_, err := conn.Exec(ctx, `SELECT truncate_local_data_after_distributing_table(logicalrelid)
			FROM pg_dist_partition WHERE logicalrelid IN ('plants'::regclass, 'tokens'::regclass)`)
		return err
	})
}

// shard shards the tables of an open store in a transaction.
func shard(ctx context.Context, tx pgx.Tx) error {
	var installed bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus')`).Scan(&installed)
	if err != nil {
		return err
	}
	if !installed {
		return ErrNoCitus
	}
	for _, statement := range []string{
		// In the order of the writers, or one that has locked plants could wait for marks
		// while this transaction waits for plants.
		`LOCK TABLE plants, tokens, marks IN ACCESS EXCLUSIVE MODE`,
		`DELETE FROM marks`,
		// Every write inserts a mark before its commit. So no write of a store that was
		// opened before succeeds: it has the wrong statements.
		`ALTER TABLE marks ADD CONSTRAINT marks_of_sharded_store CHECK (NOT feeds)`,
		`DELETE FROM epochs`, // ends the feed of a store that was opened before
		`SELECT create_distributed_table('plants', 'id')`,
		`SELECT create_distributed_table('marks', 'id', colocate_with => 'plants')`,
		`SELECT create_reference_table('tokens')`,
	} {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// fateOf is like the function fateOf, which trusts an ERROR. The coordinator of a
// sharded store reports an ERROR also if a worker was lost during its commit.
func (s *Store) fateOf(err error) fate {
	if s.sharded && slices.Contains([]string{"08", "57", "58", "XX"}, class(code(err))) {
		return unknown
	}
	return fateOf(err)
}

const deleteOne = `DELETE FROM plants WHERE id = $1`

const lockOne = `
	SELECT id, name, tag, version, created_at, updated_at, changed_by
	FROM plants WHERE id = $1 FOR UPDATE`

// updateOne does not set the id, which Citus refuses.
const updateOne = `
	UPDATE plants
	SET name = $2, tag = $3, version = $4, created_at = $5, updated_at = $6, name_key = $7, changed_by = $8
	WHERE id = $1`

// plantValues returns the arguments of updateOne.
func plantValues(row store.PlantRow) []any {
	return []any{
		row.ID, []byte(row.Name), optionalBytes(row.Tag), row.Version,
		row.CreatedAt.UnixMicro(), row.UpdatedAt.UnixMicro(), []byte(row.NameKey), []byte(row.ChangedBy),
	}
}

// maxRows is the number of rows that a statement inserts at most.
const maxRows = 512

// queueInserts queues the statements that insert rows without unnest. The number of rows of a
// statement is a power of two, so that there are few statements to prepare.
func queueInserts(batch *pgx.Batch, rows []store.PlantRow) {
	for len(rows) > 0 {
		count := min(maxRows, 1<<(bits.Len(uint(len(rows)))-1))
		var arguments []any
		var parameters []string
		for i, row := range rows[:count] {
			arguments = append(arguments, plantValues(row)...)
			parameters = append(parameters, fmt.Sprintf("($%d, $%d, $%d, $%d, $%d, $%d, $%d, $%d)",
				8*i+1, 8*i+2, 8*i+3, 8*i+4, 8*i+5, 8*i+6, 8*i+7, 8*i+8))
		}
		batch.Queue(`
			INSERT INTO plants (id, name, tag, version, created_at, updated_at, name_key, changed_by)
			VALUES `+strings.Join(parameters, ", "), arguments...)
		rows = rows[count:]
	}
}

// writeSharded is writePlants for a sharded store.
func writeSharded(batch *pgx.Batch, effect store.Effect) {
	for _, row := range effect.Update {
		batch.Queue(updateOne, plantValues(row)...)
	}
	queueInserts(batch, effect.Insert)
	for _, id := range effect.Remove {
		batch.Queue(deleteOne, id)
	}
	if len(effect.Forget) > 0 { // a copy may have brought it
		batch.Queue(forgetHistoryOf, effect.Forget)
	}
}

// maxTagsSharded is the largest number of tags in a page of a sharded store. A query takes
// some 8 ms.
const maxTagsSharded = 100

// listTagsSharded is listTags for a sharded store.
func listTagsSharded(ctx context.Context, conn *pgx.Conn, page plant.TagPage) (tags []string, err error) {
	const first = `SELECT tag FROM plants WHERE tag >= $1 AND tag < $2 ORDER BY tag LIMIT 1`
	for len(tags) <= page.Limit {
		var tag string
		from, until := page.Range()
		err := conn.QueryRow(ctx, first, []byte(from), []byte(until)).Scan((*text)(&tag))
		if errors.Is(err, pgx.ErrNoRows) {
			return tags, nil
		}
		if err != nil {
			return nil, err
		}
		tags, page.After = append(tags, tag), &tag
	}
	return tags, nil
}
