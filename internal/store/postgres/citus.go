package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"github.com/jackc/pgx/v5"

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
//   - a transaction can appear on one shard before it appears on another, so there is
//     no order of commits, and no feed of changes.

// isSharded reports whether the table plants is sharded.
func isSharded(ctx context.Context, conn *pgx.Conn) (sharded bool, err error) {
	err = conn.QueryRow(ctx, `SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL`).Scan(&sharded)
	if code(err) == undefinedFunction { // not PostgreSQL, but compatible with it
		return false, nil
	}
	if err != nil || !sharded {
		return false, err
	}
	err = conn.QueryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid IN (to_regclass('plants'), to_regclass($1)))`,
		"plants"+hiddenSuffix).Scan(&sharded)
	return sharded, err
}

// checkWorkers is checkDurable for the workers that respond.
func checkWorkers(ctx context.Context, conn *pgx.Conn) error {
	var worker string
	err := conn.QueryRow(ctx, `
		SELECT format('%s:%s', nodename, nodeport) FROM run_command_on_workers('SHOW synchronous_commit')
		WHERE success AND result = 'off' LIMIT 1`).Scan(&worker)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err == nil {
		err = notDurable("worker " + worker)
	}
	return err
}

var errPrepared = errors.New("transactions are still prepared on a worker, or a worker does not respond: " +
	"start every worker, stop all writes, and wait for citus.recover_2pc_interval")

// waitForPrepared returns once no transaction is prepared on a worker. A worker that
// crashes can have a part of an acknowledged transaction prepared until the coordinator
// commits it, after citus.recover_2pc_interval. No snapshot has this part.
func waitForPrepared(ctx context.Context, conn *pgx.Conn) error {
	const prepared = `SELECT EXISTS (SELECT FROM run_command_on_workers(
		'SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()')
		WHERE NOT success OR result <> '0')`
	limited, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	for wait := newBackoff(); ; {
		var some bool
		err := conn.QueryRow(limited, prepared).Scan(&some)
		switch {
		case err == nil && !some:
			return nil
		case err != nil && limited.Err() == nil:
			return err
		case limited.Err() != nil || !wait.sleep(limited):
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
	return s.on(ctx, func(ctx context.Context, conn *pgx.Conn) error {
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
		// opened before succeeds: it has the wrong statements. Programs of the first
		// release leave feeds out.
		`ALTER TABLE marks ADD CONSTRAINT marks_of_sharded_store CHECK (feeds IS NOT NULL AND NOT feeds)`,
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
	if c := code(err); s.sharded && len(c) == 5 {
		switch c[:2] {
		case "08", "57", "58", "XX":
			return unknown
		}
	}
	return fateOf(err)
}

// errSharded is why a sharded store has no feed of changes.
var errSharded = plant.NoChangesError{
	Reason: "its plants are spread over several servers, which have no common order of commits",
}

var (
	plantMembers = plantColumns.without("id")
	lockOne      = selectPlant + ` FOR UPDATE`
	updateOne    = `UPDATE plants SET ` + plantMembers.each("NAME = $NUMBER", ", ") + `
		WHERE id = ` + plantMembers.next(1)
	deleteOne = `DELETE FROM plants WHERE id = $1`
)

// updateArgs returns the arguments of updateOne.
func updateArgs(row store.PlantRow) []any {
	return append(plantMembers.values([]store.PlantRow{row}), row.ID)
}

// maxRows is the number of rows that a statement inserts at most.
const maxRows = 512

// insertRows queues the statements that insert rows. The number of rows of a
// statement is a power of two, so that there are few statements to prepare.
func insertRows[R any](b *pgx.Batch, table string, cs columns[R], rows []R) {
	for len(rows) > 0 {
		n := min(maxRows, 1<<(bits.Len(uint(len(rows)))-1))
		var values strings.Builder
		for i := range n * len(cs) {
			if i > 0 && i%len(cs) == 0 {
				values.WriteString("), (")
			} else if i > 0 {
				values.WriteString(", ")
			}
			fmt.Fprint(&values, "$", i+1)
		}
		b.Queue(`INSERT INTO `+table+` (`+cs.names()+`) VALUES (`+values.String()+`)`, cs.values(rows[:n])...)
		rows = rows[n:]
	}
}

// lockSharded queues the statements that lock plants in a sharded store, one after the
// other, and call found with the rows of each.
func lockSharded(b *pgx.Batch, ids []int64, found func(pgx.Rows) error) {
	for _, id := range ids {
		b.Queue(lockOne, id).Query(found)
	}
}

// writeSharded queues the statements that write plants in a sharded store.
func writeSharded(b *pgx.Batch, all store.Effect) {
	for _, id := range all.Remove {
		b.Queue(deleteOne, id)
	}
	for _, row := range all.Update {
		b.Queue(updateOne, updateArgs(row)...)
	}
	insertRows(b, "plants", plantColumns, all.Insert)
}
