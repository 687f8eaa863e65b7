package httpapi_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// heldPlants is a real store whose calls wait until they may proceed, and which tells how their contexts end.
type heldPlants struct {
	plant.Store
	began, proceed chan struct{}
	ended          chan error // of the context of a call
}

func (s heldPlants) Get(ctx context.Context, id int64) (plant.Plant, error) {
	s.began <- struct{}{}
	select {
	case <-ctx.Done():
	case <-s.proceed:
	}
	s.ended <- ctx.Err()
	return plant.Plant{}, fmt.Errorf("held: %w", cmp.Or(ctx.Err(), plant.ErrNotFound))
}

func (s heldPlants) Create(ctx context.Context, p plant.Plant) error {
	s.began <- struct{}{}
	<-s.proceed
	defer func() { s.ended <- ctx.Err() }()
	return s.Store.Create(ctx, p)
}

// A client that resets its HTTP/2 stream has gone: the store does not read for it any
// longer, and the service has not failed. A write that has begun is finished.
func TestResetStream(t *testing.T) {
	held := heldPlants{began: make(chan struct{}, 1), proceed: make(chan struct{}), ended: make(chan error, 1)}
	s, log, registry := observed(t, func(real plant.Store) plant.Store { held.Store = real; return held }, failed)
	handled := make(chan struct{}, 3)
	server := startTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { handled <- struct{}{} }()
		s.handler.ServeHTTP(w, r)
	}), true)
	proceed := sync.OnceFunc(func() { close(held.proceed) })
	t.Cleanup(proceed) // before the server is closed
	reset := func(method, path, body string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, method, server.URL+path, strings.NewReader(body))
		must.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+staticToken)
		r.Header.Set("Content-Type", "application/json")
		sent := make(chan error, 1)
		go func() {
			_, err := server.Client().Do(r)
			sent <- err
		}()
		wait.For(t, method+" "+path, held.began)
		cancel()
		if err := wait.For(t, "the end of the request", sent); !errors.Is(err, context.Canceled) {
			t.Errorf("%s %s: %v", method, path, err)
		}
	}
	wantEnd := func(what string, want error) {
		t.Helper()
		if err := wait.For(t, "the end of a "+what, held.ended); err != want {
			t.Errorf("the context of a %s ended with %v, want %v", what, err, want)
		}
	}
	reset(http.MethodGet, "/plants/1", "")
	wantEnd("read", context.Canceled)
	reset(http.MethodPost, "/plants", `{"id":1,"name":"n"}`)
	reset(http.MethodGet, "/plants/1", "") // the service has got the reset before it
	wantEnd("read", context.Canceled)
	proceed()
	wantEnd("write", nil)
	for range 3 {
		wait.For(t, "the end of a handler", handled)
	}
	if _, err := s.store.Get(t.Context(), 1); err != nil {
		t.Errorf("the plant of the write: %v", err)
	}
	for _, l := range log.lines(t) {
		if l.Level != "WARN" || l.Msg != "response cut short" || l.Status != 499 {
			t.Errorf("logged %+v", l)
		}
	}
	wantCounts(t, registry, map[string]float64{"getPlant 499": 2, "createPlant 200": 1})
}
