package server

import "github.com/plantstore/plantstore/internal/metrics"

// newMetrics returns a registry with what is known of every program. The parts
// of ours add what they count.
func newMetrics(b Build) *metrics.Registry {
	registry := new(metrics.Registry)
	registry.Register(b.metrics, metrics.Runtime, metrics.Process)
	return registry
}

// metrics writes what is always 1; its labels say which program runs.
func (b Build) metrics(w *metrics.Writer) {
	w.Gauge("plantstore_build_info", "Always 1; the labels say which program this is.")
	w.Sample(1, "goversion", b.Go, "revision", b.Commit, "version", b.Version)
}
