package metrics

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"
)

// runtimeMetrics are the metrics of every Go program under the names that
// dashboards know, and the sum of which metrics of the runtime each of them is.
// What ends in _total is a counter.
var runtimeMetrics = []struct {
	name, help string
	of         []string
}{
	{"go_goroutines", "Goroutines that exist.", []string{"/sched/goroutines:goroutines"}},
	{"go_threads", "Threads of the operating system that the runtime has.", []string{"/sched/threads/total:threads"}},
	{"go_sched_gomaxprocs_threads", "Threads that may run Go code at one time: GOMAXPROCS.", []string{"/sched/gomaxprocs:threads"}},
	{"go_gc_gogc_percent", "How far the heap may grow before it is collected: GOGC.", []string{"/gc/gogc:percent"}},
	{"go_gc_gomemlimit_bytes", "The memory that the runtime tries to stay below: GOMEMLIMIT.", []string{"/gc/gomemlimit:bytes"}},
	{"go_memstats_alloc_bytes", "Objects on the heap.", []string{"/memory/classes/heap/objects:bytes"}},
	{"go_memstats_alloc_bytes_total", "Objects that were ever put on the heap.", []string{"/gc/heap/allocs:bytes"}},
	{"go_memstats_mallocs_total", "How many objects were ever put on the heap.", []string{"/gc/heap/allocs:objects", "/gc/heap/tiny/allocs:objects"}},
	{"go_memstats_frees_total", "How many objects were taken off the heap.", []string{"/gc/heap/frees:objects", "/gc/heap/tiny/allocs:objects"}},
	{"go_memstats_heap_objects", "How many objects are on the heap.", []string{"/gc/heap/objects:objects"}},
	{"go_memstats_heap_alloc_bytes", "Objects on the heap.", []string{"/memory/classes/heap/objects:bytes"}},
	{"go_memstats_heap_inuse_bytes", "The heap where there are objects.", []string{"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes"}},
	{"go_memstats_heap_idle_bytes", "The heap where there is nothing.", []string{"/memory/classes/heap/released:bytes", "/memory/classes/heap/free:bytes"}},
	{"go_memstats_heap_released_bytes", "The heap that was given back to the system.", []string{"/memory/classes/heap/released:bytes"}},
	{
		"go_memstats_heap_sys_bytes", "The heap.",
		[]string{"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes", "/memory/classes/heap/released:bytes", "/memory/classes/heap/free:bytes"},
	},
	{"go_memstats_stack_inuse_bytes", "Stacks of goroutines.", []string{"/memory/classes/heap/stacks:bytes"}},
	{"go_memstats_stack_sys_bytes", "Stacks of goroutines and threads.", []string{"/memory/classes/heap/stacks:bytes", "/memory/classes/os-stacks:bytes"}},
	{"go_memstats_mspan_inuse_bytes", "Spans of the allocator that are in use.", []string{"/memory/classes/metadata/mspan/inuse:bytes"}},
	{
		"go_memstats_mspan_sys_bytes", "Spans of the allocator.",
		[]string{"/memory/classes/metadata/mspan/inuse:bytes", "/memory/classes/metadata/mspan/free:bytes"},
	},
	{"go_memstats_mcache_inuse_bytes", "Caches of the allocator that are in use.", []string{"/memory/classes/metadata/mcache/inuse:bytes"}},
	{
		"go_memstats_mcache_sys_bytes", "Caches of the allocator.",
		[]string{"/memory/classes/metadata/mcache/inuse:bytes", "/memory/classes/metadata/mcache/free:bytes"},
	},
	{"go_memstats_buck_hash_sys_bytes", "Tables of the profiler.", []string{"/memory/classes/profiling/buckets:bytes"}},
	{"go_memstats_gc_sys_bytes", "What the garbage collector keeps for itself.", []string{"/memory/classes/metadata/other:bytes"}},
	{"go_memstats_other_sys_bytes", "What else the runtime keeps for itself.", []string{"/memory/classes/other:bytes"}},
	{"go_memstats_sys_bytes", "All memory that the runtime has from the system.", []string{"/memory/classes/total:bytes"}},
	{"go_memstats_next_gc_bytes", "The size of the heap at which it is collected next.", []string{"/gc/heap/goal:bytes"}},
}

// Runtime is the [Source] of what there is to know of every Go program. It does
// not stop the program, as [runtime.ReadMemStats] would.
func Runtime(w *Writer) {
	w.Gauge("go_info", "Always 1; the label says which Go this is.")
	w.Sample(1, "version", runtime.Version())
	for _, m := range runtimeMetrics {
		if strings.HasSuffix(m.name, "_total") {
			w.Counter(m.name, m.help)
		} else {
			w.Gauge(m.name, m.help)
		}
		sum := uint64(0)
		for _, name := range m.of {
			sample := []metrics.Sample{{Name: name}}
			metrics.Read(sample)
			sum += sample[0].Value.Uint64()
		}
		w.Sample(float64(sum))
	}
	collections(w)
}

// collections writes how often and how long the garbage collector stopped the
// program. The quantiles are of the last 256 times.
func collections(w *Writer) {
	stats := debug.GCStats{PauseQuantiles: make([]time.Duration, 5)}
	debug.ReadGCStats(&stats)
	w.family("summary", "go_gc_duration_seconds", "How long the program stood still for a garbage collection.")
	for i, quantile := range []string{"0", "0.25", "0.5", "0.75", "1"} {
		w.sample("", stats.PauseQuantiles[i].Seconds(), "quantile", quantile)
	}
	w.sample("_sum", stats.PauseTotal.Seconds())
	w.sample("_count", float64(stats.NumGC))
	w.Gauge("go_memstats_last_gc_time_seconds", "When a garbage collection ended last, in seconds since 1970; 0: none did.")
	w.Sample(max(0, float64(stats.LastGC.UnixNano())/1e9))
}
