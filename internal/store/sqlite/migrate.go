package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
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

var schema = store.Migrations(migrations)

// migrate updates the schema, and returns the number of migrations before. It returns an
// error if a newer program has migrated the file: a file is used by one server, so unlike
// PostgreSQL an old release does not have to start with the schema of a newer one. But a
// server may be running while `plantstore token` or `plantstore backup` of a newer release
// migrates its file, so a migration only adds to the schema.
//
// The file must have the given application ID, or none if it is new. For shorten see
// [OpenShortening].
func migrate(ctx context.Context, conn *sqlite.Conn, id int32, shorten func(plant.Plant)) (found int, err error) {
	if err := checkFree(conn, id); err != nil {
		return 0, err
	}
	found, err = checkKnown(conn)
	switch {
	case err != nil:
	case found == 0:
		err = create(conn, id)
	case found < boundedSchema:
		err = shortenTexts(conn, found, shorten)
	}
	if err != nil {
		return 0, err
	}
	return found, sqlitemigration.Migrate(ctx, conn, sqlitemigration.Schema{AppID: id, Migrations: schema})
}

// create gives a new file the whole schema and the feed of changes: no program of an
// earlier release can have it open. It takes one transaction, so that neither a crash
// nor a second process that opens the file meanwhile leaves a store without the feed.
func create(conn *sqlite.Conn, id int32) error {
	return inTransaction(conn, "BEGIN IMMEDIATE", func() error {
		have, err := number(conn, "PRAGMA user_version")
		if err != nil || have > 0 {
			return err // another process was faster
		}
		script := slices.Concat(schema, []string{
			newEpochQuery, nameIndexQuery, namedQuery,
			fmt.Sprintf("PRAGMA application_id = %d", id),
			fmt.Sprintf("PRAGMA user_version = %d", len(schema)),
		})
		return sqlitex.ExecuteScript(conn, strings.Join(script, ";\n"), nil)
	})
}

// boundedSchema is the first schema in which the lengths of texts have a limit.
const boundedSchema = 5

// maybeLongQuery finds the plants whose texts may have too many characters. A character
// has up to four bytes, and the function length of SQLite stops at U+0000.
const maybeLongQuery = "SELECT id FROM plants WHERE octet_length(name) > ? OR octet_length(tag) > ? ORDER BY id"

// shortenTexts is [store.ShortenTexts] for a file.
func shortenTexts(conn *sqlite.Conn, found int, shorten func(plant.Plant)) error {
	ids, err := numbers(conn, maybeLongQuery, plant.MaxName, plant.MaxTag)
	if err != nil || len(ids) == 0 {
		return err
	}
	first := plantColumns[:store.FirstColumns] // the others may not have been made yet
	return inTransaction(conn, "BEGIN IMMEDIATE", func() error {
		long, err := store.ShortenTexts(ids, shorten,
			func(id int64) (plant.Plant, error) {
				query := "SELECT " + first.names("") + " FROM plants WHERE id = ?"
				row, err := first.one(conn, query, plant.ErrNotFound, id)
				return row.Stored(), err
			},
			func(row store.PlantRow) error { return first.write(conn, first.update("plants"), row) })
		if err != nil || found < feedSchema {
			return err
		}
		return storeChanges(conn, long)
	})
}

// upgrade migrates the store in the file at path and calls fn, if the query done reads
// 0. It fails if another program has the file open: that may be a program of an earlier
// release. Such programs refuse to open the file from now on.
func upgrade(ctx context.Context, path, what, done string, fn func(*sqlite.Conn) error) (err error) {
	conn, err := openWriter(path)
	if err == nil {
		defer func() { err = errors.Join(err, conn.Close()) }()
		_, err = migrate(ctx, conn, applicationID, nil)
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", path, advise(err))
	}
	if have, err := number(conn, done); err != nil || have != 0 {
		return err
	}
	// SQLite leaves WAL mode only if no other connection is open.
	if err = executeAll(conn, "PRAGMA journal_mode = DELETE"); err == nil {
		err = fn(conn)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, path, advise(err))
	}
	return nil
}

// checkFree returns an error if the file is the database of another program, or has
// another application ID than want.
func checkFree(conn *sqlite.Conn, want int32) error {
	// This comes first: another program may make a store of an empty file meanwhile.
	taken, err := number(conn, takenQuery)
	if err != nil {
		return err
	}
	if id, err := number(conn, "PRAGMA application_id"); err != nil || id == 0 && taken == 0 {
		return err // an empty file
	}
	return checkID(conn, want)
}

// checkID returns an error if the file has another application ID than want.
func checkID(conn *sqlite.Conn, want int32) error {
	switch id, err := number(conn, "PRAGMA application_id"); {
	case err != nil || id == int64(want):
		return err
	case id == incompleteID:
		return store.ErrIncomplete
	}
	return errors.New("this is not a store of plantstore; give the path of another file")
}

// checkOurs returns the number of migrations, and an error unless the file is a store of
// this release or an older one.
func checkOurs(conn *sqlite.Conn) (have int, err error) {
	if err := checkID(conn, applicationID); err != nil {
		return 0, err
	}
	return checkKnown(conn)
}

// checkKnown returns the number of migrations, and an error if a newer program has
// migrated the schema.
func checkKnown(conn *sqlite.Conn) (int, error) {
	have, err := number(conn, "PRAGMA user_version")
	if err == nil && have > int64(len(schema)) {
		err = fmt.Errorf("the file has schema %d of a newer plantstore, this program supports up to %d; "+
			"use a newer plantstore, or restore an older backup", have, len(schema))
	}
	return int(have), err
}

// checkCurrent returns an error unless the file is a store with the schema of this
// program.
func checkCurrent(conn *sqlite.Conn) error {
	have, err := checkOurs(conn)
	if err == nil && have < len(schema) {
		err = store.OldSchema(have, len(schema))
	}
	return err
}
