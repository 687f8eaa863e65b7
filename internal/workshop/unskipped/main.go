// Unskipped runs go test in the root of the repository. It fails if a test fails, or is skipped
// with a message that is not in skips.txt, or if a package has no test that runs.
//
//	go run ./unskipped -count=1 ./internal/store/postgres
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
	cmd := exec.Command("go", append([]string{"test", "-json", "-vet=off"}, args...)...)
	cmd.Dir, cmd.Stderr = "../..", os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	skipped, err := report(os.Stdout, stdout)
	return errors.Join(err, cmd.Wait(), unexplained(skipped))
}

// event is a line of go test -json.
type event struct {
	Action, Package, ImportPath, Test, Output string
}

// test is a test, or without a name the package itself.
type test struct{ pkg, name string }

// report writes how each package ends, the figures that tests print, and the output of what fails. It
// returns what the skipped tests print, and the packages without a test that runs.
func report(w io.Writer, events io.Reader) (skipped map[test]string, err error) {
	skipped = map[test]string{}
	output := map[test]string{} // of what has not ended
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return skipped, nil
		}
		if err != nil {
			return skipped, err
		}
		var e event
		if json.Unmarshal(line, &e) != nil { // not of go test
			fmt.Fprintf(w, "%s", line)
			continue
		}
		t := test{e.Package, e.Test}
		switch {
		case e.Action == "build-output":
			fmt.Fprint(w, e.Output)
		case e.Action == "output":
			output[t] += e.Output
			if _, figures, ok := strings.Cut(e.Output, "figures: "); ok {
				fmt.Fprint(w, "figures: ", figures)
			}
			if e.Test == "" && (strings.HasPrefix(e.Output, "ok ") || strings.HasPrefix(e.Output, "? ")) {
				fmt.Fprint(w, e.Output)
			}
			if e.Test == "" && strings.HasSuffix(e.Output, " [no tests to run]\n") {
				skipped[t] = e.Output
			}
		case e.Action == "skip" && e.Test != "":
			skipped[t] = output[t]
			delete(output, t)
		case e.Action == "pass":
			delete(output, t)
		case e.Action == "fail" && e.Test == "": // with the tests that have failed, or not ended
			for of, text := range output {
				if of.pkg == e.Package {
					fmt.Fprint(w, text)
				}
			}
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
		if strings.Contains(text, ": "+message) && getenv(variable) == "" {
			return true
		}
	}
	return false
}
