// Package contract tests a service against its OpenAPI document, 3.0 or 3.1.
//
// [New] reads the document and a [Options], which holds what a document cannot
// say. The result, a [Contract], does three things:
//
//   - It checks each response that a test receives: send requests with
//     [Contract.Client] or [Contract.Transport], or wrap a handler with
//     [Contract.Handler]. A response that the document does not allow fails the
//     test.
//   - It generates tests: [Contract.Tests] has one for each constraint, status,
//     credential, path and parameter of the document. [Contract.Random] sends
//     random bodies.
//   - It counts the promises of the document that are kept, broken and untried,
//     fails in [Contract.Main] for those that are not kept, and writes a report.
//     What the package cannot test is untried, too: see [Contract.Promises].
//
// Two libraries judge bodies by their schemas, kin-openapi and jsonschema. Where they
// differ, that is a failure of its own kind: one of them is wrong, or the document is unclear.
package contracttest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

// T is what the package needs of a test; a [testing.TB] is one.
type T interface {
	Helper()
	Name() string
	Errorf(format string, args ...any)
}

// Interaction is a request and its response, both complete.
type Interaction struct {
	Method        string
	URL           string // as sent, with the path as it was escaped
	Path          string // the escaped path alone
	RequestHeader http.Header
	RequestBody   []byte

	Status int
	Header http.Header
	Body   []byte
}

// Fault is one way in which a response breaks the document.
type Fault struct {
	Where   string // "status", "media type", "header Location", "body /name"
	Keyword string // the keyword of the document that is broken
	Message string
}

func (f Fault) String() string { return fmt.Sprintf("%s: %s: %s", f.Where, f.Keyword, f.Message) }

// Contract is a document and its options, with a record of what tests observed.
type Contract struct {
	document *document
	earlier  map[string]*document
	options  Options
	coverage *coverage
	enough   int // see generator; 0 is the usual limit
	seed     uint64

	suiteOnce sync.Once
	suite     *suite // for promises; tests have their own
	promised  []string
	untested  map[string]string // promises that nothing can show, with the reason
}

// seedVariable has precedence over [Options.Seed].
const seedVariable = "CONTRACT_SEED"

// New reads a document and those of the options. It fails if one of them is not OpenAPI 3 at all;
// what else is wrong with one, or not understood, is untried in [Contract.Promises].
func New(text []byte, o Options) (*Contract, error) {
	c := &Contract{options: o, earlier: map[string]*document{}, coverage: newCoverage(), seed: cmp.Or(o.Seed, rand.Uint64())}
	var err error
	if text := os.Getenv(seedVariable); text != "" {
		if c.seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, fmt.Errorf("contract: %s: %w", seedVariable, err)
		}
	}
	if c.document, err = parse(text); err != nil {
		return nil, fmt.Errorf("contract: the document: %w", err)
	}
	for name, text := range o.Earlier {
		if c.earlier[name], err = parse(text); err != nil {
			return nil, fmt.Errorf("contract: %s: %w", name, err)
		}
	}
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
		t.Errorf("contract: %s %s: %s", x.Method, x.Path, f)
	}
}

// judge checks a response and records what it shows.
func (c *Contract) judge(x Interaction, test string) []Failure {
	faults := c.check(x)
	if len(faults) == 0 {
		c.record(x, test)
		return nil
	}
	if r := c.document.serving(x.Method, x.Path); r != nil {
		if code, response := r.documentedAs(x.Status); response != nil {
			c.coverage.fail([]string{responsePromise(r, code)}, fmt.Sprint(faults[0]))
		}
	}
	return c.failuresOf(faults, x, test)
}

// check returns the faults of a response.
func (c *Contract) check(x Interaction) []Fault {
	if faults, undocumented := c.checkUndocumented(x); undocumented {
		return faults
	}
	r := c.document.serving(x.Method, x.Path)
	faults := c.checkResponse(r, x)
	for name, d := range c.earlier {
		faults = append(faults, d.checkEarlier(name, x)...)
	}
	if x.Method != http.MethodHead && c.options.Response != nil {
		faults = append(faults, c.options.Response(r.operation.OperationID, x)...)
	}
	// A client that cannot read a wrong response is no further fault.
	if len(faults) == 0 && x.Method != http.MethodHead && c.options.Client != nil {
		faults = c.options.Client(r.operation.OperationID, x)
	}
	return faults
}

// checkEarlier checks a response as a client of an earlier document reads it: a
// status that the earlier document has must match it, members may have been
// added since.
func (d *document) checkEarlier(name string, x Interaction) (faults []Fault) {
	r := d.find(x.Method, x.Path)
	if r == nil {
		return nil
	}
	response := r.response(x.Status)
	if response == nil {
		// The client knows an unknown status only as one of a class (RFC 9110,
		// section 15), so every failure must be readable as the failure that it knows.
		if response = r.response(http.StatusBadRequest); response == nil || x.Status < 400 {
			return []Fault{{"to a client of " + name + ", status", "responses", fmt.Sprintf("%d is unknown", x.Status)}}
		}
	}
	for _, f := range d.checkBody(nil, response.Content, x, false) {
		f.Where = "to a client of " + name + ", " + f.Where
		faults = append(faults, f)
	}
	return faults
}

// serving is the operation that describes the response to a request, or nil. HEAD is
// described by GET, where it is not described itself.
func (d *document) serving(method, path string) *route {
	r := d.find(method, path)
	if r == nil && method == http.MethodHead {
		return d.find(http.MethodGet, path)
	}
	return r
}

// operation returns the operation with an id; options name only ones that exist.
func (d *document) operation(id string) *route {
	i := slices.IndexFunc(d.routes, func(r *route) bool { return r.operation.OperationID == id })
	if i < 0 {
		return nil
	}
	return d.routes[i]
}

// curl returns a command line that repeats the request.
func curl(x Interaction) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	var b strings.Builder
	fmt.Fprintf(&b, "curl -i -X %s --path-as-is %s", x.Method, quote(x.URL))
	names := make([]string, 0, len(x.RequestHeader))
	for name := range x.RequestHeader {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range x.RequestHeader[name] {
			fmt.Fprintf(&b, " -H %s", quote(name+": "+value))
		}
	}
	if len(x.RequestBody) > 0 {
		const most = 4 << 10
		if len(x.RequestBody) > most {
			fmt.Fprintf(&b, " --data-binary %s # and %d bytes more", quote(string(x.RequestBody[:most])), len(x.RequestBody)-most)
		} else {
			fmt.Fprintf(&b, " --data-binary %s", quote(string(x.RequestBody)))
		}
	}
	return b.String()
}

// scopes returns the scope that an operation needs, or nothing.
func (c *Contract) scope(r *route) string {
	if c.options.Scope == nil {
		return ""
	}
	return c.options.Scope(r.declared())
}

func (r *route) declared() Operation {
	return Operation{r.operation.OperationID, r.operation.Extensions}
}

// schemaOf returns the schema of a reference, which may be absent.
func schemaOf(ref *openapi3.SchemaRef) *openapi3.Schema {
	if ref == nil || ref.Value == nil {
		return &openapi3.Schema{}
	}
	return ref.Value
}
