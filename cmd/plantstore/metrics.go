package main

import "github.com/plantstore/plantstore/internal/metrics"

// newMetrics returns a registry with what is known of every program. The parts
// of ours add what they count.
func newMetrics() *metrics.Registry {
	registry := new(metrics.Registry)
	registry.Register(buildInfo, metrics.Runtime, metrics.Process)
	return registry
}

// buildInfo is always 1; its labels say which program runs.
func buildInfo(w *metrics.Writer) {
	b := thisBuild()
	w.Gauge("plantstore_build_info", "Always 1; the labels say which program this is.")
	w.Sample(1, "goversion", b.Go, "revision", b.Commit, "version", b.Version)
}
