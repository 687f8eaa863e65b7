package sqlite

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitemigration"
	"zombiezen.com/go/sqlite/sqlitex"
)

// The schema is the sum of these files, in order; each is applied once, in a
// transaction. A released file is never edited: add the next number.
//
//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks the files of this program ("plnt"), so that --store
// pointed at some other program's database changes nothing there.
const applicationID = 0x706c6e74

// migrate brings the schema up to date. It refuses a database that a newer
// program has migrated already.
func migrate(ctx context.Context, conn *sqlite.Conn) error {
	names, err := fs.Glob(migrations, "migrations/*.sql") // sorted
	if err != nil {
		return err
	}
	schema := sqlitemigration.Schema{AppID: applicationID}
	for _, name := range names {
		text, err := migrations.ReadFile(name)
		if err != nil {
			return err
		}
		schema.Migrations = append(schema.Migrations, string(text))
	}
	have, err := pragma(conn, "user_version")
	if err != nil {
		return err
	}
	if have > int64(len(schema.Migrations)) {
		return fmt.Errorf("schema %d is newer than this program, which knows %d: use a newer plantstore",
			have, len(schema.Migrations))
	}
	return sqlitemigration.Migrate(ctx, conn, schema)
}

// pragma returns the value of a numeric pragma.
func pragma(conn *sqlite.Conn, name string) (value int64, err error) {
	err = sqlitex.ExecuteTransient(conn, "PRAGMA "+name, &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			value = stmt.ColumnInt64(0)
			return nil
		},
	})
	return value, err
}
