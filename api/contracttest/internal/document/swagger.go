package document

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
)

// fromSwagger converts a document of Swagger 2.0 to OpenAPI 3.0. The library that does it refuses a whole
// document for one mistake in it, so wrong references, keywords and operations are left out first.
func (t *translator) fromSwagger() error {
	t.walk("", t.root)
	writeCommas(t.root)
	paths := jsonvalue.Object(t.root["paths"])
	for template, item := range paths {
		for _, method := range methods {
			t.settle(jsonvalue.Object(jsonvalue.Object(item)[method]))
		}
		convertEach(t, template, paths, methods, operationTo3)
	}
	schemes := jsonvalue.Object(t.root["securityDefinitions"])
	convertEach(t, "securityDefinitions", t.root, slices.Collect(maps.Keys(schemes)), openapi2conv.ToV3SecurityScheme)
	document, err := converted(t.root, openapi2conv.ToV3)
	if err != nil {
		return fmt.Errorf("cannot be converted from Swagger 2.0: %w", err)
	}
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	root, err := jsonvalue.DecodeLoosely(text)
	t.root = jsonvalue.Object(root)
	return err
}

// operationTo3 converts an operation, to see whether that is possible.
func operationTo3(old *openapi2.Operation) (*openapi3.Operation, error) {
	return openapi2conv.ToV3Operation(&openapi3.Components{}, nil, old, nil)
}

// converted reads a part of a document of Swagger 2.0 and converts it.
func converted[Old, New any](part any, convert func(*Old) (*New, error)) (*New, error) {
	var old Old
	if err := json.Unmarshal(jsonvalue.Encode(part), &old); err != nil {
		return nil, err
	}
	return convert(&old)
}

// convertEach converts some members of an object, which is one of others by name. Those that cannot be
// converted are left out and reported.
func convertEach[Old, New any](t *translator, name string, of map[string]any, members []string, convert func(*Old) (*New, error)) {
	object := jsonvalue.Object(of[name])
	for _, member := range members {
		if _, err := converted(object[member], convert); err != nil {
			t.report("%s %s: cannot be converted from Swagger 2.0: %v", name, member, err)
			delete(object, member)
		}
	}
}

// writeCommas says of all lists in queries that nothing is said of that they are written with commas. The
// conversion takes them for pairs, as OpenAPI 3.0 does.
//
//	{"in": "query", "name": "ids", "type": "array"}   ?ids=1,2, and not ?ids=1&ids=2
func writeCommas(node any) {
	object := jsonvalue.Object(node)
	isList := object["in"] == "query" && object["type"] == "array"
	if isList && object["collectionFormat"] == nil {
		object["collectionFormat"] = "csv"
	}
	for _, inner := range slices.Concat(jsonvalue.List(node), slices.Collect(maps.Values(object))) {
		writeCommas(inner)
	}
}

// settle writes into an operation the media types that it inherits from the document, or that Swagger 2.0
// means where nothing is said. The conversion does neither.
//
//	{"consumes": ["application/xml"], "paths": {"/things": {"post": {}}}}
//
// becomes
//
//	{"post": {"consumes": ["application/xml"], "produces": ["application/json"]}}
func (t *translator) settle(operation map[string]any) {
	if operation == nil {
		return
	}
	for _, name := range []string{"consumes", "produces"} {
		sources := []any{operation[name], t.root[name], []any{"application/json"}}
		operation[name] = first(sources, func(types any) bool { return len(jsonvalue.List(types)) > 0 })
	}
	isForm := func(parameter any) bool {
		return jsonvalue.Object(jsonvalue.Resolve(t.root, parameter))["in"] == "formData"
	}
	if slices.ContainsFunc(jsonvalue.List(operation["parameters"]), isForm) {
		operation["consumes"] = onlyForms(jsonvalue.List(operation["consumes"]))
	}
}

// formTypes are the media types of forms, the usual one first.
var formTypes = []any{"application/x-www-form-urlencoded", "multipart/form-data"}

// onlyForms leaves out media types that no form has: tools list the one of JSON for every operation.
func onlyForms(types []any) []any {
	isNoForm := func(mediaType any) bool { return !slices.Contains(formTypes, mediaType) }
	forms := slices.DeleteFunc(slices.Clone(types), isNoForm)
	return slices.Concat(forms, formTypes)[:max(len(forms), 1)]
}
