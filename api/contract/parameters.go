package contract

import (
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/internal/paths"
)

// inBody is the place of a [Fault] in a body, beside those of parameters.
const inBody = "body"

// parameter is a parameter of the document. It is read here: the functions of kin-openapi's openapi3filter do not know every
// style, and do not return the value that they have checked.
type parameter struct {
	name, in   string
	faultIn    string // in, or body for a field of a form
	isRequired bool
	mayBeEmpty bool // allowEmptyValue
	isPlain    bool // the type says everything
	kind       parameterKind
	schema     schema
	layout

	find      func(r *Request, p *parameter) (texts []string)
	pathIndex int // among the parameters of the path
}

// parameterKind says what the texts of a parameter are made of.
type parameterKind int

const (
	oneText parameterKind = iota // a text, number or boolean
	list
	record // an object
	jsonText
)

func (l *loader) parameter(path string, described *openapi3.Parameter) parameter {
	loaded := parameter{
		name:       described.Name,
		in:         described.In,
		faultIn:    described.In,
		isRequired: described.Required,
		mayBeEmpty: described.AllowEmptyValue,
		find:       places[described.In],
		pathIndex:  slices.Index(paths.Names(path), described.Name),
	}
	l.setSchema(&loaded, described)
	method, err := described.SerializationMethod()
	l.need(err == nil, "parameter %s: %v", described.Name, err)
	if err == nil {
		loaded.layout = loaded.layoutOf(method.Style, method.Explode)
	}
	return loaded
}

// setSchema sets the schema of a parameter, which is beside it or in its content.
func (l *loader) setSchema(loaded *parameter, described *openapi3.Parameter) {
	ofValue := described.Schema
	for mediaType, content := range described.Content { // a valid document has one
		ofValue = content.Schema
		if isJSON(mediaType) {
			loaded.kind = jsonText
		}
	}
	loaded.schema = l.schema(ofValue)
	if loaded.kind == jsonText {
		return
	}
	loaded.kind = kindOf(loaded.schema.node)
	loaded.isPlain = loaded.kind == oneText && loaded.schema.isPlain()
}

// kindOf returns what a value of a schema is made of, unless it is JSON.
func kindOf(schema *node) parameterKind {
	allowed := scalars(schema)
	switch {
	case allowed.has(typeArray):
		return list
	case allowed.has(typeObject):
		return record
	}
	return oneText
}

// checkParameters reads the values of all parameters and holds them to their schemas.
func (r *Request) checkParameters() error {
	all, ofQuery := r.Operation.parameters, len(r.Operation.query)
	r.values = make([]any, len(all))
	faults := slices.Concat(
		r.parseQuery(),
		r.checkEach(all[:ofQuery], r.values),
		r.checkNames(),
		r.checkEach(all[ofQuery:], r.values[ofQuery:]),
	)
	if len(faults) == 0 {
		return nil
	}
	return &Refusal{Kind: InvalidParameter, Message: "a parameter is not valid", Faults: faults}
}

// parseQuery parses the query, unless nothing in it matters.
func (r *Request) parseQuery() []Fault {
	isIgnored := r.Operation.ignoresUnknown && len(r.Operation.query) == 0
	if r.http.URL.RawQuery == "" || isIgnored {
		return nil
	}
	var err error
	if r.query, err = url.ParseQuery(r.http.URL.RawQuery); err != nil {
		const message = "is not a well-formed query: escape %, & and ; as RFC 3986 says"
		return []Fault{{In: openapi3.ParameterInQuery, Message: message}}
	}
	return nil
}

// checkEach checks some parameters and sets their values.
func (r *Request) checkEach(parameters []parameter, values []any) (faults []Fault) {
	for i := range parameters {
		value, found := parameters[i].check(r)
		values[i] = value
		faults = append(faults, found...)
	}
	return faults
}

// checkNames returns a fault for each name in the query that is not a parameter.
func (r *Request) checkNames() (faults []Fault) {
	for name := range r.query {
		if !r.Operation.knows(name) {
			faults = append(faults, faultAt(openapi3.ParameterInQuery, name, unknownName))
		}
	}
	slices.SortFunc(faults, func(a, b Fault) int { return strings.Compare(a.Pointer, b.Pointer) })
	return faults
}

// faultAt returns a fault of a parameter.
func faultAt(in, name, message string) Fault {
	return Fault{In: in, Pointer: pointerTo(shorten(name)), Message: message}
}
