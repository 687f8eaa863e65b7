package contract

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// coverage records which promises of the document a test has observed, and the
// first test that did.
type coverage struct {
	mu       sync.Mutex
	observed map[string]string // the test
	failed   map[string]string // what is wrong
	skipped  map[string]string // why
	causes   map[string]*Cause // of failures, by id
}

func newCoverage() *coverage {
	return &coverage{observed: map[string]string{}, failed: map[string]string{}, skipped: map[string]string{}, causes: map[string]*Cause{}}
}

func (c *coverage) note(promise, test string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.observed[promise] == "" {
		c.observed[promise] = test
	}
}

func (c *coverage) has(promise string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.observed[promise] != ""
}

func (c *coverage) fail(promises []string, fault string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, promise := range promises {
		c.failed[promise] = fault
	}
}

func (c *coverage) skip(promises []string, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, promise := range promises {
		c.skipped[promise] = why
	}
}

// Main runs the tests of a package, a [testing.M], and then fails if none of
// them has observed a promise of the document. With -run and the like, a part of
// the tests runs, and no promise is demanded. If CONTRACT_REPORT is set, reports
// are written (see [Contract.Report]).
func (c *Contract) Main(m interface{ Run() int }) { os.Exit(c.finish(m.Run(), wholeRun(), os.Stdout)) }

// finish returns the exit code of the tests.
func (c *Contract) finish(code int, whole bool, w io.Writer) int {
	if path := os.Getenv(reportVariable); path != "" {
		if err := c.Report(path, w); err != nil {
			fmt.Fprintln(w, "contract:", err)
			code = 1
		}
	}
	if code == 0 && whole {
		for _, promise := range c.Missing() {
			fmt.Fprintln(w, "contract: no test has observed:", promise)
			code = 1
		}
	}
	return code
}

// Missing lists the promises of the document that no test has observed so far.
func (c *Contract) Missing() []string {
	promised := c.promises()
	c.coverage.mu.Lock()
	defer c.coverage.mu.Unlock()
	var missing []string
	for _, promise := range promised {
		if c.coverage.observed[promise] == "" && c.profile.Exceptions[promise] == "" {
			missing = append(missing, promise)
		}
	}
	return missing
}

// wholeRun reports whether every test of the package has run.
func wholeRun() bool {
	for _, name := range []string{"run", "skip", "list", "bench", "fuzz", "fuzzworker"} {
		f := flag.Lookup("test." + name)
		if f != nil && f.Value.String() != "" && f.Value.String() != "false" {
			return false
		}
	}
	return !testing.Short()
}

// Skipped lists what the document contains and this package does not test.
func (c *Contract) Skipped() []string {
	c.promises()
	all := slices.Concat(c.document.skipped, c.suite.skipped)
	slices.Sort(all)
	return slices.Compact(all)
}

// promises lists everything that the document promises and this package can
// test: for each operation what credentials it needs, each keyword of each
// parameter and body to obey and to break, what each parameter does, each
// status, header and request example, and what sequences must show. Keywords
// that no generated test tries are skipped.
func (c *Contract) promises() []string {
	c.suiteOnce.Do(func() {
		c.suite = newSuite(c, 0)
		s := c.suite
		var all []string
		tried := map[string]bool{}
		for _, request := range s.cases() {
			tried[request.promise] = true
			all = append(all, request.promise)
		}
		for _, test := range slices.Concat(s.pathTests(), s.sequences(), s.effects()) {
			for _, promise := range test.promises {
				tried[promise] = true
				all = append(all, promise)
			}
		}
		for _, r := range c.document.routes {
			s.skipUntried(r, tried)
			all = append(all, documentedPromises(r)...)
		}
		all = append(all, c.profile.Promises...)
		slices.Sort(all)
		c.promised = slices.Compact(all)
	})
	return c.promised
}

// skipUntried lists the constraints of an operation that no test tries.
func (s *suite) skipUntried(r *route, tried map[string]bool) {
	of := func(promises ...string) {
		for _, promise := range promises {
			if promise = r.operation.OperationID + ", " + promise; !tried[promise] {
				s.skip("%s", promise)
			}
		}
	}
	for _, p := range r.parameters {
		of(s.gen.parameterKeywords(p)...)
		of("effect of parameter " + p.Name)
		if schema, _ := parameterSchema(p); schema.Default != nil {
			of("default of parameter " + p.Name)
		}
	}
	of(s.gen.bodyKeywords(r)...)
	for name := range requestExamples(r) {
		of("request example " + name)
	}
}

// documentedPromises lists what responses must show: each status and header that
// the document lists, and success with each example of a parameter.
func documentedPromises(r *route) (all []string) {
	for name := range r.parameterExamples() {
		all = append(all, r.operation.OperationID+", example of parameter "+name)
	}
	for code, ref := range r.operation.Responses.Map() {
		all = append(all, responsePromise(r, code))
		for name := range ref.Value.Headers {
			all = append(all, responsePromise(r, code)+", header "+name)
		}
	}
	return all
}

// parameterExamples returns the examples of the parameters of an operation as a
// request has them. Conditional headers are left out: no example can be a
// version that exists.
func (r *route) parameterExamples() map[string]string {
	examples := map[string]string{}
	for _, p := range r.parameters {
		if (p.In == "path" || p.In == "query") && p.Example != nil {
			if text, ok := written(p, normal(p.Example)); ok {
				examples[p.Name] = text
			}
		}
	}
	return examples
}

func requestExamples(r *route) map[string]*openapi3.MediaType {
	examples := map[string]*openapi3.MediaType{}
	if mediaType, schema := r.body(); schema != nil {
		media := r.operation.RequestBody.Value.Content[mediaType]
		for name := range media.Examples {
			examples[name] = media
		}
	}
	return examples
}

// responsePromise names a response. That something broke is one promise for all
// operations: what may break belongs to none of them.
func responsePromise(r *route, code string) string {
	if code == fmt.Sprint(http.StatusInternalServerError) {
		return "any operation, " + code
	}
	return r.operation.OperationID + ", " + code
}

// record notes what an interaction without fault has shown.
func (c *Contract) record(x Interaction, test string) {
	note := func(promise string) { c.coverage.note(promise, test) }
	if c.profile.Observed != nil {
		for _, promise := range c.profile.Observed(x) {
			note(promise)
		}
	}
	r := c.document.find(x.Method, x.Path)
	if r == nil {
		return // outside the document
	}
	code, ref := r.documentedAs(x.Status)
	note(responsePromise(r, code))
	for name := range ref.Headers {
		if len(x.Header.Values(name)) > 0 {
			note(responsePromise(r, code) + ", header " + name)
		}
	}
	if x.Status >= 400 {
		return // a refused example proves nothing
	}
	sentBody := sync.OnceValues(func() (any, error) { return decode(x.RequestBody) })
	for name, media := range requestExamples(r) {
		promise := r.operation.OperationID + ", request example " + name
		if c.coverage.has(promise) {
			continue // comparing is expensive
		}
		if value, err := sentBody(); err == nil && sameValue(value, normal(media.Examples[name].Value.Value)) {
			note(promise)
		}
	}
	sent, err := x.url()
	if err != nil {
		return
	}
	query := strings.Split(sent.RawQuery, "&")
	path := r.pattern.FindStringSubmatch(x.Path)
	for name, example := range r.examples {
		i := slices.Index(r.names, name)
		if slices.Contains(query, example) || i >= 0 && path[i+1] == example {
			note(r.operation.OperationID + ", example of parameter " + name)
		}
	}
}

func sameValue(a, b any) bool {
	return string(encode(a)) == string(encode(b))
}
