package sqlite

import (
	"context"
	"embed"
	"errors"
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
// program has migrated already: a file has one server, so unlike in PostgreSQL
// no release has to start on what the next one has made. One that runs goes on
// while `plantstore token` or `plantstore backup` of the next migrates its file,
// so a file of migrations only adds.
func migrate(ctx context.Context, conn *sqlite.Conn) error {
	names, err := migrationNames()
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
	if err := checkFree(conn); err != nil {
		return err
	}
	if err := checkKnown(conn, len(names)); err != nil {
		return err
	}
	return sqlitemigration.Migrate(ctx, conn, schema)
}

func migrationNames() ([]string, error) {
	return fs.Glob(migrations, "migrations/*.sql") // sorted
}

// checkFree returns an error if the file is the database of another program.
func checkFree(conn *sqlite.Conn) error {
	id, err := pragma(conn, "application_id")
	if err != nil || id == applicationID {
		return err
	}
	changes, err := pragma(conn, "schema_version") // 0 as long as there is nothing
	if err == nil && (id != 0 || changes != 0) {
		err = errNotOurs
	}
	return err
}

var errNotOurs = errors.New("this is no store of plantstore: name another file")

// checkOurs returns an error unless the file is a store of this program, or of
// an older one.
func checkOurs(conn *sqlite.Conn) error {
	id, err := pragma(conn, "application_id")
	if err != nil {
		return err
	}
	if id != applicationID {
		return errNotOurs
	}
	names, err := migrationNames()
	if err != nil {
		return err
	}
	return checkKnown(conn, len(names))
}

// checkKnown returns an error if a newer program has migrated the schema.
func checkKnown(conn *sqlite.Conn, known int) error {
	have, err := pragma(conn, "user_version")
	if err == nil && have > int64(known) {
		err = fmt.Errorf("a newer plantstore has written here: its schema is %d, this program knows %d: "+
			"use a newer plantstore, or a backup from before", have, known)
	}
	return err
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
