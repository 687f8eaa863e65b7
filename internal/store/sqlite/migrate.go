package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitemigration"
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

// incompleteID ("plnc") identifies a file that a copy has begun to fill. Earlier
// releases refuse it, too.
const incompleteID = 0x706c6e63

// migrate updates the schema, and returns the number of migrations before and
// after. It returns an error if a newer program has migrated the file: a file is used
// by one server, so unlike PostgreSQL an old release does not have to start with the
// schema of a newer one. But a server may be running while `plantstore token` or
// `plantstore backup` of a newer release migrates its file, so a migration only adds
// to the schema.
//
// The file must have the given application ID, or none if it is new. For shorten see
// [OpenShortening].
func migrate(ctx context.Context, conn *sqlite.Conn, id int32, shorten func(plant.Plant)) (found, now int, err error) {
	names, err := migrationNames()
	if err != nil {
		return 0, 0, err
	}
	schema := sqlitemigration.Schema{AppID: id}
	for _, name := range names {
		text, err := migrations.ReadFile(name)
		if err != nil {
			return 0, 0, err
		}
		schema.Migrations = append(schema.Migrations, string(text))
	}
	if err := checkFree(conn, id); err != nil {
		return 0, 0, err
	}
	found, err = checkKnown(conn, len(names))
	if err != nil {
		return 0, 0, err
	}
	switch {
	case found == 0:
		err = create(conn, schema)
	case found < boundedSchema:
		err = shortenTexts(conn, found, shorten)
	}
	if err != nil {
		return 0, 0, err
	}
	return found, len(names), sqlitemigration.Migrate(ctx, conn, schema)
}

// create gives a new file the whole schema and the feed of changes: no program of an
// earlier release can have it open. It takes one transaction, so that neither a crash
// nor a second process that opens the file meanwhile leaves a store without the feed.
func create(conn *sqlite.Conn, schema sqlitemigration.Schema) (err error) {
	end, err := sqlitex.ImmediateTransaction(conn)
	if err != nil {
		return err
	}
	defer end(&err)
	have, err := pragma(conn, "user_version")
	if err != nil || have > 0 {
		return err // another process was faster
	}
	script := slices.Concat(schema.Migrations, []string{
		newEpochQuery,
		fmt.Sprintf("PRAGMA application_id = %d", schema.AppID),
		fmt.Sprintf("PRAGMA user_version = %d", len(schema.Migrations)),
	})
	return sqlitex.ExecuteScript(conn, strings.Join(script, ";\n"), nil)
}

// boundedSchema is the first schema in which the lengths of texts have a limit.
const boundedSchema = 5

// maybeLongQuery finds the plants whose texts may have too many characters. A character
// has up to four bytes, and the function length of SQLite stops at U+0000.
var maybeLongQuery = selectPlants + fmt.Sprintf("octet_length(name) > %d OR octet_length(tag) > %d ORDER BY id", plant.MaxName, plant.MaxTag)

// shortenTexts shortens the texts of an earlier release that are too long, and calls
// shorten with each of their plants as it was. Without it, they are an error.
func shortenTexts(conn *sqlite.Conn, found int, shorten func(plant.Plant)) error {
	var ids []int64
	err := sqlitex.ExecuteTransient(conn, maybeLongQuery, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		var row store.PlantRow
		err := plantColumns.scan(stmt, 0, &row)
		if err == nil && !row.Shortened().Same(row.Plant) {
			ids = append(ids, row.ID)
		}
		return err
	}})
	if err != nil || len(ids) == 0 {
		return err
	}
	if shorten == nil {
		return store.LongTextsError{IDs: ids}
	}
	return inTransaction(conn, "BEGIN IMMEDIATE", func() error {
		for _, id := range ids {
			p, err := getPlant(conn, id)
			if err != nil {
				return err
			}
			row := store.NewPlantRow(p.Shortened(), &p)
			if err := plantColumns.write(conn, updatePlantQuery, &row); err != nil {
				return err
			}
			shorten(p)
		}
		if found < feedSchema {
			return nil
		}
		return storeChanges(conn, ids)
	})
}

func migrationNames() ([]string, error) {
	return fs.Glob(migrations, "migrations/*.sql") // sorted
}

// checkFree returns an error if the file is the database of another program, or has
// another application ID than want.
func checkFree(conn *sqlite.Conn, want int32) error {
	// This comes first: another program may make a store of an empty file meanwhile.
	changes, err := pragma(conn, "schema_version") // 0 in an empty file
	if err != nil {
		return err
	}
	id, err := pragma(conn, "application_id")
	if err != nil || id == int64(want) {
		return err
	}
	if id == incompleteID {
		return store.ErrIncomplete
	}
	if id != 0 || changes != 0 {
		err = errNotOurs
	}
	return err
}

var errNotOurs = errors.New("this is not a store of plantstore; give the path of another file")

// checkOurs returns an error unless the file is a store of this release or an
// older one.
func checkOurs(conn *sqlite.Conn) error {
	id, err := pragma(conn, "application_id")
	if err != nil {
		return err
	}
	if id == incompleteID {
		return store.ErrIncomplete
	}
	if id != applicationID {
		return errNotOurs
	}
	names, err := migrationNames()
	if err != nil {
		return err
	}
	_, err = checkKnown(conn, len(names))
	return err
}

// checkKnown returns the number of migrations, and an error if a newer program has
// migrated the schema.
func checkKnown(conn *sqlite.Conn, known int) (int, error) {
	have, err := pragma(conn, "user_version")
	if err == nil && have > int64(known) {
		err = fmt.Errorf("the file has schema %d of a newer plantstore, this program supports up to %d; "+
			"use a newer plantstore, or restore an older backup", have, known)
	}
	return int(have), err
}

// checkCurrent returns the number of migrations, and an error if it is not that of this
// program.
func checkCurrent(conn *sqlite.Conn) (int, error) {
	names, err := migrationNames()
	if err != nil {
		return 0, err
	}
	have, err := checkKnown(conn, len(names))
	if err == nil && have < len(names) {
		err = store.OldSchema(have, len(names))
	}
	return have, err
}

// pragma returns the value of a numeric pragma.
func pragma(conn *sqlite.Conn, name string) (int64, error) { return number(conn, "PRAGMA "+name) }

// number returns the number that a statement reads.
func number(conn *sqlite.Conn, statement string) (int64, error) {
	stmt, err := conn.Prepare(statement)
	if err != nil {
		return 0, err
	}
	return sqlitex.ResultInt64(stmt)
}
