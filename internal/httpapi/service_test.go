package httpapi_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantclient"
	"github.com/plantstore/plantstore/internal/contract/plantcontract"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/pgtest"
	"github.com/plantstore/plantstore/internal/store/postgres"
	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/token"
	"github.com/prometheus/client_golang/prometheus"
)

const (
	staticToken = "a-static-token-of-ours"
	maxBody     = 1 << 20
)

func TestMain(m *testing.M) { plantcontract.Plants().Main(m) }

// service is a running Plant Store over a real store.
type service struct {
	t      *testing.T
	url    string
	store  store.Store
	client *plantclient.ClientWithResponses // has every scope
}

// start runs a service whose store is changed by wrap, if that is not nil.
func start(t *testing.T, wrap func(plant.Store) plant.Store) *service {
	t.Helper()
	store := openStore(t)
	var plants plant.Store = store
	if wrap != nil {
		plants = wrap(plants)
	}
	return serve(t, store, newBareHandler(t, plants, store, slog.New(slog.DiscardHandler)))
}

// serve runs a service whose handler is there already.
func serve(t *testing.T, store store.Store, handler http.Handler) *service {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.DisableGeneralOptionsHandler = true // as serve has it, and
	server.Config.MaxHeaderBytes = httpapi.MaxHeaderBytes
	server.Start()
	t.Cleanup(server.Close)
	s := &service{t: t, url: server.URL, store: store}
	s.client = s.clientWith(staticToken)
	return s
}

// engine is PostgreSQL if there is one for tests.
func engine() string {
	if pgtest.Given() {
		return "postgres"
	}
	return "sqlite"
}

// openStore opens an empty store of the engine.
func openStore(t testing.TB) store.Store {
	t.Helper()
	if engine() == "postgres" {
		store, err := postgres.Open(t.Context(), pgtest.DSN(t))
		return opened(t, store, err)
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "plants.db"))
	return opened(t, store, err)
}

// opened takes what opening a store returned, and has the test close it.
func opened(t testing.TB, store store.Store, err error) store.Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// newHandler returns the handler whose every answer is held against the
// document.
func newHandler(t testing.TB, plants plant.Store, tokens token.Store) http.Handler {
	t.Helper()
	return plantcontract.Plants().Handler(t, newBareHandler(t, plants, tokens, slog.New(slog.DiscardHandler)))
}

// newBareHandler returns the handler as the program has it, after the given
// changes.
func newBareHandler(t testing.TB, plants plant.Store, tokens token.Store, log *slog.Logger, changes ...func(*httpapi.Options)) http.Handler {
	t.Helper()
	opts := httpapi.Options{
		Plants:  plants,
		MaxBody: maxBody,
		Metrics: prometheus.NewRegistry(),
		Log:     log,
	}
	for _, change := range changes {
		change(&opts)
	}
	return newHandlerOf(t, tokens, opts)
}

// newHandlerOf returns a handler with a verifier over these tokens.
func newHandlerOf(t testing.TB, tokens token.Store, opts httpapi.Options) http.Handler {
	t.Helper()
	verifier, err := token.NewVerifier(tokens, staticToken)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := verifier.Close(); err != nil {
			t.Error(err)
		}
	})
	opts.Tokens = verifier
	handler, err := httpapi.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// clientWith returns a generated client that sends the given token.
func (s *service) clientWith(token string) *plantclient.ClientWithResponses {
	s.t.Helper()
	client, err := plantclient.NewClientWithResponses(s.url,
		plantclient.WithHTTPClient(plantcontract.Plants().Client(s.t)), plantclient.WithRequestEditorFn(bearer(token)))
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

// longEnough is how long a test waits for what must come sooner.
const longEnough = 30 * time.Second

// receive returns what is sent to a channel, or fails the test if nothing is.
func receive[T any](t *testing.T, from <-chan T, what string) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(longEnough):
		t.Fatalf("waited %v for %s", longEnough, what)
	}
	return value
}

// response is a response whose body has been read.
type response struct {
	*http.Response
	body string
}

// post creates a plant as a client would that may do everything, after the
// given changes to the request.
func (s *service) post(body string, changes ...func(*http.Request)) response {
	s.t.Helper()
	return s.call(http.MethodPost, "/plants", body, changes...)
}

// call sends a request with credentials and the right Content-Type, after the
// given changes to it.
func (s *service) call(method, path, body string, changes ...func(*http.Request)) response {
	s.t.Helper()
	defaults := []func(*http.Request){header("Authorization", "Bearer "+staticToken)}
	switch method {
	case http.MethodPost, http.MethodPut:
		defaults = append(defaults, header("Content-Type", "application/json"))
	case http.MethodPatch:
		defaults = append(defaults, header("Content-Type", "application/merge-patch+json"))
	}
	return s.send(method, path, body, append(defaults, changes...)...)
}

// send sends a request as it is.
func (s *service) send(method, path, body string, changes ...func(*http.Request)) response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, change := range changes {
		change(req)
	}
	resp, err := plantcontract.Plants().Client(s.t).Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response{resp, string(text)}
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// wantError fails unless a is an Error with this code and nothing else about it
// is wrong. It returns the error for a closer look.
func (a response) wantError(t *testing.T, code plantapi.ErrorCode) plantapi.Error {
	t.Helper()
	var e plantapi.Error
	if err := json.Unmarshal([]byte(a.body), &e); err != nil {
		t.Fatalf("answered %s with no Error but %.200q", a.Status, a.body)
	}
	if e.Error != int32(code) || a.StatusCode != int(code)/100 || e.Message == "" {
		t.Fatalf("answered %s %s, want error %d", a.Status, a.body, code)
	}
	if (e.RequestID != nil) != (a.StatusCode >= 500) {
		t.Errorf("the Error is %s, want request_id with a 5xx and only there", a.body)
	}
	if got := a.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type of an Error is %q, want application/json", got)
	}
	if got := a.Header.Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("X-Content-Type-Options is %q, want nosniff", got)
	}
	return e
}

// wantStatus fails unless a has this status.
func (a response) wantStatus(t *testing.T, status int) response {
	t.Helper()
	if a.StatusCode != status {
		t.Fatalf("answered %s %.300s, want %d", a.Status, a.body, status)
	}
	return a
}

// plant reads a StoredPlant.
func (a response) plant(t *testing.T) (p plantapi.StoredPlant) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		t.Fatalf("answered %s %.300s, want a plant", a.Status, a.body)
	}
	return p
}

// wantPlant fails unless the store has exactly this plant.
func (s *service) wantPlant(want plant.Plant) {
	s.t.Helper()
	if got, err := s.store.Get(s.t.Context(), want.ID); err != nil || !got.Same(want) {
		s.t.Errorf("stored is %+v, %v, want %+v", got, err, want)
	}
}

// wantNone fails if the store has a plant with this ID.
func (s *service) wantNone(id int64) {
	s.t.Helper()
	if got, err := s.store.Get(s.t.Context(), id); err == nil {
		s.t.Errorf("stored is %+v, want no plant %d", got, id)
	}
}

// with returns the service for use in a subtest.
func (s *service) with(t *testing.T) *service {
	sub := *s
	sub.t = t
	sub.client = sub.clientWith(staticToken)
	return &sub
}

// sorted compares lists without regard to order.
var sorted = cmpopts.SortSlices(func(a, b string) bool { return a < b })

func bearer(token string) plantclient.RequestEditorFn {
	return func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
}
