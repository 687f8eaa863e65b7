package sqlite

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/storetest"
)

// From the first version tag on, this has the sum of every file of that release.
func TestMigrations(t *testing.T) { storetest.Migrations(t, migrations, nil) }

// nextRelease makes this program one of the next release, which has another migration. The
// result makes it the program of this release again. A test that calls it is not parallel.
func nextRelease(t *testing.T, migration string) (back func()) {
	t.Helper()
	this := schema
	back = func() { schema = this }
	t.Cleanup(back)
	schema = append(slices.Clone(this), migration)
	return back
}

const madeUpMigration = "ALTER TABLE plants ADD COLUMN watered_at INTEGER; CREATE TABLE gardens (id INTEGER PRIMARY KEY) STRICT"

// schemaOf returns the number of migrations of a file.
func schemaOf(t *testing.T, path string) int64 {
	t.Helper()
	conn, err := openConn(path, nil, 0)
	must.NoError(t, err)
	defer conn.Close()
	have, err := number(conn, "PRAGMA user_version")
	must.NoError(t, err)
	return have
}

// Programs of the next release, which are started at the same time, migrate the file of a server
// that runs. The server goes on, and plants and tokens stay as they are.
func TestNextRelease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plants.db")
	server := openStore(t, path)
	wantSame := storetest.BeforeMigration(t, server)

	back := nextRelease(t, madeUpMigration)
	_, err := OpenSource(path)
	expect.Message(t, "OpenSource of an older store", err, "this store has schema 1 and this program needs schema 2; "+
		"neither copy nor serve --read-only changes it: run plantstore migrate on it first")
	_, err = OpenReadOnly(path)
	expect.Message(t, "OpenReadOnly of an older store", err, "run plantstore migrate on it first")
	if have := schemaOf(t, path); have != 1 {
		t.Errorf("after OpenSource the file has schema %d, want 1", have)
	}
	storetest.MigrateAtOnce(t, 4, 2, func() (store.Store, error) { return Open(t.Context(), path) })
	newer := openStore(t, path)
	if found, now := newer.Schema(); found != 2 || now != 2 {
		t.Errorf("Schema = %d, %d, want 2, 2", found, now)
	}
	wantSame(newer)

	back()
	for id := range int64(2) { // the server and the newer program write in turn
		must.NoError(t, server.Create(t.Context(), plant.Plant{ID: 10 + id, Name: "of the server"}))
		must.NoError(t, newer.Create(t.Context(), plant.Plant{ID: 20 + id, Name: "of the newer program"}))
	}
	f := &storetest.Follower{Store: server, Limit: 3}
	f.Drain(t)
	f.WantCopy(t)
	_, err = Open(t.Context(), path)
	expect.Message(t, "Open of a newer store", err, "the file has schema 2 of a newer plantstore, this program supports up to 1; "+
		"use a newer plantstore, or restore an older backup")
}

// A migration that fails changes nothing, and the program of this release can use the file.
func TestFailedMigration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plants.db")
	must.NoError(t, openStore(t, path).Create(t.Context(), plant.Plant{ID: 1, Name: "n"}))
	back := nextRelease(t, madeUpMigration+"; CREATE TABLE plants (x)")
	_, err := Open(t.Context(), path)
	expect.Message(t, "Open with a migration that fails", err, "table plants already exists")
	back()
	if have := schemaOf(t, path); have != 1 {
		t.Errorf("the file has schema %d, want 1", have)
	}
	nextRelease(t, madeUpMigration) // would fail if a part of it were there
	_, err = openStore(t, path).Get(t.Context(), 1)
	expect.NoError(t, err)
}

// A new store has every migration.
func TestNewStoreOfNextRelease(t *testing.T) {
	nextRelease(t, madeUpMigration)
	path := filepath.Join(t.TempDir(), "plants.db")
	s := openStore(t, path)
	if found, now := s.Schema(); found != 0 || now != 2 {
		t.Errorf("Schema = %d, %d, want 0, 2", found, now)
	}
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1, Name: "n"}))
	wantByName(t, s, 1)
}
