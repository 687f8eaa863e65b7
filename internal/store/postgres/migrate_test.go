package postgres

import (
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
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

const madeUpMigration = `ALTER TABLE plants ADD COLUMN watered_at BIGINT;
ALTER TABLE tokens ADD COLUMN colour BYTEA NOT NULL DEFAULT '';
CREATE TABLE gardens (id BIGINT PRIMARY KEY);
`

// schemaOf returns the name of the schema in a URL of a test.
func schemaOf(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	must.NoError(t, err)
	return u.Query().Get("search_path")
}

// Programs of the next release, which are started at the same time, migrate the database of a
// server that runs. Both releases work on it then, and plants and tokens stay as they are. A
// program of this release starts on it.
func TestNextRelease(t *testing.T) {
	dsn := pgtest.DSN(t)
	server := open(t, dsn)
	wantSame := storetest.BeforeMigration(t, server)

	back := nextRelease(t, madeUpMigration)
	_, err := OpenSource(t.Context(), dsn)
	expect.Message(t, "OpenSource of an older database", err, "this store has schema 1 and this program needs schema 2; "+
		"neither copy nor serve --read-only changes it: run plantstore migrate on it first")
	if have := value[int](t, server.pool, `SELECT version FROM plantstore_schema WHERE id = 1`); have != 1 {
		t.Errorf("after OpenSource the database has schema %d, want 1", have)
	}
	storetest.MigrateAtOnce(t, 8, 2, func() (store.Store, error) { return Open(t.Context(), dsn) })
	newer := open(t, dsn)
	if found, now := newer.Schema(); found != 2 || now != 2 {
		t.Errorf("Schema = %d, %d, want 2, 2", found, now)
	}
	back()
	again := open(t, dsn) // a server of this release that starts on the schema of the next one
	if found, now := again.Schema(); found != 2 || now != 2 {
		t.Errorf("Schema for the program of this release = %d, %d, want 2, 2", found, now)
	}
	storetest.Members(t, again)
	for i, s := range []*Store{server, newer, again} {
		wantSame(s)
		must.NoError(t, s.Create(t.Context(), plant.Plant{ID: int64(10 + i), Name: "n"}))
		f := &storetest.Follower{Store: s, Limit: 3}
		f.Drain(t)
		f.WantCopy(t)
	}
	// The release after the next one raises oldest.
	execute(t, server.pool, `UPDATE plantstore_schema SET version = 2 WHERE id = 2`)
	wantRefused(t, dsn, "a newer plantstore has migrated the database to schema 2, "+
		"which needs a program that knows schema 2; this one knows 1: use a newer plantstore")
}

// A migration that fails changes nothing.
func TestFailedMigration(t *testing.T) {
	dsn := pgtest.DSN(t)
	s := open(t, dsn)
	back := nextRelease(t, madeUpMigration+`CREATE TABLE plants (id BIGINT)`)
	wantRefused(t, dsn, "migration 2: ")
	back()
	if have := value[int](t, s.pool, `SELECT version FROM plantstore_schema WHERE id = 1`); have != 1 {
		t.Errorf("the database has schema %d, want 1", have)
	}
	nextRelease(t, madeUpMigration) // would fail if a part of it were there
	must.NoError(t, open(t, dsn).Create(t.Context(), plant.Plant{ID: 1, Name: "n"}))
}

// A table without a migration, or a migration with another table, fails here.
func TestTables(t *testing.T) {
	dsn := pgtest.DSN(t)
	s := open(t, dsn)
	made := value[[]string](t, s.pool, `
		SELECT array_agg(table_name::TEXT ORDER BY table_name::TEXT) FROM information_schema.tables
		WHERE table_schema = $1`, schemaOf(t, dsn))
	want := slices.Sorted(slices.Values(append(slices.Clone(tables), "plantstore_schema")))
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("the tables that checkPrivileges checks (-) and those of the migrations (+) differ:\n%s", diff)
	}
}
