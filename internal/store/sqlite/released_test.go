package sqlite

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/storetest"
)

var release = flag.Bool("release", false, "write a store of the newest schema to testdata/released")

func TestReleasedMigrations(t *testing.T) {
	storetest.Migrations(t, migrations, map[string]string{
		"001_plants_and_tokens.sql": "be02c256efb5df33996ce892601a32ef19d749bfd461ec3419da9dae6d1c3926",
		"002_plants_by_tag.sql":     "827c416904eaac1bf7f8def306095d9fefb782768d7a282bdd3cd0cdd1d5b98a",
		"003_tokens.sql":            "86c16db42c0789b001a6175ca765693c91ec3c8cf7eec6dc8ee259c8230d4343",
		"004_changes.sql":           "670bf92a2d2a73dbdf337c4c860cd300e9133536f7e962f84b3d1487fda34e14",
		"005_bounded_texts.sql":     "c3119863250692b22941105671f0c400b3e0d0fe33f4d710b0208b9d6df6293a",
	})
}

// TestUpgradeFromReleasedSchemas upgrades a store of every earlier schema.
func TestUpgradeFromReleasedSchemas(t *testing.T) {
	if *release {
		writeRelease(t, storetest.ReleasedFile(len(schema), ".db"))
	}
	storetest.EachReleased(t, len(schema), ".db", func(t *testing.T, left, found []byte) {
		path := filepath.Join(t.TempDir(), "plants.db")
		must.NoError(t, os.WriteFile(path, left, 0o600))
		storetest.Released(t, func(shorten func(plant.Plant)) (store.Store, error) {
			return OpenShortening(t.Context(), path, shorten)
		}, found)
	})
}

// The plants that are read to be shortened are those with a long name or a long tag.
func TestMaybeLong(t *testing.T) {
	conn, err := openConn(Memory, nil, sqlite.OpenReadWrite)
	must.NoError(t, err)
	defer conn.Close()
	must.NoError(t, executeAll(conn, "CREATE TABLE plants (id, name, tag)",
		"INSERT INTO plants (id, name, tag) VALUES (1, 'four', NULL), (2, 'three', 'two'), (3, '', 'six'), (4, '', 'tö')"))
	if ids, err := numbers(conn, maybeLongQuery, 4, 2); err != nil || !slices.Equal(ids, []int64{2, 3, 4}) {
		t.Errorf("the plants %v, %v may have long texts, want 2, 3 and 4", ids, err)
	}
}

func writeRelease(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	store, err := Open(t.Context(), file)
	must.NoError(t, err)
	found := storetest.Release(t, store)
	must.NoError(t, errors.Join(store.Close(), os.WriteFile(file+".json", found, 0o644)))
}
