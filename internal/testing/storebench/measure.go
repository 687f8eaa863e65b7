// Package storebench helps the benchmarks of both engines to compare a store with
// and without group commit. The two sides of a comparison
// run alternately, so that other load on the machine slows down both, and the
// result is the median of the ratios.
package storebench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
)

const (
	rounds = 5           // the result is their median
	length = time.Second // of one side in one round
)

// Measure is the result of one side in one round.
type Measure struct {
	N      int // number of operations
	Wall   time.Duration
	Allocs float64 // per operation
	P99    time.Duration
}

// clocked measures fn, which returns its number of operations.
func clocked(fn func() int) Measure {
	allocs, began := mallocs(), time.Now()
	n := fn()
	m := Measure{N: n, Wall: time.Since(began)}
	m.Allocs = float64(mallocs()-allocs) / float64(max(n, 1))
	return m
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// Rounds has the results of two sides.
type Rounds struct{ one, other []Measure }

// InTurn runs two sides alternately.
func InTurn(one, other func() Measure) Rounds {
	var r Rounds
	for range rounds {
		r.one, r.other = append(r.one, one()), append(r.other, other())
	}
	return r
}

// Rate returns the operations per second of the first side, divided by those of
// the other.
func (r Rounds) Rate() string {
	ratio, rate := r.of(func(m Measure) float64 { return float64(m.N) / m.Wall.Seconds() })
	_, allocs := r.of(func(m Measure) float64 { return m.Allocs })
	return fmt.Sprintf("%.2fx (%.0f/s, %.1f allocs)", ratio, rate, allocs)
}

// P99 returns the 99th percentile of the latency of the first side, divided by
// that of the other.
func (r Rounds) P99() string {
	ratio, p99 := r.of(func(m Measure) float64 { return m.P99.Seconds() * 1e3 })
	return fmt.Sprintf("%.2fx (%.1f ms)", ratio, p99)
}

// of returns the median of the ratios of a figure, and its median for the first
// side.
func (r Rounds) of(figure func(Measure) float64) (ratio, one float64) {
	var ratios, ones []float64
	for i := range r.one {
		ones = append(ones, figure(r.one[i]))
		ratios = append(ratios, ones[i]/figure(r.other[i]))
	}
	return middle(ratios), middle(ones)
}

func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// benchPlant returns a plant that the benchmarks create.
func benchPlant(id int64) plant.Plant {
	return plant.Plant{ID: id, Name: "Ficus lyrata", Tag: new("Moraceae")}
}

// Creates measures clients that create plants for a second with the IDs that next returns. A
// client stops when a create fails.
func Creates(b *testing.B, clients int, create func(context.Context, plant.Plant) error, next func() int64) Measure {
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute) // requests have a deadline, too
	defer cancel()
	var mu sync.Mutex
	var took []time.Duration
	m := clocked(func() int {
		var all sync.WaitGroup
		began := time.Now()
		for range clients {
			all.Go(func() {
				var mine []time.Duration
				for time.Since(began) < length {
					called := time.Now()
					if err := create(ctx, benchPlant(next())); err != nil {
						b.Error(err)
						return
					}
					mine = append(mine, time.Since(called))
				}
				mu.Lock()
				defer mu.Unlock()
				took = append(took, mine...)
			})
		}
		all.Wait()
		return len(took)
	})
	m.P99 = p99(took)
	return m
}

func p99(took []time.Duration) time.Duration {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}
