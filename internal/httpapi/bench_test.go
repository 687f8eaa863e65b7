package httpapi_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
)

// mapPlants keeps plants in a map, so that a benchmark measures the way of a
// request and not the disk. It is no part of the program.
type mapPlants struct {
	plant.Store
	mu     sync.Mutex
	plants map[int64]plant.Plant
}

func (s *mapPlants) Create(_ context.Context, p plant.Plant) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, taken := s.plants[p.ID]; taken && !old.Same(p) {
		return plant.ErrExists
	}
	s.plants[p.ID] = p
	return nil
}

func (s *mapPlants) Get(_ context.Context, id int64) (plant.Plant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.plants[id]
	if !ok {
		return plant.Plant{}, plant.ErrNotFound
	}
	return p, nil
}

// BenchmarkCreatePlant sends creates through the whole handler.
func BenchmarkCreatePlant(b *testing.B) {
	store := openStore(b)
	for name, plants := range map[string]plant.Store{
		"store=map":         &mapPlants{plants: map[int64]plant.Plant{}},
		"store=" + engine(): store,
	} {
		b.Run(name, func(b *testing.B) {
			handler := newBareHandler(b, plants, store, slog.New(slog.DiscardHandler))
			b.ReportAllocs()
			for id := 0; b.Loop(); id++ {
				r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/plants",
					strings.NewReader(fmt.Sprintf(`{"id":%d,"name":"Ficus lyrata","tag":"Moraceae"}`, id)))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Authorization", "Bearer "+staticToken)
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					b.Fatalf("answered %d %s", w.Code, w.Body)
				}
			}
		})
	}
}
