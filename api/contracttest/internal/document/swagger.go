package document

import (
	"maps"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
)

// swagger converts a document of Swagger 2.0 to OpenAPI 3.0.
type swagger struct {
	root   map[string]any
	report reporter
}

// converted is the document as one of OpenAPI 3.0.
func (s swagger) converted() map[string]any {
	renew(s.root)
	paths := jsonvalue.Object(s.root["paths"])
	for template, item := range paths {
		object := jsonvalue.Object(item)
		shared := jsonvalue.List(object["parameters"])
		delete(object, "parameters")
		for _, method := range methods {
			if operation := jsonvalue.Object(object[method]); operation != nil {
				s.operation(template+" "+method, operation, shared)
			}
		}
	}
	schemes := jsonvalue.Object(s.root["securityDefinitions"])
	for _, scheme := range schemes {
		if object := jsonvalue.Object(scheme); object["type"] == "basic" {
			object["type"] = "http"
			object["scheme"] = "basic"
		}
	}
	return map[string]any{
		"info": s.root["info"], "paths": paths, "servers": s.servers(), "security": s.root["security"],
		"components": map[string]any{"schemas": s.root["definitions"], "securitySchemes": schemes},
	}
}

// renew writes references and keywords of schemas in a whole document as OpenAPI 3.0 has them.
//
//	{"$ref": "#/definitions/Thing"}        {"$ref": "#/components/schemas/Thing"}
func renew(node any) {
	object := jsonvalue.Object(node)
	if reference, refers := object["$ref"].(string); refers {
		object["$ref"] = strings.Replace(reference, "#/definitions/", "#/components/schemas/", 1)
	}
	if object["x-nullable"] == true {
		object["nullable"] = true
	}
	if object["type"] == "file" {
		object["type"] = "string"
		object["format"] = "binary"
	}
	for _, inner := range slices.Concat(jsonvalue.List(node), slices.Collect(maps.Values(object))) {
		renew(inner)
	}
}

// servers are the URLs of the service.
func (s swagger) servers() (all []any) {
	host := textAt(s.root, "host")
	path := textAt(s.root, "basePath")
	if host == "" {
		return []any{map[string]any{"url": path}}
	}
	schemes := textsOf(s.root["schemes"])
	if len(schemes) == 0 {
		schemes = []string{"https"}
	}
	for _, scheme := range schemes {
		all = append(all, map[string]any{"url": scheme + "://" + host + path})
	}
	return all
}

// mediaTypes are those that an operation takes or gives. It inherits them from the document, and JSON is meant where
// nothing is said.
func (s swagger) mediaTypes(operation map[string]any, keyword string) []string {
	for _, types := range [][]string{textsOf(operation[keyword]), textsOf(s.root[keyword])} {
		if len(types) > 0 {
			return types
		}
	}
	return []string{"application/json"}
}

// operation converts an operation, which has the parameters of its path, too. Parameters in the body become the request body.
func (s swagger) operation(where string, operation map[string]any, shared []any) {
	var parameters []any
	fields := map[string]any{}
	for _, node := range s.withShared(jsonvalue.List(operation["parameters"]), shared) {
		parameter := jsonvalue.Object(jsonvalue.Normal(jsonvalue.Resolve(s.root, node)))
		name := textAt(parameter, "name")
		switch parameter["in"] {
		case nil:
			parameters = append(parameters, node) // it is reported as every reference is
		case "body":
			if operation["requestBody"] != nil {
				s.report("%s: has several bodies; the last one counts", where)
			}
			operation["requestBody"] = map[string]any{
				"required": parameter["required"],
				"content":  contentOf(s.mediaTypes(operation, "consumes"), parameter["schema"]),
			}
		case "formData":
			fields[name] = parameter
		default:
			parameters = append(parameters, convertedParameter(parameter))
		}
	}
	operation["parameters"] = parameters
	if len(fields) > 0 {
		operation["requestBody"] = s.form(operation, fields)
	}
	responses := jsonvalue.Object(operation["responses"])
	for status, node := range responses {
		if response := jsonvalue.Object(jsonvalue.Normal(jsonvalue.Resolve(s.root, node))); response != nil {
			responses[status] = s.response(operation, response)
		}
	}
}

// withShared are the parameters of an operation, and those of its path that it does not replace.
func (s swagger) withShared(own, shared []any) []any {
	all := slices.Clone(own)
	for _, node := range shared {
		isReplaced := slices.ContainsFunc(own, func(other any) bool { return s.replaces(other, node) })
		if !isReplaced {
			all = append(all, node)
		}
	}
	return all
}

// replaces reports whether a parameter replaces another one: it has the same name in the same place. Of bodies there is one.
func (s swagger) replaces(one, other any) bool {
	parameter, shared := jsonvalue.Object(jsonvalue.Resolve(s.root, one)), jsonvalue.Object(jsonvalue.Resolve(s.root, other))
	isSamePlace := parameter["in"] == shared["in"]
	isSameName := parameter["in"] == "body" || parameter["name"] == shared["name"]
	return isSamePlace && isSameName
}

// contentOf is a body that has one schema in each of some media types.
func contentOf(types []string, schema any) map[string]any {
	content := map[string]any{}
	for _, mediaType := range types {
		content[mediaType] = map[string]any{"schema": jsonvalue.Normal(schema)}
	}
	return content
}

// ofParameter are the members of a parameter that are not of its schema.
var ofParameter = []string{"name", "in", "description", "required", "collectionFormat", "allowEmptyValue"}

// schemaIn is the schema of a parameter or a header. Swagger 2.0 has the keywords of the schema beside the other members.
func schemaIn(parameter map[string]any) map[string]any {
	schema := maps.Clone(parameter)
	maps.DeleteFunc(schema, func(name string, _ any) bool { return slices.Contains(ofParameter, name) })
	return schema
}

// styles are the styles of lists in a query, by collectionFormat. They are written with commas where nothing is said.
var styles = map[string]string{"ssv": "spaceDelimited", "pipes": "pipeDelimited"}

// convertedParameter is a parameter of OpenAPI 3.0.
//
//	{"in": "query", "name": "ids", "type": "array"}   ?ids=1,2, and not ?ids=1&ids=2
func convertedParameter(parameter map[string]any) map[string]any {
	made := map[string]any{"schema": schemaIn(parameter)}
	for _, name := range []string{"name", "in", "description", "required"} {
		made[name] = parameter[name]
	}
	if parameter["in"] == "query" {
		format := textAt(parameter, "collectionFormat")
		made["explode"] = format == "multi"
		made["style"] = styles[format]
	}
	return made
}

// form is a body of fields, in those media types of the operation that forms have: tools list JSON for every operation.
func (s swagger) form(operation, fields map[string]any) map[string]any {
	properties := map[string]any{}
	var required []any
	for _, name := range jsonvalue.Names(fields) {
		field := jsonvalue.Object(fields[name])
		properties[name] = schemaIn(field)
		if field["required"] == true {
			required = append(required, name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	types := s.mediaTypes(operation, "consumes")
	types = slices.DeleteFunc(types, func(other string) bool { return other != formMedia && other != multipartMedia })
	if len(types) == 0 {
		types = []string{formMedia}
	}
	return map[string]any{"required": len(required) > 0, "content": contentOf(types, schema)}
}

// response is a response of OpenAPI 3.0.
func (s swagger) response(operation, old map[string]any) map[string]any {
	headers := map[string]any{}
	for name, header := range jsonvalue.Object(old["headers"]) {
		headers[name] = map[string]any{"schema": schemaIn(jsonvalue.Object(header))}
	}
	response := map[string]any{"description": old["description"], "headers": headers}
	if old["schema"] != nil {
		response["content"] = contentOf(s.mediaTypes(operation, "produces"), old["schema"])
	}
	return response
}
