package contract

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// Operation is an operation of the document.
type Operation struct {
	ID         string // operationId
	Method     string
	Path       string // as in the document
	Tags       []string
	Extensions map[string]any // such as x-required-scope

	// Security has the alternatives of credentials that the document gives for the operation: all
	// schemes of one of them are needed. An alternative without a scheme needs no credentials. It is
	// empty if the operation is open.
	Security [][]Scheme

	names          []string    // of the parameters in the path
	parameters     []parameter // those of the query first
	query          []string    // names of parameters
	keys           []string    // names of API keys in the query
	ignoresUnknown bool        // parameters of the query
	contents       []*content  // of the body, the most exact media types first; none if there is no body
	bodyRequired   bool
	answers        map[string]answer
}

// QueryParameters returns the names of the parameters in the query, in the order of the document. They must
// not be changed.
func (o *Operation) QueryParameters() []string { return o.query }

// Scheme is a security scheme that an operation asks for.
type Scheme struct {
	Name   string   // in the document
	Type   string   // http, apiKey, oauth2 or openIdConnect
	Scheme string   // of the type http, such as bearer
	In     string   // of the type apiKey: query, header or cookie
	Key    string   // of the type apiKey: the name of the parameter
	Scopes []string // that are needed
}

// loader reads the operations of a document, and collects what this package cannot check.
type loader struct {
	document *openapi3.T
	rules    *rules
	nodes    *nodes
	place    string // the operation that is read
	problems []error
	notes    []string
	unknown  []string // formats

	responses *loader // its problems do not matter
}

func newLoader(document *openapi3.T, root tree, options *Options) (load *loader, err error) {
	load = &loader{document: document, rules: newRules(options)}
	load.nodes, err = newNodes(load, root)
	return load, err
}

// loadOperations reads the operations of a document. Its error names everything that this package cannot check.
func loadOperations(document *openapi3.T, root tree, options *Options) (operations []*Operation, load *loader, err error) {
	load, err = newLoader(document, root, options)
	if err != nil {
		return nil, nil, err
	}
	if load.responses, err = newLoader(document, root, options); err != nil {
		return nil, nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(document.Paths.Map())) { // so that the notes are the same each time
		item := document.Paths.Value(path)
		for method, described := range item.Operations() {
			load.place = method + " " + path
			operation := load.operation(method, path, item, described, options)
			if options.IgnoreUnknown != nil && !operation.takesForm() {
				operation.ignoresUnknown = options.IgnoreUnknown(operation)
			}
			isOpen := len(operation.Security) == 0
			load.need(isOpen || options.Authorize != nil, "it has security: set Options.Authorize, or every request would be accepted")
			operations = append(operations, operation)
		}
	}
	return operations, load, errors.Join(load.problems...)
}

// need adds a problem unless a condition is met: the document has something that this package cannot check.
func (l *loader) need(isMet bool, format string, args ...any) {
	if !isMet {
		l.problems = append(l.problems, fmt.Errorf("%s: %s", l.place, fmt.Sprintf(format, args...)))
	}
}

// note notes what is not as a reader of the document expects.
func (l *loader) note(format string, args ...any) {
	l.notes = append(l.notes, l.place+": "+fmt.Sprintf(format, args...))
}

func (l *loader) operation(method, path string, item *openapi3.PathItem, described *openapi3.Operation, options *Options) *Operation {
	operation := &Operation{
		ID:         described.OperationID,
		Method:     method,
		Path:       path,
		Tags:       described.Tags,
		Extensions: described.Extensions,
		Security:   l.security(described),
		answers:    l.responses.answers(described),
	}
	for _, scheme := range slices.Concat(operation.Security...) {
		if scheme.In == openapi3.ParameterInQuery {
			operation.keys = append(operation.keys, scheme.Key)
		}
	}
	for _, parameter := range inOrder(item.Parameters, described.Parameters) {
		operation.parameters = append(operation.parameters, l.parameter(path, parameter))
		if parameter.In == openapi3.ParameterInQuery {
			operation.query = append(operation.query, parameter.Name)
		}
	}
	if described.RequestBody != nil {
		l.setContents(operation, described.RequestBody.Value, options)
	}
	return operation
}

// security returns the alternatives of credentials of an operation.
func (l *loader) security(described *openapi3.Operation) (alternatives [][]Scheme) {
	requirements := &l.document.Security
	if described.Security != nil {
		requirements = described.Security
	}
	for _, requirement := range *requirements {
		schemes := []Scheme{}
		for _, name := range slices.Sorted(maps.Keys(requirement)) {
			schemes = append(schemes, l.scheme(name, requirement[name]))
		}
		alternatives = append(alternatives, schemes)
	}
	return alternatives
}

func (l *loader) scheme(name string, scopes []string) Scheme {
	declared := l.document.Components.SecuritySchemes[name] // a valid document has it
	return Scheme{
		Name:   name,
		Type:   declared.Value.Type,
		Scheme: declared.Value.Scheme,
		In:     declared.Value.In,
		Key:    declared.Value.Name,
		Scopes: scopes,
	}
}

// inOrder returns the parameters of an operation and of its path, unless the operation has its own in place of one of
// these. Those of the query come first.
func inOrder(ofPath, ofOperation openapi3.Parameters) []*openapi3.Parameter {
	isReplaced := func(shared *openapi3.ParameterRef) bool {
		return ofOperation.GetByInAndName(shared.Value.In, shared.Value.Name) != nil
	}
	var inQuery, elsewhere []*openapi3.Parameter
	for _, each := range slices.Concat(slices.DeleteFunc(slices.Clone(ofPath), isReplaced), ofOperation) {
		if each.Value.In == openapi3.ParameterInQuery {
			inQuery = append(inQuery, each.Value)
		} else if !isIgnoredHeader(each.Value) {
			elsewhere = append(elsewhere, each.Value)
		}
	}
	return append(inQuery, elsewhere...)
}

// isIgnoredHeader reports whether OpenAPI says to ignore a parameter: other parts of the document describe
// these headers.
func isIgnoredHeader(described *openapi3.Parameter) bool {
	ignored := []string{"Accept", "Content-Type", "Authorization"}
	return described.In == openapi3.ParameterInHeader && slices.Contains(ignored, http.CanonicalHeaderKey(described.Name))
}

// takesForm reports whether the body may be a form. [http.Request.ParseForm] adds the query to its fields.
func (o *Operation) takesForm() bool {
	return slices.ContainsFunc(o.contents, func(each *content) bool { return isInRange(formType, each.mediaType) })
}

// knows reports whether a query may have a name.
func (o *Operation) knows(name string) bool {
	if o.ignoresUnknown || slices.Contains(o.keys, name) {
		return true
	}
	for i := range o.query {
		if o.parameters[i].knows(name) {
			return true
		}
	}
	return false
}
