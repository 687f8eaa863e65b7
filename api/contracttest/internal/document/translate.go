package document

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// translator finds the schemas of a document and puts them into the library. What is not understood it leaves out and
// reports, so that the rest can be tested. It names each place by a JSON Pointer.
type translator struct {
	root    map[string]any
	library *schema.Library
	report  reporter
}

// The members of these have names of the author.
var namedParts = []string{"paths", "headers", "content", "responses", "callbacks", "links"}

// hasNames reports whether the members of a place have names of the author.
func hasNames(at string) bool {
	isComponent := strings.HasPrefix(at, "/components/") && strings.Count(at, "/") == 2
	return isComponent || slices.Contains(namedParts, at[strings.LastIndex(at, "/")+1:])
}

// walk finds the schemas of a document.
func (t *translator) walk(at string, node any) {
	for i, item := range jsonvalue.List(node) {
		t.walk(fmt.Sprint(at, "/", i), item)
	}
	object := jsonvalue.Object(node)
	t.reference(at, object)
	named := hasNames(at)
	if !named {
		t.examples(at, object)
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		below := at + jsonvalue.Pointer(name)
		switch {
		case at == "/components/schemas", name == "schema" && !named:
			object[name] = t.library.Add(below, object[name])
		case named:
			t.walk(below, object[name])
		case name == "itemSchema":
			t.report("%s of OpenAPI 3.2", below)
			delete(object, name)
		case !isOfAuthor(name):
			t.walk(below, object[name])
		}
	}
}

// isOfAuthor reports whether a member holds any value, which is not part of the document.
func isOfAuthor(name string) bool {
	return strings.HasPrefix(name, "x-") || slices.Contains([]string{"example", "examples", "value"}, name)
}

// reference takes out a reference that leads nowhere, out of the document, or in a circle. The engine reads
// one document and opens no file beside it. OpenAPI 3.0 ignores what is beside a reference.
//
//	{"$ref": "other.yaml#/Thing"}          {"x-unread": "other.yaml#/Thing"}
func (t *translator) reference(at string, object map[string]any) {
	reference, refers := object["$ref"].(string)
	if !refers {
		return
	}
	if t.library.LeadsTo(object) {
		maps.DeleteFunc(object, func(name string, _ any) bool { return name != "$ref" })
		return
	}
	t.report("%s: the reference %q leads to nothing in the document", at, reference)
	delete(object, "$ref")
	object[unread] = reference
}

// examples leaves out the examples that are elsewhere: sent as they stand, they would be references.
func (t *translator) examples(at string, object map[string]any) {
	if schema.Refers(object["example"]) {
		t.report("%s/example: has a reference, which is not read", at)
		delete(object, "example")
	}
	examples := jsonvalue.Object(object["examples"])
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		value, has := jsonvalue.Object(jsonvalue.Resolve(t.root, examples[name]))["value"]
		if !has || schema.Refers(value) {
			t.report("%s/examples/%s: is not in the document", at, jsonvalue.Escape(name))
			delete(examples, name)
		}
	}
}
