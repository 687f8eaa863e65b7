package postgres

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
)

// The number of marks in the database is bounded.
func TestMarksAreDeleted(t *testing.T) {
	store := open(t, pgtest.DSN(t))
	for id := range int64(3 * maxDiscarded) {
		must.NoError(t, store.Create(t.Context(), plant.Plant{ID: id}))
	}
	if n := len(marks(t, store)); n > maxDiscarded {
		t.Errorf("after %d transactions there are %d marks, want at most 64", 3*maxDiscarded, n)
	}
}

// Old marks that killed processes left are deleted when a store is opened.
func TestMarksOfKilledProcessesAreDeleted(t *testing.T) {
	dsn := pgtest.DSN(t)
	store := open(t, dsn)
	old, recent := time.Now().Add(-markLife-time.Minute).UnixMicro(), time.Now().Add(-markLife+time.Minute).UnixMicro()
	_, err := store.pool.Exec(t.Context(), `INSERT INTO marks (id, done, at, feeds) VALUES
		(1, true, $1, true), (2, false, $1, true), (3, true, $2, true), (4, false, $2, true)`, old, recent)
	must.NoError(t, err)
	open(t, dsn)
	if got := marks(t, store); !slices.Equal(got, []int64{3, 4}) {
		t.Errorf("after a start the marks are %v, want 3 and 4", got)
	}
	for id, want := range map[int64]bool{3: true, 4: false} {
		if done, err := store.settle(t.Context(), id); err != nil || done != want {
			t.Errorf("settle(%d) = %v, %v, want %v", id, done, err, want)
		}
	}
}

// marks returns the marks of transactions.
func marks(t *testing.T, s *Store) []int64 {
	t.Helper()
	rows, err := s.pool.Query(t.Context(), `SELECT id FROM marks ORDER BY id`)
	must.NoError(t, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	must.NoError(t, err)
	return ids
}
