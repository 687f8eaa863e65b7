// Bench compares the Plant Store with other servers for the same requests: make
// bench-http. It builds every peer (peers/) from source and runs each one alone on
// one core, with the load (wrk) on another core. Every round begins with another
// peer. It prints the ratios.
//
//   - main.go: the settings, and the order in which everything runs
//   - runs.go: which peer is measured under which load
//   - comparisons.go: the ratios
//   - build.go, process.go, load.go: programs, servers and their cost, wrk
//   - profile.go: the profile for make build
//   - machine.go, report.go: what is printed
//
// No ratio fails a check, because a time depends on the machine as much as on the
// code. The number of allocations does not depend on the machine, so a test checks
// it: TestAllocations in internal/httpapi.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	var s settings
	flag.IntVar(&s.rounds, "rounds", 5, "number of rounds")
	flag.DurationVar(&s.duration, "duration", 5*time.Second, "duration of each measurement")
	flag.DurationVar(&s.warmUp, "warm-up", 2*time.Second, "duration of the load before each measurement")
	flag.StringVar(&s.json, "json", "", "also write every measurement to `FILE`")
	flag.StringVar(&s.profile, "profile", "", "measure nothing, and write a CPU profile of plantstore serve to `FILE`")
	flag.Parse()

	// A second signal ends the program at once; its children die with it.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	err := bench(ctx, s)
	if ctx.Err() != nil {
		err = errors.New("stopped")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type settings struct {
	rounds           int
	duration, warmUp time.Duration
	json, profile    string
}

func bench(ctx context.Context, s settings) error {
	cores, err := twoCores()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "plantstore-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	defer fmt.Fprintln(os.Stderr) // after the last progress
	if s.profile != "" {
		program := filepath.Join(folder, durable)
		if err := buildOne(ctx, durable, program); err != nil {
			return err
		}
		return profile(ctx, program, folder, s.profile, s.duration)
	}
	programs, err := build(ctx, folder)
	if err != nil {
		return err
	}
	m, err := lookAtMachine(folder, programs)
	if err != nil {
		return err
	}

	var results []result
	for round := range s.rounds {
		for i := range runs {
			r := runs[(i+round*len(runs)/s.rounds)%len(runs)]
			progress("round %d of %d, %d of %d: %s", round+1, s.rounds, i+1, len(runs), r)
			measured, err := measure(ctx, r, programs, cores, folder, s)
			if err != nil {
				return fmt.Errorf("%s: %w", r, err)
			}
			results = append(results, result{Run: r, Round: round, Measurement: measured})
		}
	}
	report(os.Stdout, m, s, results)
	if s.json == "" {
		return nil
	}
	text, err := json.MarshalIndent(struct {
		Machine     machine  `json:"machine"`
		Comparisons []shown  `json:"comparisons"`
		Results     []result `json:"results"`
	}{m, show(results), results}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(s.json, append(text, '\n'), 0o644)
}

// progress prints the current step on stderr: in one line on a terminal, in a line
// of its own elsewhere.
func progress(format string, args ...any) {
	begin, end := "", "\n"
	if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		begin, end = "\r\x1b[K", ""
	}
	fmt.Fprintf(os.Stderr, begin+format+end, args...)
}

// result is one measurement of one run.
type result struct {
	Run   run `json:"run"`
	Round int `json:"round"`
	Measurement
}

// Measurement is the cost of one run. Over the network it has all fields but the
// last two; in process it has only those.
type Measurement struct {
	Requests      float64 `json:"requests_per_second,omitempty"`
	CPU           float64 `json:"cpu_seconds_per_100000,omitempty"` // user and system, of the server
	Busy          float64 `json:"busy,omitempty"`                   // share of its core that the server used
	LoadBusy      float64 `json:"load_busy,omitempty"`              // the same for wrk
	P50           float64 `json:"p50_ms,omitempty"`
	P99           float64 `json:"p99_ms,omitempty"`
	Resident      float64 `json:"resident_mib,omitempty"` // at the end, with all created plants
	InProcess     float64 `json:"in_process_ns,omitempty"`
	InAllocations float64 `json:"in_process_allocations,omitempty"`
}
