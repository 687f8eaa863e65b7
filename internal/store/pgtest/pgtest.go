// Package pgtest gives tests a PostgreSQL database: a schema of their own in the
// one that PLANTSTORE_TEST_POSTGRES names, or servers of their own to stop,
// kill and promote.
package pgtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Variable names the database that tests may make schemas in.
const Variable = "PLANTSTORE_TEST_POSTGRES"

// Skip skips a test and says how to run it.
func Skip(t testing.TB) {
	t.Helper()
	t.Skip("needs PostgreSQL: make test-postgres runs this, or " + Variable + "=postgres://… go test")
}

// Given reports whether there is a database for tests.
func Given() bool { return os.Getenv(Variable) != "" }

// DSN returns the URL of an empty schema that goes when the test ends, or skips
// the test if there is no database.
func DSN(t testing.TB) string {
	t.Helper()
	if !Given() {
		Skip(t)
	}
	return Schema(t, os.Getenv(Variable))
}

// Schema returns the URL of an empty schema of a database.
func Schema(t testing.TB, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatalf("%s is no URL", Variable)
	}
	name := fmt.Sprintf("plantstore_test_%x", rand.Uint64())
	run := func(statement string) {
		conn, err := pgx.Connect(context.Background(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(context.Background(), statement); err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE SCHEMA " + name)
	t.Cleanup(func() { run("DROP SCHEMA " + name + " CASCADE") })
	query := u.Query()
	query.Set("search_path", name)
	u.RawQuery = query.Encode()
	return u.String()
}
