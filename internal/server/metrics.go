package server

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// newMetrics returns a registry with the metrics of the Go runtime and the
// process, and plantstore_build_info.
func newMetrics(b Build) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name:        "plantstore_build_info",
			Help:        "Always 1, with the version, the commit and the Go version of the program as labels.",
			ConstLabels: prometheus.Labels{"goversion": b.Go, "revision": b.Commit, "version": b.Version},
		}, func() float64 { return 1 }))
	return registry
}

// serveMetrics returns the handler of /metrics.
func serveMetrics(registry *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}
