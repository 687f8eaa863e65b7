package httpapi_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
)

// BenchmarkHandler measures the handler without net/http: it uses the same request and
// ResponseWriter again and again.
func BenchmarkHandler(b *testing.B) {
	handler := newService(b, offline, withPlants(newMapPlants(1000))).handler
	for _, c := range benchRequests {
		b.Run("operation="+c.name, func(b *testing.B) {
			call := c.sender(b, handler)
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}

// benchRequest is a request that the handler is measured with.
type benchRequest struct{ name, method, target, body string }

var benchRequests = []benchRequest{
	{"createPlant", http.MethodPost, "/plants", `{"id":123456,"name":"Ficus lyrata","tag":"Moraceae"}`},
	{"getPlant", http.MethodGet, "/plants/123", ""},
	{"listPlants", http.MethodGet, "/plants?limit=100", ""},
}

// sender returns a function that passes the request to the handler. It allocates
// nothing itself.
func (e benchRequest) sender(tb testing.TB, handler http.Handler) func() {
	tb.Helper()
	r := httptest.NewRequestWithContext(tb.Context(), e.method, e.target, nil)
	r.Header.Set("Authorization", "Bearer "+staticToken)
	body := &rewound{text: []byte(e.body)}
	if e.body != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Body, r.ContentLength = body, int64(len(e.body))
	}
	w := &discarding{header: http.Header{}}
	return func() {
		body.Reset(body.text)
		clear(w.header)
		w.status = 0
		handler.ServeHTTP(w, r)
		if w.status != http.StatusOK {
			tb.Fatalf("%s %s: got %d", e.method, e.target, w.status)
		}
	}
}

// rewound is a body that can be read again.
type rewound struct {
	bytes.Reader
	text []byte
}

func (*rewound) Close() error { return nil }

// discarding is an [http.ResponseWriter] that keeps only the status.
type discarding struct {
	header http.Header
	status int
}

func (w *discarding) Header() http.Header { return w.header }

func (w *discarding) WriteHeader(status int) { w.status = status }

func (w *discarding) SetWriteDeadline(time.Time) error { return nil }

func (w *discarding) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return len(b), nil
}

// mapPlants keeps plants in a map, so that benchmarks measure the handler and not the
// disk.
type mapPlants struct {
	plant.Store
	mu     sync.Mutex
	plants map[int64]plant.Plant
	sorted []plant.Plant // the first of them
}

// newMapPlants returns a store of n plants with the IDs from 1.
func newMapPlants(n int64) *mapPlants {
	s := &mapPlants{plants: map[int64]plant.Plant{}}
	for id := range n {
		at := time.Date(2026, 11, 20, 9, 0, 0, 123456000, time.UTC)
		p := plant.Plant{
			ID: id + 1, Name: "Ficus lyrata", Tag: new("Moraceae"),
			ETag: plant.ETag(at.UnixMicro(), id), CreatedAt: at.Truncate(time.Second), UpdatedAt: at,
		}
		s.plants[p.ID] = p
		s.sorted = append(s.sorted, p)
	}
	return s
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
		return p, plant.ErrNotFound
	}
	return p, nil
}

func (s *mapPlants) List(_ context.Context, page plant.Page) ([]plant.Plant, bool, error) {
	return slices.Clone(s.sorted[:page.Limit]), true, nil
}
