package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantclient"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/pgtest"
	"github.com/plantstore/plantstore/internal/token"
)

// BenchmarkCreate creates plants from 64 callers: in groups, one INSERT for each
// as a service without groups would, both of it over HTTP, and in groups on two
// servers at once, with 64 callers each. Beside the rate it reports the 99th
// percentile.
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
		{"single-http", []func(context.Context, plant.Plant) error{overHTTP(b, stores[0], singly{stores[0], single})}},
		{"grouped-http", []func(context.Context, plant.Plant) error{overHTTP(b, stores[0], stores[0])}},
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

// singly is a store whose creates are not grouped.
type singly struct {
	plant.Store
	create func(context.Context, plant.Plant) error
}

func (s singly) Create(ctx context.Context, p plant.Plant) error { return s.create(ctx, p) }

// overHTTP creates plants through the whole service and the generated client.
func overHTTP(b *testing.B, tokens token.Store, plants plant.Store) func(context.Context, plant.Plant) error {
	b.Helper()
	const static = "a-static-token-of-ours"
	verifier, err := token.NewVerifier(tokens, static)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { verifier.Close() })
	handler, err := httpapi.New(httpapi.Options{Plants: plants, Tokens: verifier, Log: slog.New(slog.DiscardHandler), MaxBody: 1 << 20})
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(handler)
	b.Cleanup(server.Close)
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	client, err := plantclient.NewClientWithResponses(server.URL, plantclient.WithHTTPClient(web),
		plantclient.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+static)
			return nil
		}))
	if err != nil {
		b.Fatal(err)
	}
	return func(ctx context.Context, p plant.Plant) error {
		resp, err := client.CreatePlantWithResponse(ctx, plantapi.NewPlant{ID: p.ID, Name: p.Name, Tag: p.Tag})
		if err == nil && resp.JSON200 == nil {
			err = fmt.Errorf("answered %s %s", resp.Status(), resp.Body)
		}
		return err
	}
}
