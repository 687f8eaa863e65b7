// Command recall measures how many planted faults a tool finds that has only the document of a service.
//
//	go run ./recall [-time 60s] [-parallel 2] [-tools NAME,…] [-only TEXT] [-reports FOLDER]
//
// All runs of Schemathesis take an hour and a half, two at a time. With -reports the results are kept, and a later call
// begins with them.
//
// Each set (sets.go) is a right server and the same with one fault at a time. Each tool (tools.go) runs on all of them, and
// a fault is found if the tool reports a failure that it does not report on the right server in any of ten
// runs; whatever it reports there is a false alarm. The result is a table (table.go), and a line for each fault.
//
// The packages marina and wiki are services with faults that were made for this. Another tool is one more entry of tools.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// settings are the flags.
type settings struct {
	limit    time.Duration // of one run of a tool
	parallel int           // servers at the same time
	only     string        // part of the names of sets or faults; all if it is empty
	reports  string        // folder of what the tools print
	tools    []tool
}

func main() {
	log.SetFlags(0)
	var chosen settings
	names := flag.String("tools", "", "names of tools, with commas; all if it is empty")
	flag.DurationVar(&chosen.limit, "time", time.Minute, "that a tool may take for a server")
	flag.IntVar(&chosen.parallel, "parallel", 2, "servers at the same time")
	flag.StringVar(&chosen.only, "only", "", "a part of the names of faults")
	flag.StringVar(&chosen.reports, "reports", "", "a folder for what the tools print and for results; runs that it has are not repeated")
	flag.Parse()
	for _, one := range tools {
		if *names == "" || slices.Contains(strings.Split(*names, ","), one.name) {
			chosen.tools = append(chosen.tools, one)
		}
	}
	if err := run(context.Background(), chosen); err != nil {
		log.Fatal("recall: ", err)
	}
}

func run(ctx context.Context, chosen settings) error {
	folder, err := os.MkdirTemp("", "recall")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if chosen.reports == "" {
		chosen.reports = filepath.Join(folder, "reports")
	}
	if err := os.MkdirAll(chosen.reports, 0o755); err != nil {
		return err
	}
	if err := build(ctx, folder); err != nil {
		return err
	}
	servers, err := allServers(ctx, folder, chosen.only)
	if err != nil {
		return err
	}
	results, err := runAll(ctx, chosen, servers, folder)
	judgements := judge(servers, chosen.tools, results)
	writeFaults(os.Stdout, judgements, chosen.tools)
	writeTable(os.Stdout, judgements, chosen, results)
	return err
}

// result is what one run of a tool on one server came to.
type result struct {
	server server
	tool   string
	outcome
}

// outcome is what is kept of a result in the folder of reports.
type outcome struct {
	Failures []string
	Seconds  float64
}

// runAll runs each tool on each server, some servers at the same time. A run that fails has no result, and its error
// is returned at the end: the others took long.
func runAll(ctx context.Context, chosen settings, servers []server, folder string) ([]result, error) {
	waiting := make(chan server)
	go func() {
		defer close(waiting)
		for _, one := range servers {
			waiting <- one
		}
	}()
	var mu sync.Mutex
	var results []result
	var problems []error
	var workers sync.WaitGroup
	for range chosen.parallel {
		workers.Go(func() {
			for one := range waiting {
				for _, with := range chosen.tools {
					got, err := runTool(ctx, chosen, one, with, folder)
					mu.Lock()
					if err == nil {
						results = append(results, got)
					}
					problems = append(problems, err)
					mu.Unlock()
					log.Printf("%-13s %-40s %2d failures, %3.0f s", with.name, one.title(), len(got.Failures), got.Seconds)
				}
			}
		})
	}
	workers.Wait()
	return results, errors.Join(problems...)
}

// runTool runs a tool on a server of its own, because a tool leaves things behind. What an earlier run has kept is taken
// instead: all runs take an hour.
func runTool(ctx context.Context, chosen settings, one server, with tool, folder string) (got result, err error) {
	got = result{server: one, tool: with.name}
	report := filepath.Join(chosen.reports, fmt.Sprintf("%s.%s", with.name, one.fileName()))
	if kept, err := os.ReadFile(report + ".result"); err == nil {
		return got, json.Unmarshal(kept, &got.outcome)
	}
	stop, url, err := one.start(ctx, folder)
	if err != nil {
		return got, err
	}
	defer stop()
	begin := time.Now()
	got.Failures, err = with.run(ctx, target{
		document: one.set.document, url: url, header: one.set.header,
		seed: one.run + 1, limit: chosen.limit, report: report, folder: folder,
	})
	if err != nil {
		return got, fmt.Errorf("%s on %s: %w", with.name, one.title(), err)
	}
	got.Seconds = time.Since(begin).Seconds()
	kept, err := json.Marshal(got.outcome)
	if err != nil {
		return got, err
	}
	return got, os.WriteFile(report+".result", kept, 0o644)
}
