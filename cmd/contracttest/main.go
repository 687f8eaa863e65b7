// Command contracttest tests a service against its OpenAPI document. README.md of
// api/contracttest is its guide.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/api/contracttest"
)

// mostMemory is what a run may take before memory is collected at any price. Tests of a large document are made
// of values that are needed for a moment only: 254 MB were taken for 77 MB that are kept.
const mostMemory = 160 << 20

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

Operations with names such as shutdown, drop, reset or clear are left out, unless --include
has their id or path. --include '*' stands for all others.

Exit status:
  0  every promise of the document is kept, or what is not is known (--baseline)
  1  a promise is broken
  2  wrong usage, a file cannot be read or written, or nothing at URL responds as the
     document says
  3  no promise is broken, but some are untried
  4  the document cannot be read, or lacks an operation of the options`

const (
	statusBroken = iota + 1
	statusUsage
	statusUntried
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
	return &cli.Command{
		Name:        "contracttest",
		Usage:       "test a service against its OpenAPI document",
		ArgsUsage:   "DOCUMENT URL",
		Description: description,
		Flags: []cli.Flag{
			&cli.StringSliceFlag{
				Name: "header", Aliases: []string{"H"},
				Usage: "send `'NAME: VALUE'` with every request; credentials are left out where a test sends none",
			},
			&cli.StringFlag{
				Name:  "login",
				Usage: "POST --login-body to `URL`, or a path below that of the service, and use the access_token or the cookies of the response",
			},
			&cli.StringFlag{Name: "login-body", Usage: "log in with `'a=b&c=d'`, or with an object of JSON"},
			&cli.StringFlag{
				Name:  "baseline",
				Usage: "let the causes and untried promises in `FILE` not fail: an id and a comment in each line",
			},
			&cli.BoolFlag{
				Name:  "write-baseline",
				Usage: "write the causes and untried promises of this run to the file of --baseline, and exit with 0",
			},
			&cli.StringSliceFlag{
				Name:  "include",
				Usage: "test only the operations with this `ID, PATH, METHOD or TAG`, such as GET or '/things*'",
			},
			&cli.StringSliceFlag{
				Name:  "exclude",
				Usage: "send no request of the operations with this `ID, PATH, METHOD or TAG`",
			},
			&cli.StringFlag{
				Name:  "only",
				Usage: "end with the first request that fails for the cause with this `ID`, and show no other; needs --seed",
			},
			&cli.DurationFlag{
				Name:  "max-time",
				Value: 5 * time.Minute,
				Usage: "end with a report after this `TIME`, such as 90s; what was not tried is untried; 0: run all tests",
			},
			&cli.StringFlag{
				Name:  "options",
				Usage: "read contracttest.Options as JSON from `FILE`: Resources and Lists correct what was inferred",
			},
			&cli.StringFlag{Name: "junit", Usage: "write JUnit XML to `FILE`"},
			&cli.StringFlag{Name: "html", Usage: "write a page with every promise to `FILE`"},
			&cli.StringFlag{Name: "text", Usage: "write every promise as text to `FILE`"},
			&cli.Uint64Flag{
				Name:        "seed",
				HideDefault: true,
				Usage:       "draw the values of an earlier run again",
			},
		},
		HideHelpCommand:           true,
		DisableSliceFlagSeparator: true,
		Action:                    run,
		ExitErrHandler:            func(context.Context, *cli.Command, error) {}, // main does it
		OnUsageError: func(_ context.Context, _ *cli.Command, err error, _ bool) error {
			return wrong(err)
		},
	}
}

// run tests the service. What is wrong with the command line is found before the first request.
func run(ctx context.Context, cmd *cli.Command) error {
	if cmd.Args().Len() != 2 {
		return errors.New("give a document and the URL of the service; see contracttest --help")
	}
	document := cmd.Args().Get(0)
	url := cmd.Args().Get(1)
	baseline := cmd.String("baseline")
	if !isURL(url) {
		return fmt.Errorf("the URL of the service must begin with http:// or https://, got %q", url)
	}
	options, err := readOptions(cmd.String("options"))
	if err != nil {
		return err
	}
	header, err := parseHeader(cmd.StringSlice("header"))
	if err != nil {
		return err
	}
	known, err := readBaseline(baseline, cmd.Bool("write-baseline"))
	if err != nil {
		return err
	}
	options.Header = merged(options.Header, header)
	options.Known = merged(options.Known, known)
	options.Seed = cmp.Or(cmd.Uint64("seed"), options.Seed)
	options.Include = append(options.Include, cmd.StringSlice("include")...)
	options.Exclude = append(options.Exclude, cmd.StringSlice("exclude")...)
	options.Only = cmd.String("only")
	if options.Only != "" && options.Seed == 0 {
		return errors.New("--only needs the --seed of the run that has found the cause")
	}
	options.MaxTime = cmd.Duration("max-time")
	// The service may have kept what earlier runs have created.
	options.FirstID = cmp.Or(options.FirstID, 1_000_000+rand.Int64N(1_000_000_000))
	text, err := read(document)
	if err != nil {
		return cli.Exit("contracttest: the document: "+err.Error(), statusDocument)
	}
	if path := cmd.String("login"); path != "" {
		given, err := contracttest.LogIn(ctx, addressOf(path, url), cmd.String("login-body"))
		if err != nil {
			return err
		}
		options.Header = merged(options.Header, given)
	}
	contract, err := contracttest.New(text, options)
	if err != nil {
		return cli.Exit(err.Error(), statusDocument)
	}
	resp, err := client.Head(url)
	if err != nil {
		return err
	}
	resp.Body.Close()
	target := contracttest.Target{URL: url}
	if err := contract.CheckBase(ctx, target); err != nil {
		return err
	}
	hide := func() {}
	// The log of CI would be full of lines.
	if isTerminal(os.Stderr) {
		hide = showProgress(os.Stderr, contract.Progress)
	}
	report, stopped := contract.Run(ctx, target)
	hide()
	if options.Only != "" {
		return showOnly(cmd.Root().Writer, report, options.Only)
	}
	report.Summary(cmd.Root().Writer)
	fmt.Fprintf(cmd.Root().Writer, "draw the same values again: --seed %d\n", report.Seed)
	if err := writeReports(cmd, report); err != nil {
		return err
	}
	if stopped != nil && cmd.Bool("write-baseline") {
		return fmt.Errorf("the baseline is not written: %w", stopped)
	}
	if cmd.Bool("write-baseline") {
		return writeBaseline(baseline, report, options.Known)
	}
	return status(report)
}

// showOnly writes one cause, if it was found.
func showOnly(w io.Writer, report contracttest.Report, id string) error {
	for _, cause := range report.Causes {
		if cause.ID == id {
			fmt.Fprintln(w, cause)
			return cli.Exit("contracttest: "+id+" fails", statusBroken)
		}
	}
	fmt.Fprintf(w, "no test fails for the cause %s\n", id)
	return nil
}

// readOptions reads the options in a file of JSON, if there is one.
func readOptions(path string) (options contracttest.Options, err error) {
	if path == "" {
		return options, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return options, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&options); err != nil {
		return options, fmt.Errorf("%s: %w", path, err)
	}
	return options, nil
}

// writeReports writes the files that were asked for.
func writeReports(cmd *cli.Command, report contracttest.Report) error {
	writers := map[string]func(io.Writer) error{
		"junit": report.JUnit,
		"html":  report.HTML,
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
	broken := 0
	untried := 0
	for _, cause := range report.Causes {
		if cause.Known == "" {
			broken++
		}
	}
	for _, p := range report.Promises {
		if p.IsUntried() {
			untried++
		}
	}
	switch {
	case broken > 0:
		return cli.Exit(fmt.Sprintf("contracttest: promises are broken; causes: %d", broken), statusBroken)
	case untried > 0:
		return cli.Exit(fmt.Sprintf("contracttest: untried promises: %d", untried), statusUntried)
	}
	return nil
}

// merged returns the entries of two maps; b has precedence.
func merged[M ~map[string]V, V any](a, b M) M {
	all := M{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// parseHeader reads lines such as "Name: value". A name may be given more than once.
func parseHeader(lines []string) (http.Header, error) {
	header := http.Header{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("--header must be 'NAME: VALUE', got %q", line)
		}
		header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return header, nil
}

// client fetches documents. Tests have timeouts of their own.
var client = http.Client{Timeout: time.Minute}

// isURL reports whether a text is an address, and not the name of a file.
func isURL(text string) bool {
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

// addressOf is a URL, or that of a path below another one.
func addressOf(path, below string) string {
	if isURL(path) {
		return path
	}
	return strings.TrimSuffix(below, "/") + path
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
	if absent := errors.Is(err, os.ErrNotExist); absent && !write {
		return nil, fmt.Errorf("%w; --write-baseline makes it", err)
	} else if err != nil && !absent {
		return nil, err
	}
	known := map[string]string{}
	for _, line := range baselineLine.FindAllStringSubmatch(string(text), -1) {
		known[line[1]] = cmp.Or(line[2], "no comment")
	}
	return known, nil
}

// writeBaseline writes the ids of what is broken or untried. What was known keeps its comment.
func writeBaseline(path string, report contracttest.Report, known map[string]string) error {
	var b strings.Builder
	fmt.Fprintln(&b, "# Known: the ids of causes and of untried promises, each with a comment.")
	line := func(id, comment string) {
		comment = cmp.Or(known[id], comment)
		fmt.Fprintf(&b, "%s %s\n", id, strings.ReplaceAll(comment, "\n", " "))
	}
	for _, cause := range report.Causes {
		line(cause.ID, cause.Cause)
	}
	for _, p := range report.Promises {
		if p.State == contracttest.Untried {
			line(p.ID(), "untried: "+p.Name+": "+p.Why)
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
