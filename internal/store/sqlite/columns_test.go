package sqlite

import (
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// TestColumns compares the lists of columns with the schema that the migrations
// make, so that a column is not added to one of them alone.
func TestColumns(t *testing.T) {
	s := openStore(t, Memory)
	conn := wait.For(t, "the writer", s.writer)
	defer func() { s.writer <- conn }()
	for table, list := range map[string]string{"plants": writtenColumns.names(""), "tokens": tokenColumns.names("")} {
		var schema []string
		var key string
		err := sqlitex.Execute(conn, "PRAGMA table_info("+table+")", &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error {
				schema = append(schema, stmt.GetText("name"))
				if stmt.GetBool("pk") {
					key = stmt.GetText("name")
				}
				return nil
			},
		})
		must.NoError(t, err)
		listed := strings.Split(list, ", ")
		if listed[0] != key {
			t.Errorf("the first column of %s in the list is %s, want the primary key %s", table, listed[0], key)
		}
		slices.Sort(schema)
		slices.Sort(listed)
		if !slices.Equal(listed, schema) {
			t.Errorf("columns of %s are\n%q in internal/store/columns.go, and\n%q in internal/store/sqlite/migrations", table, listed, schema)
		}
	}
}
