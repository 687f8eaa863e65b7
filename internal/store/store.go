// Package store defines the interface of the stores: plants, tokens, and health
// and metrics for operators. The packages sqlite and postgres implement it; the
// package open opens one of them by its URL.
//
// It also has what both engines share: what a write does ([Writer], [Group]), the columns
// of the tables ([PlantColumns], [TokenColumns]), the rules of the feed of changes
// ([FeedState]), and what operators see of a store ([WriteFailure], [Durations]).
package store

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/token"
)

// Store stores plants and tokens. Its methods may be called from several
// goroutines at the same time.
type Store interface {
	plant.Store
	Administration
}

// Administration is what a store does besides storing plants.
type Administration interface {
	token.Store

	// BeginEpoch begins an epoch of the feed of changes; see [plant.Position]. A server
	// calls it before its first request, and a program that replaces the content of
	// the store afterwards. It does nothing if the store has no feed.
	BeginEpoch(ctx context.Context) error

	// ForgetChanges forgets which plants were changed before a time. It need not
	// forget the newest transaction.
	ForgetChanges(ctx context.Context, before time.Time) error

	// Ready returns nil if the store accepts writes, and otherwise the reason why
	// it does not. It sends one query to the database and returns when ctx ends.
	Ready(ctx context.Context) error

	// WriteFailure returns the error of the last write that failed with
	// [plant.ErrUnavailable]. It returns nil if there was none since the last TryWrite
	// that succeeded.
	WriteFailure() error

	// TryWrite makes a durable write that needs space on the disk and leaves nothing
	// behind. No reader sees it.
	TryWrite(ctx context.Context) error

	// Schema returns the number of migrations that were applied when the store was
	// opened (0: it was created), and the number now.
	Schema() (found, now int)

	// Watch starts to log what happens to the files or servers of the store. It
	// must not be called more than once.
	Watch(log *slog.Logger)

	// Snapshot calls read with what the store holds at one moment: writes that
	// commit meanwhile are not in it. Only a store in memory makes writes wait until
	// read returns. The snapshot must not be used after that.
	Snapshot(ctx context.Context, read func(Snapshot) error) error

	// Metrics returns the metrics of the store. It returns the same collectors at
	// every call.
	Metrics() []prometheus.Collector

	// Close waits for running calls and closes the store. No method may be
	// called after it.
	Close() error
}
