// Package storebench compares stores with themselves without groups, at the
// store and over HTTP, for the benchmarks of both engines. Both sides of a line
// run in turn, so that whatever else the machine does slows down both, and the
// medians of their ratios count.
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
	rounds = 5 // of which the median counts

	// Time is how long one side runs in one round.
	Time = time.Second
)

// Measure is what one side has done in one round.
type Measure struct {
	N      int
	Wall   time.Duration
	CPU    time.Duration // of the process that was measured
	Allocs float64       // for each of N
	P99    time.Duration
}

// Clocked measures what fn does; fn returns how often it did it.
func Clocked(fn func() int) Measure {
	allocs, cpu, began := mallocs(), cpuTime(), time.Now()
	n := fn()
	m := Measure{N: n, Wall: time.Since(began), CPU: cpuTime() - cpu}
	m.Allocs = float64(mallocs()-allocs) / float64(max(n, 1))
	return m
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// Rounds is what two sides have done in turn.
type Rounds struct{ one, other []Measure }

// InTurn runs two sides in turn.
func InTurn(one, other func() Measure) Rounds {
	var r Rounds
	for range rounds {
		r.one, r.other = append(r.one, one()), append(r.other, other())
	}
	return r
}

// Rate says how fast the first side was, over the other.
func (r Rounds) Rate() string {
	ratio, rate := r.of(func(m Measure) float64 { return float64(m.N) / m.Wall.Seconds() })
	_, allocs := r.of(func(m Measure) float64 { return m.Allocs })
	return fmt.Sprintf("%.2fx (%.0f/s, %.1f allocs)", ratio, rate, allocs)
}

// CPU says how much processor time the first side took for each, over the other.
func (r Rounds) CPU() string {
	ratio, each := r.of(func(m Measure) float64 { return m.CPU.Seconds() * 1e6 / float64(max(m.N, 1)) })
	return fmt.Sprintf("%.2fx (%.1f µs)", ratio, each)
}

// P99 says how slow one in a hundred was on the first side, over the other.
func (r Rounds) P99() string {
	ratio, p99 := r.of(func(m Measure) float64 { return m.P99.Seconds() * 1e3 })
	return fmt.Sprintf("%.2fx (%.1f ms)", ratio, p99)
}

// of returns the median of the ratios of a figure, and its median on the first
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

// Plant is the one that the benchmarks create.
func Plant(id int64) plant.Plant {
	return plant.Plant{ID: id, Name: "Ficus lyrata", Tag: new("Moraceae")}
}

// Creates has so many callers create plants with the IDs that next draws.
func Creates(b *testing.B, callers int, create func(context.Context, plant.Plant) error, next func() int64) Measure {
	var took []time.Duration
	m := Clocked(func() int {
		ctx, cancel := context.WithTimeout(b.Context(), time.Minute) // as a request has
		defer cancel()
		took = atOnce(callers, func() func() error {
			return func() error { return create(ctx, Plant(next())) }
		}, b.Error)
		return len(took)
	})
	m.P99 = p99(took)
	return m
}

// atOnce has so many callers do the same for a time, and returns how long each
// call took. One that fails stops.
func atOnce(callers int, open func() (call func() error), failed func(...any)) []time.Duration {
	var mu sync.Mutex
	var took []time.Duration
	var all sync.WaitGroup
	began := time.Now()
	for range callers {
		all.Go(func() {
			call := open()
			var mine []time.Duration
			for time.Since(began) < Time {
				t := time.Now()
				if err := call(); err != nil {
					failed(err)
					return
				}
				mine = append(mine, time.Since(t))
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, mine...)
		})
	}
	all.Wait()
	return took
}

func p99(took []time.Duration) time.Duration {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}
