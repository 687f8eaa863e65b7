package contracttest

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/api/contracttest/internal/run"
	"github.com/plantstore/plantstore/api/contracttest/report"
)

// Test runs every generated test on a handler, and t fails for each cause of broken promises, in a subtest for each
// operation at which it was found. What was inferred from the document and what no test could try is logged. A handler
// that needs credentials gets them in [Options]:
//
//	contracttest.Test(t, document, handler, contracttest.Options{
//		Header: http.Header{"Authorization": {"Bearer " + token}},
//	})
func Test(t T, document []byte, handler http.Handler, options ...Options) {
	t.Helper()
	c, err := New(document, firstOf(options))
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	if c.options.Parallel > 1 {
		handler = &pairs{next: handler}
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	ctx := contextOf(t)
	shown, _ := c.Run(ctx, Target{URL: server.URL + c.basePath(ctx, server.URL)}) // the error is that of ctx
	c.tell(t, shown)
	var overview strings.Builder
	shown.Overview(&overview)
	t.Logf("contract: %s", &overview)
	if shown.NotTested > 0 { // without -v, the log of a test that passes is not shown
		fmt.Fprintf(os.Stderr, "contract: %s: %d of %d promises are not tested; go test -v says why\n",
			t.Name(), shown.NotTested, shown.All())
	}
}

// firstOf returns the options that a function was given, of which there are one or none.
func firstOf(options []Options) Options {
	if len(options) == 0 {
		return Options{}
	}
	return options[0]
}

// tell fails for what a report has: in a subtest for each operation, and one for the service as a whole, if t has subtests. A
// cause that was found at several operations fails in the subtest of each.
func (c *Contract) tell(t T, shown Report) {
	t.Helper()
	run, hasSubtests := subtests(t)
	if !hasSubtests {
		tellOf(t, shown, shown.Causes)
		for _, operation := range c.document.Operations {
			c.tellUnwritten(t, shown, operation.ID)
		}
		return
	}
	for _, operation := range c.document.Operations {
		run(operation.ID, func(t T) {
			tellOf(t, shown, causesAt(shown, operation.ID))
			c.tellUnwritten(t, shown, operation.ID)
		})
	}
	run("the service", func(t T) { tellOf(t, shown, c.causesAtNone(shown)) })
}

// causesAt returns the causes that were found at an operation.
func causesAt(shown Report, operation string) (found []Cause) {
	for _, cause := range shown.Causes {
		if slices.ContainsFunc(cause.Places, func(at Place) bool { return at.Operation == operation }) {
			found = append(found, cause)
		}
	}
	return found
}

// causesAtNone returns the causes that were found at no operation of the document.
func (c *Contract) causesAtNone(shown Report) (found []Cause) {
	isOperation := func(at Place) bool { return c.document.Operation(at.Operation) != nil }
	for _, cause := range shown.Causes {
		if !slices.ContainsFunc(cause.Places, isOperation) {
			found = append(found, cause)
		}
	}
	return found
}

// subtests returns the method Run of a [testing.T], or false if t has none. It is called by reflection, because its parameter has a
// type of package testing, which the command must not contain.
func subtests(t T) (run func(name string, test func(T)), ok bool) {
	method := reflect.ValueOf(t).MethodByName("Run")
	if !method.IsValid() || method.Type().NumIn() != 2 {
		return nil, false
	}
	return func(name string, test func(T)) {
		function := reflect.MakeFunc(method.Type().In(1), func(in []reflect.Value) []reflect.Value {
			test(in[0].Interface().(T))
			return nil
		})
		method.Call([]reflect.Value{reflect.ValueOf(name), function})
	}, true
}

// tellOf fails for causes of a report that are not known. With -v, it logs how to repeat them.
func tellOf(t T, shown Report, causes []Cause) {
	t.Helper()
	for _, cause := range causes {
		if cause.Known != "" {
			continue
		}
		t.Errorf("contract: %s\n  again:  %s=%d", cause, seedVariable, shown.Seed)
		if script := cause.Script(); script != "" && isSet("v") {
			t.Logf("contract: all requests of the test, as a script that needs curl and jq:\n%s", script)
		}
	}
}

// tellUnwritten fails for an operation that is not written yet. One line is enough: none of its promises is tested, for the same
// reason.
func (c *Contract) tellUnwritten(t T, shown Report, id string) {
	t.Helper()
	why := string(run.NotWritten(id, c.options.Rules.NotWritten))
	isSo := func(p report.Promise) bool { return p.Why == why }
	if slices.ContainsFunc(shown.Promises, isSo) {
		t.Errorf("contract: %s", why)
	}
}

// basePath is the path of the document's server, or empty, if GETs whose path has no parameter find something only
// without it. Handlers are often mounted without the base path that the published server has.
func (c *Contract) basePath(ctx context.Context, url string) string {
	for _, base := range []string{c.document.Base, ""} {
		for _, operation := range c.document.Operations {
			isPlain := operation.Method == http.MethodGet && isWhole(operation)
			if isPlain && exists(ctx, url+base+operation.Template) {
				return base
			}
		}
	}
	return c.document.Base
}

// exists reports whether something is at a URL. HEAD is enough, and changes nothing.
func exists(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, url, http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode != http.StatusNotFound
}

// Target is a service that is to keep the promises of the document.
type Target struct {
	// Without a slash at the end; with the base path of the document's server.
	URL         string
	Transport   http.RoundTripper // nil: [http.DefaultTransport]
	Credentials Credentials       // allow everything
	// Without are credentials that have every scope but the one that is the key.
	// What needs a scope that is not here is not tested.
	Without map[string]Credentials
}

// Why promises are not tested that were not tried at the end of a run.
const (
	wasStopped = "the run was stopped before it was tried"
	onlyFound  = "the run has ended with the cause that was asked for"
	noTimeLeft = "no time was left to try it: give more as --max-time, in Go Limits.Time of the options"
	noneLeft   = "no request was left to try it: give more as --max-requests, in Go Limits.Requests of the options"
)

// requestsLeft is the share of the requests of a run that it has left; 1: all, or there is no bound.
func (c *Contract) requestsLeft() float64 {
	if c.options.Limits.Requests <= 0 {
		return 1
	}
	return 1 - float64(c.ledger.Progress().Requests)/float64(c.options.Limits.Requests)
}

// reportTime is how long the promises that were not reached are listed one by one. Then there is a line for each
// operation.
const reportTime = 3 * time.Second

// Run runs every generated test on a target and reports what all tests of the contract have
// shown. It creates, changes and deletes what the document allows, and at its end removes what it has created,
// unless ctx was canceled. Its error is that of ctx. When ctx or the time of the options ends, the report has what
// was found so far.
func (c *Contract) Run(ctx context.Context, target Target) (Report, error) {
	inTime := ctx
	if c.options.Limits.Time > 0 {
		var cancel context.CancelFunc
		inTime, cancel = context.WithTimeout(ctx, c.options.Limits.Time)
		defer cancel()
	}
	// A report names every promise, and for that the tests that were not reached must be made. When ctx ends, no more are made,
	// also while the report is made.
	defer context.AfterFunc(ctx, c.plan.Stop)()
	c.tryAll(inTime, target)
	c.runner.RemoveCreated(ctx, run.Target(target))
	isCut := inTime.Err() != nil || c.requestsLeft() <= 0
	if isCut {
		defer time.AfterFunc(reportTime, c.plan.Stop).Stop()
	}
	switch {
	case ctx.Err() != nil:
		c.plan.Stop()
		c.ledger.End(wasStopped)
	case inTime.Err() != nil:
		c.ledger.End(noTimeLeft)
	}
	return c.Report(), context.Cause(ctx)
}

// tryAll tries every test and records what it shows, until ctx is done, no request is left, or the only cause that was asked
// for is found. A test that does not end before ctx shows nothing.
func (c *Contract) tryAll(ctx context.Context, target Target) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	try := func(test Case) {
		outcome := test.Try(ctx, target)
		if ctx.Err() != nil {
			return
		}
		test.record(outcome, test.Name)
		if slices.ContainsFunc(outcome.Failures, c.isOnly) {
			c.ledger.End(onlyFound)
			stop()
		} else if c.requestsLeft() <= 0 {
			c.ledger.End(noneLeft)
			stop()
		}
	}
	if c.options.Parallel > 1 {
		c.tryTogether(ctx, c.options.Parallel, try)
		return
	}
	for test := range c.Tests(ctx) {
		try(test)
	}
}

// isOnly reports whether a failure has the only cause that was asked for: by the id of the cause, of its place or of its root. One
// that the report leaves out is not found yet.
func (c *Contract) isOnly(failure Failure) bool {
	only := c.options.Only
	isAsked := slices.Contains([]string{failure.ID(), failure.PlaceID(), failure.Root.ID()}, only)
	return only != "" && isAsked && !c.ledger.IsHeld(failure)
}

// Progress is how far the tests of the contract have come. It may be called while they run.
func (c *Contract) Progress() Progress { return c.ledger.Progress() }

// Case is a generated test, ready to run.
type Case struct {
	Name     string
	contract *Contract
	test     plan.Test
}

// Tests makes the generated tests, one after the other, to run each of them as a test of its own. Tests of
// one contract may run at the same time, and more than once.
func (c *Contract) Tests(ctx context.Context) iter.Seq[Case] {
	return func(yield func(Case) bool) {
		for test := range c.plan.Tests(ctx) {
			if !yield(Case{test.Name, c, test}) {
				return
			}
		}
	}
}

// Run runs one test on a target and records what it has shown. t fails for each failure, with one line if an earlier one has the
// same cause. A failure that is known is logged, and so is a refusal as long as its operation has accepted nothing.
func (test Case) Run(t T, target Target) {
	t.Helper()
	outcome := test.Try(contextOf(t), target)
	fresh := test.record(outcome, t.Name())
	for _, failure := range outcome.Failures {
		id := failure.ID()
		isFirst := slices.ContainsFunc(fresh, func(other Failure) bool { return other.ID() == id })
		reason := failure.ReasonIn(test.contract.options.Known)
		switch {
		case test.contract.ledger.IsHeld(failure):
			t.Logf("contract: %s: %s accepts nothing so far: %s", test.Name, failure.RefusedBy(), failure)
		case reason != "":
			t.Logf("contract: %s: [%s] %s; known: %s", test.Name, id, report.CauseText(failure.Cause), reason)
		case isFirst:
			t.Errorf("contract: %s: %s\n\tagain:  %s=%d", test.Name, failure, seedVariable, test.contract.seed)
		default:
			t.Errorf("contract: %s: [%s] %s, as before", test.Name, id, report.CauseText(failure.Cause))
		}
	}
}

// record records an outcome, and returns the failures that are the first of their cause.
func (test Case) record(outcome Outcome, by string) (fresh []Failure) {
	ledger := test.contract.ledger
	promises := test.test.Shows
	if test.test.Refuses != "" {
		ledger.NoteRefusal(test.test.Refuses, promises)
	}
	return ledger.Record(outcome, promises, by)
}

// Try runs a test and returns all that is wrong with the target, or why it could not try
// the promise. It records nothing but what responses show.
func (test Case) Try(ctx context.Context, target Target) Outcome {
	return test.contract.runner.Run(ctx, test.test, run.Target(target))
}

// Request is a generated request without credentials, as it is sent.
type Request struct {
	Method, Path, Query string // path and query are escaped
	Header              http.Header
	Body                []byte
}

// Requests returns the requests of [Contract.Tests] that need no other request: each keyword of the
// document, with values to accept and to refuse. They are for a test that needs something to start
// from.
func (c *Contract) Requests() (all []Request) {
	for request := range c.plan.Requests() {
		all = append(all, Request{request.Method, request.Path, strings.Join(request.Query, "&"), request.Header, request.Body})
	}
	return all
}
