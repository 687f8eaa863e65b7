package postgres

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/storetest"
)

// Each page reads at most one plant more than it has, wherever it is and however many plants
// have the same name or tag; a page of tags reads one plant for each tag. So it is with the
// plan for its arguments, and with the one for all arguments that a prepared statement gets
// after five calls.
func TestRowsOfPages(t *testing.T) {
	s := open(t, pgtest.DSN(t))
	for begin := range int64(4) {
		var plants []plant.Plant
		for id := begin * 1000; id < begin*1000+1000; id++ {
			name, tag := fmt.Sprint("name ", id*7919%4000), fmt.Sprint("tag ", id%50)
			if id%2 == 0 {
				name, tag = "Many", "many"
			}
			plants = append(plants, plant.Plant{ID: id, Name: name, Tag: &tag})
		}
		_, err := s.CreateAll(t.Context(), plants)
		must.NoError(t, err)
	}
	held, err := s.pool.Acquire(t.Context())
	must.NoError(t, err)
	defer held.Release()
	conn := held.Conn()
	execute(t, conn, `VACUUM ANALYZE plants`)

	many := plant.NameKey("Many")
	const limit = 20
	pages := map[string]plant.Page{
		"all":                       {},
		"after an id":               {After: new(int64(2000))},
		"with a tag of many plants": {Tag: new("many")},
		"with the tag after an id":  {Tag: new("many"), After: new(int64(2000))},
		"with a tag of few plants":  {Tag: new("tag 7")},
		"by name":                   {ByName: &plant.ByName{}},
		"by name, among equal ones": {ByName: &plant.ByName{After: &plant.NamePlace{Key: many, ID: 2000}}},
		"by name, after all":        {ByName: &plant.ByName{After: &plant.NamePlace{Key: "\xfe", ID: 0}}},
		"of a prefix":               {ByName: &plant.ByName{Prefix: plant.NameKey("name 1")}},
		"of a prefix of many": {
			ByName: &plant.ByName{Prefix: plant.NameKey("M"), After: &plant.NamePlace{Key: many, ID: 3000}},
		},
		"of a prefix of none":       {ByName: &plant.ByName{Prefix: plant.NameKey("none")}},
		"descending":                {Descending: true},
		"descending, before an id":  {Descending: true, After: new(int64(2000))},
		"descending, with a tag":    {Descending: true, Tag: new("many")},
		"descending, before the id": {Descending: true, Tag: new("many"), After: new(int64(2000))},
		"descending, by name":       {Descending: true, ByName: &plant.ByName{After: &plant.NamePlace{Key: many, ID: 2000}}},
		"descending, of a prefix":   {Descending: true, ByName: &plant.ByName{Prefix: plant.NameKey("name 1")}},
		"by update":                 {ByUpdate: &plant.ByUpdate{}},
		"by update, after one": {ByUpdate: &plant.ByUpdate{After: &plant.UpdatePlace{
			UpdatedAt: time.Now().UnixMicro(), ID: 2000,
		}}},
	}
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		execute(t, conn, `SET plan_cache_mode = `+mode)
		for name, page := range pages {
			page.Limit = limit
			selected, args := selectionOf(page)
			for kind, query := range map[string]string{"list": selected.list, "count": selected.count} {
				if query == "" { // a descending order has no count
					continue
				}
				t.Run(fmt.Sprint(mode, "/", kind, " ", name), func(t *testing.T) {
					wantRows(t, explainRows(t, conn, query, args), limit+1)
				})
			}
		}
		for name, search := range storetest.Searches() {
			const window = 30
			search.Limit = limit
			selected, args := scanOf(search, window)
			t.Run(mode+"/candidates "+name, func(t *testing.T) { // each one is read in the index, and in the table
				all := append(args, candidateArguments(search, limit)...)
				wantRows(t, explainRows(t, conn, selected.candidates, all), 2*window)
			})
			t.Run(mode+"/end "+name, func(t *testing.T) {
				if search.Order != plant.OrderTag || search.IsUntagged() {
					args = args[:3]
				}
				wantRows(t, explainRows(t, conn, selected.end, args), window+1)
			})
		}
		for name, page := range map[string]plant.TagPage{
			"all":       {},
			"after one": {After: new("many")},
			"prefix":    {Prefix: "tag 4"},
			"none":      {Prefix: "none"},
		} {
			t.Run(mode+"/tags "+name, func(t *testing.T) {
				from, until := page.Range()
				wantRows(t, explainRows(t, conn, selectTags, []any{limit + 1, []byte(from), []byte(until)}), limit+1)
			})
		}
	}
}

// A planNode is a node of a query plan, as EXPLAIN (FORMAT JSON) shows it.
type planNode struct {
	Type    string     `json:"Node Type"`
	Index   string     `json:"Index Name"`
	Rows    float64    `json:"Actual Rows"` // in one loop
	Loops   float64    `json:"Actual Loops"`
	Removed float64    `json:"Rows Removed by Filter"`
	Recheck float64    `json:"Rows Removed by Index Recheck"`
	Hit     int        `json:"Shared Hit Blocks"` // of the children, too
	Read    int        `json:"Shared Read Blocks"`
	Plans   []planNode `json:"Plans"`
}

// explainRows runs a query as a prepared statement, and returns its plan.
func explainRows(t *testing.T, conn *pgx.Conn, query string, args []any) planNode {
	t.Helper()
	values := make([]string, len(args))
	for i, arg := range args {
		values[i] = fmt.Sprint(arg)
		if text, ok := arg.([]byte); ok {
			values[i] = fmt.Sprintf(`'\x%x'`, text)
		} else if arg == nil {
			values[i] = "NULL"
		}
	}
	execute(t, conn, `PREPARE page AS `+query)
	defer execute(t, conn, `DEALLOCATE page`)
	var plan string
	must.NoError(t, conn.QueryRow(t.Context(), `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE page (`+
		strings.Join(values, ", ")+`)`, pgx.QueryExecModeExec).Scan(&plan))
	var explained []struct{ Plan planNode }
	must.NoError(t, json.Unmarshal([]byte(plan), &explained))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s\n%s", query, plan)
		}
	})
	return explained[0].Plan
}

// wantRows fails unless a plan reads at most that many rows of plants, from an index and in
// its order.
func wantRows(t *testing.T, plan planNode, most float64) {
	t.Helper()
	// A row takes a block of the table at most. To find the first one, or each tag, takes the
	// blocks from the root of the index to a leaf.
	if blocks := plan.Hit + plan.Read; blocks > 4*int(most) {
		t.Errorf("the query reads %d blocks, want at most %d", blocks, 4*int(most))
	}
	rows := 0.0
	var visit func(planNode)
	visit = func(n planNode) {
		switch {
		case strings.Contains(n.Type, "Sort"), strings.Contains(n.Type, "Seq Scan"), strings.Contains(n.Type, "Bitmap"):
			t.Errorf("the plan has a %s", n.Type)
		case n.Index != "":
			rows += (n.Rows + n.Removed + n.Recheck) * n.Loops
		}
		for _, child := range n.Plans {
			visit(child)
		}
	}
	visit(plan)
	if rows > most {
		t.Errorf("the query reads %v plants, want at most %v", rows, most)
	}
}

func TestOtherUnicode(t *testing.T) {
	s := open(t, pgtest.DSN(t))
	storetest.OtherUnicode(t, s, func(t *testing.T) {
		execute(t, s.pool, `UPDATE plantstore_schema SET version = version - 1 WHERE id = 3`)
	})
}
