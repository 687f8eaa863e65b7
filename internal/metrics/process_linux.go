package metrics

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// started is when the program was, to a few milliseconds. What /proc says is no
// more exact, and makes it differ from one scrape to the next.
var started = time.Now()

// Process is the [Source] of what Linux says of this process. Where there is no
// /proc, as in a bare chroot, that part is missing.
func Process(w *Writer) {
	w.Gauge("process_start_time_seconds", "When the program was started, in seconds since 1970.")
	w.Sample(float64(started.UnixMilli()) / 1000)

	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil {
		w.Counter("process_cpu_seconds_total", "Time of processors, for the program and for the system on its behalf.")
		w.Sample(time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds())
	}
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil {
		w.Gauge("process_max_fds", "Files and connections that may be open.")
		w.Sample(float64(files.Cur))
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		w.Gauge("process_open_fds", "Files and connections that are open.")
		w.Sample(float64(len(open) - 1)) // without the folder that was just read
	}
	statm, _ := os.ReadFile("/proc/self/statm") // proc_pid_statm(5): sizes in pages
	var virtual, resident int
	if _, err := fmt.Sscan(string(statm), &virtual, &resident); err == nil {
		w.Gauge("process_virtual_memory_bytes", "Addresses in use.")
		w.Sample(float64(virtual * os.Getpagesize()))
		w.Gauge("process_resident_memory_bytes", "Memory in use, with that of the program itself.")
		w.Sample(float64(resident * os.Getpagesize()))
	}
}
