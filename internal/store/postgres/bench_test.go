package postgres

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/pgtest"
)

// BenchmarkCreate creates plants from 64 callers: in groups, one INSERT for each
// as a service without groups would, and in groups on two servers at once, with
// 64 callers each. Beside the rate it reports the 99th percentile.
func BenchmarkCreate(b *testing.B) {
	const callers = 64
	dsn := pgtest.DSN(b)
	dsn += "&pool_max_conns=32"
	stores := []*Store{open(b, dsn), open(b, dsn)}
	grouped := func(s *Store) func(context.Context, plant.Plant) error { return s.Create }
	single := func(ctx context.Context, p plant.Plant) error {
		_, err := stores[0].pool.Exec(ctx, `
			INSERT INTO plants (`+storedColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $6)
			ON CONFLICT (id) DO NOTHING`, p.ID, []byte(p.Name), []byte(*p.Tag), tagHash(p.Tag), p.ID, time.Now().UnixMicro())
		return err
	}
	var id atomic.Int64
	for _, c := range []struct {
		name    string
		creates []func(context.Context, plant.Plant) error
	}{
		{"single", []func(context.Context, plant.Plant) error{single}},
		{"grouped", []func(context.Context, plant.Plant) error{grouped(stores[0])}},
		{"servers=2", []func(context.Context, plant.Plant) error{grouped(stores[0]), grouped(stores[1])}},
	} {
		b.Run(fmt.Sprintf("writes=%s", c.name), func(b *testing.B) {
			var left atomic.Int64
			left.Store(int64(b.N))
			var mu sync.Mutex
			var times []time.Duration
			var wg sync.WaitGroup
			b.ResetTimer()
			for _, create := range c.creates {
				for range callers {
					wg.Go(func() {
						var mine []time.Duration
						for left.Add(-1) >= 0 {
							began := time.Now()
							if err := create(b.Context(), plant.Plant{ID: id.Add(1), Name: "Ficus lyrata", Tag: new("Moraceae")}); err != nil {
								b.Error(err)
								return
							}
							mine = append(mine, time.Since(began))
						}
						mu.Lock()
						defer mu.Unlock()
						times = append(times, mine...)
					})
				}
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "creates/s")
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}
