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
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
)

// T is what the package needs of a test; a [testing.TB] is one.
type T interface {
	Helper()
	Name() string
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
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

// New reads a document and those of the options. It fails if one of them is not OpenAPI 3 at all,
// or if the options name an operation that the document does not have. What else is wrong with a
// document, or not understood, is untried in [Contract.Promises].
func New(text []byte, o Options) (*Contract, error) {
	if o.Scope == nil {
		o.Scope = func(Operation) string { return "" }
	}
	c := &Contract{options: o, earlier: map[string]*document{}, coverage: newCoverage(), seed: cmp.Or(o.Seed, rand.Uint64())}
	var err error
	if text := os.Getenv(seedVariable); text != "" {
		if c.seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, fmt.Errorf("contracttest: %s: %w", seedVariable, err)
		}
	}
	if c.document, err = parse(text); err != nil {
		return nil, fmt.Errorf("contracttest: the document: %w", err)
	}
	for name, text := range o.Earlier {
		if c.earlier[name], err = parse(text); err != nil {
			return nil, fmt.Errorf("contracttest: %s: %w", name, err)
		}
	}
	for _, id := range o.operations() {
		if c.document.operation(id) == nil {
			return nil, fmt.Errorf("contracttest: the options name the operation %q, but the document has none", id)
		}
	}
	c.options.Header = http.Header{}
	for name, values := range o.Header {
		c.options.Header[http.CanonicalHeaderKey(name)] = values
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
		if c.options.Known[f.ID()] == "" {
			t.Errorf("contract: %s %s: %s", x.Method, x.Path, f)
		}
	}
}

// judge checks a response and records what it shows.
func (c *Contract) judge(x Interaction, test string) []Failure {
	faults := c.check(x)
	if len(faults) == 0 {
		c.record(x, test)
		return nil
	}
	failures := c.failuresOf(faults, c.hidden(x), test)
	if r := c.document.serving(x.Method, x.Path); r != nil {
		if code, response := r.documentedAs(x.Status); response != nil {
			c.coverage.fail([]string{responsePromise(r, code)}, failures[0])
		}
	}
	return failures
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
	// A client need not read a wrong response.
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

// operation returns the operation with an id, or nil.
func (d *document) operation(id string) *route {
	return firstWhere(d.routes, func(r *route) bool { return r.operation.OperationID == id })
}

// curl returns a command line that repeats the request.
func curl(x Interaction) string {
	line := "curl -i -X " + x.Method + " " + quote(x.URL)
	if strings.Contains(x.Path, "/.") {
		line += " --path-as-is"
	}
	for _, name := range slices.Sorted(maps.Keys(x.RequestHeader)) {
		for _, value := range x.RequestHeader[name] {
			if value == variable(name) {
				line += ` -H "` + name + ": " + value + `"`
			} else {
				line += " -H " + quote(name+": "+value)
			}
		}
	}
	if len(x.RequestBody) > 0 {
		const most = 4 << 10
		line += " --data-binary " + quote(string(x.RequestBody[:min(len(x.RequestBody), most)]))
		if more := len(x.RequestBody) - most; more > 0 {
			line += fmt.Sprintf(" # and %d bytes more", more)
		}
	}
	return line
}

// quote quotes a text for a shell, in one line.
func quote(s string) string {
	if strings.ContainsFunc(s, unicode.IsControl) || !utf8.ValidString(s) {
		escaped := strconv.QuoteToGraphic(s)
		return "$'" + strings.ReplaceAll(escaped[1:len(escaped)-1], "'", `\'`) + "'"
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// hidden returns an interaction without the values of the headers of the options.
func (c *Contract) hidden(x Interaction) Interaction {
	x.RequestHeader = x.RequestHeader.Clone()
	for name := range c.options.Header {
		if x.RequestHeader[name] != nil {
			x.RequestHeader[name] = []string{variable(name)}
		}
	}
	return x
}

// variable is what a failure shows in place of a header of the options, which may be secret.
func variable(header string) string {
	return "$" + strings.ToUpper(strings.ReplaceAll(header, "-", "_"))
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
