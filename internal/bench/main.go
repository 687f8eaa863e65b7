// Bench holds the Plant Store against other ways to answer the same requests:
// make bench-http. It builds every peer (peers/) from source, runs each alone, on
// one core, with the load (wrk) on another, in rounds that begin with another
// peer each time, and prints the ratios beside what they should be.
//
//   - main.go: the settings, and the order in which everything runs
//   - runs.go: who is measured under which load
//   - claims.go: the ratios that are to be shown, with their bounds
//   - build.go, process.go, load.go: programs, servers and their cost, wrk
//   - machine.go, report.go: what is printed
//
// A claim that is missed is printed as missed; only what breaks ends with
// another status than 0, since a time says as much about the machine as about
// the code. What holds on every machine, the number of allocations, is a test:
// TestAllocations in internal/httpapi.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	var s settings
	flag.IntVar(&s.rounds, "rounds", 5, "how often each peer is measured")
	flag.DurationVar(&s.duration, "duration", 5*time.Second, "how long each time")
	flag.DurationVar(&s.warmUp, "warm-up", 2*time.Second, "how long it is under load before that")
	flag.StringVar(&s.json, "json", "", "write every measurement to this `FILE`, too")
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
	json             string
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
		Machine machine  `json:"machine"`
		Claims  []shown  `json:"claims"`
		Results []result `json:"results"`
	}{m, show(results), results}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(s.json, append(text, '\n'), 0o644)
}

// progress says on stderr what is being done: in one line of a terminal, or in a
// line each.
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

// Measurement is what one run has cost. Over the network everything but the last
// two is known, without one only these.
type Measurement struct {
	Requests      float64 `json:"requests_per_second,omitempty"`
	CPU           float64 `json:"cpu_seconds_per_100000,omitempty"` // user and system, of the server
	Busy          float64 `json:"busy,omitempty"`                   // share of the server's core that it had
	LoadBusy      float64 `json:"load_busy,omitempty"`              // the same of wrk
	P50           float64 `json:"p50_ms,omitempty"`
	P99           float64 `json:"p99_ms,omitempty"`
	Resident      float64 `json:"resident_mib,omitempty"` // in the end, with all that was created
	InProcess     float64 `json:"in_process_ns,omitempty"`
	InAllocations float64 `json:"in_process_allocations,omitempty"`
}
