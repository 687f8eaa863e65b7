package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/oidc"
	"github.com/plantstore/plantstore/internal/ticker"
)

// forgetInterval is how often old changes, and old entries of the history, are forgotten. It is short, so that only a
// few rows are deleted each time.
const forgetInterval = time.Minute

// Forever is a KeepHistory without an end.
const Forever time.Duration = math.MaxInt64

// keep calls forget with the time before which things are older than age, from time to time, until the returned
// function is called.
func keep(ctx context.Context, log *slog.Logger, what string, age time.Duration, forget func(context.Context, time.Time) error) (stop func()) {
	interval := cmp.Or(min(forgetInterval, age), forgetInterval)
	return ticker.Start(ctx, interval, func(ctx context.Context) {
		if err := forget(ctx, time.Now().Add(-age)); err != nil && ctx.Err() == nil {
			log.Warn("cannot forget old "+what, "err", err)
		}
	})
}

// writeMetrics returns whether writes work as a metric. Each scrape asks, as /writez does.
func writeMetrics(health *health) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "plantstore_writes_available",
		Help: "1 if writes work, 0 while they fail because of the store, for example because its disk is full.",
	}, func() float64 {
		ctx, cancel := context.WithTimeout(context.Background(), readyTime)
		defer cancel()
		if health.writable(ctx) != nil {
			return 0
		}
		return 1
	})
}

// findSignIn asks an identity provider where people sign in, and again in the background until
// stop is called. It returns how they sign in, as far as that is known.
func findSignIn(ctx context.Context, config oidc.Config) (signIn func() *httpapi.SignIn, stop func()) {
	provider := oidc.NewSignIn(config)
	provider.Update(ctx)
	signIn = func() *httpapi.SignIn {
		authorization, token := provider.Endpoints()
		if token == "" {
			return nil
		}
		return &httpapi.SignIn{
			ClientID:      config.ClientID,
			Audience:      config.Audience,
			Scope:         fmt.Sprintf("offline_access %[1]sread %[1]swrite", config.ScopePrefix),
			Authorization: authorization,
			Token:         token,
		}
	}
	return signIn, ticker.Start(ctx, oidc.SignInPause, provider.Update)
}
