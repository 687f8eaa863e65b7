//go:build !race

package httpapi_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
)

// TestAllocations bounds what the handler itself allocates for a request: the
// store is a map that has the plant already, the request and the writer are used
// again. Unlike a time it is the same on every machine, though not with the race
// detector, which drops at random what is put into a pool.
//
// Lower a bound with the number; raise one with a reason in the commit.
func TestAllocations(t *testing.T) {
	plants := &mapPlants{plants: map[int64]plant.Plant{}}
	handler := newBareHandler(t, plants, openStore(t), slog.New(slog.DiscardHandler))
	for _, c := range []struct {
		name, method, path, body string
		most                     float64
	}{
		{"createPlant", http.MethodPost, "/plants", `{"id":1,"name":"Ficus lyrata","tag":"Moraceae"}`, 54},
		{"getPlant", http.MethodGet, "/plants/1", "", 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil)
			r.Header.Set("Authorization", "Bearer "+staticToken)
			r.Header.Set("Content-Type", "application/json")
			r.ContentLength = int64(len(c.body))
			text, body, w := []byte(c.body), &sameBody{}, &sameWriter{header: http.Header{}}
			got := testing.AllocsPerRun(1000, func() {
				body.Reset(text)
				r.Body = body
				clear(w.header)
				handler.ServeHTTP(w, r)
			})
			if w.status != http.StatusOK {
				t.Fatalf("answered %d", w.status)
			}
			if t.Logf("figures: %s allocates %v times", c.name, got); got > c.most {
				t.Errorf("want at most %v", c.most)
			}
		})
	}
}

// sameBody is the body of one request after the other.
type sameBody struct{ bytes.Reader }

func (*sameBody) Close() error { return nil }

// sameWriter takes one answer after the other, and remembers only its status.
type sameWriter struct {
	header http.Header
	status int
}

func (w *sameWriter) Header() http.Header         { return w.header }
func (w *sameWriter) Write(b []byte) (int, error) { return len(b), nil }
func (w *sameWriter) WriteHeader(status int)      { w.status = status }
