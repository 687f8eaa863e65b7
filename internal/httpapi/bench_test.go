package httpapi_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/oidctest"
	"github.com/plantstore/plantstore/internal/token"
)

// BenchmarkHandler measures the handler without net/http: it uses the same request and
// ResponseWriter again and again. For comparison, floor handles the same requests
// with code written by hand that validates nothing.
func BenchmarkHandler(b *testing.B) {
	plants := newMapPlants(1000)
	ours := newService(b, offline, withPlants(plants)).handler
	for _, c := range benchRequests {
		for _, h := range []struct {
			name    string
			handler http.Handler
		}{{"plantstore", ours}, {"floor", floor{plants}.handler()}} {
			b.Run("operation="+c.name+"/handler="+h.name, func(b *testing.B) {
				call := c.sender(b, h.handler, staticToken)
				b.ReportAllocs()
				for b.Loop() {
					call()
				}
			})
		}
	}
}

// BenchmarkCreatePlant creates different plants through the whole handler in a store
// like that of the program.
func BenchmarkCreatePlant(b *testing.B) {
	b.Run("store="+engine(), func(b *testing.B) {
		handler := newService(b, offline).handler
		b.ReportAllocs()
		for id := 0; b.Loop(); id++ {
			r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/plants",
				strings.NewReader(`{"id":`+strconv.Itoa(id)+`,"name":"Ficus lyrata","tag":"Moraceae"}`))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+staticToken)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != http.StatusOK {
				b.Fatalf("got %d %s", w.Code, w.Body)
			}
		}
	})
}

// BenchmarkTokenOfIdentityProvider compares a request with a token of an identity
// provider, which is cached, with the same request and a token of the store. They take
// turns, so that both meet the same machine.
func BenchmarkTokenOfIdentityProvider(b *testing.B) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		b.Fatal(err)
	}
	p, store := oidctest.New(b, oidctest.Key{ID: "a", Algorithm: jose.RS256, Private: private}), openStore(b)
	handler := newService(b, offline, withStore(store), withPlants(newMapPlants(1000)), withIssuer(b, p, store, nil)).handler
	call := [2]func(){}
	for i, text := range []string{newToken(b, store, token.Read), p.Token(oidctest.Claims(nil))} {
		call[i] = benchRequest{"getPlant", http.MethodGet, "/plants/123", ""}.sender(b, handler, text)
	}
	var took [2]time.Duration
	for b.Loop() {
		for i := range call {
			began := time.Now()
			for range 100 {
				call[i]()
			}
			took[i] += time.Since(began)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(took[0].Nanoseconds())/float64(100*b.N), "ns/store")
	b.ReportMetric(float64(took[1].Nanoseconds())/float64(100*b.N), "ns/provider")
	b.ReportMetric(float64(took[1])/float64(took[0]), "provider/store")
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
func (e benchRequest) sender(tb testing.TB, handler http.Handler, token string) func() {
	tb.Helper()
	r := httptest.NewRequestWithContext(tb.Context(), e.method, e.target, nil)
	r.Header.Set("Authorization", "Bearer "+token)
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

// floor has three operations, written by hand with net/http and encoding/json. It
// validates nothing.
type floor struct{ plants plant.Store }

func (f floor) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /plants", f.create)
	mux.HandleFunc("GET /plants/{id}", f.get)
	mux.HandleFunc("GET /plants", f.list)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || subtle.ConstantTimeCompare([]byte(text), []byte(staticToken)) != 1 {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (f floor) create(w http.ResponseWriter, r *http.Request) {
	var p plantapi.NewPlant
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&p); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := f.plants.Create(r.Context(), plant.Plant{ID: p.ID, Name: p.Name, Tag: p.Tag}); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Location", "/plants/"+strconv.FormatInt(p.ID, 10))
	f.write(w, plantapi.Plant{Name: p.Name, Tag: p.Tag})
}

func (f floor) get(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p, err := f.plants.Get(r.Context(), id)
	if errors.Is(err, plant.ErrNotFound) {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", `"`+p.ETag+`"`)
	f.write(w, stored(p))
}

func (f floor) list(w http.ResponseWriter, r *http.Request) {
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	plants, more, _ := f.plants.List(r.Context(), plant.Page{Limit: limit})
	if more {
		w.Header().Set("Link", "</plants?after="+strconv.FormatInt(plants[len(plants)-1].ID, 10)+`>; rel="next"`)
	}
	page := make([]plantapi.StoredPlant, len(plants))
	for i, p := range plants {
		page[i] = stored(p)
	}
	f.write(w, page)
}

func (floor) write(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func stored(p plant.Plant) plantapi.StoredPlant {
	return plantapi.StoredPlant{ID: p.ID, Name: p.Name, Tag: p.Tag, ETag: p.ETag, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt}
}
