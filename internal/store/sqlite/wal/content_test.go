package wal

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// logOfSQLite returns a log with transactions of one page and of many.
func logOfSQLite(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "some.db")
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	must.NoError(t, err)
	defer conn.Close()
	const insert = "INSERT INTO texts WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) SELECT randomblob(300) FROM n"
	statements := []string{"PRAGMA journal_mode = WAL", "CREATE TABLE texts (text)", "INSERT INTO texts VALUES ('')", insert, insert}
	for _, statement := range statements {
		must.NoError(t, sqlitex.ExecuteTransient(conn, statement, nil))
	}
	log, err := os.ReadFile(path + "-wal")
	must.NoError(t, err)
	return log
}

// A log that is read twice, whatever it had the first time, has what it has if it is read once; also one of which a
// byte was changed behind the first part.
func TestReadAgain(t *testing.T) {
	t.Parallel()
	log := logOfSQLite(t)
	damaged := bytes.Clone(log)
	damaged[len(log)*3/4] ^= 1
	for name, later := range map[string][]byte{"whole": log, "damaged": damaged} {
		want, err := Read(bytes.NewReader(later))
		must.NoError(t, err)
		if name == "whole" && (want.Commits != 4 || want.LostCommits() != 0) {
			t.Fatalf("the log has %d commits, and lost %d, want 4 and 0", want.Commits, want.LostCommits())
		}
		for size := 0; size < len(log)*3/4; size += 515 {
			content, err := Read(bytes.NewReader(log[:size]))
			must.NoError(t, err)
			got, err := content.ReadAgain(bytes.NewReader(later))
			must.NoError(t, err)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("the log, %s, has %d frames in use and %d commits after its first %d bytes, %d and %d at once",
					name, got.Used, got.Commits, size, want.Used, want.Commits)
			}
		}
	}
}

// A log that has begun anew is read from its beginning.
func TestReadAnotherLog(t *testing.T) {
	t.Parallel()
	content, err := Read(bytes.NewReader(logOfSQLite(t)))
	must.NoError(t, err)
	other := logOfSQLite(t)
	got, err := content.ReadAgain(bytes.NewReader(other))
	must.NoError(t, err)
	if got.Header != Header(other) || len(got.Pages) == 0 {
		t.Errorf("the log has the header %x and %d pages", got.Header, len(got.Pages))
	}
}
