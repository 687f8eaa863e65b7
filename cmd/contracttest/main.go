// Command contracttest tests a service against its OpenAPI document. README.md of
// api/contracttest is its guide.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/internal/buildinfo"
)

// mostMemory is what a run may take before memory is collected at any price. Tests of a large document are made
// of values that are needed for a moment only: 254 MB were taken for 77 MB that are kept.
const mostMemory = 160 << 20

// version is set when a release is linked: -X main.version=v1.2.3.
var version string

func main() {
	debug.SetMemoryLimit(mostMemory)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	// A second interrupt ends the program at once.
	context.AfterFunc(ctx, stop)
	if err := command().Run(ctx, os.Args); err != nil {
		cli.HandleExitCoder(wrong(err))
	}
}

const description = `DOCUMENT is a file or a URL. URL is where the service has the paths of the document.

The tests create, change and delete resources at URL, and send what a service must
refuse. Do not run them on a service with data that you need. An interrupt (Ctrl-C) ends
them with a report of what was found so far.

Operations with names such as shutdown, drop, reset, clear or logout are left out, unless
--include has their id or path. --include '*' stands for all others.

Exit status:
  0  every promise of the document is kept, or what is not is known (--baseline)
  1  a promise is broken
  2  wrong usage, a file cannot be read or written, or nothing at URL responds as the
     document says
  3  no promise is broken, but some are not tested
  4  the document cannot be read, or lacks an operation of the options`

const (
	statusBroken = iota + 1
	statusUsage
	statusNotTested
	statusDocument
)

// wrong is an error with the status for wrong usage, if it has no other.
func wrong(err error) error {
	if _, ok := errors.AsType[cli.ExitCoder](err); ok || err == nil {
		return err
	}
	return cli.Exit("contracttest: "+err.Error(), statusUsage)
}

// command declares the command line.
func command() *cli.Command {
	version, commit := buildinfo.Version(version)
	return &cli.Command{
		Name:                      "contracttest",
		Version:                   version + ", commit " + commit,
		Usage:                     "test a service against its OpenAPI document",
		ArgsUsage:                 "DOCUMENT URL",
		Description:               description,
		Flags:                     flags(),
		Commands:                  []*cli.Command{reachedCommand()},
		HideHelpCommand:           true,
		DisableSliceFlagSeparator: true,
		Action:                    run,
		ExitErrHandler:            func(context.Context, *cli.Command, error) {}, // main does it
		OnUsageError:              wrongUsage,
	}
}

// run tests the service, writes what it finds, and returns the exit status as an error. What is wrong with the command line is
// found before the first request.
func run(ctx context.Context, cmd *cli.Command) error {
	if cmd.Args().Len() != 2 {
		return errors.New("give a document and the URL of the service; see contracttest --help")
	}
	url := cmd.Args().Get(1)
	if !isURL(url) {
		return fmt.Errorf("the URL of the service must begin with http:// or https://, got %q", url)
	}
	options, err := optionsOf(cmd)
	if err != nil {
		return err
	}
	text, err := read(cmd.Args().Get(0))
	if err != nil {
		return cli.Exit("contracttest: the document: "+err.Error(), statusDocument)
	}
	if err := logIn(ctx, cmd, url, &options); err != nil {
		return err
	}
	contract, err := contracttest.New(text, options)
	if err != nil {
		return cli.Exit(err.Error(), statusDocument)
	}
	if err := reach(ctx, contract, url); err != nil {
		return err
	}
	report, stopped := test(ctx, contract, url)
	if options.Only == "" {
		report.Summary(cmd.Root().Writer)
		fmt.Fprintf(cmd.Root().Writer, "draw the same values again: --seed %d\n", report.Seed)
	}
	if err := writeReports(cmd, report); err != nil {
		return err
	}
	if cmd.Bool("github") {
		if err := writeForGitHub(cmd.Root().Writer, report, cmd.Args().Get(0), text); err != nil {
			return err
		}
	}
	if options.Only != "" {
		return showOnly(cmd.Root().Writer, report, options.Only)
	}
	if !cmd.Bool("write-baseline") {
		return status(report)
	}
	if stopped != nil {
		return fmt.Errorf("the baseline is not written: %w", stopped)
	}
	return writeBaseline(cmd.String("baseline"), report, options.Known)
}

// reach returns an error unless something responds at the URL, and as the document says.
func reach(ctx context.Context, contract *contracttest.Contract, url string) error {
	resp, err := client.Head(url)
	if err != nil {
		return err
	}
	resp.Body.Close()
	return contract.CheckBase(ctx, contracttest.Target{URL: url})
}

// test runs the tests, and shows on a terminal how far they have come. The log of CI would be full of lines.
func test(ctx context.Context, contract *contracttest.Contract, url string) (contracttest.Report, error) {
	if isTerminal(os.Stderr) {
		defer showProgress(os.Stderr, contract.Progress)()
	}
	return contract.Run(ctx, contracttest.Target{URL: url})
}

// showOnly writes one cause and how to repeat it, if it was found. The id may also be that of one of its places, or of its root. A
// run that has ended before all tests does not say that it is gone.
func showOnly(w io.Writer, report contracttest.Report, id string) error {
	for _, cause := range report.Causes {
		isOfPlace := slices.ContainsFunc(cause.Places, func(place contracttest.Place) bool { return place.ID == id })
		if cause.ID == id || isOfPlace || cause.First.Root.ID() == id {
			fmt.Fprintln(w, cause)
			if script := cause.Script(); script != "" {
				fmt.Fprintf(w, "\nall requests of the test, as a script that needs curl and jq:\n\n%s\n", script)
			}
			return cli.Exit("contracttest: "+id+" fails", statusBroken)
		}
	}
	if report.Ended != "" {
		return cli.Exit(fmt.Sprintf("contracttest: no test has failed for the cause %s so far: %s", id, report.Ended), statusNotTested)
	}
	fmt.Fprintf(w, "no test fails for the cause %s\n", id)
	return nil
}

// writeReports writes the files that were asked for.
func writeReports(cmd *cli.Command, report contracttest.Report) error {
	writers := map[string]func(io.Writer) error{
		"junit": report.JUnit,
		"html":  report.HTML,
		"json":  report.JSON,
		"text":  report.Text,
	}
	for flag, write := range writers {
		path := cmd.String(flag)
		if path == "" {
			continue
		}
		var text bytes.Buffer
		if err := errors.Join(write(&text), os.WriteFile(path, text.Bytes(), 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// status is the exit status of a report, as an error.
func status(report contracttest.Report) error {
	causes, notTested := 0, 0
	for _, cause := range report.Causes {
		if cause.Known == "" {
			causes++
		}
	}
	for _, p := range report.Promises {
		if p.IsNotTested() {
			notTested++
		}
	}
	switch {
	case causes > 0:
		return cli.Exit(fmt.Sprintf("contracttest: promises are broken; causes: %d", causes), statusBroken)
	case notTested > 0:
		return cli.Exit(fmt.Sprintf("contracttest: promises that are not tested: %d", notTested), statusNotTested)
	}
	return nil
}

// client fetches documents. Tests have timeouts of their own.
var client = http.Client{Timeout: time.Minute}

// isURL reports whether a text is an address, and not the name of a file.
func isURL(text string) bool {
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

// read reads a file, or what is at a URL.
func read(document string) ([]byte, error) {
	if !isURL(document) {
		return os.ReadFile(document)
	}
	resp, err := client.Get(document)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", document, resp.Status)
	}
	return io.ReadAll(resp.Body)
}

// baselineLine finds an id and its comment. Other lines are for people.
var baselineLine = regexp.MustCompile(`(?m)^([0-9a-f]{8})[ \t]*(.*)$`)

// readBaseline returns the reasons in a baseline file by id. If it will be written, it need not exist.
func readBaseline(path string, write bool) (map[string]string, error) {
	if path == "" && write {
		return nil, errors.New("--write-baseline needs --baseline FILE")
	}
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	isAbsent := errors.Is(err, os.ErrNotExist)
	if isAbsent && !write {
		return nil, fmt.Errorf("%w; --write-baseline makes it", err)
	}
	if err != nil && !isAbsent {
		return nil, err
	}
	known := map[string]string{}
	for _, line := range baselineLine.FindAllStringSubmatch(string(text), -1) {
		known[line[1]] = cmp.Or(line[2], "no comment")
	}
	return known, nil
}

// writeBaseline writes the ids of what is broken or not tested. What was known keeps its comment, or goes if it was not found.
func writeBaseline(path string, report contracttest.Report, known map[string]string) error {
	var b strings.Builder
	fmt.Fprintln(&b, "# Known: the ids of causes and of promises that are not tested, each with a comment.")
	line := func(id, comment string) {
		comment = cmp.Or(known[id], comment)
		fmt.Fprintf(&b, "%s %s\n", id, strings.ReplaceAll(comment, "\n", " "))
	}
	for _, cause := range report.Causes {
		for _, place := range cause.Places {
			comment := cause.Cause
			if !strings.Contains(comment, place.Operation) {
				comment += " (" + place.Operation + ")"
			}
			line(place.ID, comment)
		}
	}
	for _, p := range report.Promises {
		if p.State == contracttest.NotTested {
			line(p.ID(), "not tested: "+p.Name+": "+p.Why)
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
