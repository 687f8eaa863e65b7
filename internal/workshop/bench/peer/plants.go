package peer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
)

// Preloaded is the number of plants at the start; their ids begin with 1.
const Preloaded = 1000

// Plants keeps plants in a map, so that the benchmark measures the handling of
// requests and not a disk. Every peer uses it. It cannot change a plant, because no
// load does that.
type Plants struct {
	plant.Store
	mu     sync.Mutex
	plants map[int64]plant.Plant
	ids    []int64 // ascending
}

// NewPlants returns the preloaded plants.
func NewPlants() *Plants {
	s := &Plants{plants: map[int64]plant.Plant{}}
	for id := int64(1); id <= Preloaded; id++ {
		at := time.Date(2023, 11, 14, 22, 13, 20, 0, time.UTC)
		_ = s.Create(context.Background(), plant.Plant{
			ID: id, Name: fmt.Sprintf("Ficus %d", id), Tag: new("Moraceae"),
			ETag: plant.ETag(at.UnixMicro(), id), CreatedAt: at, UpdatedAt: at,
		})
	}
	return s
}

// Create stores a plant unless another one has its id.
func (s *Plants) Create(_ context.Context, p plant.Plant) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, taken := s.plants[p.ID]; taken {
		if !old.Same(p) {
			return plant.ErrExists
		}
		return nil
	}
	s.plants[p.ID] = p
	if len(s.ids) == 0 || s.ids[len(s.ids)-1] < p.ID {
		s.ids = append(s.ids, p.ID)
		return nil
	}
	at, _ := slices.BinarySearch(s.ids, p.ID) // near the end: the load counts up
	s.ids = slices.Insert(s.ids, at, p.ID)
	return nil
}

// Get returns a plant.
func (s *Plants) Get(_ context.Context, id int64) (plant.Plant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.plants[id]
	if !ok {
		return plant.Plant{}, plant.ErrNotFound
	}
	return p, nil
}

// List returns a page of plants of any tag.
func (s *Plants) List(_ context.Context, page plant.Page) ([]plant.Plant, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := s.ids
	if page.After != nil {
		at, found := slices.BinarySearch(ids, *page.After)
		if found {
			at++
		}
		ids = ids[at:]
	}
	more := len(ids) > page.Limit
	plants := make([]plant.Plant, min(len(ids), page.Limit))
	for i := range plants {
		plants[i] = s.plants[ids[i]]
	}
	return plants, more, nil
}
