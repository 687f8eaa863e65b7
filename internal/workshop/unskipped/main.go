// Unskipped runs go test in the root of the repository. It fails if a test fails, or is skipped
// with a message that is not in skips.txt, or if a package has no test that runs.
//
//	go run ./unskipped -count=1 ./internal/store/postgres
//	go run ./unskipped -C internal/workshop/tools -count=1 ./kubernetes
//
// It does not vet: make vet does, and go test would vet all packages again for -race.
package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

//go:embed skips.txt
var skips string

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "unskipped:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	// -C, for another module, must come first.
	cmd := exec.Command("go", slices.Concat([]string{"test"}, args, []string{"-json", "-vet=off"})...)
	cmd.Dir, cmd.Stderr = "../..", os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	tests := newReport(os.Stdout)
	err = tests.read(stdout)
	return errors.Join(err, cmd.Wait(), unexplained(tests.skipped))
}

// event is a line of go test -json.
type event struct {
	Action, Package, ImportPath, Test, Output string
}

// isOfPackage reports whether an event is about a package, and not about one of its tests.
func (e event) isOfPackage() bool { return e.Test == "" }

// test is a test, or without a name the package itself.
type test struct{ pkg, name string }

// report writes how each package ends, the figures that tests print, and the output of what fails.
type report struct {
	out     io.Writer
	output  map[test]string // of what has not ended
	skipped map[test]string // what the skipped tests print, and the packages without a test that runs
}

func newReport(out io.Writer) *report {
	return &report{out: out, output: map[test]string{}, skipped: map[test]string{}}
}

// read reads the output of go test -json to its end.
func (r *report) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			fmt.Fprintf(r.out, "%s", line) // it is not of go test
			continue
		}
		r.note(e)
	}
}

func (r *report) note(e event) {
	of := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		r.output[of] += e.Output
		r.print(e)
	case "skip":
		if !e.isOfPackage() {
			r.skipped[of] = r.output[of]
			delete(r.output, of)
		}
	case "pass":
		delete(r.output, of)
	case "fail":
		if e.isOfPackage() {
			r.printFailed(e.Package)
		}
	}
}

// print writes what a reader wants to see of a test that passes: its figures, and how a package ends.
func (r *report) print(e event) {
	if _, figures, found := strings.Cut(e.Output, "figures: "); found {
		fmt.Fprint(r.out, "figures: ", figures)
	}
	if !e.isOfPackage() {
		return
	}
	if endsWell.MatchString(e.Output) {
		fmt.Fprint(r.out, e.Output)
	}
	if strings.HasSuffix(e.Output, " [no tests to run]\n") {
		r.skipped[test{e.Package, ""}] = e.Output
	}
}

// endsWell matches the line of a package whose tests pass, and of one without tests.
var endsWell = regexp.MustCompile(`^(ok|\?) `)

// printFailed writes the output of the tests of a package that have failed, or not ended.
func (r *report) printFailed(pkg string) {
	for of, text := range r.output {
		if of.pkg == pkg {
			fmt.Fprint(r.out, text)
		}
	}
}

// unexplained returns an error that has the tests that should not have been skipped.
func unexplained(skipped map[test]string) error {
	var all []error
	for t, text := range skipped {
		if !allowed(text, os.Getenv) {
			all = append(all, fmt.Errorf("%s %s has not run:\n%s", t.pkg, t.name, text))
		}
	}
	return errors.Join(all...)
}

// allowed reports whether skips.txt has the message in the output of a skipped test, and its variable is not set.
func allowed(text string, getenv func(string) string) bool {
	for line := range strings.Lines(skips) {
		words := strings.Fields(line)
		variable := words[len(words)-1]
		message := strings.Join(words[:len(words)-1], " ")
		if strings.Contains(text, ": "+message) {
			return getenv(variable) == ""
		}
	}
	return false
}
