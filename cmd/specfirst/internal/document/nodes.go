package document

import (
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// target returns what an alias stands for, or the node itself.
func target(node *yaml.Node) *yaml.Node {
	for node != nil && node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// members iterates over the keys and values of a mapping; of anything else, there are none.
func members(node *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		node = target(node)
		if node == nil || node.Kind != yaml.MappingNode {
			return
		}
		content := node.Content
		for i := 0; i+1 < len(content); i += 2 {
			if !yield(content[i], target(content[i+1])) {
				return
			}
		}
	}
}

// items returns the items of a sequence.
func items(node *yaml.Node) []*yaml.Node {
	node = target(node)
	if node == nil || node.Kind != yaml.SequenceNode {
		return nil
	}
	found := make([]*yaml.Node, 0, len(node.Content))
	for _, item := range node.Content {
		found = append(found, target(item))
	}
	return found
}

// find returns the member at a path of names, or nil.
func find(node *yaml.Node, names ...string) *yaml.Node {
	for _, name := range names {
		var found *yaml.Node
		for key, value := range members(node) {
			if key.Value == name {
				found = value
			}
		}
		node = found
	}
	return node
}

// text returns the text of a scalar member, or nothing.
func text(node *yaml.Node, names ...string) string {
	found := find(node, names...)
	if found == nil || found.Kind != yaml.ScalarNode {
		return ""
	}
	return found.Value
}

// keysOf returns the names of the members.
func keysOf(node *yaml.Node) (names []string) {
	for key := range members(node) {
		names = append(names, key.Value)
	}
	return names
}

// set sets a member of a mapping.
func set(node *yaml.Node, name string, value *yaml.Node) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			node.Content[i+1] = value
			return
		}
	}
	node.Content = append(node.Content, scalar(name), value)
}

// made returns the mapping at a path of names, which is made if there is none.
func made(node *yaml.Node, names ...string) *yaml.Node {
	for _, name := range names {
		if find(node, name) == nil {
			set(node, name, mapping())
		}
		node = find(node, name)
	}
	return node
}

// removeFunc removes members of a mapping.
func removeFunc(node *yaml.Node, isRemoved func(name string) bool) {
	kept := node.Content[:0]
	for i := 0; i+1 < len(node.Content); i += 2 {
		if !isRemoved(node.Content[i].Value) {
			kept = append(kept, node.Content[i], node.Content[i+1])
		}
	}
	node.Content = kept
}

// remove removes members of a mapping by their names.
func remove(node *yaml.Node, names ...string) {
	removeFunc(node, func(name string) bool { return slices.Contains(names, name) })
}

func scalar(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

func truth() *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"} }

func mapping(content ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: content}
}

func sequence(content ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: content}
}

// clone copies a node with all that is below. Aliases and merged keys become what they stand for, comments are left out.
func clone(node *yaml.Node) *yaml.Node {
	node = target(node)
	copied := &yaml.Node{Kind: node.Kind, Tag: node.Tag, Value: node.Value, Style: node.Style, Line: node.Line}
	for key, value := range members(node) {
		if key.Tag != "!!merge" {
			set(copied, key.Value, clone(value))
			continue
		}
		for _, merged := range append(items(value), value) {
			for name, each := range members(merged) {
				if find(node, name.Value) == nil {
					set(copied, name.Value, clone(each))
				}
			}
		}
	}
	for _, item := range items(node) {
		copied.Content = append(copied.Content, clone(item))
	}
	return copied
}

// resolve returns what a JSON pointer leads to, or nil.
func resolve(root *yaml.Node, pointer string) *yaml.Node {
	node := target(root)
	for _, part := range strings.Split(pointer, "/") {
		part = unescape(part)
		index, err := strconv.Atoi(part)
		switch list := items(node); {
		case part == "":
		case err == nil && index >= 0 && index < len(list):
			node = list[index]
		default:
			node = find(node, part)
		}
	}
	return node
}

// unescape returns a part of a JSON pointer in a URL as it is in the document.
func unescape(part string) string {
	if plain, err := url.PathUnescape(part); err == nil {
		part = plain
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
}

// groups have members whose names are no keywords, such as those of properties.
var groups = []string{
	"properties", "patternProperties", "$defs", "dependentSchemas", "schemas", "parameters", "headers", "content", "responses",
	"requestBodies", "links", "callbacks", "webhooks", "pathItems", "securitySchemes",
}

func isGroup(name string) bool { return slices.Contains(groups, name) }

// schemaPlaces are the members that are, or have, schemas.
var schemaPlaces = []string{
	"schema", "schemas/", "properties/", "patternProperties/", "$defs/", "dependentSchemas/", "allOf", "anyOf", "oneOf", "prefixItems",
	"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
}

func isSchemaPlace(name string) bool { return slices.Contains(schemaPlaces, name) }

func isExtension(name string) bool { return strings.HasPrefix(name, "x-") }

// isValue reports whether a member is a value or an extension, in which $ref is a word as any other.
func isValue(name string) bool {
	return isExtension(name) || slices.Contains([]string{"example", "examples", "default", "enum", "const"}, name)
}

// structure iterates over what is below a node, with the name of the member that has it. What is in a group has the name of the
// group and a slash. Values and extensions are left out.
func structure(node *yaml.Node, name string) iter.Seq2[string, *yaml.Node] {
	nameOf := func(below string) string {
		if isGroup(name) {
			return name + "/"
		}
		return below
	}
	return func(yield func(name string, node *yaml.Node) bool) {
		for key, value := range members(node) {
			if below := nameOf(key.Value); !isValue(below) && !yield(below, value) {
				return
			}
		}
		for _, item := range items(node) {
			if !yield(nameOf(name), item) {
				return
			}
		}
	}
}

// schemas calls a function with each schema below a node, those inside of others first.
func schemas(node *yaml.Node, name string, visit func(schema *yaml.Node)) {
	for below, value := range structure(node, name) {
		schemas(value, below, visit)
	}
	if isSchemaPlace(name) && node.Kind == yaml.MappingNode {
		visit(node)
	}
}

// referenceOf returns the reference that a node is, or nil.
func referenceOf(node *yaml.Node) *yaml.Node {
	reference := find(node, "$ref")
	if reference == nil || reference.Kind != yaml.ScalarNode { // a property may be called so
		return nil
	}
	return reference
}
