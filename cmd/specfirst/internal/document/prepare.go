package document

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Prepared returns the document as oapi-codegen needs it: as OpenAPI 3.0, and without what says nothing about types, which
// package contract checks. Only the first operations are in it.
func (d *Document) Prepared(operations int) ([]byte, error) {
	root := clone(d.root)
	copied := &Document{Path: d.Path, root: root}
	for _, operation := range copied.Operations()[operations:] {
		remove(operation.item, func(key string) bool { return key == strings.ToLower(operation.Method) })
	}
	for _, operation := range copied.Operations() {
		if find(operation.node, "responses") == nil {
			set(operation.node, "responses", mapping(scalar("default"), mapping(scalar("description"), scalar("any"))))
		}
	}
	removeExamples(root)
	set(root, "openapi", scalar("3.0.3"))
	remove(root, func(name string) bool { return name == "webhooks" || name == "jsonSchemaDialect" })
	copied.media(root, false)
	copied.hoistUnions()
	copied.nameParameters()
	copied.nameComponents()
	copied.schemas(root, simplify)
	copied.typeParameters()
	return encode(root)
}

// removeExamples removes examples everywhere: they need not match their schemas.
func removeExamples(node *yaml.Node) {
	for key, value := range members(node) {
		if isGroup(key.Value) || key.Value == "parameters" && value.Kind == yaml.MappingNode {
			for _, member := range members(value) {
				removeExamples(member)
			}
			continue
		}
		removeExamples(value)
	}
	for _, item := range items(node) {
		removeExamples(item)
	}
	if node != nil && node.Kind == yaml.MappingNode {
		remove(node, func(name string) bool { return name == "example" || name == "examples" || name == "callbacks" })
	}
}

// media gives contents the types that generated code can have.
func (d *Document) media(node *yaml.Node, isResponse bool) {
	for key, value := range members(node) {
		if key.Value != "content" || value.Kind != yaml.MappingNode {
			d.media(value, isResponse || key.Value == "responses")
			continue
		}
		for mediaType, content := range members(value) {
			d.mediaType(mediaType.Value, content, isResponse)
		}
	}
	for _, item := range items(node) {
		d.media(item, isResponse)
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
		for _, list := range []*yaml.Node{find(operation.item, "parameters"), find(operation.node, "parameters")} {
			if list != nil {
				list.Content = slices.DeleteFunc(list.Content, d.isIgnored)
			}
		}
		for _, each := range slices.Concat(items(find(operation.item, "parameters")), items(find(operation.node, "parameters"))) {
			parameter := d.followed(each)
			schema := d.followed(find(parameter, "schema"))
			isUnion := find(schema, "oneOf") != nil || find(schema, "anyOf") != nil
			if find(parameter, "schema") != nil && (isUnion || isAny(schema)) {
				set(parameter, "schema", mapping(scalar("type"), scalar("string")))
			}
			if below := d.followed(find(schema, "items")); below != nil && isAny(below) {
				set(schema, "items", mapping(scalar("type"), scalar("string")))
			}
		}
	}
}

// isIgnored reports whether OpenAPI says to ignore a parameter, because other parts of the document describe its header.
func (d *Document) isIgnored(node *yaml.Node) bool {
	parameter := d.followed(node)
	name := strings.ToLower(text(parameter, "name"))
	return text(parameter, "in") == "header" && slices.Contains([]string{"accept", "content-type", "authorization"}, name)
}

// hoistUnions gives names to unions in shared responses: generated code lacks a type for those without one.
func (d *Document) hoistUnions() {
	for name, response := range members(find(d.root, "components", "responses")) {
		for _, content := range members(find(response, "content")) {
			schema := find(content, "schema")
			if find(schema, "oneOf") == nil && find(schema, "anyOf") == nil {
				continue
			}
			free := name.Value + "Body"
			for find(d.root, "components", "schemas", free) != nil {
				free += "Body"
			}
			set(d.component("schemas"), free, schema)
			set(content, "schema", mapping(scalar("$ref"), scalar("#/components/schemas/"+free)))
		}
	}
}

// schemas calls a function with each schema below a node, those inside of others first.
func (d *Document) schemas(node *yaml.Node, visit func(schema *yaml.Node)) {
	for key, value := range members(node) {
		switch {
		case key.Value == "schema":
			visitSchemas(value, visit)
		case key.Value == "schemas" && value.Kind == yaml.MappingNode:
			for _, schema := range members(value) {
				visitSchemas(schema, visit)
			}
		case !isValue(key.Value):
			d.schemas(value, visit)
		}
	}
	for _, item := range items(node) {
		d.schemas(item, visit)
	}
}

// visitSchemas visits a schema after those inside of it.
func visitSchemas(schema *yaml.Node, visit func(schema *yaml.Node)) {
	if schema.Kind != yaml.MappingNode {
		return
	}
	for key, value := range members(schema) {
		switch key.Value {
		case "properties", "patternProperties", "$defs", "dependentSchemas":
			for _, member := range members(value) {
				visitSchemas(member, visit)
			}
		case "allOf", "anyOf", "oneOf", "prefixItems":
			for _, part := range items(value) {
				visitSchemas(part, visit)
			}
		case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames":
			visitSchemas(value, visit)
		}
	}
	visit(schema)
}

// typed are the keywords of a schema that say what type generated code has.
var typed = []string{
	"$ref", "type", "format", "nullable", "enum", "properties", "required", "items", "additionalProperties", "allOf", "anyOf", "oneOf",
	"discriminator", "title", "description", "deprecated", "readOnly", "writeOnly",
}

// simplify leaves of a schema what says its type, as OpenAPI 3.0 writes it.
func simplify(schema *yaml.Node) {
	if find(schema, "$ref") != nil {
		remove(schema, func(name string) bool { return name != "$ref" && !strings.HasPrefix(name, "x-") })
		return
	}
	lowerTypes(schema)
	nameProperties(schema)
	lowerNull(schema, "anyOf")
	lowerNull(schema, "oneOf")
	if find(schema, "patternProperties") != nil && find(schema, "additionalProperties") == nil {
		set(schema, "additionalProperties", truth())
	}
	if items := find(schema, "items"); text(schema, "type") == "array" && (items == nil || items.Kind != yaml.MappingNode) {
		set(schema, "items", mapping())
	}
	if values := find(schema, "enum"); values != nil {
		values.Content = slices.DeleteFunc(values.Content, func(value *yaml.Node) bool { return value.Tag == "!!null" })
	}
	remove(schema, func(name string) bool {
		return !slices.Contains(typed, name) && !strings.HasPrefix(name, "x-") || name == "enum" && !isEnumOfTexts(schema)
	})
}

// lowerTypes writes a list of types as one with nullable, or as none.
func lowerTypes(schema *yaml.Node) {
	if constant := find(schema, "const"); constant != nil && constant.Kind == yaml.ScalarNode && find(schema, "enum") == nil {
		set(schema, "enum", sequence(constant))
	}
	kind := find(schema, "type")
	if values := items(find(schema, "enum")); kind == nil && len(values) > 0 && isEnumOf("!!str", values) {
		kind = scalar("string")
	}
	list := items(kind)
	if kind != nil && kind.Kind == yaml.ScalarNode {
		list = []*yaml.Node{kind}
	}
	isNull := func(each *yaml.Node) bool { return each.Value == "null" }
	others := slices.DeleteFunc(slices.Clone(list), isNull)
	if len(others) < len(list) {
		set(schema, "nullable", truth())
	}
	if len(others) == 1 {
		set(schema, "type", scalar(others[0].Value))
	} else {
		remove(schema, func(name string) bool { return name == "type" })
	}
}

func isEnumOf(tag string, values []*yaml.Node) bool {
	return !slices.ContainsFunc(values, func(value *yaml.Node) bool { return value.Tag != tag })
}

// lowerNull takes the alternative null out of a list.
func lowerNull(schema *yaml.Node, name string) {
	list := find(schema, name)
	if list == nil {
		return
	}
	isNull := func(part *yaml.Node) bool {
		return find(part, "nullable") != nil && len(part.Content) == 2
	}
	kept := slices.DeleteFunc(slices.Clone(list.Content), isNull)
	if len(kept) == len(list.Content) {
		return
	}
	set(schema, "nullable", truth())
	list.Content = kept
	switch len(kept) {
	case 0:
		remove(schema, func(key string) bool { return key == name })
	case 1:
		remove(schema, func(key string) bool { return key == name })
		set(schema, "allOf", sequence(kept...))
	}
}

// isEnumOfTexts reports whether generated code can have constants for an enum.
func isEnumOfTexts(schema *yaml.Node) bool {
	kind := text(schema, "type")
	for _, value := range items(find(schema, "enum")) {
		if value.Kind != yaml.ScalarNode {
			return false
		}
	}
	hasOtherType := slices.Contains([]string{"byte", "binary", "date", "date-time", "email", "uuid"}, text(schema, "format"))
	return (kind == "string" && !hasOtherType || kind == "integer") && len(items(find(schema, "enum"))) > 0
}
