package metrics

import (
	"math"
	"slices"
	"sync/atomic"
)

// Histogram counts observations by size, in buckets. To observe takes no lock
// and allocates nothing.
type Histogram struct {
	bounds  []float64       // the largest value of each bucket but the last
	counts  []atomic.Uint64 // of each bucket alone; those of a scrape are cumulative
	sumBits atomic.Uint64   // of a float64
}

// NewHistogram returns a histogram with a bucket up to and including each bound,
// in ascending order, and one for all that is above them. It keeps the slice.
func NewHistogram(bounds []float64) *Histogram {
	return &Histogram{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1)}
}

// Observe counts a value.
func (h *Histogram) Observe(value float64) {
	bucket, _ := slices.BinarySearch(h.bounds, value)
	h.counts[bucket].Add(1)
	for {
		old := h.sumBits.Load()
		if h.sumBits.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+value)) {
			return
		}
	}
}

func (h *Histogram) sum() float64 { return math.Float64frombits(h.sumBits.Load()) }

// bound returns the largest value of a bucket.
func (h *Histogram) bound(bucket int) float64 {
	if bucket == len(h.bounds) {
		return math.Inf(1)
	}
	return h.bounds[bucket]
}
