package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/logtest"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/token"
)

// line is a line of the log.
type line struct {
	Level, Msg, Method, Path, Operation, Remote, Token, Err string
	RequestID                                               string `json:"request_id"`
	TraceID                                                 string `json:"trace_id"`
	SpanID                                                  string `json:"span_id"`
	ParentSpanID                                            string `json:"parent_span_id"`
	Status, Error                                           int
	Bytes                                                   int64
	Seconds                                                 float64

	// Of lines about the store, and about lines that are left out.
	Line, Scope    string
	Count          int
	FailedRequests int `json:"failed_requests"`
}

// logged keeps what is logged.
type logged struct{ logtest.Log }

// lines returns what was logged so far.
func (l *logged) lines(t *testing.T) (all []line) {
	t.Helper()
	for text := range strings.Lines(l.String()) {
		all = append(all, decode[line](t, text))
	}
	return all
}

// observed starts a service and returns it with its log and metrics. A short response
// is sent after its request is logged and counted.
func observed(t *testing.T, wrap func(plant.Store) plant.Store, change func(*httpapi.Options)) (*service, *logged, *prometheus.Registry) {
	t.Helper()
	store, log, registry := openStore(t), &logged{}, prometheus.NewRegistry()
	options := []option{withStore(store), withLog(log), withOptions(func(o *httpapi.Options) { o.Metrics, o.LogSlow = registry, time.Hour }), withOptions(change)}
	if wrap != nil {
		options = append(options, withPlants(wrap(store)))
	}
	return newService(t, options...), log, registry
}

func all(opts *httpapi.Options)    { opts.LogAll = true }
func failed(opts *httpapi.Options) {}

// stuckPlants is a store whose reads and writes wait until their context ends.
type stuckPlants struct{ plant.Store }

func (stuckPlants) Get(ctx context.Context, _ int64) (plant.Plant, error) {
	<-ctx.Done()
	return plant.Plant{}, fmt.Errorf("store: %w", ctx.Err())
}

func (stuckPlants) Delete(ctx context.Context, _ int64, _ string, _ plant.Precondition) error {
	<-ctx.Done()
	return fmt.Errorf("store: %w", ctx.Err())
}

// noTokens is a store that is never read: only the static token is used.
type noTokens struct{ token.Store }

// A request that hangs ends at its deadline, not when its client disconnects.
func TestRequestDeadline(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		synctest.Test(t, func(t *testing.T) {
			s, began := newService(t, offline, withPlants(stuckPlants{}), withTokens(noTokens{})), time.Now()
			ctx, hangUp := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, hangUp)
			s.call(method, "/plants/1", "", func(r *http.Request) { *r = *r.WithContext(ctx) }).
				wantError(t, plantapi.CodeUnavailable)
			if took := time.Since(began); took != 20*time.Second {
				t.Errorf("%s took %v, want 20 seconds", method, took)
			}
		})
	}
}

func TestRequestLog(t *testing.T) {
	ask := func(s *service) {
		s.post(`{"id":1,"name":"n"}`)
		s.call(http.MethodGet, "/plants/2?x", "")
		s.call(http.MethodGet, "/nowhere", "")
		s.send(http.MethodGet, "/plants", "")
	}
	t.Run("failed", func(t *testing.T) {
		for _, slow := range []time.Duration{time.Hour, 0} { // 0: none is
			s, log, _ := observed(t, nil, func(opts *httpapi.Options) { opts.LogSlow = slow })
			if ask(s); log.String() != "" {
				t.Errorf("nothing failed, but it was logged:\n%s", log)
			}
		}
	})
	t.Run("all", func(t *testing.T) {
		s, log, _ := observed(t, nil, all)
		ask(s)
		got := log.lines(t)
		want := []line{
			{Method: "POST", Path: "/plants", Operation: "createPlant", Status: 200, Token: "static"},
			{Method: "GET", Path: "/plants/2", Operation: "getPlant", Status: 400, Error: 40003, Token: "static"},
			{Method: "GET", Path: "/nowhere", Status: 404, Error: 40400},
			{Method: "GET", Path: "/plants", Operation: "listPlants", Status: 401, Error: 40100},
		}
		for i, l := range got {
			if l.Level != "INFO" || l.Bytes == 0 || l.RequestID == "" || len(l.TraceID) != 32 || len(l.SpanID) != 16 ||
				!strings.HasPrefix(l.Remote, "127.0.0.1:") || l.Seconds <= 0 {
				t.Errorf("logged %+v", l)
			}
			l.Level, l.Msg, l.Bytes, l.RequestID, l.TraceID, l.SpanID, l.Remote, l.Seconds = "", "", 0, "", "", "", "", 0
			if i < len(want) && l != want[i] {
				t.Errorf("logged %+v, want %+v", l, want[i])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d requests were logged in %d lines:\n%s", len(want), len(got), log)
		}
	})
}

// The log contains no body, and no token, wherever a client put it. No response contains the token.
func TestLogContainsNoSecret(t *testing.T) {
	s, log, _ := observed(t, func(real plant.Store) plant.Store {
		return faultyPlants{real, func() error { panic("a plant called secret-name, " + staticToken + " and " + leaked) }}
	}, all)
	mine, text := token.New("laptop", []token.Scope{token.Read, token.Write}, time.Hour)
	must.NoError(t, s.store.CreateToken(t.Context(), mine))
	with := header("Authorization", "Bearer "+text)
	for _, a := range []response{
		s.post(`{"id":1,"name":"secret-body"}`, with),
		s.call(http.MethodGet, "/plants/1?token="+text, "", with),
		s.call(http.MethodGet, "/plants/"+text, "", with),
		s.call(http.MethodGet, "/"+text+"/"+text, "", with),
		s.call(text, "/plants", "", with),
		s.call(http.MethodGet, "/plants", "", with, header("X-Request-Id", text)),
		s.call(http.MethodGet, "/plants", "", with, header("If-None-Match", text), header("Cookie", text)),
		s.call(http.MethodGet, "/plants", "", header("Authorization", "Bearer "+text[:64])),
		s.call(http.MethodGet, "/plants", "", header("Authorization", "Basic "+text)),
		s.call(http.MethodGet, "/plants/"+staticToken, ""),
		s.call(http.MethodGet, "/plants", "", header("X-Request-Id", staticToken)),
		s.call(staticToken, "/plants", ""),
	} {
		got := fmt.Sprint(a.Status, a.Header, a.body)
		if strings.Contains(got, text[16:50]) || strings.Contains(got, staticToken) {
			t.Errorf("a response has the token: %s", got)
		}
	}
	for _, secret := range []string{text, text[:30], leaked, staticToken, "secret-body", "token="} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log holds %s:\n%s", secret, log)
		}
	}
	if l := log.lines(t); len(l) != 12 || l[0].Token != mine.ID || !strings.Contains(l[0].Err, "secret-name") {
		t.Errorf("logged %d lines:\n%s", len(l), log)
	}
}

var leaked = func() string { _, text := token.New("", nil, 0); return text }()
