// Package contract holds every exchange of a test against api/openapi.yaml.
//
// A test sends through [Transport], wraps a handler with [Handler], or reports
// an exchange that it made by hand with [Check]. The test fails if the answer is
// one that the document does not promise, if a client generated from
// api/seed.yaml could not read it, or if gen/plantclient does not find it where
// its status says. What the exchanges have shown is kept in a ledger;
// [Main] fails where a promise of the document was never received.
package contract

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api"
)

// T is what a test offers; a [testing.TB] is one.
type T interface {
	Helper()
	Name() string
	Errorf(format string, args ...any)
}

// Exchange is a request and its answer, both whole.
type Exchange struct {
	Method        string
	URL           string // as sent, with the path as it was escaped
	Path          string // the escaped path alone
	RequestHeader http.Header
	RequestBody   []byte

	Status int
	Header http.Header
	Body   []byte
}

// Fault is one way in which an answer breaks a promise.
type Fault struct {
	Where   string // "status", "media type", "header Location", "body /name"
	Keyword string // the keyword of the document that is broken
	Message string
}

func (f Fault) String() string { return fmt.Sprintf("%s: %s: %s", f.Where, f.Keyword, f.Message) }

// document is a description of the service, ready to be looked things up in.
type document struct {
	doc    *openapi3.T
	routes []documentRoute
}

type documentRoute struct {
	method, template string
	operation        *openapi3.Operation
}

// parse reads a document, which must be valid with all its examples.
func parse(text []byte) (*document, error) {
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, err
	}
	d := &document{doc: doc}
	for template, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			d.routes = append(d.routes, documentRoute{method, template, operation})
		}
	}
	// A literal path counts before a template that fits it, too.
	slices.SortFunc(d.routes, func(a, b documentRoute) int {
		if n := strings.Count(a.template, "{") - strings.Count(b.template, "{"); n != 0 {
			return n
		}
		return strings.Compare(a.template+a.method, b.template+b.method)
	})
	return d, nil
}

// find returns the operation that answers a request, or nil.
func (d *document) find(method, path string) *documentRoute {
	for i, r := range d.routes {
		if r.method == method && matches(r.template, path) {
			return &d.routes[i]
		}
	}
	return nil
}

// knows reports whether the document has the path, with any method.
func (d *document) knows(path string) bool {
	return slices.ContainsFunc(d.routes, func(r documentRoute) bool { return matches(r.template, path) })
}

// matches reports whether a path fits a template such as /plants/{id}. A
// parameter is one whole segment and never empty.
func matches(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i, segment := range want {
		if strings.HasPrefix(segment, "{") && got[i] != "" {
			continue
		}
		if segment != got[i] {
			return false
		}
	}
	return true
}

// documents are the two that everything is held against.
var documents = sync.OnceValues(func() (ds struct{ api, seed *document }, err error) {
	if ds.api, err = parse(api.Document); err != nil {
		return ds, fmt.Errorf("api/openapi.yaml: %w", err)
	}
	if ds.seed, err = parse(api.Seed); err != nil {
		return ds, fmt.Errorf("api/seed.yaml: %w", err)
	}
	return ds, nil
})

// Check holds one exchange against the documents and enters it in the ledger.
// Use it where neither [Transport] nor [Handler] fits, as with a connection
// that is written to by hand.
func Check(t T, x Exchange) {
	t.Helper()
	ds, err := documents()
	if err != nil {
		t.Errorf("contract: %v", err)
		return
	}
	faults := check(ds.api, ds.seed, x)
	for _, f := range faults {
		t.Errorf("contract: %s %s answered %d, but %s\n\trepeat it with: %s\n\tit answered: %.500q",
			x.Method, x.Path, x.Status, f, curl(x), x.Body)
	}
	if len(faults) == 0 {
		received.enter(ds.api, x, t.Name())
	}
}

// check returns every fault of an exchange.
func check(doc, seed *document, x Exchange) []Fault {
	if f, beside := besideDocument(doc, x); beside {
		return f
	}
	faults := doc.check(x)
	faults = append(faults, checkSeed(seed, x)...)
	if len(faults) == 0 {
		faults = checkClient(doc, x) // else it only says the same once more
	}
	return faults
}

// curl returns a command line that repeats the request.
func curl(x Exchange) string {
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
