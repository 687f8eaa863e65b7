// Package storemetrics measures how long a store takes, whichever engine it is. What a
// request takes beyond that is the network's and ours.
package storemetrics

import (
	"context"
	"time"

	"github.com/plantstore/plantstore/internal/metrics"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/token"
)

// Store is a store whose calls on behalf of requests are timed: those about
// plants, and the look-up of a token. A call that is refused or fails counts
// like any other.
type Store struct {
	store.Store
	create, createAll, get, list, put, patch, remove, lookUp *metrics.Histogram
}

var _ store.Store = (*Store)(nil)

// buckets are in seconds, from a page in memory to the most that a write may take.
var buckets = []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}

// New returns a store that times the calls of s.
func New(s store.Store) *Store {
	return &Store{
		Store:     s,
		create:    metrics.NewHistogram(buckets),
		createAll: metrics.NewHistogram(buckets),
		get:       metrics.NewHistogram(buckets),
		list:      metrics.NewHistogram(buckets),
		put:       metrics.NewHistogram(buckets),
		patch:     metrics.NewHistogram(buckets),
		remove:    metrics.NewHistogram(buckets),
		lookUp:    metrics.NewHistogram(buckets),
	}
}

// Metrics is a [metrics.Source]: how long the calls took, then the metrics of
// the store itself.
func (s *Store) Metrics(w *metrics.Writer) {
	w.Histogram("plantstore_store_duration_seconds", "Calls of the store by operation, and how long they took, with the wait for their turn.")
	w.Buckets(s.create, "operation", "create")
	w.Buckets(s.createAll, "operation", "create_all")
	w.Buckets(s.remove, "operation", "delete")
	w.Buckets(s.get, "operation", "get")
	w.Buckets(s.list, "operation", "list")
	w.Buckets(s.patch, "operation", "patch")
	w.Buckets(s.put, "operation", "put")
	w.Buckets(s.lookUp, "operation", "token")
	s.Store.Metrics(w)
}

// since observes how long it is since a call began. It is deferred, so that a
// call that panics counts, too.
func since(began time.Time, in *metrics.Histogram) { in.Observe(time.Since(began).Seconds()) }

// Create implements [plant.Store].
func (s *Store) Create(ctx context.Context, p plant.Plant) error {
	defer since(time.Now(), s.create)
	return s.Store.Create(ctx, p)
}

// CreateAll implements [plant.Store].
func (s *Store) CreateAll(ctx context.Context, plants []plant.Plant) (int, error) {
	defer since(time.Now(), s.createAll)
	return s.Store.CreateAll(ctx, plants)
}

// Get implements [plant.Store].
func (s *Store) Get(ctx context.Context, id int64) (plant.Plant, error) {
	defer since(time.Now(), s.get)
	return s.Store.Get(ctx, id)
}

// List implements [plant.Store].
func (s *Store) List(ctx context.Context, page plant.Page) (plants []plant.Plant, more bool, err error) {
	defer since(time.Now(), s.list)
	return s.Store.List(ctx, page)
}

// Put implements [plant.Store].
func (s *Store) Put(ctx context.Context, p plant.Plant, condition plant.Precondition) (stored plant.Plant, created bool, err error) {
	defer since(time.Now(), s.put)
	return s.Store.Put(ctx, p, condition)
}

// Patch implements [plant.Store].
func (s *Store) Patch(ctx context.Context, id int64, change plant.Patch, condition plant.Precondition) (plant.Plant, error) {
	defer since(time.Now(), s.patch)
	return s.Store.Patch(ctx, id, change, condition)
}

// Delete implements [plant.Store].
func (s *Store) Delete(ctx context.Context, id int64, condition plant.Precondition) error {
	defer since(time.Now(), s.remove)
	return s.Store.Delete(ctx, id, condition)
}

// Token implements [token.Store].
func (s *Store) Token(ctx context.Context, id string) (token.Token, error) {
	defer since(time.Now(), s.lookUp)
	return s.Store.Token(ctx, id)
}
