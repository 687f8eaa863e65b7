package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// The end of a context interrupts a read, also one that returns no row for a long time.
// The connection can be used again.
func TestReadIsInterrupted(t *testing.T) {
	for name, path := range map[string]string{"file": filepath.Join(t.TempDir(), "plants.db"), "memory": Memory} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, path)
			for range 2 * readers {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
				defer cancel()
				err := s.readMany(ctx, func(conn *sqlite.Conn) error {
					return inTransaction(conn, "BEGIN", func() error {
						// Some seconds, and not without an end.
						return sqlitex.Execute(conn, `WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 30000000) SELECT max(x) FROM n`, nil)
					})
				})
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("the read returned %v, want %v", err, context.DeadlineExceeded)
				}
			}
			must.NoError(t, s.Create(t.Context(), plant.Plant{ID: 1, Name: "n"}))
			for range 2 * readers { // a transaction that is still open would not see the plant
				if plants, _, err := s.List(t.Context(), plant.Page{Limit: 1}); err != nil || len(plants) != 1 {
					t.Fatalf("List = %v, %v, want the plant", plants, err)
				}
			}
		})
	}
}
