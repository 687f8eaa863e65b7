// Package store says what a store of the service is: plants, tokens and what an
// operator asks of it. It imports no engine; internal/store/open picks one.
package store

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/token"
)

// Store keeps plants and tokens. Its methods may be called from any number of
// goroutines.
type Store interface {
	plant.Store
	token.Store

	// Ready returns nil if the store takes writes, and otherwise the reason why
	// it does not. It asks the database once and returns when ctx ends.
	Ready(ctx context.Context) error

	// Metrics returns what the store measures, for a registry. It may be called
	// more than once and returns the same collectors.
	Metrics() []prometheus.Collector

	// Close waits for calls under way and closes the store. No method may be
	// called after it.
	Close() error
}
