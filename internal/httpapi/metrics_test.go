package httpapi_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/metricstest"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
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
	want := map[string]float64{
		"createPlant 200": 2, "createPlant 400": 1, "createPlant 500": 1, "getPlant 404": 1, "none 204": 1,
		"failure 40010": 1, "failure 50000": 1, "failure 40401": 1,
	}
	wantCounts(t, registry, want)

	// No path or method that a client makes up gets a series of its own.
	for i := range 1000 {
		s.call(http.MethodGet, fmt.Sprintf("/%d/plants", i), "")
		s.call(fmt.Sprintf("BREW%d", i), "/plants", "")
	}
	for _, name := range []string{"none 404", "none 405", "failure 40400", "failure 40500"} {
		want[name] = 1000
	}
	wantCounts(t, registry, want)
}

// labelValue matches the value of a label in the name of a series.
var labelValue = regexp.MustCompile(`="([^"]*)"`)

// wantCounts compares the numbers of requests, by operation and status, and of
// failures. Zeros are left out.
func wantCounts(t *testing.T, registry *prometheus.Registry, want map[string]float64) {
	t.Helper()
	all, got := metricstest.Scrape(t, registry), map[string]float64{}
	for series, n := range all {
		values := []string{}
		for _, m := range labelValue.FindAllStringSubmatch(series, -1) {
			values = append(values, m[1])
		}
		name, labels, _ := strings.Cut(series, "{")
		switch what := strings.Join(values, " "); name {
		case "plantstore_http_request_duration_seconds_count":
			got[what] = n
			if sum := all["plantstore_http_request_duration_seconds_sum{"+labels]; sum <= 0 {
				t.Errorf("%s took %v seconds", what, sum)
			}
			bucket := "plantstore_http_request_duration_seconds_bucket{" + strings.TrimSuffix(labels, "}") + `,le="10"}`
			if all[bucket] != n {
				t.Errorf("%v of %v %s took at most 10 seconds", all[bucket], n, what)
			}
		case "plantstore_http_failures_total":
			if n > 0 {
				got["failure "+what] = n
			}
		}
	}
	if n, ok := all["plantstore_http_requests_in_flight"]; !ok || n != 0 {
		t.Errorf("%v requests are in flight", n)
	}
	if !maps.Equal(got, want) {
		t.Errorf("counted %v\nwant %v", got, want)
	}
}
