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

// A panic in the middle of a response cuts the connection off and counts as a 500.
func TestPanicAfterResponseBegan(t *testing.T) {
	op, log := &operation{id: "getPlant"}, new(bytes.Buffer)
	opts := &Options{Tokens: token.NewVerifier(nil, ""), Log: slog.New(slog.NewJSONHandler(log, nil)), LogSlow: time.Hour}
	o := observer{counts: newCounts(prometheus.NewRegistry()), log: newRequestLog(opts)}
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
