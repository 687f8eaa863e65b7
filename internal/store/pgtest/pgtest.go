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
	"time"

	"github.com/jackc/pgx/v5"
)

// Variable names the database that tests may make schemas in.
const Variable = "PLANTSTORE_TEST_POSTGRES"

// longEnough is how long a test waits for what must come sooner.
const longEnough = 30 * time.Second

// Wait returns what a channel gives, and fails the test if that takes too long;
// what says what the test waits for.
func Wait[T any](t testing.TB, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(longEnough):
		t.Fatalf("waited %v until %s", longEnough, what)
	}
	return v
}

// WaitUntil waits until a condition holds.
func WaitUntil(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(longEnough); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v until %s", longEnough, what)
		}
	}
}

// Connect returns a connection of its own to the database of a URL, whose
// statements end in time.
func Connect(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), longEnough)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatalf("connect to the database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), longEnough)
		defer cancel()
		_ = conn.Close(ctx)
	})
	return conn
}

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
		ctx, cancel := context.WithTimeout(context.Background(), longEnough)
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
	// Ends a statement that waits for a lock that nothing releases.
	query.Set("statement_timeout", fmt.Sprint(longEnough.Milliseconds()))
	u.RawQuery = query.Encode()
	return u.String()
}
