package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// forgetInterval is how often old changes are forgotten. It is short, so that only a
// few rows are deleted each time.
const forgetInterval = time.Minute

// keepChanges forgets the changes that are older than age, until the returned
// function is called.
func keepChanges(ctx context.Context, log *slog.Logger, s store.Store, age time.Duration) (stop func()) {
	return every(ctx, min(forgetInterval, age), func(ctx context.Context) {
		if err := s.ForgetChanges(ctx, time.Now().Add(-age)); err != nil && ctx.Err() == nil {
			log.Warn("cannot forget old changes", "err", err)
		}
	})
}

// warnWithoutFeed logs a warning if a store has no feed of changes, with what to do
// about it.
func warnWithoutFeed(ctx context.Context, log *slog.Logger, feed plant.Feed) {
	_, _, err := feed.Changes(ctx, nil, 1)
	if none, ok := errors.AsType[plant.NoChangesError](err); ok {
		log.Warn("requests for changes get 503", "err", none)
	}
}
