// Package document reads an OpenAPI document, 3.0 to 3.2, or one of Swagger 2.0, and finds in it what
// describes a request and its response.
//
// Documents of real services are seldom valid as a whole. So whatever is not understood is left out,
// listed in [Document.Unsupported], and the rest is tested. Reading goes this way:
//
//  1. decode.go reads JSON, or YAML as if it were JSON, and swagger.go converts Swagger 2.0. The document is a tree from
//     then on.
//  2. translate.go leaves out of the tree what is not understood, and puts each schema into a library (package schema), so that
//     all other packages know one kind of schema.
//  3. spec.go reads parameters, bodies, responses and operations from the tree.
//  4. review.go looks into all schemas for what no judge can check.
//
// What is left out is never silently accepted: each line of Unsupported becomes a promise that is not tested,
// so that the report says how much of the document was not tested.
//
// A [Document] has operations, each with its parameters, bodies and responses (operation.go) and with what opens it
// (security.go). writing.go writes the value of a parameter into a request as its style says, form.go does so with a body, and
// wrapping.go finds the thing in a body. unread.go knows what the document lacks.
package document

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/api/internal/paths"
)

// Document is an OpenAPI document that can be asked about requests.
type Document struct {
	Title, Version string
	// Base is the path of the first server, if it is fixed: without a slash at the end.
	Base string
	// Operations are in an order in which the first one that fits a path serves it.
	Operations []*Operation
	// Headers are those of the components, by name.
	Headers map[string]*Header
	// Schemes are the security schemes, by name.
	Schemes map[string]*Scheme
	// Servers are where the service may be.
	Servers []Server
	// Unsupported is what the document has and the engine cannot test, each once.
	Unsupported []scenario.Promise

	library  *schema.Library
	reader   *reader
	security []Requirement // of operations that say nothing of it; nil: the document says nothing, either
	byMethod map[string]*paths.Tree[*Operation]
	above    int // how many first segments of all paths are above the parts of the service
}

// Parse reads a document of OpenAPI 3 or Swagger 2.0. What it does not understand it reports and leaves out.
func Parse(text []byte) (*Document, error) {
	d := &Document{}
	if err := d.read(text); err != nil {
		return nil, err
	}
	r := d.reader
	info := jsonvalue.Object(r.root["info"])
	d.Title = textAt(info, "title")
	d.Version = textAt(info, "version")
	d.Servers = r.servers()
	d.Base = basePath(d.Servers)
	d.Headers = r.headers(r.component("headers"))
	d.Schemes = r.schemes()
	d.security = requirements(r.root["security"])
	operations, err := r.operations(d.report)
	if err != nil {
		return nil, err
	}
	d.Operations = operations
	d.arrange()
	d.review()
	return d, nil
}

// Component returns the schema of a component, for values in a direction, or one that allows any value.
func (d *Document) Component(name string, direction schema.Direction) *schema.Schema {
	schemas := d.reader.request
	if direction == schema.Received {
		schemas = d.reader.received
	}
	return schemas.Of(d.reader.component("schemas")[name])
}

// TextOf is a schema as JSON, or nothing if it says nothing.
func (d *Document) TextOf(of *schema.Schema) string { return d.library.Text(of) }

// report reports once that something of the document cannot be tested.
func (d *Document) report(format string, args ...any) { d.Unsupport("", format, args...) }

// Unsupport reports once that something of an operation, or of the document, cannot be tested.
func (d *Document) Unsupport(operation, format string, args ...any) {
	promise := scenario.Promise{Operation: operation, Kind: scenario.NotUnderstood, Place: fmt.Sprintf(format, args...)}
	if !slices.Contains(d.Unsupported, promise) {
		d.Unsupported = append(d.Unsupported, promise)
	}
}

// basePath is the path of the first server. One with variables is not known before they are set.
func basePath(servers []Server) string {
	if len(servers) == 0 || strings.Contains(servers[0].URL, "{") {
		return ""
	}
	address, err := url.Parse(servers[0].URL)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(address.EscapedPath(), "/")
}

// arrange sorts the operations, so that a literal path comes before a template that it also fits, and makes them known by
// method and path. The order of the document says nothing: it is a map.
func (d *Document) arrange() {
	slices.SortFunc(d.Operations, func(one, other *Operation) int {
		if more := strings.Count(one.Template, "{") - strings.Count(other.Template, "{"); more != 0 {
			return more
		}
		return strings.Compare(one.Template+one.Method, other.Template+other.Method)
	})
	d.byMethod = map[string]*paths.Tree[*Operation]{}
	for _, operation := range d.Operations {
		operation.security = cmp.Or(operation.security, &d.security)
		if d.byMethod[operation.Method] == nil {
			d.byMethod[operation.Method] = &paths.Tree[*Operation]{}
		}
		item := d.byMethod[operation.Method].Add(operation.Template)
		*item = cmp.Or(*item, operation) // of /things/{id} and /things/{name} the first one counts
	}
	d.above = aboveParts(d.Operations)
}

// aboveParts is how many segments all paths begin with. Where there is an operation, a part of the service begins.
//
//	/api/v1/things, /api/v1/things/{id}   2
func aboveParts(operations []*Operation) (above int) {
	for isAboveAll(operations, above) {
		above++
	}
	return above
}

// isAboveAll reports whether all paths go on after a segment, which is the same in all of them.
func isAboveAll(operations []*Operation, at int) bool {
	differs := func(other *Operation) bool {
		path := segments(other)
		return len(path) <= at+1 || path[at] != segments(operations[0])[at]
	}
	return len(operations) > 0 && !slices.ContainsFunc(operations, differs)
}

// segments are those of the path of an operation.
func segments(operation *Operation) []string {
	return strings.Split(strings.Trim(operation.Template, "/"), "/")
}

// Area is the part of the service that an operation is about: the first segment of its path below what all paths begin with.
func (d *Document) Area(operation *Operation) string { return segments(operation)[d.above] }

// Find returns the operation that a request is for, or nil: of the operations with its method, that with the most exact path.
// Routers differ where another method has a path that is more exact. They differ, too, in whether an escaped text is the fixed
// text of a path: here it is none.
func (d *Document) Find(method, path string) *Operation {
	tree := d.byMethod[method]
	if tree == nil {
		return nil
	}
	found, _ := tree.Find(path, nil)
	if found != nil && (*found).Matches(path) { // else the tree has taken an escaped text for a fixed one
		return *found
	}
	return first(d.Operations, func(o *Operation) bool { return o.Method == method && o.Matches(path) })
}

// At returns the operation with a method at a path of a shape, or nil.
func (d *Document) At(method, shape string) *Operation {
	return first(d.Operations, func(o *Operation) bool { return o.Method == method && o.shape == shape })
}

// Serving returns the operation that describes the response to a request, or nil. HEAD is described by
// GET, where it is not described itself.
func (d *Document) Serving(method, path string) *Operation {
	operation := d.Find(method, path)
	if operation == nil && method == http.MethodHead {
		return d.Find(http.MethodGet, path)
	}
	return operation
}

// Operation returns the operation with an id, or nil.
func (d *Document) Operation(id string) *Operation {
	return first(d.Operations, func(o *Operation) bool { return o.ID == id })
}

// Names reports whether a request may have a parameter, or a member in its JSON, with a name.
func (d *Document) Names(name string) bool {
	isIt := func(parameter *Parameter) bool { return parameter.Name == name }
	return slices.ContainsFunc(d.Operations, func(o *Operation) bool {
		return slices.ContainsFunc(o.Parameters, isIt) || hasMember(schema.Of(o.BodySchema()), name)
	})
}

// hasMember reports whether a value of a schema may have a member with a name, at any depth.
func hasMember(of *schema.Schema, name string) (has bool) {
	schema.Each(of, func(part *schema.Schema) { has = has || part.Properties[name] != nil })
	return has
}

// HasPath reports whether the document has the path, with any method.
func (d *Document) HasPath(path string) bool {
	return slices.ContainsFunc(d.Operations, func(o *Operation) bool { return o.Matches(path) })
}

// first returns the first element of which something is so, or the zero value.
func first[T any](all []T, is func(T) bool) (found T) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return found
}
