package store

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Durations measures the calls of a store that requests wait for: all methods of
// [plant.Store], and Token. Failed calls count as well.
type Durations struct{ *prometheus.HistogramVec }

// NewDurations returns the metric of a store without calls.
func NewDurations() Durations {
	d := Durations{prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "plantstore_store_duration_seconds",
		Help: "Duration of store calls in seconds by operation, including the time in queues.",
		// From a read of memory to the longest timeout of a write.
		Buckets: []float64{
			.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10,
		},
		NativeHistogramBucketFactor:    1.1,
		NativeHistogramMaxBucketNumber: 100,
	}, []string{"operation"})}
	for _, operation := range strings.Fields("create create_all get list changes put patch delete token") {
		d.WithLabelValues(operation) // a series without calls is 0
	}
	return d
}

// Since observes the duration of a call. It is deferred, so that a call that panics
// counts as well.
func (d Durations) Since(began time.Time, operation string) {
	d.WithLabelValues(operation).Observe(time.Since(began).Seconds())
}
