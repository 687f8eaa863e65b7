package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/groupcommit"
	"github.com/plantstore/plantstore/internal/testing/storebench"
)

// BenchmarkCreates compares the store with one without group commit, and with SQLite alone.
func BenchmarkCreates(b *testing.B) {
	for _, clients := range []int{1, 64} {
		for name, create := range map[string]func(*Store) func(context.Context, plant.Plant) error{
			"in groups": func(s *Store) func(context.Context, plant.Plant) error { return s.Create },
			"alone": func(s *Store) func(context.Context, plant.Plant) error {
				s.writes.Close()
				s.writes = groupcommit.New(1, s.commit)
				return s.Create
			},
			"by SQLite": createBare,
		} {
			b.Run(fmt.Sprintf("%d clients/%s", clients, name), func(b *testing.B) {
				storebench.Creates(b, clients, create(openStore(b, filepath.Join(b.TempDir(), "plants.db"))))
			})
		}
	}
}

// createBare inserts a row in a transaction, and does nothing else that a store does.
func createBare(s *Store) func(context.Context, plant.Plant) error {
	return func(_ context.Context, p plant.Plant) error {
		conn := <-s.writer
		defer func() { s.writer <- conn }()
		return inTransaction(conn, "BEGIN IMMEDIATE", func() error { return insertPlant(conn, p) })
	}
}
