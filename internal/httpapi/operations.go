package httpapi

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/token"
)

// bearerScheme is the only security scheme that this package implements.
const bearerScheme = "bearerAuth"

// operation is one operation of the document, prepared for the request path.
type operation struct {
	id             string
	scope          token.Scope
	parameters     []parameter
	takesQuery     bool                        // it has query parameters
	ignoresUnknown bool                        // x-unknown-parameters: ignored
	bodies         map[string]*openapi3.Schema // by media type; empty: takes no body
	pageSize       pageSize                    // of an array of plants or tags, or of changes
	waits          bool                        // for changes
}

// pageSize is how many items a page has: without the parameter limit, and at most.
type pageSize struct{ normal, most int }

// of returns the size of a page of a request.
func (size pageSize) of(limit *int32) int {
	if limit == nil {
		return size.normal
	}
	return min(int(*limit), size.most)
}

// loadPageSize reads the size of a page from the default of the parameter limit
// and from maxItems of the response.
func loadPageSize(o *openapi3.Operation, page *openapi3.Schema) (pageSize, error) {
	limit := o.Parameters.GetByInAndName(openapi3.ParameterInQuery, "limit")
	if limit == nil || page.MaxItems == nil {
		return pageSize{}, fmt.Errorf("an array without maxItems or without a parameter limit is not implemented")
	}
	normal, ok := limit.Schema.Value.Default.(float64)
	if !ok {
		return pageSize{}, fmt.Errorf("a parameter limit without a default is not implemented")
	}
	return pageSize{normal: int(normal), most: int(*page.MaxItems)}, nil
}

// operationKey names an operation as chi does: a method and a pattern, which is the
// path of the document.
type operationKey struct{ method, pattern string }

type operations map[operationKey]*operation

// loadOperations reads the document. It returns an error for everything that this
// package cannot enforce, so that the program does not start with it.
func loadOperations(document []byte) (operations, error) {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		return nil, fmt.Errorf("load the document: %w", err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("validate the document: %w", err)
	}
	if err := checkSecurity(doc); err != nil {
		return nil, err
	}
	ops := operations{}
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			op, err := loadOperation(o, item.Parameters)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			ops[operationKey{method, path}] = op
		}
	}
	return ops, nil
}

// checkSecurity returns an error unless the whole document requires a bearer token.
func checkSecurity(doc *openapi3.T) error {
	if len(doc.Security) != 1 || len(doc.Security[0]) != 1 || doc.Security[0][bearerScheme] == nil {
		return fmt.Errorf("security at the top of the document must be exactly %q", bearerScheme)
	}
	scheme := doc.Components.SecuritySchemes[bearerScheme].Value
	if scheme.Type != "http" || scheme.Scheme != "bearer" {
		return fmt.Errorf("security scheme %s: type %q with scheme %q is not implemented, need http with bearer",
			bearerScheme, scheme.Type, scheme.Scheme)
	}
	return nil
}

func loadOperation(o *openapi3.Operation, shared openapi3.Parameters) (*operation, error) {
	if o.Security != nil {
		return nil, fmt.Errorf("security of its own: it is declared once, at the top of the document")
	}
	scope, _ := o.Extensions["x-required-scope"].(string)
	op := &operation{id: o.OperationID, scope: token.Scope(scope), bodies: map[string]*openapi3.Schema{}}
	if !op.scope.Valid() {
		return nil, fmt.Errorf("x-required-scope %q is not a scope, need read or write", scope)
	}
	switch unknown := o.Extensions["x-unknown-parameters"]; unknown {
	case nil:
	case "ignored":
		op.ignoresUnknown = true
	default:
		return nil, fmt.Errorf("x-unknown-parameters %q is not implemented, need ignored", unknown)
	}
	for _, ref := range slices.Concat(shared, o.Parameters) {
		p, err := loadParameter(ref.Value)
		if err != nil {
			return nil, err
		}
		op.parameters = append(op.parameters, p)
		op.takesQuery = op.takesQuery || p.in == plantapi.InQuery
	}
	if err := op.loadSuccess(o); err != nil {
		return nil, err
	}
	if o.RequestBody == nil {
		return op, nil
	}
	if !o.RequestBody.Value.Required {
		return nil, fmt.Errorf("an optional request body is not implemented")
	}
	for mediaType, content := range o.RequestBody.Value.Content {
		if mediaType != jsonType && mediaType != mergePatchType {
			return nil, fmt.Errorf("media type %q is not implemented", mediaType)
		}
		op.bodies[mediaType] = content.Schema.Value
	}
	return op, nil
}

// loadSuccess reads what the response 200 says about the operation.
func (op *operation) loadSuccess(o *openapi3.Operation) (err error) {
	ok := o.Responses.Status(http.StatusOK)
	if ok == nil {
		return nil
	}
	wait := o.Parameters.GetByInAndName(openapi3.ParameterInQuery, "wait")
	op.waits = wait != nil || ok.Value.Content[eventStreamType] != nil
	if ok.Value.Content[jsonType] == nil {
		return nil
	}
	page := ok.Value.Content[jsonType].Schema.Value
	if changes := page.Properties["changes"]; changes != nil {
		op.pageSize, err = loadPageSize(o, changes.Value)
	} else if page.Type.Is("array") {
		op.pageSize, err = loadPageSize(o, page)
	}
	return err
}

// methods returns the methods of all operations, sorted. HEAD is supported wherever
// GET is.
func (ops operations) methods() []string {
	set := map[string]bool{}
	for r := range ops {
		set[r.method] = true
		if r.method == http.MethodGet {
			set[http.MethodHead] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}
