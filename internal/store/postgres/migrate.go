package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// The migrations make the schema, in the order of their numbers. Each is applied
// once, in a transaction. A released file is never edited: add the next number.
//
// In a rolling upgrade, servers of the previous release run on the new schema, and
// some of them start on it. So a migration only adds tables, indexes and columns
// that may be NULL or have a default. A table or column that is no longer used is
// dropped one release after the first release that does not use it; that
// migration also raises oldest.
//
//go:embed migrations/*.sql
var migrations embed.FS

var schema = store.Migrations(migrations)

// oldest is the lowest schema version whose program can run on this schema.
const oldest = 1

// The ids of the rows of plantstore_schema.
const (
	versionRow = 1 // the number of migrations that were applied
	oldestRow  = 2 // oldest, written by the program that applied the last migration
	namesRow   = 3 // the version of the keys of all names; see NameKeyVersion of package plant
)

// migrate applies the migrations that the database lacks, and returns the number
// of migrations before and after. Any number of programs may call it at the same
// time. It refuses a database that a newer program has migrated if this program cannot
// run on the schema; see [checkOldest].
//
// A row serves as the lock. CockroachDB has no advisory locks, and pgbouncer does
// not support them; the lock on a row ends with the connection of its holder.
func migrate(ctx context.Context, conn *pgx.Conn) (found, now int, err error) {
	found, err = number(ctx, conn, versionRow, "")
	switch {
	case code(err) == undefinedTable || errors.Is(err, pgx.ErrNoRows):
		if err := begin(ctx, conn); err != nil {
			return 0, 0, schemaError{have: 0, need: len(schema), error: err}
		}
		found = 0
	case err != nil:
		return found, found, err
	}
	if found > len(schema) {
		return found, found, checkOldest(ctx, conn, found)
	}
	if found == len(schema) { // so a usual start needs no privilege to change the schema
		return found, found, nil
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return apply(ctx, tx) })
	if err != nil {
		return 0, 0, schemaError{have: found, need: len(schema), error: err}
	}
	return found, len(schema), nil
}

// apply applies the migrations that the database lacks.
func apply(ctx context.Context, tx pgx.Tx) error {
	have, err := number(ctx, tx.Conn(), versionRow, ` FOR UPDATE`)
	if err != nil {
		return err
	}
	if have > len(schema) {
		return checkOldest(ctx, tx.Conn(), have)
	}
	for i, script := range schema[have:] {
		// Each statement is sent alone, because the workers of Citus refuse several in one query.
		// The text after the last semicolon is empty, which PgConn.Exec accepts.
		for statement := range strings.SplitSeq(script, ";\n") {
			if _, err := tx.Conn().PgConn().Exec(ctx, statement).ReadAll(); err != nil {
				return fmt.Errorf("migration %d: %w", have+i+1, err)
			}
		}
	}
	if _, err := tx.Exec(ctx, setNumber, versionRow, len(schema)); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, raiseNumber, oldestRow, oldest); err != nil {
		return err
	}
	if have > 0 {
		return nil
	}
	const firstEpoch = `INSERT INTO epochs (number, id, began) VALUES (1, $1, 0)`
	if _, err := tx.Exec(ctx, firstEpoch, int64(rand.Uint64())); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, setNumber, namesRow, plant.NameKeyVersion)
	return err
}

// setNumber sets a number of plantstore_schema.
const setNumber = `
	INSERT INTO plantstore_schema (id, version) VALUES ($1, $2)
	ON CONFLICT (id) DO UPDATE SET version = $2`

// raiseNumber sets a number of plantstore_schema unless it is higher.
const raiseNumber = `
	INSERT INTO plantstore_schema (id, version) VALUES ($1, $2)
	ON CONFLICT (id) DO UPDATE SET version = greatest(plantstore_schema.version, excluded.version)`

// schemaError means that the migrations could not be applied.
type schemaError struct {
	have, need int
	error
}

func (e schemaError) Unwrap() error { return e.error }

// tables are the tables that the program reads and writes.
var tables = []string{"plants", "tokens", "marks", "changes", "feed", "epochs", "history"}

// checkPrivileges returns an error that names the privileges that the user lacks.
// Without it, the first request would fail.
func checkPrivileges(ctx context.Context, conn *pgx.Conn) error {
	var lacking string
	err := conn.QueryRow(ctx, `
		SELECT coalesce(string_agg(privilege || ' on ' || name, ', '), '')
		FROM unnest($1::TEXT[]) AS of_table (name), unnest($2::TEXT[]) AS needed (privilege)
		WHERE NOT has_table_privilege(name, privilege)`,
		tables, []string{"SELECT", "INSERT", "UPDATE", "DELETE"}).Scan(&lacking)
	if code(err) == undefinedFunction {
		return nil // not PostgreSQL, but compatible with it
	}
	if err == nil && lacking != "" {
		err = privilegeError(lacking)
	}
	return err
}

// privilegeError lists the privileges that the user lacks.
type privilegeError string

func (e privilegeError) Error() string { return "missing privileges: " + string(e) }

// number returns the number in a row of plantstore_schema.
func number(ctx context.Context, conn *pgx.Conn, row int, lock string) (found int, err error) {
	err = conn.QueryRow(ctx, `SELECT version FROM plantstore_schema WHERE id = $1`+lock, row).Scan(&found)
	return found, err
}

// checkOldest returns an error unless this program can run on the schema of the
// database, which is newer.
func checkOldest(ctx context.Context, conn *pgx.Conn, have int) error {
	needs, err := number(ctx, conn, oldestRow, "")
	if errors.Is(err, pgx.ErrNoRows) {
		needs, err = have, nil
	}
	if err == nil && len(schema) < needs {
		err = fmt.Errorf("a newer plantstore has migrated the database to schema %d, "+
			"which needs a program that knows schema %d; this one knows %d: use a newer plantstore", have, needs, len(schema))
	}
	return err
}

// begin creates plantstore_schema with no migration applied. If two programs do
// so at the same time, one may get the error that the table or its type exists.
func begin(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `CREATE TABLE IF NOT EXISTS plantstore_schema (id INT PRIMARY KEY, version INT NOT NULL)`)
	exists := []string{uniqueViolation, duplicateTable, duplicateObject}
	if err != nil && !slices.Contains(exists, code(err)) {
		return err
	}
	_, err = conn.Exec(ctx, `INSERT INTO plantstore_schema (id, version) VALUES (1, 0) ON CONFLICT (id) DO NOTHING`)
	return err
}
