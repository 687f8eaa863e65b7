package sqlite

import (
	"regexp"
	"slices"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/storetest"
)

// A search reads an index in its order, without the table, and then the candidates in the same order. Otherwise it would
// read more plants than it examines.
func TestSearchPlans(t *testing.T) {
	t.Parallel()
	s := openStore(t, Memory)
	step := regexp.MustCompile(`^(MERGE \(UNION ALL\)|LEFT|RIGHT|SEARCH plants USING (COVERING INDEX \w+|INTEGER PRIMARY KEY) \(.*[<>]\?\))$`)
	for name, search := range storetest.Searches() {
		selected, args := scanOf(search, 10)
		candidates := explainPlan(t, s, selected.candidates, append(args, "A", "", "", 150, search.IsUntagged(), 10))
		if search.Order != plant.OrderTag || search.IsUntagged() {
			args = args[:3]
		}
		end := explainPlan(t, s, selected.end, args)
		if slices.ContainsFunc(end, func(detail string) bool { return !step.MatchString(detail) }) {
			t.Errorf("%s: the plan of %s is %q", name, selected.end, end)
		}
		want := slices.Concat([]string{"CO-ROUTINE examined"}, end, []string{
			"SCAN examined", "SEARCH plants USING INTEGER PRIMARY KEY (rowid=?)",
		})
		if !slices.Equal(candidates, want) {
			t.Errorf("%s: the plan of %s is %q, want %q", name, selected.candidates, candidates, want)
		}
	}
}

// explainPlan returns the steps of a query.
func explainPlan(t *testing.T, s *Store, query string, args []any) (steps []string) {
	t.Helper()
	must.NoError(t, s.read(t.Context(), func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "EXPLAIN QUERY PLAN "+query, &sqlitex.ExecOptions{
			Args: args,
			ResultFunc: func(stmt *sqlite.Stmt) error {
				steps = append(steps, stmt.GetText("detail"))
				return nil
			},
		})
	}))
	return steps
}
