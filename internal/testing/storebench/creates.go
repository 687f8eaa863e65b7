// Package storebench has what the benchmarks of both engines share.
package storebench

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
)

// Creates measures the time of a create while a number of clients create plants.
func Creates(b *testing.B, clients int, create func(context.Context, plant.Plant) error) {
	var last atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range clients {
		all.Go(func() {
			for id := last.Add(1); id <= int64(b.N); id = last.Add(1) {
				if err := create(b.Context(), plant.Plant{ID: id, Name: "Ficus lyrata", Tag: new("Moraceae")}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}
