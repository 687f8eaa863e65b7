package store

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/token"
)

// Unavailable returns err as [plant.ErrUnavailable] and [token.ErrUnavailable]: one
// store has both the plants and the tokens.
func Unavailable(err error) error { return unavailableError{err} }

type unavailableError struct{ error }

func (e unavailableError) Error() string {
	return plant.ErrUnavailable.Error() + ": " + e.error.Error()
}

func (e unavailableError) Is(target error) bool {
	return target == plant.ErrUnavailable || target == token.ErrUnavailable
}

func (e unavailableError) Unwrap() error { return e.error }

// WriteFailure is the reason why the writes of a store fail. A write that succeeds
// does not end it: on a full disk a small write may succeed between two that fail.
type WriteFailure struct{ reason atomic.Pointer[error] }

// Err returns nil if writes work.
func (failure *WriteFailure) Err() error {
	if reason := failure.reason.Load(); reason != nil {
		return *reason
	}
	return nil
}

// Note records the error of a write if it is [plant.ErrUnavailable], and not one of a single
// plant. It returns err.
func (failure *WriteFailure) Note(err error) error {
	if errors.Is(err, plant.ErrUnavailable) && !errors.Is(err, plant.ErrLocked) {
		failure.reason.Store(new(err)) // not &err, which would allocate for each write
	}
	return err
}

// End records that a durable write of Writable has succeeded; see [Store].
func (failure *WriteFailure) End() { failure.reason.Store(nil) }

// TrialRows returns plants of 1 KB for Writable of [Store]. Their IDs begin at a
// random one, so that no client has them. The names are random, because a file system
// may compress its files.
func TrialRows(count int) []PlantRow {
	rows := make([]PlantRow, count)
	var name [1000]byte
	for i := range rows {
		rand.Read(name[:]) // never fails
		trial := plant.Plant{ID: int64(binary.NativeEndian.Uint64(name[:])), Name: string(name[:])}
		if i > 0 {
			trial.ID = rows[0].ID + int64(i)
		}
		rows[i] = NewPlantRow(trial, nil)
	}
	return rows
}

// Durations measures the calls of a store that requests wait for: all methods of
// [plant.Store] but Changed, and Token. Failed calls count as well.
type Durations struct{ *prometheus.HistogramVec }

// NewDurations returns the metric of a store without calls.
func NewDurations() Durations {
	durations := Durations{prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "plantstore_store_duration_seconds",
		Help: "Duration of store calls in seconds by operation, including the time in queues.",
		// From a read of memory to the longest timeout of a write.
		Buckets: []float64{
			.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10,
		},
		NativeHistogramBucketFactor:    1.1,
		NativeHistogramMaxBucketNumber: 100,
	}, []string{"operation"})}
	for _, operation := range strings.Fields("create create_all get list search count count_search tags changes history put patch delete token") {
		durations.WithLabelValues(operation) // a series without calls is 0
	}
	return durations
}

// Since observes the duration of a call. It is deferred, so that a call that panics
// counts as well.
func (d Durations) Since(began time.Time, operation string) {
	d.WithLabelValues(operation).Observe(time.Since(began).Seconds())
}
