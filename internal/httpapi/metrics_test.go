package httpapi_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/internal/plant"
)

func TestMetrics(t *testing.T) {
	fault := error(nil)
	s, _, registry := observed(t, func(real plant.Store) plant.Store {
		return faultyPlants{real, func() error { return fault }}
	}, failed)
	s.post(`{"id":1,"name":"n"}`)
	s.post(`{"id":1,"name":"n"}`)
	fault = plant.ErrExists
	s.post(`{"id":1,"name":"n"}`)
	fault = errors.New("broken")
	s.post(`{"id":1,"name":"n"}`)
	s.call(http.MethodGet, "/plants/7", "")
	s.call(http.MethodOptions, "/plants", "")
	wantCounts(t, registry, map[string]uint64{
		"createPlant 200": 2, "createPlant 400": 1, "createPlant 500": 1, "getPlant 404": 1, "none 204": 1,
		"failure 40010": 1, "failure 50000": 1, "failure 40401": 1,
	})

	// Nothing that a caller invents makes a series.
	before := countSeries(t, registry)
	for i := range 1000 {
		s.call(http.MethodGet, fmt.Sprintf("/%d/plants", i), "")
		s.call(fmt.Sprintf("BREW%d", i), "/plants", "")
	}
	if after := countSeries(t, registry); after != before+2 { // none 404, none 405
		t.Errorf("%d series became %d", before, after)
	}
}

// countSeries returns how many series there are; a histogram is one.
func countSeries(t *testing.T, registry *prometheus.Registry) (n int) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		n += len(f.GetMetric())
	}
	return n
}

// wantCounts compares the counts of requests, by operation and status, and of
// failures, leaving out the zeros.
func wantCounts(t *testing.T, registry *prometheus.Registry, want map[string]uint64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := []string{}
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			name := strings.Join(labels, " ")
			switch f.GetName() {
			case "plantstore_http_request_duration_seconds":
				got[name] = m.GetHistogram().GetSampleCount()
				if h := m.GetHistogram(); h.GetSampleSum() <= 0 || len(h.GetBucket()) == 0 || len(h.GetPositiveSpan()) == 0 {
					t.Errorf("%s took no time, or lacks classic or native buckets: %v", name, h)
				}
			case "plantstore_http_failures_total":
				if n := m.GetCounter().GetValue(); n > 0 {
					got["failure "+name] = uint64(n)
				}
			case "plantstore_http_requests_in_flight":
				if n := m.GetGauge().GetValue(); n != 0 {
					t.Errorf("%v requests are in flight", n)
				}
			}
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("counted %v\nwant %v", got, want)
	}
}
