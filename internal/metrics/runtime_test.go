package metrics_test

import (
	"math"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/metrics"
	"github.com/plantstore/plantstore/internal/metrics/metricstest"
)

// memStats are the same numbers by another way, with the program stopped.
func memStats() map[string]uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return map[string]uint64{
		"go_memstats_alloc_bytes":          stats.Alloc,
		"go_memstats_alloc_bytes_total":    stats.TotalAlloc,
		"go_memstats_mallocs_total":        stats.Mallocs,
		"go_memstats_frees_total":          stats.Frees,
		"go_memstats_heap_objects":         stats.HeapObjects,
		"go_memstats_heap_alloc_bytes":     stats.HeapAlloc,
		"go_memstats_heap_inuse_bytes":     stats.HeapInuse,
		"go_memstats_heap_idle_bytes":      stats.HeapIdle,
		"go_memstats_heap_released_bytes":  stats.HeapReleased,
		"go_memstats_heap_sys_bytes":       stats.HeapSys,
		"go_memstats_stack_inuse_bytes":    stats.StackInuse,
		"go_memstats_stack_sys_bytes":      stats.StackSys,
		"go_memstats_mspan_inuse_bytes":    stats.MSpanInuse,
		"go_memstats_mspan_sys_bytes":      stats.MSpanSys,
		"go_memstats_mcache_inuse_bytes":   stats.MCacheInuse,
		"go_memstats_mcache_sys_bytes":     stats.MCacheSys,
		"go_memstats_buck_hash_sys_bytes":  stats.BuckHashSys,
		"go_memstats_gc_sys_bytes":         stats.GCSys,
		"go_memstats_other_sys_bytes":      stats.OtherSys,
		"go_memstats_sys_bytes":            stats.Sys,
		"go_memstats_next_gc_bytes":        stats.NextGC,
		"go_gc_duration_seconds_count":     uint64(stats.NumGC),
		"go_gc_duration_seconds_sum":       stats.PauseTotalNs / 1e9,
		"go_memstats_last_gc_time_seconds": stats.LastGC / 1e9,
	}
}

// What the runtime says of itself by another way, just before and just after, is
// what a scrape says. Memory comes and goes meanwhile, so each number has some
// tries to be right.
func TestRuntime(t *testing.T) {
	runtime.GC()
	wrong := memStats()
	for try := 0; try < 100 && len(wrong) > 0; try++ {
		before := memStats()
		scrape := metricstest.Of(t, metrics.Runtime)
		after := memStats()
		for name := range wrong {
			got, ok := scrape[name]
			if got = math.Floor(got); ok && got >= float64(min(before[name], after[name])) && got <= float64(max(before[name], after[name])) {
				delete(wrong, name)
			}
		}
	}
	scrape := metricstest.Of(t, metrics.Runtime)
	for name, about := range wrong {
		t.Errorf("%s is %v, want about %d", name, scrape[name], about)
	}
	for name, want := range map[string]int{
		"go_sched_gomaxprocs_threads":                  runtime.GOMAXPROCS(0),
		`go_info{version="` + runtime.Version() + `"}`: 1,
	} {
		if got := scrape[name]; got != float64(want) {
			t.Errorf("%s is %v, want %d", name, got, want)
		}
	}
	for _, name := range []string{
		"go_goroutines", "go_threads", "go_gc_gogc_percent", "go_gc_gomemlimit_bytes",
		`go_gc_duration_seconds{quantile="1"}`, "go_gc_duration_seconds_sum",
	} {
		if scrape[name] <= 0 {
			t.Errorf("%s is %v", name, scrape[name])
		}
	}
}

func TestProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		if all := metricstest.Of(t, metrics.Process); len(all) > 0 {
			t.Errorf("%v is known of a process", all)
		}
		return
	}
	before := metricstest.Of(t, metrics.Process)
	for range 10 { // the runtime may open files of its own, but closes none
		file, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
	}
	after := metricstest.Of(t, metrics.Process)
	if n := after["process_open_fds"] - before["process_open_fds"]; n < 10 || n > 15 {
		t.Errorf("%v files more are open, want 10", n)
	}
	if ago := time.Since(time.UnixMilli(int64(after["process_start_time_seconds"] * 1000))); ago <= 0 || ago > time.Hour {
		t.Errorf("the process was started %v ago", ago)
	}
	if cpu := after["process_cpu_seconds_total"]; cpu <= 0 || cpu < before["process_cpu_seconds_total"] {
		t.Errorf("it took %v seconds of processors after %v", cpu, before["process_cpu_seconds_total"])
	}
	resident, virtual := after["process_resident_memory_bytes"], after["process_virtual_memory_bytes"]
	if resident < 1<<20 || resident > 1<<32 || virtual <= resident {
		t.Errorf("%v bytes of %v are resident", resident, virtual)
	}
	if most := after["process_max_fds"]; most < after["process_open_fds"] {
		t.Errorf("%v files may be open, and %v are", most, after["process_open_fds"])
	}
}
