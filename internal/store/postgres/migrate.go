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
//go:embed migrations/*.sql
var migrations embed.FS

// schemaVersion asks how many of them have been applied.
const schemaVersion = `SELECT version FROM plantstore_schema WHERE id = 1`

// migrate brings the schema up to date, however many programs do so at once. It
// refuses a database that a newer program has migrated already.
//
// A row is the lock: advisory locks do not exist in CockroachDB and do not pass
// pgbouncer, and a row is let go when its holder dies.
func migrate(ctx context.Context, conn *pgx.Conn) error {
	names, err := fs.Glob(migrations, "migrations/*.sql") // sorted
	if err != nil {
		return err
	}
	var have int
	switch err := conn.QueryRow(ctx, schemaVersion).Scan(&have); {
	case code(err) == undefinedTable || errors.Is(err, pgx.ErrNoRows):
		if err := begin(ctx, conn); err != nil {
			return err
		}
	case err != nil:
		return err
	case have == len(names): // the usual start needs no right to change the schema
		return nil
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, schemaVersion+` FOR UPDATE`).Scan(&have); err != nil {
			return err
		}
		if have > len(names) {
			return fmt.Errorf("schema %d is newer than this program, which knows %d: use a newer plantstore", have, len(names))
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
		_, err := tx.Exec(ctx, `UPDATE plantstore_schema SET version = $1 WHERE id = 1`, len(names))
		return err
	})
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
