// Package contracttest tests a service against its OpenAPI document, 3.0 or 3.1. One line in a
// test is enough:
//
//	contracttest.Test(t, document, handler)
//
// [Test] makes requests from the document, sends them to the handler, and fails for each cause of
// a response that the document does not allow. README.md beside this package is a guide, and
// cmd/contracttest is a command for services in any language.
//
// For more, [New] reads the document and [Options], which hold what a document cannot say. The
// result, a [Contract], does four things:
//
//   - [Contract.Run] runs the generated tests on a URL and returns a [Report].
//   - [Contract.Tests] has the same tests, one for each constraint, status, credential, path and
//     parameter of the document, to run each of them under its name.
//   - [Contract.Client], [Contract.Transport] and [Contract.Handler] check each response that your
//     own tests receive.
//   - [Contract.Main] runs the tests of a package, and then fails for each promise of the document
//     that is broken, or untried without a reason in the options. What the package cannot test is
//     untried, too: see [Contract.Promises].
//
// Two libraries judge bodies by their schemas, kin-openapi and jsonschema. Where they
// differ, that is a failure of its own kind: one of them is wrong, or the document is unclear.
package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"

	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
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
	document *document.Document
	earlier  map[string]*document.Document
	options  Options
	coverage *coverage
	judging  *judge.Judge
	enough   int // see generator; 0 is the usual limit
	seed     uint64

	suiteOnce sync.Once
	suite     *suite // for promises; tests have their own
	promised  []string
	untested  map[string]string // promises that nothing can show, with the reason
}

// seedVariable has precedence over [Options.Seed].
const seedVariable = "CONTRACT_SEED"

// New reads a document and those of the options. It fails if one of them is not OpenAPI 3 at all,
// or if the options name an operation that the document does not have. What else is wrong with a
// document, or not understood, is untried in [Contract.Promises].
func New(text []byte, o Options) (*Contract, error) {
	if o.Scope == nil {
		o.Scope = func(Operation) string { return "" }
	}
	c := &Contract{options: o, earlier: map[string]*document.Document{}, coverage: newCoverage(), seed: cmp.Or(o.Seed, rand.Uint64())}
	var err error
	if text := os.Getenv(seedVariable); text != "" {
		if c.seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, fmt.Errorf("contracttest: %s: %w", seedVariable, err)
		}
	}
	if c.document, err = document.Parse(text); err != nil {
		return nil, fmt.Errorf("contracttest: the document: %w", err)
	}
	for name, text := range o.Earlier {
		if c.earlier[name], err = document.Parse(text); err != nil {
			return nil, fmt.Errorf("contracttest: %s: %w", name, err)
		}
	}
	for _, id := range o.operations() {
		if c.document.Operation(id) == nil {
			return nil, fmt.Errorf("contracttest: the options name the operation %q, but the document has none", id)
		}
	}
	c.options.Header = http.Header{}
	for name, values := range o.Header {
		c.options.Header[http.CanonicalHeaderKey(name)] = values
	}
	c.judging = judge.New(c.document, c.earlier, c.options.settings())
	return c, nil
}

// Check checks one interaction and records what it shows. Use it where neither
// [Contract.Transport] nor [Contract.Handler] fits, for example for a raw
// connection.
func (c *Contract) Check(t T, x Interaction) {
	t.Helper()
	failures := c.judge(x, t.Name())
	c.coverage.noteFailures(failures)
	for _, f := range failures {
		if c.options.Known[f.ID()] == "" {
			t.Errorf("contract: %s %s: %s", x.Method, x.Path, f)
		}
	}
}

// judge checks a response and records what it shows.
func (c *Contract) judge(x Interaction, test string) []Failure {
	failures := c.judging.Failures(x, test, c.options.Header)
	if len(failures) == 0 {
		c.record(x, test)
		return nil
	}
	if r := c.document.Serving(x.Method, x.Path); r != nil {
		if code, response := r.ResponseAs(x.Status); response != nil {
			c.coverage.fail([]string{responsePromise(r, code)}, failures[0])
		}
	}
	return failures
}

// check returns the faults of a response.
func (c *Contract) check(x Interaction) []Fault { return c.judging.Faults(x) }

func (o Options) settings() judge.Settings {
	return judge.Settings{
		Undeclared: o.Undeclared, AnyHeader: o.AnyHeader, Response: o.Response, Client: o.Client, Refusal: o.Refusal,
		Undocumented: o.Undocumented, UndocumentedResponse: o.UndocumentedResponse, EveryResponse: o.EveryResponse, Rules: o.Rules,
	}
}
