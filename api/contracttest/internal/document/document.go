// Package document reads an OpenAPI document, 3.0 to 3.2, or one of Swagger 2.0, and finds in it what
// describes a request and its response.
//
// Documents of real services are seldom valid as a whole. So whatever is not understood is left out,
// listed in [Document.Unsupported], and the rest is tested. Reading goes this way:
//
//  1. decode.go reads JSON, or YAML as if it were JSON, and swagger.go converts Swagger 2.0.
//  2. translate.go leaves out what is not understood, and writes what OpenAPI 3.1 says as 3.0 says it
//     (modern.go), so that all other packages know one kind of schema.
//  3. parts.go reads the operations one by one if kin-openapi cannot read all of them together.
//  4. review.go looks into all schemas for what no judge can check.
//
// What is left out is never silently accepted: each line of Unsupported becomes a promise that is untried,
// so that the report says how much of the document was not tested.
//
// A [Document] has operations, each with its parameters, bodies and responses (operation.go) and with
// what opens it (security.go). Schemas are those of kin-openapi. writing.go writes the value of a
// parameter into a request as its style says, and unread.go knows what the document lacks.
package document

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Document is an OpenAPI document that can be asked about requests.
type Document struct {
	Title, Version string
	// Base is the path of the first server, if it is fixed: without a slash at the end.
	Base string
	// Operations are in an order in which the first one that fits a path serves it.
	Operations []*Operation
	// Headers are those of the components, by name.
	Headers openapi3.Headers
	// Unsupported is what the document has and the engine cannot test, each once.
	Unsupported []scenario.Promise
	// Spec is the document as kin-openapi reads it.
	Spec *openapi3.T
}

// Parse reads a document of OpenAPI 3 or Swagger 2.0. What it does not understand it reports and leaves out.
func Parse(text []byte) (parsed *Document, err error) {
	defer func() {
		// Kin-openapi has faults of its own.
		if fault := recover(); fault != nil {
			parsed = nil
			err = fmt.Errorf("cannot be read: %v", fault)
		}
	}()
	d := &Document{}
	if err := d.read(text); err != nil {
		return nil, err
	}
	d.validate()
	d.Title = d.Spec.Info.Title
	d.Version = d.Spec.Info.Version
	d.Base = basePath(d.Spec.Servers)
	if d.Spec.Components != nil {
		d.Headers = d.Spec.Components.Headers
	}
	d.addOperations()
	d.review()
	return d, nil
}

// validate reports that a document is not valid. It is used all the same. Most published documents break
// some rule, and their services can be tested nevertheless.
func (d *Document) validate() {
	err := d.Spec.Validate(context.Background(),
		openapi3.DisableSchemaPatternValidation(), openapi3.DisableSchemaDefaultsValidation(),
		openapi3.AllowExtraSiblingFields(silent...)) // they are of OpenAPI 3.1, and harm in no version
	if err != nil {
		reason, _, _ := strings.Cut(err.Error(), "\n")
		d.report("the document, is not valid: %s", reason)
	}
}

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
func basePath(servers openapi3.Servers) string {
	if len(servers) == 0 || strings.Contains(servers[0].URL, "{") {
		return ""
	}
	address, err := url.Parse(servers[0].URL)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(address.EscapedPath(), "/")
}

// addOperations adds the operations. A literal path comes before a template that it also fits. The order of
// the document says nothing: it is a map.
func (d *Document) addOperations() {
	for template, item := range d.Spec.Paths.Map() {
		for method, operation := range item.Operations() {
			d.Operations = append(d.Operations, newOperation(d.Spec, method, template, item, operation))
		}
	}
	slices.SortFunc(d.Operations, func(one, other *Operation) int {
		if more := strings.Count(one.Template, "{") - strings.Count(other.Template, "{"); more != 0 {
			return more
		}
		return strings.Compare(one.Template+one.Method, other.Template+other.Method)
	})
}

// Find returns the operation that a request is for, or nil.
func (d *Document) Find(method, path string) *Operation {
	return first(d.Operations, func(o *Operation) bool {
		return o.Method == method && o.Matches(path)
	})
}

// At returns the operation with a method at a path of a shape, or nil.
func (d *Document) At(method, shape string) *Operation {
	return first(d.Operations, func(o *Operation) bool {
		return o.Method == method && Shape(o.Template) == shape
	})
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
	seen := map[*openapi3.Schema]bool{}
	return slices.ContainsFunc(d.Operations, func(o *Operation) bool {
		isIt := func(parameter *openapi3.Parameter) bool { return parameter.Name == name }
		body := o.BodySchema()
		return slices.ContainsFunc(o.Parameters, isIt) || body != nil && hasMember(body, name, seen)
	})
}

// hasMember reports whether a value of a schema that was not seen yet may have a member with a name, at any depth.
func hasMember(of *openapi3.Schema, name string, seen map[*openapi3.Schema]bool) bool {
	if seen[of] {
		return false
	}
	seen[of] = true
	parts := slices.Concat(of.AllOf, of.AnyOf, of.OneOf, openapi3.SchemaRefs{of.Items, of.AdditionalProperties.Schema})
	for _, property := range of.Properties {
		parts = append(parts, property)
	}
	return of.Properties[name] != nil || slices.ContainsFunc(parts, func(part *openapi3.SchemaRef) bool {
		return part != nil && hasMember(schema.Of(part), name, seen)
	})
}

// HasPath reports whether the document has the path, with any method.
func (d *Document) HasPath(path string) bool {
	return slices.ContainsFunc(d.Operations, func(o *Operation) bool { return o.Matches(path) })
}

// first returns the first element that is asked for, or the zero value.
func first[T any](all []T, is func(T) bool) (found T) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return found
}
