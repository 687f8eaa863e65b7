// Package pgtest provides PostgreSQL to tests: an empty schema for each test in the
// database with the URL in PLANTSTORE_TEST_POSTGRES ([DSN]), and servers that a
// test can stop, kill and promote ([NewServer]). `.ci/postgres COMMAND` runs a
// command with such a database.
package pgtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/testing/wait"
)

// Variable is the environment variable with the URL of a database for tests.
const Variable = "PLANTSTORE_TEST_POSTGRES"

// Connect returns a new connection to the database with the given URL. It is closed
// when the test ends.
func Connect(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Limit)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatalf("connect to the database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), wait.Limit)
		defer cancel()
		_ = conn.Close(ctx)
	})
	return conn
}

// Skip skips a test and says how to run it.
func Skip(t testing.TB) {
	t.Helper()
	t.Skip("needs PostgreSQL: .ci/drill test-postgres, or " + Variable + "=postgres://… go test")
}

// Given reports whether Variable is set.
func Given() bool { return os.Getenv(Variable) != "" }

// DSN returns the URL of an empty schema that is dropped when the test ends. It
// skips the test if Variable is not set.
func DSN(t testing.TB) string {
	t.Helper()
	if !Given() {
		Skip(t)
	}
	return Schema(t, os.Getenv(Variable))
}

// Schema is [DSN] for the database with the given URL.
func Schema(t testing.TB, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatalf("%s is not a URL", Variable)
	}
	name := fmt.Sprintf("plantstore_test_%x", rand.Uint64())
	run := func(statement string) {
		ctx, cancel := context.WithTimeout(context.Background(), wait.Limit)
		defer cancel()
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			t.Fatalf("connect to %s: %v", Variable, err)
		}
		defer conn.Close(ctx)
		if _, err := conn.Exec(ctx, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	run("CREATE SCHEMA " + name)
	t.Cleanup(func() { run("DROP SCHEMA " + name + " CASCADE") })
	query := u.Query()
	query.Set("search_path", name)
	// Ends a statement that waits for a lock for ever.
	query.Set("statement_timeout", fmt.Sprint(wait.Limit.Milliseconds()))
	// A busy machine needs longer to connect than a server should wait.
	query.Set("connect_timeout", fmt.Sprint(wait.Limit.Seconds()))
	u.RawQuery = query.Encode()
	return u.String()
}
