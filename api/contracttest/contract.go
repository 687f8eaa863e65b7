// Package contracttest tests a service against its OpenAPI document, 3.0 to 3.2, or Swagger 2.0. One
// line is enough, in the tests that a service has, or in a test of its own:
//
//	handler = contracttest.Watch(t, document, handler)
//	contracttest.Test(t, document, handler)
//
// [Watch] holds each response that your tests ask for to the document. [Test] makes requests from the document, sends
// them to the handler, and fails for each cause of a response that the document does not allow. README.md beside this package is a guide, and
// cmd/contracttest is a command for services in any language.
//
// For more, [New] reads the document and [Options], which hold what a document cannot say. The
// result, a [Contract], does this:
//
//   - [Contract.Run] runs the generated tests on a URL and returns a [Report].
//   - [Contract.Tests] has the same tests, one for each constraint, status, credential, path and
//     parameter of the document, to run each of them under its name.
//   - [Contract.Watch] is Watch; [Contract.Client], [Contract.Transport] and [Contract.Handler] check each response
//     that your own tests receive, and record which promises it keeps.
//   - [Contract.Main] runs the tests of a package, and then fails for each promise of the document
//     that is broken, or not tested without a reason in the options. What the package cannot test is
//     not tested, too: see [Contract.Promises].
//
// Aliases here stand for the types of two packages: scenario, what tests of one's own need, and report, what tests have shown.
// The packages in internal are described in internal/README.md of the repository.
package contracttest

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/api/contracttest/internal/run"
	"github.com/plantstore/plantstore/api/contracttest/report"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// T is what the package needs of a test; a [testing.TB] is one.
type T interface {
	Helper()
	Name() string
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// Contract is a document and its options, with a record of what tests observed.
type Contract struct {
	text     []byte // of the document
	document *document.Document
	options  Options
	judge    *judge.Judge
	plan     *plan.Planner
	runner   *run.Runner
	ledger   *report.Ledger
	seed     uint64
	watching
}

// Variables of the environment.
const (
	// Has precedence over [Options.Seed].
	seedVariable = "CONTRACT_SEED"
	// Names the files that [Contract.Main] writes reports to.
	reportVariable = "CONTRACT_REPORT"
)

// New reads a document, and the earlier ones of the options. It fails if one of them is neither OpenAPI 3 nor
// Swagger 2.0 at all, or if the options name an operation or a value that the document does not have. What else is
// wrong with a document, or not understood, is not tested in [Contract.Promises].
func New(text []byte, o Options) (*Contract, error) {
	seed, err := seedOfOptions(o)
	if err != nil {
		return nil, err
	}
	read, err := document.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("contracttest: the document: %w", err)
	}
	read.Base = cmp.Or(strings.TrimSuffix(o.BasePath, "/"), read.Base)
	earlier, err := o.earlierDocuments()
	if err != nil {
		return nil, err
	}
	if err := o.checkNames(read); err != nil {
		return nil, err
	}
	chosen, err := o.chosen(read.Operations)
	if err != nil {
		return nil, err
	}
	o.Header = canonical(o.Header)
	o.Other.Header = canonical(o.Other.Header)
	c := &Contract{
		text:     text,
		document: read,
		options:  o,
		seed:     seed,
		ledger:   report.NewLedger(),
		watching: newWatching(),
	}
	c.judge = judge.New(read, earlier, judge.Settings{Rules: o.Rules, Faults: o.Faults})
	settings := o.ofPlan(seed, chosen)
	settings.Left = c.requestsLeft
	c.plan = plan.New(c.judge, settings)
	c.runner = &run.Runner{
		Plan:       c.plan,
		Header:     o.Header,
		NotWritten: o.Rules.NotWritten,
		Timeout:    o.Limits.Response,
		Observe:    c.observe,
	}
	c.runner.Users = c.runners()
	c.ledger.Known = o.Known
	c.ledger.Promised = c.promised
	c.ledger.IsDocumented = func(id string, status int) bool { return read.Operation(id).Response(status) != nil }
	return c, nil
}

// runners send the requests of users. What they receive is counted and not judged: another test does that. The header of the
// anonymous user is that of the options without credentials, in which that of the other user differs, too.
func (c *Contract) runners() map[scenario.User]*run.Runner {
	bare := maps.Clone(c.options.Header)
	maps.DeleteFunc(bare, func(name string, _ []string) bool {
		return c.options.Other.Header[name] != nil || c.document.IsCredential(name)
	})
	other := maps.Clone(bare)
	maps.Copy(other, c.options.Other.Header)
	count := func(x scenario.Interaction, _ string, _ judge.Asked) []scenario.Failure {
		c.ledger.NoteStatus("", x.Status, nil)
		return nil
	}
	return map[scenario.User]*run.Runner{
		scenario.Owner:     {Plan: c.plan, Header: c.options.Header, Observe: count},
		scenario.Other:     {Plan: c.plan.OfUser(), Header: other, Observe: count},
		scenario.Anonymous: {Plan: c.plan.OfUser(), Header: bare, Observe: count},
	}
}

// seedOfOptions is the seed of the environment, of the options, or a new one.
func seedOfOptions(o Options) (uint64, error) {
	text := os.Getenv(seedVariable)
	if text == "" {
		return cmp.Or(o.Seed, rand.Uint64()), nil
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("contracttest: %s: %w", seedVariable, err)
	}
	return seed, nil
}

// canonical is a header with the usual names.
func canonical(header http.Header) http.Header {
	same := http.Header{}
	for name, values := range header {
		same[http.CanonicalHeaderKey(name)] = values
	}
	return same
}

// Check checks one interaction and records what it shows. Use it where neither
// [Contract.Transport] nor [Contract.Handler] fits, for example for a raw
// connection.
func (c *Contract) Check(t T, x Interaction) {
	t.Helper()
	failures := c.observe(x, t.Name(), judge.Asked{})
	c.ledger.NoteFailures(failures)
	for _, failure := range failures {
		if failure.ReasonIn(c.options.Known) == "" {
			t.Errorf("contract: %s %s: %s", x.Method, x.Path, failure)
		}
	}
}

// Faults returns what is wrong with a response, and records nothing.
func (c *Contract) Faults(x Interaction) []Fault { return c.judge.Faults(x) }

// observe judges a response, and records its status and what it shows: that promises are kept, or, if it is wrong, that the
// promise of this response is broken.
func (c *Contract) observe(x scenario.Interaction, test string, asked judge.Asked) []scenario.Failure {
	operation := c.document.Find(x.Method, x.Path)
	if operation == nil || hidesAcceptance(asked, x.Status) {
		c.ledger.NoteStatus("", x.Status, nil)
	} else {
		c.ledger.NoteStatus(operation.ID, x.Status, x.Body)
	}
	c.noteReached(x)
	failures := c.judge.Failures(x, test, asked, c.options.Header)
	if len(failures) == 0 {
		c.ledger.Note(test, c.shownByOptions(x)...)
		c.ledger.Note(test, c.plan.Shown(x, c.ledger.Has)...)
		return nil
	}
	if serving := c.document.Serving(x.Method, x.Path); serving != nil { // GET, of a HEAD that the document does not have
		if key, described := serving.ResponseAs(x.Status); described != nil {
			c.ledger.Fail(failures[0], plan.ResponsePromise(serving, key))
		}
	}
	return failures
}

// hidesAcceptance reports whether a status does not say if the operation accepts requests: that of wrong credentials, and the
// success of a request that only must not end the service. A path that is cut at %00 leads to another operation.
func hidesAcceptance(asked judge.Asked, status int) bool {
	isOfCredentials := asked.Violation != nil && asked.Violation.IsOfCredentials()
	isSurvived := asked.Promise.Duty == scenario.MustSurvive && status < http.StatusBadRequest
	return isSurvived || isOfCredentials
}

// promised lists the promises of the document and of the options.
func (c *Contract) promised() (all []scenario.Promise, untested map[scenario.Promise]string) {
	all, untested = c.plan.Promises()
	for _, name := range slices.Sorted(maps.Keys(c.options.Promises)) {
		all = append(all, declared(name))
	}
	return all, untested
}

// declared is a promise that the options have.
func declared(name string) scenario.Promise {
	return scenario.Promise{Kind: scenario.DeclaredPromise, Place: name}
}

// shownByOptions are the promises of the options that an interaction shows.
func (c *Contract) shownByOptions(x scenario.Interaction) (shown []scenario.Promise) {
	for name, shows := range c.options.Promises {
		if shows(x) {
			shown = append(shown, declared(name))
		}
	}
	return shown
}

// Promises lists everything that the document promises, with what tests have shown of it so
// far: for each operation what credentials it needs, each keyword of each parameter and
// body to obey and to break, what each parameter does, each status, header and request
// example, and what sequences must show. What the document has and this package cannot
// test is not tested.
func (c *Contract) Promises() []Promise { return c.ledger.Promises() }

// Causes lists what has failed so far: crashes first, then what fails most often.
func (c *Contract) Causes() []Cause { return c.ledger.Causes() }

// Report is what all tests of the contract have shown so far.
func (c *Contract) Report() Report {
	of := report.Document{
		Title:    c.document.Title,
		Version:  c.document.Version,
		Inferred: c.plan.Resources.Inferred,
		Seed:     c.seed,
		Stub:     c.plan.Resources.Stub(),

		Warnings:    []string{c.runner.Ended(), c.runner.NotWaitedFor(), c.runner.Left()},
		NotInferred: c.plan.Resources.NotInferred(),
	}
	for _, operation := range c.document.Operations {
		summary := operation.Method + " " + operation.Template
		of.Operations = append(of.Operations, report.Operation{ID: operation.ID, Summary: summary, Needs: c.plan.Needs(operation)})
	}
	return report.New(of, c.ledger)
}

// Main runs the tests of a package, a [testing.M], and then fails if a promise of the
// document is broken, or not tested without a reason in the options. With -run and the like, a
// part of the tests runs, and no promise is demanded. If CONTRACT_REPORT is set, reports
// are written (see [Report.WriteFiles]).
func (c *Contract) Main(m interface{ Run() int }) {
	os.Exit(c.finish(m.Run(), isWholeRun(), os.Stdout))
}

// finish writes the report, if it is asked for, and what fails in a whole run, and returns the exit code.
func (c *Contract) finish(code int, isWhole bool, w io.Writer) int {
	if path := os.Getenv(reportVariable); path != "" {
		if err := c.Report().WriteFiles(path, w); err != nil {
			fmt.Fprintln(w, "contract:", err)
			code = 1
		}
	}
	if code != 0 || !isWhole {
		return code
	}
	for _, promise := range c.Promises() {
		if promise.Fails() {
			fmt.Fprintf(w, "contract: %s: %s: %s\n", promise.State, promise.Name, promise.Why)
			code = 1
		}
	}
	return code
}

// isWholeRun reports whether every test of the package has run. A part of the tests cannot keep all
// promises, and that is no fault of the service.
func isWholeRun() bool {
	return !slices.ContainsFunc([]string{"run", "skip", "list", "bench", "fuzz", "fuzzworker", "short"}, isSet)
}

// isSet reports whether a flag of go test is set, as v by -v.
func isSet(name string) bool {
	given := flag.Lookup("test." + name)
	return given != nil && !slices.Contains([]string{"", "false"}, given.Value.String())
}

// contextOf is the context of a test, if it has one.
func contextOf(t T) context.Context {
	if test, has := t.(interface{ Context() context.Context }); has {
		return test.Context()
	}
	return context.Background()
}
