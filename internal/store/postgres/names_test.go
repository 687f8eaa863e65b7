package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/storetest"
	"github.com/plantstore/plantstore/internal/testing/wait"
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
		"of a prefix of none": {ByName: &plant.ByName{Prefix: plant.NameKey("none")}},
	}
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		execute(t, conn, `SET plan_cache_mode = `+mode)
		for name, page := range pages {
			page.Limit = limit
			selected, args := selectionOf(page)
			for kind, query := range map[string]string{"list": selectPlants + selected, "count": countOf(selected)} {
				t.Run(fmt.Sprint(mode, "/", kind, " ", name), func(t *testing.T) {
					wantRows(t, explainRows(t, conn, query, args), limit+1)
				})
			}
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

// earlierStore makes an empty database one of the release before the order of names.
func earlierStore(t *testing.T, dsn string) string {
	t.Helper()
	dump, err := os.ReadFile(storetest.ReleasedFile(3, ".sql"))
	must.NoError(t, err)
	restore(t, dsn, dump)
	return dsn
}

func TestNamesOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	indexNames(t, earlierStore(t, pgtest.DSN(t)))
}

// A store that an earlier release distributed gets the order of names, too.
func TestNamesOfAnEarlierShardedStore(t *testing.T) {
	dsn := earlierStore(t, pgtest.Citus(t))
	must.NoError(t, pgx.BeginFunc(t.Context(), pgtest.Connect(t, dsn), func(tx pgx.Tx) error { return shard(t.Context(), tx) }))
	indexNames(t, dsn)
}

func indexNames(t *testing.T, dsn string) {
	storetest.IndexNames(t, storetest.Earlier{
		Open: func(t *testing.T) store.Store {
			s, err := Open(t.Context(), dsn)
			must.NoError(t, err)
			return s
		},
		Index:      func(ctx context.Context, progress func(int)) error { return IndexNames(ctx, dsn, progress) },
		Execute:    func(t *testing.T, statement string) { execute(t, pgtest.Connect(t, dsn), statement) },
		AddVersion: "UPDATE plantstore_schema SET version = version + %d WHERE id = 4",
	})
}

// Programs that write no keys can write until IndexNames begins, also in a transaction that
// is in progress then. Afterwards they cannot, and those that start refuse the database.
func TestIndexNamesShutsOut(t *testing.T) {
	dsn := earlierStore(t, pgtest.DSN(t))
	s := open(t, dsn)
	writing, watching := pgtest.Connect(t, dsn), pgtest.Connect(t, dsn)
	const oldMark = `INSERT INTO marks (id, done, at, feeds) VALUES ($1, true, 1, true)`
	execute(t, writing, `BEGIN`)
	execute(t, writing, oldMark, 1)
	execute(t, writing, `UPDATE plants SET name = 'renamed', version = 1 WHERE id = 1001`)
	indexed := make(chan error, 1)
	go func() { indexed <- IndexNames(t.Context(), dsn, func(int) {}) }()
	wait.Until(t, "IndexNames waits for a lock", func() bool {
		return value[bool](t, watching,
			`SELECT EXISTS (SELECT 1 FROM pg_locks WHERE relation = 'marks'::REGCLASS AND NOT granted)`)
	})
	execute(t, writing, `COMMIT`)
	must.NoError(t, wait.For(t, "IndexNames to return", indexed))
	wantNamed(t, s, map[int64]string{1001: "renamed"})
	for _, done := range []string{"true", "false"} {
		_, err := writing.Exec(t.Context(), strings.Replace(oldMark, "true", done, 1), 2)
		if code(err) != "23502" {
			t.Errorf("a mark without named = %v, want SQLSTATE 23502", err)
		}
	}
	if needs, err := number(t.Context(), watching, oldestRow, ""); err != nil || needs < 4 {
		t.Errorf("a program must know schema %d, %v, want at least 4: else one of the earlier release starts", needs, err)
	}
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1, Name: "of this release"}))
}

// Only the owner of the tables can shut out other programs.
func TestIndexNamesAsAnotherUser(t *testing.T) {
	r := newRoles(t)
	r.run(t, r.statements[0])
	must.NoError(t, open(t, r.owner).Create(t.Context(), plant.Plant{ID: 1, Name: "n"}))
	r.run(t, `UPDATE plantstore_schema SET version = 0 WHERE id = 4`)
	err := IndexNames(t.Context(), r.user, func(int) { t.Error("names are indexed") })
	want := "user " + r.name + " does not own the tables in database "
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "run this command as their owner") {
		t.Errorf("IndexNames = %v, want %q", err, want)
	}
	must.NoError(t, IndexNames(t.Context(), r.owner, func(int) {}))
	wantNamed(t, open(t, r.user), map[int64]string{1: "n"})
}

// A new database shuts out programs of earlier releases from the beginning.
func TestNewDatabaseHasNames(t *testing.T) {
	s := open(t, pgtest.DSN(t))
	if _, _, err := s.Count(t.Context(), plant.Page{ByName: &plant.ByName{}, Limit: 1}); err != nil {
		t.Errorf("Count by name = %v", err)
	}
	if needs := value[int](t, s.pool, `SELECT version FROM plantstore_schema WHERE id = 2`); needs < 4 {
		t.Errorf("a program must know schema %d, want at least 4", needs)
	}
}

// Servers of this release create, rename and delete plants while the names are indexed.
func TestIndexNamesWhileWriting(t *testing.T) {
	dsn := earlierStore(t, pgtest.DSN(t))
	s := open(t, dsn)
	const plants = 6000
	for begin := int64(0); begin < plants; begin += 1000 {
		var batch []plant.Plant
		for id := begin; id < begin+1000; id++ {
			batch = append(batch, plant.Plant{ID: 1_000_000 + id, Name: fmt.Sprint("before ", id)})
		}
		_, err := s.CreateAll(t.Context(), batch)
		must.NoError(t, err)
	}
	execute(t, s.pool, `UPDATE plants SET name_key = NULL`)

	var writers sync.WaitGroup
	var stop atomic.Bool
	names := make([]map[int64]string, 4) // that each writer has given, "" if it has deleted the plant
	for w := range names {
		names[w] = map[int64]string{}
		writers.Go(func() {
			for i := int64(0); !stop.Load(); i++ {
				id := 1_000_000 + (i*97*4+int64(w))%(plants+400) // each plant has one writer
				name := fmt.Sprintf("after %d of writer %d", i, w)
				_, _, err := s.Put(t.Context(), plant.Plant{ID: id, Name: name}, plant.Precondition{})
				if err == nil && i%5 == 0 {
					name, err = "", s.Delete(t.Context(), id, plant.Precondition{})
				}
				if err != nil {
					t.Errorf("a write while the names are indexed = %v", err)
				}
				names[w][id] = name
			}
		})
	}
	err := IndexNames(t.Context(), dsn, func(int) { time.Sleep(50 * time.Millisecond) }) // so that more is written
	stop.Store(true)
	writers.Wait()
	must.NoError(t, err)
	n := 0
	for _, names := range names {
		wantNamed(t, s, names)
		n += len(names)
	}
	t.Logf("%d plants were written", n)
	if keys := value[int](t, s.pool, `SELECT count(*) FROM plants WHERE name_key IS NULL`); keys > 0 {
		t.Errorf("%d plants have no key", keys)
	}
}

// wantNamed fails unless a store finds each plant by its name, and those with the name "" by none.
func wantNamed(t *testing.T, s *Store, names map[int64]string) {
	t.Helper()
	for id, name := range names {
		if name == "" {
			continue
		}
		page := plant.Page{ByName: &plant.ByName{Prefix: plant.NameKey(name)}, Limit: 10}
		found, _, err := s.List(t.Context(), page)
		has := false
		for _, p := range found {
			has = has || p.ID == id && p.Name == name
		}
		if err != nil || !has {
			t.Errorf("the plants with the name %q are %v, %v, want plant %d", name, found, err, id)
		}
	}
	all := map[int64]bool{}
	page := plant.Page{ByName: &plant.ByName{}, Limit: 1000}
	for {
		found, more, err := s.List(t.Context(), page)
		must.NoError(t, err)
		for _, p := range found {
			if want, ok := names[p.ID]; all[p.ID] || ok && want != p.Name {
				t.Errorf("in the order of names plant %d is %q, want %q, once", p.ID, p.Name, want)
			}
			all[p.ID] = true
		}
		if !more {
			return
		}
		last := found[len(found)-1]
		page.ByName.After = &plant.NamePlace{Key: plant.NameKey(last.Name), ID: last.ID}
	}
}

// A plant that is renamed after IndexNames has read it keeps the key of its new name.
func TestIndexNamesKeepsNewerKey(t *testing.T) {
	s := open(t, pgtest.DSN(t))
	must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1, Name: "old"}))
	read, err := s.Get(t.Context(), 1)
	must.NoError(t, err)
	rows, err := store.RowsOf([]plant.Plant{read})
	must.NoError(t, err)
	_, err = s.Patch(t.Context(), 1, plant.Patch{Name: new("new")}, plant.Precondition{})
	must.NoError(t, err)
	execute(t, s.pool, storeKey, []byte(rows[0].NameKey), rows[0].ID, rows[0].Version)
	wantNamed(t, s, map[int64]string{1: "new"})
}
