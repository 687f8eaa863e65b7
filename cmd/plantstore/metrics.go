package main

import (
	"cmp"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// newMetrics returns a registry with what is known of every program. The parts
// of ours add what they count.
func newMetrics() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		buildInfo(),
	)
	return registry
}

// buildInfo is always 1; its labels say which program runs.
func buildInfo() prometheus.Collector {
	labels := prometheus.Labels{"version": "unknown", "revision": "unknown", "goversion": "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok {
		labels["version"] = cmp.Or(info.Main.Version, "unknown")
		labels["goversion"] = info.GoVersion
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				labels["revision"] = setting.Value
			}
		}
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "plantstore_build_info",
		Help:        "Always 1; the labels say which program this is.",
		ConstLabels: labels,
	}, func() float64 { return 1 })
}
