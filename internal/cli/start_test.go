package cli

import (
	"testing"

	"github.com/plantstore/plantstore/internal/testing/pgtest"
)

// A start that fails because of its address does not change the database. The
// scripts test the same with a file.
func TestFailedStartOnPostgres(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	fails(t, "--addr foo: ", "serve", "--addr", "foo", "--store", dsn)
	conn := pgtest.Connect(t, dsn)
	var tables int
	err := conn.QueryRow(t.Context(), `SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema`).Scan(&tables)
	if err != nil || tables != 0 {
		t.Errorf("the schema has %d tables, %v, want none", tables, err)
	}
}
