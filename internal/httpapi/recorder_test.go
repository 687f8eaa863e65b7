package httpapi

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/internal/testing/metricstest"
	"github.com/plantstore/plantstore/internal/token"
)

// newObserver returns an observer over two operations, and its log.
func newObserver() (observer, *operation, *bytes.Buffer) {
	op, log := &operation{id: "getPlant"}, new(bytes.Buffer)
	counts := newCounts(prometheus.NewRegistry())
	tokens := token.NewVerifier(nil, "correct-horse-battery-staple")
	opts := &Options{Tokens: tokens, Log: slog.New(slog.NewJSONHandler(log, nil)), LogSlow: time.Hour}
	return observer{counts: counts, log: newRequestLog(opts)}, op, log
}

// To observe a request takes a recorder, a header and the text of the status, and
// without an id in the request also the new id and its text.
func TestObserveAllocations(t *testing.T) {
	o, op, _ := newObserver()
	bare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if rec, ok := w.(*responseRecorder); ok {
			rec.scope.operation = op
		}
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(nil)
	})
	for name, c := range map[string]struct {
		given string
		most  float64
	}{
		"with an id of its own": {"mine", 3},
		"with a long id":        {"01935a7e-8d3c-7c1e-9a55-0c4d6a1f2b3e", 3},
		"without an id":         {"", 5},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/plants/1", nil)
		if c.given != "" {
			r.Header.Set(requestIDHeader, c.given)
		}
		w := discard{http.Header{requestIDHeader: nil}}
		alone := testing.AllocsPerRun(1000, func() { bare.ServeHTTP(w, r) })
		observed := o.observe(bare)
		if more := testing.AllocsPerRun(1000, func() { observed.ServeHTTP(w, r) }) - alone; more > c.most {
			t.Errorf("a request %s costs %v allocations to observe, want %v", name, more, c.most)
		}
	}
}

// discard is a ResponseWriter that drops everything.
type discard struct{ header http.Header }

func (d discard) Header() http.Header       { return d.header }
func (discard) WriteHeader(int)             {}
func (discard) Write(b []byte) (int, error) { return len(b), nil }

// A panic in the middle of a response cuts the connection off and counts as a 500.
func TestPanicAfterResponseBegan(t *testing.T) {
	o, op, log := newObserver()
	handler := o.observe(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		recorderOf(w).scope.operation = op
		_, _ = io.WriteString(w, "half a respo")
		panic("at the disco")
	}))
	func() {
		defer func() {
			if v := recover(); v != http.ErrAbortHandler {
				t.Errorf("panicked with %v, want http.ErrAbortHandler", v)
			}
		}()
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/plants/1", nil))
	}()
	for _, want := range []string{`"level":"ERROR"`, `"msg":"request failed"`, "at the disco", "recorder_test.go", `"status":500`, `"bytes":12`, `"error":50000`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("logged %s\nwant %s in it", log, want)
		}
	}
	const series = `plantstore_http_request_duration_seconds_count{operation="getPlant",status="500"}`
	if got := metricstest.Of(t, []prometheus.Collector{o.counts.requests}); got[series] != 1 {
		t.Errorf("the metrics are %v, want one 500", got)
	}
}
