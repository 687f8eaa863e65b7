// Package metricstest reads scrapes in tests, with the parser that Prometheus'
// own tools use.
package metricstest

import (
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Scrape returns what a scrape of a registry gets, as [Parse] does.
func Scrape(t testing.TB, registry prometheus.Gatherer) map[string]float64 {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).
		ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Errorf("a scrape gets %d: %s", w.Code, w.Body)
	}
	return Parse(t, w.Body.String())
}

// Of scrapes collectors.
func Of(t testing.TB, collectors []prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collectors...)
	return Scrape(t, registry)
}

// Parse returns the series of a scrape, as they are written, and their values.
// The test fails where the scrape is not as the format has it, where a family
// lacks its type or explanation, and where a series is there twice.
func Parse(t testing.TB, scrape string) map[string]float64 {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(scrape))
	if err != nil {
		t.Fatalf("the parser of Prometheus: %v in\n%s", err, scrape)
	}
	series := map[string]float64{}
	for line := range strings.Lines(scrape) {
		if line[0] == '#' {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		if _, twice := series[line[:i]]; twice {
			t.Errorf("%s is there twice", line[:i])
		}
		if series[line[:i]], err = strconv.ParseFloat(strings.TrimSpace(line[i:]), 64); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	for name, family := range families {
		if family.GetHelp() == "" || family.GetType().String() == "UNTYPED" {
			t.Errorf("%s has the type %s and the explanation %q", name, family.GetType(), family.GetHelp())
		}
		for _, m := range family.GetMetric() {
			if h := m.GetHistogram(); h != nil {
				checkBuckets(t, name, h)
			}
		}
	}
	return series
}

// checkBuckets fails the test if the buckets of a histogram are not cumulative,
// or do not end with one for all that was observed.
func checkBuckets(t testing.TB, name string, h *dto.Histogram) {
	t.Helper()
	bound, count := math.Inf(-1), uint64(0)
	for _, b := range h.GetBucket() {
		if b.GetUpperBound() <= bound || b.GetCumulativeCount() < count {
			t.Errorf("%s: a bucket to %v has %d, the one before it to %v had %d", name, b.GetUpperBound(), b.GetCumulativeCount(), bound, count)
		}
		bound, count = b.GetUpperBound(), b.GetCumulativeCount()
	}
	if !math.IsInf(bound, 1) || count != h.GetSampleCount() {
		t.Errorf("%s: the last bucket is to %v and has %d of %d", name, bound, count, h.GetSampleCount())
	}
}
