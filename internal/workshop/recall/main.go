// Command recall measures how many planted faults a tool finds that has only the document of a service.
//
//	go run ./recall [-reports FOLDER] [-tools NAME,…] [-only TEXT] [-seeds 5] [-share 1] [-sample 0] [-time 60s] [-parallel 2]
//	go run ./recall -reports FOLDER -kept
//
// Each set (sets.go) is a right server and the same with one fault at a time. Each tool (tools.go) runs on all of them, on
// those with a fault once for each seed, and a fault is found if the tool reports a failure that it does not report on the
// right server in any of ten runs; whatever it reports there is a false alarm. The result is a line for each fault, and a
// table (table.go): first the sets whose faults were there before any tool had run on them, then those for which the
// engine was changed until it found their faults.
//
// The first sets are mutants of services that are not ours (mutants), and a service in Python (festival). The packages
// marina and wiki are services that were made for this. Another tool is one more entry of tools.
//
// All runs of the engine take an hour, those of Schemathesis a day. With -reports the results are kept, and a later call
// begins with them; -kept runs nothing, and makes the table of what is there. The folder can be packed for a release.
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
	seeds    int           // with which a tool runs on a server with a fault
	rights   int           // with which it runs on the right one
	share    float64       // of the faults, chosen by their names
	sample   int           // of the frozen faults, drawn at random; all faults if it is 0
	kept     bool          // nothing is run
	parallel int           // servers at the same time
	only     string        // part of the names of sets or faults; all if it is empty
	reports  string        // folder of what the tools print
	programs string        // folder of what is built
	tools    []tool
}

func main() {
	log.SetFlags(0)
	var chosen settings
	names := flag.String("tools", "", "names of tools, with commas; all if it is empty")
	flag.DurationVar(&chosen.limit, "time", time.Minute, "that a tool may take for a server")
	flag.IntVar(&chosen.seeds, "seeds", 5, "with which a tool runs on each server with a fault")
	flag.IntVar(&chosen.rights, "rights", 10, "seeds with which a tool runs on each right server: what it finds there only sometimes is not found because of a fault")
	flag.Float64Var(&chosen.share, "share", 1, "of the faults that are taken")
	flag.IntVar(&chosen.sample, "sample", 0, "so many of the frozen faults that are taken, drawn at random, always the same ones; 0 is all faults")
	flag.BoolVar(&chosen.kept, "kept", false, "run no tool, and make the table of what the folder of reports has")
	flag.IntVar(&chosen.parallel, "parallel", 2, "servers at the same time")
	flag.StringVar(&chosen.only, "only", "", "a part of the names of faults")
	flag.StringVar(&chosen.reports, "reports", "", "a folder for what the tools print and for results; runs that it has are not repeated")
	flag.StringVar(&chosen.programs, "programs", "", "a folder for what is built, an absolute path; mutants that it has are not built again")
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
	folder := chosen.programs
	if folder == "" {
		made, err := os.MkdirTemp("", "recall")
		if err != nil {
			return err
		}
		defer os.RemoveAll(made)
		folder = made
	}
	defer os.RemoveAll(filepath.Join(folder, "left")) // what services have written
	if chosen.reports == "" {
		chosen.reports = filepath.Join(folder, "reports")
	}
	for _, made := range []string{folder, chosen.reports} {
		if err := os.MkdirAll(made, 0o755); err != nil {
			return err
		}
	}
	if err := build(ctx, folder); err != nil {
		return err
	}
	servers, err := allServers(ctx, folder, chosen)
	if err != nil {
		return err
	}
	results, err := runAll(ctx, chosen, servers, folder)
	judgements := judge(results)
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
	Version  string // of the tool
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
					if errors.Is(err, errNotKept) {
						continue
					}
					mu.Lock()
					if err == nil {
						results = append(results, got)
					}
					problems = append(problems, err)
					mu.Unlock()
					log.Printf("%-22s %-40s %2d failures, %3.0f s", with.name, one.title(), len(got.Failures), got.Seconds)
				}
			}
		})
	}
	workers.Wait()
	return results, errors.Join(problems...)
}

// errNotKept is the error of a run that has no result in the folder of reports, where none is to be made.
var errNotKept = errors.New("the folder of reports has no result of this run")

// runTool runs a tool on a server of its own, because a tool leaves things behind. What an earlier run has kept is taken
// instead: all runs take hours.
func runTool(ctx context.Context, chosen settings, one server, with tool, folder string) (got result, err error) {
	got = result{server: one, tool: with.name}
	report := filepath.Join(chosen.reports, fmt.Sprintf("%s.%s", with.name, one.fileName()))
	if kept, err := os.ReadFile(report + ".result"); err == nil {
		return got, json.Unmarshal(kept, &got.outcome)
	}
	if chosen.kept {
		return got, errNotKept
	}
	stop, url, err := one.start(ctx, folder)
	if err != nil {
		return got, err
	}
	defer stop()
	begin := time.Now()
	got.Failures, err = with.run(ctx, target{
		document: one.documentFile(folder), url: url, header: one.header,
		seed: one.seed, limit: chosen.limit, report: report, folder: folder,
	})
	if err != nil {
		return got, fmt.Errorf("%s on %s: %w", with.name, one.title(), err)
	}
	got.Seconds, got.Version = time.Since(begin).Seconds(), with.version()
	kept, err := json.Marshal(got.outcome)
	if err != nil {
		return got, err
	}
	return got, os.WriteFile(report+".result", kept, 0o644)
}
