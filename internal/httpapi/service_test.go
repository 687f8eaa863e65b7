package httpapi_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/feed"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/postgres"
	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/plantcontract"
	"github.com/plantstore/plantstore/internal/token"
)

const (
	staticToken = "a-static-token-of-ours"
	maxBody     = 1 << 20
)

func TestMain(m *testing.M) { plantcontract.Plants().Main(m) }

// service is a Plant Store over a real store.
type service struct {
	t       testing.TB
	store   store.Store
	feed    *feed.Feed
	handler http.Handler
	url     string // empty if the service is offline
}

// config is what newService makes a service of. Its options change it.
type config struct {
	t               testing.TB
	httpapi.Options              // Plants is the store if it is nil, Tokens a Verifier of tokens
	store           store.Store  // an empty one is opened if it is nil and needed
	tokens          token.Store  // the store if it is nil
	handler         http.Handler // made of Options if it is nil
	offline         bool
}

type option func(*config)

// offline leaves the server out: requests go to the handler of the service.
func offline(c *config) { c.offline = true }

func withStore(store store.Store) option { return func(c *config) { c.store = store } }

func withPlants(plants plant.Store) option { return func(c *config) { c.Plants = plants } }

// wrapPlants changes the plants of the store.
func wrapPlants(wrap func(plant.Store) plant.Store) option {
	return func(c *config) {
		c.store = openStore(c.t)
		c.Plants = wrap(c.store)
	}
}

func withTokens(tokens token.Store) option { return func(c *config) { c.tokens = tokens } }

func withHandler(handler http.Handler) option { return func(c *config) { c.handler = handler } }

func withLog(w io.Writer) option {
	return func(c *config) {
		c.Log = slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
}

func withOptions(change func(*httpapi.Options)) option {
	return func(c *config) { change(&c.Options) }
}

// newService starts a service like that of the program, changed by the options.
func newService(t testing.TB, options ...option) *service {
	t.Helper()
	c := config{t: t, Options: httpapi.Options{
		MaxBody: maxBody,
		Page:    true,
		Metrics: prometheus.NewRegistry(),
		Log:     slog.New(slog.DiscardHandler),
	}}
	for _, option := range options {
		option(&c)
	}
	if c.store == nil && (c.Plants == nil || c.tokens == nil) {
		c.store = openStore(t)
	}
	if c.Plants == nil {
		c.Plants = c.store
	}
	if c.tokens == nil {
		c.tokens = c.store
	}
	made := c.Changes == nil && c.Plants != nil
	if made {
		c.Changes = feed.New(c.Plants)
	}
	s := &service{t: t, store: c.store, feed: c.Changes, handler: c.handler}
	if s.handler == nil {
		s.handler = newHandler(t, c)
	}
	if c.offline {
		if made {
			c.Changes.Stop() // a recorder cannot end a request that waits
		}
		return s
	}
	server := httptest.NewUnstartedServer(s.handler)
	server.Config.DisableGeneralOptionsHandler = true // as package server does
	server.Config.MaxHeaderBytes = httpapi.MaxHeaderBytes
	server.Start()
	t.Cleanup(func() {
		if s.feed != nil {
			s.feed.Stop() // no request waits any longer
		}
		server.Close()
	})
	s.url = server.URL
	return s
}

func newHandler(t testing.TB, c config) http.Handler {
	t.Helper()
	verifier := token.NewVerifier(c.tokens, staticToken)
	t.Cleanup(func() { expect.NoError(t, verifier.Close()) })
	if c.Tokens == nil {
		c.Tokens = verifier
	}
	handler, err := httpapi.New(c.Options)
	must.NoError(t, err)
	t.Cleanup(func() { // after the server has closed
		if err := httpapi.HeldBy(handler); err != nil {
			t.Errorf("after the last request, the service holds: %v", err)
		}
	})
	return handler
}

// engine is PostgreSQL, or a sharded store, if there is one for tests.
func engine() string {
	switch {
	case os.Getenv(pgtest.CitusVariable) != "":
		return "citus"
	case pgtest.Given():
		return "postgres"
	}
	return "sqlite"
}

// newDSN returns the URL of an empty store in PostgreSQL. It is sharded if the engine
// is. It skips the test if the engine is SQLite.
func newDSN(t testing.TB) string {
	t.Helper()
	if engine() != "citus" {
		return pgtest.DSN(t)
	}
	dsn := pgtest.Citus(t)
	must.NoError(t, postgres.Distribute(t.Context(), dsn))
	return dsn
}

// openStore opens an empty store of the engine.
func openStore(t testing.TB) store.Store {
	t.Helper()
	if engine() != "sqlite" {
		store, err := postgres.Open(t.Context(), newDSN(t))
		return opened(t, store, err)
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "plants.db"))
	return opened(t, store, err)
}

// opened closes a store at the end of the test. It fails if opening it failed.
func opened(t testing.TB, store store.Store, err error) store.Store {
	t.Helper()
	must.NoError(t, err)
	t.Cleanup(func() { expect.NoError(t, store.Close()) })
	return store
}

// response is a response whose body has been read.
type response struct {
	*http.Response
	body string
}

// post sends a request to create a plant, with every scope, after the given changes.
func (s *service) post(body string, changes ...func(*http.Request)) response {
	s.t.Helper()
	return s.call(http.MethodPost, "/plants", body, changes...)
}

// call sends a request with credentials and the right Content-Type, after the
// given changes.
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

// send sends a request after the given changes. If the service is offline, it passes the
// request to the handler.
func (s *service) send(method, path, body string, changes ...func(*http.Request)) response {
	s.t.Helper()
	if s.url == "" {
		r := httptest.NewRequestWithContext(s.t.Context(), method, path, strings.NewReader(body))
		for _, change := range changes {
			change(r)
		}
		w := httptest.NewRecorder()
		plantcontract.Plants().Handler(s.t, s.handler).ServeHTTP(w, r)
		return response{w.Result(), w.Body.String()}
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	must.NoError(s.t, err)
	for _, change := range changes {
		change(req)
	}
	resp, err := plantcontract.Plants().Client(s.t).Do(req)
	must.NoError(s.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must.NoError(s.t, err)
	return response{resp, string(text)}
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// wantError fails unless a is a correct Error with this code. It returns the Error.
func (a response) wantError(t testing.TB, code plantapi.ErrorCode) plantapi.Error {
	t.Helper()
	e := decode[plantapi.Error](t, a.body)
	if e.Error != int32(code) || a.StatusCode != int(code)/100 || e.Message == "" {
		t.Fatalf("got %s %s, want error %d", a.Status, a.body, code)
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
func (a response) wantStatus(t testing.TB, status int) response {
	t.Helper()
	if a.StatusCode != status {
		t.Fatalf("got %s %.300s, want %d", a.Status, a.body, status)
	}
	return a
}

// plant decodes a StoredPlant.
func (a response) plant(t testing.TB) plantapi.StoredPlant {
	t.Helper()
	return decode[plantapi.StoredPlant](t, a.body)
}

// decode decodes JSON.
func decode[T any](t testing.TB, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("got %.300q, want a %T: %v", text, v, err)
	}
	return v
}

// wantNone fails if the store has a plant with this ID.
func (s *service) wantNone(id int64) {
	s.t.Helper()
	if got, err := s.store.Get(s.t.Context(), id); err == nil {
		s.t.Errorf("stored is %+v, want no plant %d", got, id)
	}
}

// with returns the service for a subtest.
func (s *service) with(t testing.TB) *service {
	sub := *s
	sub.t = t
	return &sub
}
