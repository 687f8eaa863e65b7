package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
)

// roundTimes is a real store in which everything happens at a whole second.
type roundTimes struct{ plant.Store }

func round(p plant.Plant) plant.Plant {
	p.CreatedAt, p.UpdatedAt = p.CreatedAt.Truncate(time.Second), p.UpdatedAt.Truncate(time.Second)
	return p
}

func (s roundTimes) Get(ctx context.Context, id int64) (plant.Plant, error) {
	p, err := s.Store.Get(ctx, id)
	return round(p), err
}

func (s roundTimes) List(ctx context.Context, page plant.Page) ([]plant.Plant, bool, error) {
	plants, more, err := s.Store.List(ctx, page)
	for i := range plants {
		plants[i] = round(plants[i])
	}
	return plants, more, err
}

func (s roundTimes) Put(ctx context.Context, p plant.Plant, c plant.Precondition) (plant.Plant, bool, error) {
	p, created, err := s.Store.Put(ctx, p, c)
	return round(p), created, err
}

func (s roundTimes) Patch(ctx context.Context, id int64, change plant.Patch, c plant.Precondition) (plant.Plant, error) {
	p, err := s.Store.Patch(ctx, id, change, c)
	return round(p), err
}

// A time has six digits after the seconds in every response, zeros too.
func TestTimestampFormat(t *testing.T) {
	s := newService(t, wrapPlants(func(real plant.Store) plant.Store { return roundTimes{real} }))
	for _, c := range []struct{ method, path, body string }{
		{http.MethodPut, "/plants/1", `{"name":"n"}`}, // 201
		{http.MethodPut, "/plants/1", `{"name":"m"}`}, // 200
		{http.MethodPatch, "/plants/1", `{"name":"o"}`},
		{http.MethodGet, "/plants/1", ""},
		{http.MethodGet, "/plants", ""},
	} {
		a := s.call(c.method, c.path, c.body)
		if strings.Count(a.body, `.000000Z"`) != 2 {
			t.Errorf("%s %s: got %s", c.method, c.path, a.body)
		}
	}
}

// What a read returned may be sent back as it is.
func TestResponseIsAcceptedAsRequest(t *testing.T) {
	s := newService(t)
	s.call(http.MethodPut, "/plants/1", `{"name":"n","tag":"t"}`).wantStatus(t, http.StatusCreated)
	received := s.call(http.MethodGet, "/plants/1", "").wantStatus(t, http.StatusOK).body
	for _, method := range []string{http.MethodPut, http.MethodPatch} {
		a := s.call(method, "/plants/1", received).wantStatus(t, http.StatusOK)
		if a.body != received { // nothing changes, not even the version
			t.Errorf("%s of %s: got %s", method, received, a.body)
		}
		for _, member := range []string{`"id":"x"`, `"etag":1`, `"created_at":null`, `"updated_at":{}`, `"colour":["green"]`} {
			a := s.call(method, "/plants/1", `{"name":"n","tag":"t",`+member+`}`).wantStatus(t, http.StatusOK)
			if a.body != received {
				t.Errorf("%s with %s: got %s", method, member, a.body)
			}
		}
		a = s.call(method, "/plants/2", received)
		if method == http.MethodPut { // the id in the path counts
			a.wantStatus(t, http.StatusCreated)
			s.call(http.MethodDelete, "/plants/2", "").wantStatus(t, http.StatusNoContent)
		} else {
			a.wantStatus(t, http.StatusNotFound)
		}
	}
}
