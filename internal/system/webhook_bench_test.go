package system_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// BenchmarkWebhook sends 50,000 plants to a receiver in this process, which only reads them, with
// --concurrency 16. Then it creates a plant every 50 ms, and shows how long one takes from the
// request of its create to the receiver. The service, the relay and the receiver share the processors.
func BenchmarkWebhook(b *testing.B) {
	const plants, creates = 50_000, 100
	for b.Loop() {
		b.ReportMetric(0, "ns/op")
		r := program.OneOf(b, filepath.Join(b.TempDir(), "plants.db"))
		for first := int64(0); first < plants; first += 1000 {
			if status, _ := r.Call(b, http.MethodPost, "/plants:batch", batchOf(first, 1000, "Ficus lyrata")); status != http.StatusOK {
				b.Fatalf("a batch gets %d", status)
			}
		}
		var got atomic.Int64
		receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			got.Add(1)
		}))
		b.Cleanup(receiver.Close)
		arrives := func(n int64) func() bool { return func() bool { return got.Load() >= n } }
		relay := startRelay(b, r, receiver.URL, webhookSecret, "--state", filepath.Join(b.TempDir(), "state"),
			"--from", "start", "--concurrency", "16")
		wait.Until(b, "the first plant", arrives(1))
		began := time.Now()
		wait.Until(b, "all plants", arrives(plants))
		b.ReportMetric(plants/time.Since(began).Seconds(), "webhooks/s")

		var took []time.Duration
		for i := range int64(creates) {
			time.Sleep(50 * time.Millisecond)
			began := time.Now()
			r.Call(b, http.MethodPut, fmt.Sprint("/plants/", plants+i), `{"name":"Ficus lyrata"}`)
			for !arrives(plants+i+1)() && time.Since(began) < wait.Limit {
				time.Sleep(100 * time.Microsecond)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		b.ReportMetric(took[creates/2].Seconds()*1000, "p50-ms")
		b.ReportMetric(took[creates*95/100].Seconds()*1000, "p95-ms")
		b.ReportMetric(took[creates-1].Seconds()*1000, "max-ms")
		relay.end(syscall.SIGTERM)
	}
}
