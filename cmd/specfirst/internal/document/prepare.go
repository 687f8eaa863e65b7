package document

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Prepared returns the document as oapi-codegen needs it: as OpenAPI 3.0, and without what says nothing about types, which
// package contract checks. Only the first operations are in it.
func (d *Document) Prepared(operations int) ([]byte, error) {
	copied := &Document{Path: d.Path, root: clone(d.root)}
	for _, operation := range copied.Operations()[operations:] {
		remove(operation.item, strings.ToLower(operation.Method))
	}
	for _, operation := range copied.Operations() {
		if find(operation.node, "responses") == nil {
			set(operation.node, "responses", mapping(scalar("default"), mapping(scalar("description"), scalar("any"))))
		}
	}
	removeExamples(copied.root, "")
	set(copied.root, "openapi", scalar("3.0.3"))
	remove(copied.root, "webhooks", "jsonSchemaDialect")
	copied.media(copied.root, "", false)
	copied.nameUnions()
	copied.nameParameters()
	copied.nameComponents()
	schemas(copied.root, "", simplify)
	copied.typeParameters()
	return encode(copied.root)
}

// removeExamples removes examples everywhere: they need not match their schemas. The name is that of the member which has the node.
func removeExamples(node *yaml.Node, name string) {
	if node.Kind == yaml.MappingNode && !isGroup(name) {
		remove(node, "example", "examples", "callbacks")
	}
	for below, value := range structure(node, name) {
		removeExamples(value, below)
	}
}

// media gives contents the types that generated code can have.
func (d *Document) media(node *yaml.Node, name string, isResponse bool) {
	for below, value := range structure(node, name) {
		d.media(value, below, isResponse || below == "responses")
	}
	if name == "content" {
		for mediaType, content := range members(node) {
			d.mediaType(mediaType.Value, content, isResponse)
		}
	}
}

// anyJSON is a type of its own for a response without a schema: a method cannot be of an interface.
const anyJSON = "struct{ json.RawMessage }"

// mediaType makes a text of every text, which generated code cannot read as another type.
func (d *Document) mediaType(mediaType string, content *yaml.Node, isResponse bool) {
	if content.Kind != yaml.MappingNode {
		return
	}
	schema := d.followed(find(content, "schema"))
	switch {
	case strings.HasPrefix(mediaType, "text/") && text(schema, "type") != "string":
		set(content, "schema", mapping(scalar("type"), scalar("string")))
	case isResponse && strings.Contains(mediaType, "json") && isAny(schema):
		set(content, "schema", mapping(scalar("x-go-type"), scalar(anyJSON)))
	}
}

// isAny reports whether a schema says nothing of a type.
func isAny(schema *yaml.Node) bool {
	for key := range members(schema) {
		if slices.Contains([]string{"type", "properties", "allOf", "anyOf", "oneOf", "additionalProperties", "$ref", "x-go-type"}, key.Value) {
			return len(items(find(schema, "type"))) > 2
		}
	}
	return true
}

// typeParameters makes texts of parameters without one type: generated code cannot read them as anything else.
func (d *Document) typeParameters() {
	for _, operation := range d.Operations() {
		for _, owner := range []*yaml.Node{operation.item, operation.node} {
			if list := find(owner, "parameters"); list != nil {
				list.Content = slices.DeleteFunc(list.Content, d.isIgnored)
			}
		}
		for _, parameter := range d.parametersOf(operation) {
			if schema := d.followed(find(parameter, "schema")); schema != nil {
				d.typeParameter(parameter, schema)
			}
		}
	}
}

func (d *Document) typeParameter(parameter, schema *yaml.Node) {
	if isAny(schema) || isUnion(schema) {
		set(parameter, "schema", mapping(scalar("type"), scalar("string")))
	}
	if below := d.followed(find(schema, "items")); below != nil && isAny(below) {
		set(schema, "items", mapping(scalar("type"), scalar("string")))
	}
}

func isUnion(schema *yaml.Node) bool {
	return find(schema, "oneOf") != nil || find(schema, "anyOf") != nil
}

// isIgnored reports whether OpenAPI says to ignore a parameter, because other parts of the document describe its header.
func (d *Document) isIgnored(node *yaml.Node) bool {
	parameter := d.followed(node)
	name := strings.ToLower(text(parameter, "name"))
	return text(parameter, "in") == "header" && slices.Contains([]string{"accept", "content-type", "authorization"}, name)
}

// nameUnions makes components of the unions in shared responses: generated code lacks a type for those without a name.
func (d *Document) nameUnions() {
	for name, response := range members(find(d.root, "components", "responses")) {
		for _, content := range members(find(response, "content")) {
			if schema := find(content, "schema"); isUnion(schema) {
				free := name.Value + "Body"
				for find(d.root, "components", "schemas", free) != nil {
					free += "Body"
				}
				set(made(d.root, "components", "schemas"), free, schema)
				set(content, "schema", mapping(scalar("$ref"), scalar("#/components/schemas/"+free)))
			}
		}
	}
}

// typed are the keywords of a schema that say what type generated code has.
var typed = []string{
	"$ref", "type", "format", "nullable", "enum", "properties", "required", "items", "additionalProperties", "allOf", "anyOf", "oneOf",
	"discriminator", "title", "description", "deprecated", "readOnly", "writeOnly",
}

// simplify leaves of a schema what says its type, as OpenAPI 3.0 writes it.
func simplify(schema *yaml.Node) {
	if find(schema, "$ref") != nil {
		removeFunc(schema, func(name string) bool { return name != "$ref" && !isExtension(name) })
		return
	}
	lowerEnum(schema)
	lowerTypes(schema)
	nameProperties(schema)
	lowerUnion(schema, "anyOf")
	lowerUnion(schema, "oneOf")
	if find(schema, "patternProperties") != nil && find(schema, "additionalProperties") == nil {
		set(schema, "additionalProperties", truth())
	}
	if text(schema, "type") == "array" && keysOf(find(schema, "items")) == nil { // none, or true
		set(schema, "items", mapping())
	}
	removeFunc(schema, func(name string) bool { return !slices.Contains(typed, name) && !isExtension(name) })
	if !hasConstants(schema) {
		remove(schema, "enum")
	}
}

func isNull(value *yaml.Node) bool { return value.Tag == "!!null" || value.Value == "null" }

// lowerEnum writes const as an enum, and the type of texts where only the enum says it.
func lowerEnum(schema *yaml.Node) {
	constant := find(schema, "const")
	if constant != nil && constant.Kind == yaml.ScalarNode && find(schema, "enum") == nil {
		set(schema, "enum", sequence(constant))
	}
	enum := find(schema, "enum")
	isOther := func(value *yaml.Node) bool { return value.Tag != "!!str" }
	if len(items(enum)) > 0 && find(schema, "type") == nil && !slices.ContainsFunc(items(enum), isOther) {
		set(schema, "type", scalar("string"))
	}
	if enum != nil {
		enum.Content = slices.DeleteFunc(enum.Content, func(value *yaml.Node) bool { return value.Tag == "!!null" })
	}
}

// lowerTypes writes a list of types as one with nullable, or as none.
func lowerTypes(schema *yaml.Node) {
	kind := find(schema, "type")
	if kind == nil {
		return
	}
	list := items(kind)
	if kind.Kind == yaml.ScalarNode {
		list = []*yaml.Node{kind}
	}
	others := slices.DeleteFunc(slices.Clone(list), isNull)
	if len(others) < len(list) {
		set(schema, "nullable", truth())
	}
	if len(others) == 1 {
		set(schema, "type", scalar(others[0].Value))
	} else {
		remove(schema, "type")
	}
}

// lowerUnion takes the alternative null, which lowerTypes has written as nullable, out of a union.
func lowerUnion(schema *yaml.Node, name string) {
	alternatives := items(find(schema, name))
	others := slices.DeleteFunc(slices.Clone(alternatives), func(part *yaml.Node) bool {
		return slices.Equal(keysOf(part), []string{"nullable"})
	})
	if len(others) == len(alternatives) {
		return
	}
	set(schema, "nullable", truth())
	if len(others) > 1 {
		set(schema, name, sequence(others...))
		return
	}
	remove(schema, name)
	if len(others) == 1 {
		set(schema, "allOf", sequence(others...))
	}
}

// hasConstants reports whether generated code can have constants for the enum of a schema.
func hasConstants(schema *yaml.Node) bool {
	values := items(find(schema, "enum"))
	isComposed := func(value *yaml.Node) bool { return value.Kind != yaml.ScalarNode }
	if len(values) == 0 || slices.ContainsFunc(values, isComposed) {
		return false
	}
	hasTypeOfGo := slices.Contains([]string{"byte", "binary", "date", "date-time", "email", "uuid"}, text(schema, "format"))
	return text(schema, "type") == "integer" || text(schema, "type") == "string" && !hasTypeOfGo
}
