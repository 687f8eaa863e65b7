// Package storemetrics measures the duration of the calls of a store. It wraps
// any [store.Store], so the engines contain no code for it.
package storemetrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/token"
)

// Store measures the calls that requests wait for: all methods of [plant.Store],
// and Token. Failed calls count as well.
//
// It does not embed plant.Store. If that gets a new method, the program does not
// compile until the method is measured here.
type Store struct {
	store.Administration // not measured, except Token
	plants               plant.Store

	durations                                                         *prometheus.HistogramVec
	create, createAll, get, list, changes, put, patch, remove, lookUp prometheus.Observer
}

var _ store.Store = (*Store)(nil)

// New returns a store that measures the calls of s.
func New(s store.Store) *Store {
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "plantstore_store_duration_seconds",
		Help: "Duration of store calls in seconds by operation, including the time in queues.",
		// From a read of memory to the longest timeout of a write.
		Buckets:                        []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		NativeHistogramBucketFactor:    1.1,
		NativeHistogramMaxBucketNumber: 100,
	}, []string{"operation"})
	of := func(operation string) prometheus.Observer { return durations.WithLabelValues(operation) }
	return &Store{
		Administration: s,
		plants:         s,
		durations:      durations,
		create:         of("create"),
		createAll:      of("create_all"),
		get:            of("get"),
		list:           of("list"),
		changes:        of("changes"),
		put:            of("put"),
		patch:          of("patch"),
		remove:         of("delete"),
		lookUp:         of("token"),
	}
}

// Metrics returns the durations and the metrics of the wrapped store.
func (s *Store) Metrics() []prometheus.Collector {
	return append([]prometheus.Collector{s.durations}, s.Administration.Metrics()...)
}

// since observes the duration of a call. It is deferred, so that a call that
// panics counts as well.
func since(began time.Time, in prometheus.Observer) { in.Observe(time.Since(began).Seconds()) }

// Create implements [plant.Store].
func (s *Store) Create(ctx context.Context, p plant.Plant) error {
	defer since(time.Now(), s.create)
	return s.plants.Create(ctx, p)
}

// CreateAll implements [plant.Store].
func (s *Store) CreateAll(ctx context.Context, plants []plant.Plant) (int, error) {
	defer since(time.Now(), s.createAll)
	return s.plants.CreateAll(ctx, plants)
}

// Get implements [plant.Store].
func (s *Store) Get(ctx context.Context, id int64) (plant.Plant, error) {
	defer since(time.Now(), s.get)
	return s.plants.Get(ctx, id)
}

// List implements [plant.Store].
func (s *Store) List(ctx context.Context, page plant.Page) (plants []plant.Plant, more bool, err error) {
	defer since(time.Now(), s.list)
	return s.plants.List(ctx, page)
}

// Changes implements [plant.Feed].
func (s *Store) Changes(ctx context.Context, after *plant.Position, limit int) (changes []plant.Change, next plant.Position, err error) {
	defer since(time.Now(), s.changes)
	return s.plants.Changes(ctx, after, limit)
}

// Changed implements [plant.Feed]. It is not measured: it returns at once.
func (s *Store) Changed() <-chan struct{} { return s.plants.Changed() }

// Put implements [plant.Store].
func (s *Store) Put(ctx context.Context, p plant.Plant, condition plant.Precondition) (stored plant.Plant, created bool, err error) {
	defer since(time.Now(), s.put)
	return s.plants.Put(ctx, p, condition)
}

// Patch implements [plant.Store].
func (s *Store) Patch(ctx context.Context, id int64, change plant.Patch, condition plant.Precondition) (plant.Plant, error) {
	defer since(time.Now(), s.patch)
	return s.plants.Patch(ctx, id, change, condition)
}

// Delete implements [plant.Store].
func (s *Store) Delete(ctx context.Context, id int64, condition plant.Precondition) error {
	defer since(time.Now(), s.remove)
	return s.plants.Delete(ctx, id, condition)
}

// Token implements [token.Store].
func (s *Store) Token(ctx context.Context, id string) (token.Token, error) {
	defer since(time.Now(), s.lookUp)
	return s.Administration.Token(ctx, id)
}
