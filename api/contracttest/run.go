package contracttest

import (
	"cmp"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
)

// Test runs every generated test on a handler, and t fails for each cause of broken promises.
// What was inferred from the document and what no test could try is logged. A handler that
// needs credentials gets them in [Options]:
//
//	contracttest.Test(t, document, handler, contracttest.Options{
//		Header: http.Header{"Authorization": {"Bearer " + token}},
//	})
func Test(t T, document []byte, handler http.Handler, options ...Options) {
	t.Helper()
	c, err := New(document, append(options, Options{})[0])
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	report, _ := c.Run(context.Background(), Target{URL: server.URL + c.basePath(server.URL)})
	for _, cause := range report.Causes {
		if cause.Known == "" {
			t.Errorf("contract: %s\n  again:  %s=%d", cause, seedVariable, report.Seed)
		}
	}
	for _, r := range c.document.Operations {
		why := string(notWritten(r.ID, c.options.NotWritten))
		if slices.ContainsFunc(report.Promises, func(p Promise) bool { return p.Why == why }) {
			t.Errorf("contract: %s", why)
		}
	}
	var summary strings.Builder
	report.overview(&summary)
	t.Logf("contract: %s", &summary)
}

// basePath is the path of the document's server, unless only without it there is a response.
func (c *Contract) basePath(url string) string {
	for _, base := range []string{c.document.Base, ""} {
		for _, r := range c.document.Operations {
			if r.Method == http.MethodGet && len(r.PathNames) == 0 {
				if resp, err := http.Head(url + base + r.Template); err == nil {
					if resp.Body.Close(); resp.StatusCode != http.StatusNotFound {
						return base
					}
				}
			}
		}
	}
	return c.document.Base
}

// Target is a service that is to keep the promises of the document.
type Target struct {
	URL         string            // without a slash at the end; with the base path of the document's server
	Transport   http.RoundTripper // nil: [http.DefaultTransport]
	Credentials Credentials       // allow everything
	// Without are credentials that have every scope but the one that is the key.
	// What needs a scope that is not here is not tested.
	Without map[string]Credentials
}

// Run runs every generated test on a target and reports what all tests of the contract have
// shown. It creates, changes and deletes what the document allows. Its error is that of ctx.
func (c *Contract) Run(ctx context.Context, target Target) (Report, error) {
	for _, test := range c.Tests() {
		failures, why := test.attempt(ctx, target)
		if ctx.Err() != nil {
			return c.Report(), context.Cause(ctx)
		}
		test.record(failures, why, test.Name)
	}
	return c.Report(), nil
}

// Case is one promise of the document, ready to be tested.
type Case struct {
	Name     string
	contract *Contract
	promises []string
	try      func(*Session)
}

// newCase is a test of one promise, which is its name.
func newCase(promise string, try func(*Session)) Case {
	return Case{Name: promise, promises: []string{promise}, try: try}
}

// Tests returns the generated tests, to run each of them as a test of its own. One list may be
// used by one test at a time.
func (c *Contract) Tests() []Case {
	s := newSuite(c)
	var all []Case
	requests := s.cases()
	// What may create something comes first, so that lists have items.
	slices.SortStableFunc(requests, func(a, b *testCase) int { return cmp.Compare(b.creates(), a.creates()) })
	for _, request := range requests {
		all = append(all, Case{request.name, c, []string{request.promise}, func(v *Session) { v.run(request) }})
	}
	all = slices.Concat(all, s.pathTests(), s.sequences(), s.effects(), s.randomTests())
	// What may end the service comes last.
	slices.SortStableFunc(all, func(a, b Case) int {
		return cmp.Compare(strings.Count(a.Name, ", odd "), strings.Count(b.Name, ", odd "))
	})
	for i := range all {
		try := all[i].try
		all[i].contract, all[i].try = c, func(v *Session) { v.suite = s; try(v) }
	}
	return all
}

// Run runs one test on a target and records a pass. A failure with the cause of an earlier one is
// one line.
func (test Case) Run(t T, target Target) {
	t.Helper()
	failures, untried := test.Try(target)
	fresh := test.record(failures, untried, t.Name())
	for _, f := range failures {
		if reason := test.contract.options.Known[f.ID()]; reason != "" {
			t.Logf("contract: %s: [%s] %s; known: %s", test.Name, f.ID(), f.Cause, reason)
		} else if slices.ContainsFunc(fresh, func(other Failure) bool { return other.ID() == f.ID() }) {
			t.Errorf("contract: %s: %s\n\tagain:  %s=%d", test.Name, f, seedVariable, test.contract.seed)
		} else {
			t.Errorf("contract: %s: [%s] %s, as before", test.Name, f.ID(), f.Cause)
		}
	}
}

// record notes what a test has shown, and returns the failures that are the first of their cause.
func (test Case) record(failures []Failure, untried, by string) (fresh []Failure) {
	coverage := test.contract.coverage
	switch {
	case len(failures) > 0:
		coverage.fail(test.promises, failures[0])
	case untried != "":
		coverage.skip(test.promises, untried)
	default:
		for _, promise := range test.promises {
			coverage.note(promise, by)
		}
	}
	return coverage.noteFailures(failures)
}

// Try runs a test and returns all that is wrong with the target, or why it could not try
// the promise.
func (test Case) Try(target Target) (failures []Failure, why string) {
	return test.attempt(context.Background(), target)
}

func (test Case) attempt(ctx context.Context, target Target) (failures []Failure, why string) {
	target.URL = strings.TrimSuffix(target.URL, "/")
	v := &Session{ctx: ctx, contract: test.contract, target: target, test: test}
	defer func() {
		switch r := recover().(type) {
		case nil, ended:
		case untried:
			if len(v.failures) == 0 {
				why = string(r)
			}
		default:
			panic(r)
		}
		for i, f := range v.failures {
			v.failures[i].Sent = f.Sent.Hidden(test.contract.options.Header)
		}
		failures = v.failures
	}()
	test.try(v)
	return nil, ""
}
