package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/scenario"

	"cmp"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
)

// coverage records which promises of the document a test has observed, and the
// first test that did.
type coverage struct {
	mu       sync.Mutex
	observed map[string]string // the test
	failed   map[string]Failure
	skipped  map[string]string // why the target could not be tested for it
	causes   map[string]*Cause // of failures, by id
}

func newCoverage() *coverage {
	return &coverage{observed: map[string]string{}, failed: map[string]Failure{}, skipped: map[string]string{}, causes: map[string]*Cause{}}
}

func (c *coverage) note(promise, test string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.observed[promise] = cmp.Or(c.observed[promise], test)
}

func (c *coverage) has(promise string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.observed[promise] != ""
}

func (c *coverage) fail(promises []string, f Failure) { setAll(c, c.failed, promises, f) }

func (c *coverage) skip(promises []string, why string) { setAll(c, c.skipped, promises, why) }

func setAll[V any](c *coverage, of map[string]V, promises []string, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, promise := range promises {
		of[promise] = value
	}
}

// State is what has become of a promise: it is in exactly one of three.
type State string

// A test has observed a Kept promise, and none saw it broken. Untried is what no test has
// observed: what no test tried, and what the document has and this package cannot test.
const (
	Kept    State = "kept"
	Broken  State = "broken"
	Untried State = "untried"
)

// Promise is something that the document promises.
type Promise struct {
	// Name is the operation, then what it promises: "addThing, body /name minLength, refused"
	// promises that a body is refused if its name is too short.
	Name     string
	State    State
	Why      string // the test that observed it, what is wrong, or why it is untried
	Cause    string // the id of the cause, if it is broken
	Excepted bool   // it does not fail, because the options have a reason
}

const untoldEffect = "no test shows what it does: name it in Lists of the options, or in Shows of a sequence"

// ID is short, and the same for the same promise in every run.
func (p Promise) ID() string { return scenario.ShortID(p.Name) }

// Fails reports whether the promise is broken or untried, without a reason in the options.
func (p Promise) Fails() bool { return p.State != Kept && !p.Excepted }

// Main runs the tests of a package, a [testing.M], and then fails if a promise of the
// document is broken, or untried without a reason in the options. With -run and the like, a
// part of the tests runs, and no promise is demanded. If CONTRACT_REPORT is set, reports
// are written (see [Report.WriteFiles]).
func (c *Contract) Main(m interface{ Run() int }) { os.Exit(c.finish(m.Run(), wholeRun(), os.Stdout)) }

// finish returns the exit code of the tests.
func (c *Contract) finish(code int, whole bool, w io.Writer) int {
	if path := os.Getenv(reportVariable); path != "" {
		if err := c.Report().WriteFiles(path, w); err != nil {
			fmt.Fprintln(w, "contract:", err)
			code = 1
		}
	}
	if code == 0 && whole {
		for _, p := range c.Promises() {
			if p.Fails() {
				fmt.Fprintf(w, "contract: %s: %s: %s\n", p.State, p.Name, p.Why)
				code = 1
			}
		}
	}
	return code
}

// Promises lists everything that the document promises, with what tests have shown of it so
// far: for each operation what credentials it needs, each keyword of each parameter and
// body to obey and to break, what each parameter does, each status, header and request
// example, and what sequences must show. What the document has and this package cannot
// test is untried.
func (c *Contract) Promises() []Promise {
	promised := c.promises()
	c.coverage.mu.Lock()
	defer c.coverage.mu.Unlock()
	var all []Promise
	for _, name := range promised {
		why := cmp.Or(c.coverage.skipped[name], c.untested[name], "no test has observed it")
		p := Promise{Name: name, State: Untried, Why: why}
		if reason := cmp.Or(c.options.Exceptions[name], c.options.Known[p.ID()]); reason != "" {
			p.Why, p.Excepted = reason, true
		}
		if test := c.coverage.observed[name]; test != "" {
			p.State, p.Why = Kept, test
		}
		if f, broken := c.coverage.failed[name]; broken {
			p.State, p.Why, p.Cause = Broken, f.String(), f.ID()
			p.Excepted = c.options.Known[p.Cause] != ""
		}
		all = append(all, p)
	}
	for name := range c.options.Exceptions {
		if !slices.Contains(promised, name) {
			all = append(all, Promise{Name: name, State: Untried, Why: "the options except it, and the document does not promise it"})
		}
	}
	return all
}

// wholeRun reports whether every test of the package has run.
func wholeRun() bool {
	for _, name := range []string{"run", "skip", "list", "bench", "fuzz", "fuzzworker", "short"} {
		f := flag.Lookup("test." + name)
		if f != nil && f.Value.String() != "" && f.Value.String() != "false" {
			return false
		}
	}
	return true
}

// promises lists the names of all promises. It notes why some of them cannot be tested.
func (c *Contract) promises() []string {
	c.suiteOnce.Do(func() {
		c.suite = newSuite(c)
		s := c.suite
		var all []string
		for _, request := range s.cases() {
			all = append(all, request.promise)
		}
		for _, test := range slices.Concat(s.pathTests(), s.sequences(), s.effects(), s.randomTests()) {
			all = append(all, test.promises...)
		}
		c.untested = map[string]string{}
		for _, r := range c.document.Operations {
			for _, p := range r.Parameters {
				if effect := effectPromise(r, p.Name); !slices.Contains(all, effect) {
					c.untested[effect] = untoldEffect
				}
			}
			all = append(all, s.constraints(r)...)
			all = append(all, documentedPromises(r)...)
		}
		for _, name := range slices.Concat(c.document.Unsupported, s.skipped) {
			c.untested[name] = "this package cannot test it"
			all = append(all, name)
		}
		all = slices.Concat(all, s.demanded, c.options.Promises)
		slices.Sort(all)
		c.promised = slices.Compact(all)
	})
	return c.promised
}

// constraints lists the promises of what an operation takes, whether tests try them or not.
func (s *suite) constraints(r *document.Operation) (all []string) {
	of := func(promise string) { all = append(all, r.ID+", "+promise) }
	for _, p := range r.Parameters {
		of("effect of parameter " + p.Name)
		if schema, _ := document.ParameterSchema(p); schema.Default != nil {
			of("default of parameter " + p.Name)
		}
	}
	for name := range r.BodyExamples() {
		of("request example " + name)
	}
	return all
}

// documentedPromises lists what responses must show: each status and header that
// the document lists, and success with each example of a parameter.
func documentedPromises(r *document.Operation) (all []string) {
	for name := range r.ParameterExamples() {
		all = append(all, r.ID+", example of parameter "+name)
	}
	for code, ref := range r.Spec.Responses.Map() {
		all = append(all, responsePromise(r, code))
		for name := range ref.Value.Headers {
			all = append(all, responsePromise(r, code)+", header "+name)
		}
	}
	return all
}

// responsePromise names a response. That something broke is one promise for all
// operations: what may break belongs to none of them.
func responsePromise(r *document.Operation, code string) string {
	if code == fmt.Sprint(http.StatusInternalServerError) {
		return "any operation, " + code
	}
	return r.ID + ", " + code
}

// record notes what an interaction without fault has shown.
func (c *Contract) record(x Interaction, test string) {
	note := func(promise string) { c.coverage.note(promise, test) }
	if c.options.Observed != nil {
		for _, promise := range c.options.Observed(x) {
			note(promise)
		}
	}
	r := c.document.Find(x.Method, x.Path)
	if r == nil {
		return // outside the document
	}
	code, ref := r.ResponseAs(x.Status)
	note(responsePromise(r, code))
	for name := range ref.Headers {
		if len(x.Header.Values(name)) > 0 {
			note(responsePromise(r, code) + ", header " + name)
		}
	}
	if x.Status >= 400 {
		return // a refused example proves nothing
	}
	sentBody := sync.OnceValues(func() (any, error) { return jsonvalue.Decode(x.RequestBody) })
	for name, example := range r.BodyExamples() {
		promise := r.ID + ", request example " + name
		if c.coverage.has(promise) {
			continue // comparing is expensive
		}
		if value, err := sentBody(); err == nil && jsonvalue.Same(value, jsonvalue.Normal(example.Value.Value)) {
			note(promise)
		}
	}
	_, sent, _ := strings.Cut(x.URL, "?")
	query := strings.Split(sent, "&")
	path := r.PathValues(x.Path)
	for name, example := range r.ParameterExamples() {
		i := slices.Index(r.PathNames, name)
		if slices.Contains(query, example) || i >= 0 && path[i] == example {
			note(r.ID + ", example of parameter " + name)
		}
	}
}
