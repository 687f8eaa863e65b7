//go:build unix

package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/storebench"
)

// BenchmarkCreates compares the store with one that sends an INSERT for each create, and two
// stores on one database with one. The database server runs with fsync, on the same machine.
func BenchmarkCreates(b *testing.B) {
	dsn := pgtest.URL(pgtest.NewServer(b)) + "&pool_max_conns=32"
	both := openPair(b, dsn)
	for _, c := range []struct {
		name    string
		clients int
		create  func(context.Context, plant.Plant) error
	}{
		{"64 clients of a server", 64, both.Store.Create},
		{"128 clients of two servers", 128, both.Create},
		{"64 clients with an INSERT each", 64, func(ctx context.Context, p plant.Plant) error {
			_, err := both.pool.Exec(ctx, `
				INSERT INTO plants (id, name, tag, version, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5)
				ON CONFLICT (id) DO NOTHING`, p.ID, []byte(p.Name), []byte(*p.Tag), p.ID, time.Now().UnixMicro())
			return err
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			execute(b, both.pool, `DELETE FROM plants`)
			storebench.Creates(b, c.clients, c.create)
		})
	}
}
