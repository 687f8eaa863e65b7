package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
)

// The schema is the sum of these files, in order; each is applied once, in a
// transaction. A released file is never edited: add the next number.
//
// While servers are upgraded one by one, those of the release before run on the
// new schema, and some of them are started on it. So a file only adds: tables,
// indexes, columns that may be NULL or have a default. What nobody needs any
// more goes with the release after the first that does without it, and then
// oldest moves on.
//
//go:embed migrations/*.sql
var migrations embed.FS

// oldest is the lowest schema whose program can run on this one.
const oldest = 1

// plantstore_schema has a row for each of these numbers.
const (
	versionRow = 1 // how many files have been applied
	oldestRow  = 2 // oldest, as the program has it that has applied the last one
)

// migrate brings the schema up to date, however many programs do so at once. It
// refuses a database that a newer program has migrated already, unless that
// says that this one can run on it.
//
// A row is the lock: advisory locks do not exist in CockroachDB and do not pass
// pgbouncer, and a row is let go when its holder dies.
func migrate(ctx context.Context, conn *pgx.Conn) error {
	names, err := fs.Glob(migrations, "migrations/*.sql") // sorted
	if err != nil {
		return err
	}
	have, err := number(ctx, conn, versionRow, "")
	switch {
	case code(err) == undefinedTable || errors.Is(err, pgx.ErrNoRows):
		if err := begin(ctx, conn); err != nil {
			return err
		}
	case err != nil:
		return err
	case have == len(names): // the usual start needs no right to change the schema
		return nil
	case have > len(names):
		return checkOldest(ctx, conn, have, len(names))
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		have, err := number(ctx, tx.Conn(), versionRow, ` FOR UPDATE`)
		if err != nil {
			return err
		}
		if have > len(names) {
			return checkOldest(ctx, tx.Conn(), have, len(names))
		}
		for _, name := range names[have:] {
			text, err := migrations.ReadFile(name)
			if err != nil {
				return err
			}
			// Many statements at once are sent as they are.
			if _, err := tx.Conn().PgConn().Exec(ctx, string(text)).ReadAll(); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		const set = `INSERT INTO plantstore_schema (id, version) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET version = $2`
		if _, err := tx.Exec(ctx, set, versionRow, len(names)); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, set, oldestRow, oldest)
		return err
	})
}

// number reads a row of plantstore_schema.
func number(ctx context.Context, conn *pgx.Conn, row int, lock string) (n int, err error) {
	err = conn.QueryRow(ctx, `SELECT version FROM plantstore_schema WHERE id = $1`+lock, row).Scan(&n)
	return n, err
}

// checkOldest returns an error unless the program that has made the schema says
// that this one can run on it.
func checkOldest(ctx context.Context, conn *pgx.Conn, have, known int) error {
	needs, err := number(ctx, conn, oldestRow, "")
	if errors.Is(err, pgx.ErrNoRows) {
		needs, err = have, nil
	}
	if err == nil && known < needs {
		err = fmt.Errorf("a newer plantstore has written here: its schema is %d and needs a program that knows %d, this one knows %d: "+
			"use a newer plantstore", have, needs, known)
	}
	return err
}

// begin makes the row that says how far the schema is. Of two programs that
// begin at once one may be told that the table, or its type, is there already.
func begin(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `CREATE TABLE IF NOT EXISTS plantstore_schema (id INT PRIMARY KEY, version INT NOT NULL)`)
	if err != nil && code(err) != uniqueViolation && code(err) != duplicateTable && code(err) != duplicateObject {
		return err
	}
	_, err = conn.Exec(ctx, `INSERT INTO plantstore_schema (id, version) VALUES (1, 0) ON CONFLICT (id) DO NOTHING`)
	return err
}
