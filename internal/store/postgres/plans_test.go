package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/storetest"
)

// statements records the statements that match about, with their last arguments.
type statements struct {
	about *regexp.Regexp
	mu    sync.Mutex
	args  map[string][]any
}

var aboutPlants = regexp.MustCompile(`(FROM|UPDATE|JOIN) (plants|changes|history)\b`)

func (s *statements) add(query string, args []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.about.MatchString(query) && !strings.HasPrefix(query, "EXPLAIN") {
		s.args[query] = args
	}
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	s.add(data.SQL, data.Args)
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	for _, q := range data.Batch.QueuedQueries {
		s.add(q.SQL, q.Arguments)
	}
	return ctx
}

func (s *statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// Every statement about plants, changes or the history uses an index, also if it is planned while the table
// is small.
func TestQueryPlansUseIndexes(t *testing.T) {
	config, err := parse(pgtest.DSN(t))
	must.NoError(t, err)
	sent := &statements{about: aboutPlants, args: map[string][]any{}}
	config.ConnConfig.Tracer = sent
	store, err := openConfig(t.Context(), config)
	must.NoError(t, err)
	defer store.Close()

	for _, size := range []int{1, 2000} {
		t.Run(fmt.Sprintf("%d plants", size), func(t *testing.T) {
			var plants []plant.Plant
			for id := range size {
				plants = append(plants, plant.Plant{ID: int64(id), Name: "n", Tag: new(fmt.Sprint("tag ", id%100))})
			}
			_, err := store.CreateAll(t.Context(), plants)
			must.NoError(t, err)
			execute(t, store.pool, `ANALYZE plants`)
			doEverything(t, store)
			for _, query := range slices.Sorted(maps.Keys(sent.args)) {
				plan := explainPlan(t, store, query, sent.args[query])
				if strings.Contains(plan, "Seq Scan on") || size > 1 && !strings.Contains(plan, "Index Cond") {
					t.Errorf("%s\nreads the whole table:\n%s", query, plan)
				}
				if query == selectChanges && !strings.Contains(plan, "Incremental Sort") {
					t.Errorf("%s\nsorts all changes, not those of one transaction after the other:\n%s", query, plan)
				}
			}
			if n := len(sent.args); n < 20 {
				t.Errorf("the store sent %d statements about plants and changes, want at least 20", n)
			}
		})
	}
}

func TestEveryFilterSelects(t *testing.T) {
	_, all := selectionOf(plant.Page{Limit: 100})
	for name, page := range storetest.Filters() {
		if selected, args := selectionOf(page); selected == allPlants && slices.Equal(args, all) {
			t.Errorf("selectionOf in internal/store/postgres/plants.go ignores %s", name)
		}
	}
}

// doEverything makes a store send each of its statements about plants and changes.
func doEverything(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	usePlants(t, s)
	_, next, walkErr := s.Changes(ctx, nil, 10_000)
	_, _, feedErr := s.Changes(ctx, &next, 10)
	_, _, historyErr := s.History(ctx, 0, plant.HistoryPage{Limit: 2})
	_, _, noneErr := s.History(ctx, 1<<40, plant.HistoryPage{Limit: 2})
	if !errors.Is(noneErr, plant.ErrNotFound) {
		t.Errorf("History of no plant = %v", noneErr)
	}
	must.NoError(t, s.ForgetHistory(ctx, time.Now().Add(-time.Hour)))
	must.NoError(t, s.Forget(ctx, 1<<40))
	must.NoError(t, errors.Join(walkErr, feedErr, historyErr, s.BeginEpoch(ctx), s.ForgetChanges(ctx, time.Now().Add(time.Hour))))
}

// usePlants makes a store send each of its statements about plants. It has plant 0.
func usePlants(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	_, _, putErr := s.Put(ctx, plant.Plant{ID: -1, Name: "new"}, plant.Precondition{})
	_, patchErr := s.Patch(ctx, -1, plant.Patch{Name: new("changed")}, plant.Precondition{})
	_, getErr := s.Get(ctx, -1)
	err := errors.Join(putErr, patchErr, getErr, s.Delete(ctx, -1, "", plant.Precondition{}))
	pages := storetest.Filters()
	pages["none"], pages["two"] = plant.Page{Limit: 100}, plant.Page{After: new(int64(0)), Tag: new("tag 1"), Limit: 100}
	for _, page := range pages {
		_, _, listErr := s.List(ctx, page)
		page.ByUpdate, page.Descending = nil, false // Count takes no order
		_, _, countErr := s.Count(ctx, page)
		err = errors.Join(err, listErr, countErr)
	}
	for _, search := range storetest.Searches() {
		search.Limit, search.Examine = 1, 1
		_, _, searchErr := s.Search(ctx, search)
		err = errors.Join(err, searchErr)
	}
	_, _, tagsErr := s.Tags(ctx, plant.TagPage{Limit: 10})
	must.NoError(t, errors.Join(err, tagsErr))
	if err := s.Create(ctx, plant.Plant{ID: 0, Name: "another"}); !errors.Is(err, plant.ErrExists) {
		t.Fatalf("Create of a taken id = %v, want %v", err, plant.ErrExists)
	}
}

// explainPlan returns the query plan of a statement.
func explainPlan(t *testing.T, s *Store, query string, args []any) string {
	t.Helper()
	rows, err := s.pool.Query(t.Context(), `EXPLAIN `+query, args...)
	must.NoError(t, err)
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("EXPLAIN %s: %v", query, err)
	}
	return strings.Join(plan, "\n")
}
