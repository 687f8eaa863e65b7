//go:build unix

package postgres

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/storebench"
)

// BenchmarkSideBySide compares the store with one that sends an INSERT for each
// create, and two stores on one database with one. The database server runs with
// fsync, on the same machine as the service and its clients.
func BenchmarkSideBySide(b *testing.B) {
	dsn := pgtest.URL(pgtest.NewServer(b)) + "&pool_max_conns=32"
	stores := []*Store{open(b, dsn), open(b, dsn)}
	var last atomic.Int64
	next := func() int64 { return last.Add(1) }
	grouped := func() storebench.Measure { return storebench.Creates(b, 64, stores[0].Create, next) }
	var table storebench.Table

	r := storebench.InTurn(grouped, func() storebench.Measure { return storebench.Creates(b, 64, singly{stores[0]}.Create, next) })
	table.Line("store, 64 clients: creates/s over an INSERT each", r.Rate(), "4x", "5x")
	table.Line("store, 64 clients: p99, likewise", r.P99(), "1x", "")

	r = storebench.InTurn(func() storebench.Measure {
		both := make([]storebench.Measure, len(stores))
		var all sync.WaitGroup
		for i, s := range stores {
			all.Go(func() { both[i] = storebench.Creates(b, 64, s.Create, next) })
		}
		all.Wait()
		both[0].N += both[1].N
		return both[0]
	}, grouped)
	table.Line("two servers, 64 clients each: creates/s over one server", r.Rate(), "", "")
	for b.Loop() { // the measurements are done
	}
	table.Print()
}

// singly is a store whose creates do not share transactions.
type singly struct{ *Store }

var _ plant.Store = singly{}

func (s singly) Create(ctx context.Context, p plant.Plant) error {
	_, err := s.pool.Exec(ctx, `
		INSERT INTO plants (id, name, tag, version, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5)
		ON CONFLICT (id) DO NOTHING`, p.ID, []byte(p.Name), []byte(*p.Tag), p.ID, time.Now().UnixMicro())
	return err
}
