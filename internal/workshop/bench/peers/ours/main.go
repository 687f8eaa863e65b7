// Ours is the whole of internal/httpapi as plantstore serve builds it, over the
// plants of the benchmark.
package main

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/token"
	"github.com/plantstore/plantstore/internal/workshop/bench/peer"
)

func main() {
	peer.Main(func(plants *peer.Plants) (http.Handler, error) {
		store, err := sqlite.Open(context.Background(), sqlite.Memory) // for tokens; never closed, because the process is killed at the end
		if err != nil {
			return nil, err
		}
		tokens := token.NewVerifier(store, peer.Token)
		return httpapi.New(httpapi.Options{
			Plants:  plants,
			Tokens:  tokens,
			MaxBody: 1 << 20,
			Metrics: prometheus.NewRegistry(),
			Log:     slog.New(slog.NewJSONHandler(os.Stderr, nil)),
			LogSlow: time.Second,

			MaxInFlight: 512,
			FailedAuth:  httpapi.Rate{Limit: 100, Per: time.Minute},
		})
	})
}
