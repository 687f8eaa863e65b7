// Package ticker repeats work in the background.
package ticker

import (
	"context"
	"sync"
	"time"
)

// Start calls do once in each interval until the returned function is called, which ends the
// context of do and waits for it.
func Start(ctx context.Context, interval time.Duration, do func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				do(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}
