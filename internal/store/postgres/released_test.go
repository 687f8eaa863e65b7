package postgres

import (
	"bytes"
	"errors"
	"flag"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/storetest"
)

var release = flag.Bool("release", false, "write the files in testdata/released for the schema of this program")

func TestReleasedMigrations(t *testing.T) {
	storetest.Migrations(t, migrations, map[string]string{
		"001_plants_and_tokens.sql": "90b7e1f991aaeeed1f527c9fe6a9ab855bc2774ab1249ce3bd90271580d6528e",
		"002_changes.sql":           "1ee7be36f5cf259a1d6849f0ddd531f26858a9d44233bdb981bf2462b5f7b083",
		"003_plants_by_tag.sql":     "db6d20d9d6ea126d6dd2c0ea4339c88c160017fb8efe6451e5b2009235e002b7",
	})
}

// TestUpgradeFromReleasedSchemas opens databases that earlier releases wrote.
func TestUpgradeFromReleasedSchemas(t *testing.T) {
	if !pgtest.Given() {
		pgtest.Skip(t)
	}
	if *release {
		writeRelease(t, storetest.ReleasedFile(len(schema), ".sql"))
	}
	storetest.EachReleased(t, len(schema), ".sql", func(t *testing.T, left, found []byte) {
		dsn := pgtest.DSN(t)
		restore(t, dsn, left)
		wantSource(t, dsn, len(schema))
		storetest.Released(t, func(shorten func(plant.Plant)) (store.Store, error) {
			return OpenShortening(t.Context(), dsn, shorten)
		}, found)
	})
}

// wantSource fails unless a database is accepted as the source of a copy if it has the
// present schema, and refused unchanged if not.
func wantSource(t *testing.T, dsn string, present int) {
	t.Helper()
	conn := pgtest.Connect(t, dsn)
	schema := func() int {
		n, err := number(t.Context(), conn, versionRow, "")
		must.NoError(t, err)
		return n
	}
	have := schema()
	s, err := OpenSource(t.Context(), dsn)
	if err == nil {
		s.Close()
	}
	switch old := err != nil && strings.Contains(err.Error(), "run plantstore migrate on it first"); {
	case have == present && err != nil, have < present && !old:
		t.Errorf("OpenSource of schema %d = %v", have, err)
	case schema() != have:
		t.Errorf("OpenSource has changed the schema from %d to %d", have, schema())
	}
}

// schemaName is the placeholder in a dump for the name of the schema.
const schemaName = "plantstore_released"

func restore(t *testing.T, dsn string, dump []byte) {
	t.Helper()
	conn := pgtest.Connect(t, dsn)
	dump = bytes.ReplaceAll(dump, []byte(schemaName), []byte(schemaOf(t, dsn)))
	execute(t, conn, string(dump))
}

func schemaOf(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	must.NoError(t, err)
	return u.Query().Get("search_path")
}

// notSQL matches the commands to psql and the CREATE SCHEMA in the output of pg_dump.
var notSQL = regexp.MustCompile(`(?m)^(\\.*|CREATE SCHEMA .*|--.*)?\n`)

func writeRelease(t *testing.T, file string) {
	t.Helper()
	dsn := pgtest.DSN(t)
	found := storetest.Release(t, open(t, dsn))
	u, _ := url.Parse(dsn)
	u.RawQuery = url.Values{"host": {u.Query().Get("host")}}.Encode()
	cmd := exec.CommandContext(t.Context(), "pg_dump", "--no-owner", "--no-privileges", "--inserts", "--schema", schemaOf(t, dsn), u.String())
	cmd.Stderr = os.Stderr
	dump, err := cmd.Output()
	must.NoError(t, err)
	dump = notSQL.ReplaceAll(bytes.ReplaceAll(dump, []byte(schemaOf(t, dsn)), []byte(schemaName)), nil)
	must.NoError(t, errors.Join(os.WriteFile(file, dump, 0o644), os.WriteFile(file+".json", found, 0o644)))
}
