package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// migrations are the files that make the schema. Each is applied once, in order
// and in a transaction. A released file is never edited: add the next number.
//
//go:embed migrations/*.sql
var migrations embed.FS

// applicationID ("plnt") identifies the files of this program, so that the
// database of another program is never changed.
const applicationID = 0x706c6e74

var schema = store.Migrations(migrations)

// migrate updates the schema, and returns the number of migrations before. It returns an
// error if a newer program has migrated the file: a file is used by one server, so unlike
// PostgreSQL an old release does not have to start with the schema of a newer one. But a
// server may be running while `plantstore token` or `plantstore backup` of a newer release
// migrates its file, so a migration only adds to the schema.
//
// It takes one transaction: a process that opens the file meanwhile, or after a crash, finds the
// whole new schema or the old one. The transaction fails if the file is read-only, which SQLite opens
// without an error.
func migrate(ctx context.Context, conn *sqlite.Conn) (found int, err error) {
	conn.SetInterrupt(ctx.Done())
	defer conn.SetInterrupt(nil)
	err = inTransaction(conn, "BEGIN IMMEDIATE", func() (err error) {
		if err := checkFree(conn); err != nil { // no other program makes tables meanwhile
			return err
		}
		if found, err = checkKnown(conn); err != nil || found == len(schema) {
			return err
		}
		script := slices.Clone(schema[found:])
		if found == 0 {
			script = append(script, fmt.Sprintf("INSERT INTO name_keys (id, version) VALUES (1, %d)", plant.NameKeyVersion),
				fmt.Sprintf("PRAGMA application_id = %d", applicationID))
		}
		script = append(script, fmt.Sprintf("PRAGMA user_version = %d", len(schema)))
		return sqlitex.ExecuteScript(conn, strings.Join(script, ";\n"), nil)
	})
	return found, err
}

// checkFree returns an error if the file is the database of another program.
func checkFree(conn *sqlite.Conn) error {
	isNew, err := number(conn, newQuery)
	if err != nil || isNew == 1 {
		return err
	}
	return checkID(conn)
}

// checkID returns an error unless the file has the application ID of this program.
func checkID(conn *sqlite.Conn) error {
	id, err := number(conn, "PRAGMA application_id")
	if err != nil {
		return err
	}
	if id != applicationID {
		return errOtherProgram
	}
	return nil
}

var errOtherProgram = errors.New("this is not a store of plantstore; give the path of another file")

// checkOurs returns the number of migrations, and an error unless the file is a store of
// this release or an older one.
func checkOurs(conn *sqlite.Conn) (have int, err error) {
	if err := checkID(conn); err != nil {
		return 0, err
	}
	return checkKnown(conn)
}

// checkKnown returns the number of migrations, and an error if a newer program has
// migrated the schema.
func checkKnown(conn *sqlite.Conn) (int, error) {
	have, err := number(conn, "PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	return int(have), checkNotNewer(have)
}

func checkNotNewer(have int64) error {
	if have > int64(len(schema)) {
		return fmt.Errorf("the file has schema %d of a newer plantstore, this program supports up to %d; "+
			"use a newer plantstore, or restore an older backup", have, len(schema))
	}
	return nil
}

// checkVersion returns an error if the number of migrations of a store cannot be right: the transaction that
// makes a file a store makes the first one, too.
func checkVersion(have int64) error {
	if have < 1 {
		return fmt.Errorf("%s (user_version is %d)", adviceDamaged, have)
	}
	return checkNotNewer(have)
}

// checkCurrent returns an error unless the file is a store with the schema of this
// program.
func checkCurrent(conn *sqlite.Conn) error {
	have, err := checkOurs(conn)
	if err != nil {
		return err
	}
	if have < len(schema) {
		return store.OldSchema(have, len(schema))
	}
	return nil
}
