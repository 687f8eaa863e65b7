package cli

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/testing/pgtest"
)

// A start that fails because of its address does not change the database. The
// scripts test the same with a file.
func TestFailedStartOnPostgres(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	out, err := newCommand(t, "plantstore", "serve", "--addr", "foo", "--store", dsn).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--addr foo: ") {
		t.Fatalf("plantstore serve --addr foo: %v\n%s", err, out)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var tables int
	err = conn.QueryRow(t.Context(), `SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema`).Scan(&tables)
	if err != nil || tables != 0 {
		t.Errorf("the schema has %d tables, %v, want none", tables, err)
	}
}
