package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tool tests a service from its document.
type tool struct {
	name    string
	version func() string
	// run returns the failures that it reports. Each has the same text in each run, so it has neither values nor counts.
	run func(ctx context.Context, on target) (failures []string, err error)
}

// target is what a tool gets.
type target struct {
	document, url, header string
	seed                  int
	limit                 time.Duration
	report                string // a file, for people
	folder                string // of the programs
}

var tools = []tool{
	{name: "contracttest", version: contracttestVersion, run: runContracttest},
	{name: "Schemathesis", version: schemathesisVersion, run: runSchemathesisFor},
	{name: "Schemathesis-defaults", version: schemathesisVersion, run: runSchemathesisByDefault},
}

// output runs a program, writes what it prints to the report, and returns it. After some time the program is interrupted,
// and prints what it has found. A status that is not 0 is a failure that the tool has reported, or one of its own, which its
// caller sees by the missing result.
func (on target) output(ctx context.Context, most time.Duration, program string, arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	command := exec.CommandContext(ctx, program, arguments...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = time.Minute
	text, err := command.CombinedOutput()
	var hasEnded *exec.ExitError
	if err != nil && !errors.As(err, &hasEnded) && ctx.Err() == nil {
		return "", err
	}
	return string(text), os.WriteFile(on.report, text, 0o644)
}

func (on target) headerFlags() []string {
	if on.header == "" {
		return nil
	}
	return []string{"-H", on.header}
}

// --- the command of this repository

// contracttestVersion is the commit that last changed the engine or its command.
func contracttestVersion() string {
	commit, err := exec.Command("git", "log", "-1", "--format=%h", "--", "../../api", "../../cmd/contracttest").Output()
	if err != nil || len(commit) == 0 {
		return "of an unknown commit"
	}
	return strings.TrimSpace(string(commit))
}

var (
	causeLine = regexp.MustCompile(`(?m)^\[([0-9a-f]+)\] (.*)$`)
	causeEnd  = regexp.MustCompile(`, (once|[0-9]+ times)$`)
)

func runContracttest(ctx context.Context, on target) ([]string, error) {
	arguments := append([]string{on.document, on.url, "--seed", strconv.Itoa(on.seed), "--max-time", on.limit.String()}, on.headerFlags()...)
	text, err := on.output(ctx, 2*on.limit+time.Minute, filepath.Join(on.folder, "contracttest"), arguments...)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(text, "\nthe document ") {
		return nil, errors.New(text)
	}
	var failures []string
	for _, cause := range causeLine.FindAllStringSubmatch(text, -1) {
		failures = append(failures, causeEnd.ReplaceAllString(cause[2], ""))
	}
	return failures, nil
}

// --- Schemathesis

const schemathesis = "foreign/.venv/services/bin/schemathesis" // of make foreign, with its version

func schemathesisVersion() string {
	text, err := exec.Command(schemathesis, "--version").Output()
	if err != nil {
		return "of an unknown version"
	}
	words := strings.Fields(string(text))
	return words[len(words)-1]
}

// runSchemathesisFor lets Schemathesis generate examples until the time is over, and go on after failures. All phases that
// it has by default run, the stateful one too.
func runSchemathesisFor(ctx context.Context, on target) ([]string, error) {
	return runSchemathesis(ctx, on, 2*on.limit+time.Minute, "--max-time", strconv.Itoa(int(on.limit.Seconds())), "--continue-on-failure")
}

// mostByDefault ends Schemathesis that has its own settings: by itself it goes on until it has tried all that it wants to.
const mostByDefault = 6 * time.Minute

func runSchemathesisByDefault(ctx context.Context, on target) ([]string, error) {
	return runSchemathesis(ctx, on, 2*mostByDefault, "--max-time", strconv.Itoa(int(mostByDefault.Seconds())))
}

func runSchemathesis(ctx context.Context, on target, most time.Duration, settings ...string) ([]string, error) {
	file := on.report + ".json"
	arguments := slices.Concat([]string{
		"--no-color", "run", on.document, "--url", on.url, "--seed", strconv.Itoa(on.seed), "--report-json-path", file,
		"--generation-database", "none",
	}, settings, on.headerFlags())
	text, err := on.output(ctx, most, schemathesis, arguments...)
	if err != nil {
		return nil, err
	}
	report, err := os.ReadFile(file)
	if err != nil {
		return nil, errors.New(text)
	}
	return failuresOf(report)
}

// failuresOf are the failures in a report of Schemathesis, by their titles and operations. A title counts more often than
// it has operations if one of them fails in two ways: each of these is a failure of its own.
func failuresOf(report []byte) (failures []string, err error) {
	type failure struct {
		Title      string
		Count      int
		Operations []string
	}
	var found struct{ Failures, Errors []failure }
	if err := json.Unmarshal(report, &found); err != nil {
		return nil, err
	}
	for _, one := range slices.Concat(found.Failures, found.Errors) {
		for _, operation := range one.Operations {
			failures = append(failures, one.Title+": "+operation)
		}
		for more := range one.Count - len(one.Operations) {
			failures = append(failures, fmt.Sprintf("%s: in another way, %d", one.Title, more+1))
		}
	}
	return failures, nil
}
