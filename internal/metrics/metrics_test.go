package metrics_test

import (
	"maps"
	"math"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/plantstore/plantstore/internal/metrics"
	"github.com/plantstore/plantstore/internal/metrics/metricstest"
)

func TestFormat(t *testing.T) {
	h := metrics.NewHistogram([]float64{.00005, .25, 1e6})
	for _, v := range []float64{.00001, .00005, .1, 3, 2e6} {
		h.Observe(v)
	}
	var registry metrics.Registry
	registry.Register(func(w *metrics.Writer) {
		w.Counter("plants_total", "Plants.")
		w.Sample(3)
		w.Gauge("heights", "How high\nthey are, in C:\\m.")
		w.Sample(.5, "name", "Aloe", "place", "window")
		w.Sample(-1234567, "name", "Ficus", "place", "")
	}, func(w *metrics.Writer) {
		w.Histogram("ages", "How old they are.")
		w.Buckets(h, "kind", "fern")
		w.Buckets(metrics.NewHistogram(nil), "kind", "moss")
	})
	w := httptest.NewRecorder()
	registry.ServeHTTP(w, nil)
	want := `# HELP plants_total Plants.
# TYPE plants_total counter
plants_total 3
# HELP heights How high\nthey are, in C:\\m.
# TYPE heights gauge
heights{name="Aloe",place="window"} 0.5
heights{name="Ficus",place=""} -1.234567e+06
# HELP ages How old they are.
# TYPE ages histogram
ages_bucket{kind="fern",le="5e-05"} 2
ages_bucket{kind="fern",le="0.25"} 3
ages_bucket{kind="fern",le="1e+06"} 4
ages_bucket{kind="fern",le="+Inf"} 5
ages_sum{kind="fern"} 2.00000310006e+06
ages_count{kind="fern"} 5
ages_bucket{kind="moss",le="+Inf"} 0
ages_sum{kind="moss"} 0
ages_count{kind="moss"} 0
`
	if got := w.Body.String(); got != want {
		t.Errorf("the scrape is\n%s\nwant\n%s", got, want)
	}
	metricstest.Parse(t, want)
}

// Whatever a label or an explanation holds, the parser reads the same.
func TestEscapes(t *testing.T) {
	hostile := []string{``, `"`, `\`, "\n", `\n`, `\"`, `a"} 1` + "\nforged 2\n", `{}#,=`, "größe 🌱", ` `}
	var registry metrics.Registry
	registry.Register(func(w *metrics.Writer) {
		w.Gauge("texts", "x"+strings.Join(hostile, ""))
		for _, text := range hostile {
			w.Sample(1, "text", text)
		}
	})
	w := httptest.NewRecorder()
	registry.ServeHTTP(w, nil)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	texts := families["texts"]
	if got, want := texts.GetHelp(), "x"+strings.Join(hostile, ""); got != want || len(families) != 1 || len(texts.GetMetric()) != len(hostile) {
		t.Fatalf("%d families, %d samples, and the explanation %q, want %q", len(families), len(texts.GetMetric()), got, want)
	}
	for i, m := range texts.GetMetric() {
		if got := m.GetLabel()[0].GetValue(); got != hostile[i] {
			t.Errorf("the label %q is read as %q", hostile[i], got)
		}
	}
}

// While others observe, every scrape is whole, and none goes back.
func TestConcurrentScrapes(t *testing.T) {
	const observers, each = 4, 1_000_000 // those who are done at once do not meet
	h := metrics.NewHistogram([]float64{1, 2, 3})
	source := func(w *metrics.Writer) {
		w.Histogram("sizes", "Sizes.")
		w.Buckets(h)
	}
	var running sync.WaitGroup
	for range observers {
		running.Go(func() {
			for i := range each {
				h.Observe(float64(i % 5))
			}
		})
	}
	before := metricstest.Of(t, source)
	for range 20 {
		now := metricstest.Of(t, source)
		for series, value := range before {
			if now[series] < value {
				t.Errorf("%s went from %v to %v", series, value, now[series])
			}
		}
		before = now
	}
	running.Wait()
	n := float64(observers * each)
	want := map[string]float64{
		`sizes_bucket{le="1"}`: n * 2 / 5, `sizes_bucket{le="2"}`: n * 3 / 5, `sizes_bucket{le="3"}`: n * 4 / 5,
		`sizes_bucket{le="+Inf"}`: n, `sizes_count`: n, `sizes_sum`: n * 2,
	}
	if got := metricstest.Of(t, source); !maps.Equal(got, want) {
		t.Errorf("%v were counted, want %v", got, want)
	}
}

// To observe costs no allocation.
func TestObserveAllocations(t *testing.T) {
	h := metrics.NewHistogram([]float64{1, 2, 3})
	if n := testing.AllocsPerRun(1000, func() { h.Observe(math.Pi) }); n != 0 {
		t.Errorf("Observe allocates %v times", n)
	}
}

func BenchmarkObserve(b *testing.B) {
	h := metrics.NewHistogram([]float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10})
	b.ReportAllocs()
	for b.Loop() {
		h.Observe(.003)
	}
}
