package contract

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

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

	parameters     []parameter
	query          []string // names of parameters
	keys           []string // names of API keys in the query
	ignoresUnknown bool
	segments       []segment           // of the path
	contents       map[string]*content // of the body, by media type; empty if there is none
	bodyRequired   bool
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

// loadOperations reads the document. It returns an error for everything that this package cannot
// check.
func loadOperations(document []byte) (map[route]*Operation, error) {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		return nil, fmt.Errorf("load the document: %w", err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.0.") {
		return nil, fmt.Errorf("the document has OpenAPI %s, need 3.0", doc.OpenAPI)
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("validate the document: %w", err)
	}
	operations := map[route]*Operation{}
	for path, item := range doc.Paths.Map() {
		for method, described := range item.Operations() {
			operation, err := loadOperation(doc, method, path, item, described)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			operations[route{method, path}] = operation
		}
	}
	return operations, nil
}

func loadOperation(
	doc *openapi3.T, method, path string, item *openapi3.PathItem, described *openapi3.Operation,
) (operation *Operation, err error) {
	operation = &Operation{
		ID: described.OperationID, Method: method, Path: path, Tags: described.Tags, Extensions: described.Extensions,
		contents: map[string]*content{},
	}
	operation.Security, err = loadSecurity(doc, described)
	if err != nil {
		return nil, err
	}
	for _, scheme := range slices.Concat(operation.Security...) {
		if scheme.Type == "apiKey" && scheme.In == openapi3.ParameterInQuery {
			operation.keys = append(operation.keys, scheme.Key)
		}
	}
	if operation.segments, err = loadSegments(path); err != nil {
		return nil, err
	}
	if err := operation.loadParameters(item.Parameters, described.Parameters); err != nil {
		return nil, err
	}
	if described.RequestBody == nil {
		return operation, nil
	}
	operation.bodyRequired = described.RequestBody.Value.Required
	for mediaType, media := range described.RequestBody.Value.Content {
		if operation.contents[mediaType], err = loadContent(mediaType, media); err != nil {
			return nil, err
		}
	}
	return operation, nil
}

// loadSecurity returns the alternatives of credentials of an operation.
func loadSecurity(doc *openapi3.T, described *openapi3.Operation) ([][]Scheme, error) {
	requirements := doc.Security
	if described.Security != nil {
		requirements = *described.Security
	}
	var alternatives [][]Scheme
	for _, requirement := range requirements {
		schemes := []Scheme{}
		for _, name := range slices.Sorted(maps.Keys(requirement)) {
			declared := doc.Components.SecuritySchemes[name]
			if declared == nil {
				return nil, fmt.Errorf("security scheme %s is not in the document", name)
			}
			schemes = append(schemes, Scheme{
				Name:   name,
				Type:   declared.Value.Type,
				Scheme: declared.Value.Scheme,
				In:     declared.Value.In,
				Key:    declared.Value.Name,
				Scopes: requirement[name],
			})
		}
		alternatives = append(alternatives, schemes)
	}
	return alternatives, nil
}

// loadParameters reads the parameters of the path, unless the operation has its own in place of them,
// and those of the operation.
func (o *Operation) loadParameters(ofPath, ofOperation openapi3.Parameters) error {
	all := slices.Clone(ofOperation)
	for _, shared := range slices.Backward(ofPath) {
		if ofOperation.GetByInAndName(shared.Value.In, shared.Value.Name) == nil {
			all = slices.Insert(all, 0, shared)
		}
	}
	for _, reference := range all {
		if isIgnoredHeader(reference.Value) {
			continue
		}
		loaded, err := loadParameter(reference.Value)
		if err != nil {
			return err
		}
		o.parameters = append(o.parameters, loaded)
		if loaded.in == openapi3.ParameterInQuery {
			o.query = append(o.query, loaded.name)
		}
	}
	return nil
}

// isIgnoredHeader reports whether OpenAPI says to ignore a parameter: other parts of the document describe
// these headers.
func isIgnoredHeader(described *openapi3.Parameter) bool {
	if described.In != openapi3.ParameterInHeader {
		return false
	}
	switch http.CanonicalHeaderKey(described.Name) {
	case "Accept", "Content-Type", "Authorization":
		return true
	}
	return false
}

// segment is a part of a path between two slashes: a literal text, or a parameter between two.
type segment struct{ before, parameter, after string }

func loadSegments(path string) ([]segment, error) {
	var segments []segment
	for text := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		before, rest, isParameter := strings.Cut(text, "{")
		name, after, _ := strings.Cut(rest, "}")
		if strings.Contains(after, "{") {
			return nil, fmt.Errorf("two parameters in the part %q of a path are not implemented", text)
		}
		if !isParameter {
			name = ""
		}
		segments = append(segments, segment{before, name, after})
	}
	return segments, nil
}
