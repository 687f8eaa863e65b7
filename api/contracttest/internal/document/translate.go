package document

import (
	"cmp"
	"encoding/json"
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

// tidy gives the document the title and the version that it lacks, and reports paths that are not objects: the rest of the
// engine reads them as if they were absent. The version 1.0 is a number in YAML.
func (t *translator) tidy() {
	info := jsonvalue.Object(t.root["info"])
	title, _ := info["title"].(string)
	version, _ := info["version"].(string)
	if number, isNumber := info["version"].(json.Number); isNumber {
		version = number.String()
	}
	t.root["info"] = map[string]any{"title": cmp.Or(title, "untitled"), "version": cmp.Or(version, "?")}
	for template, item := range jsonvalue.Object(t.root["paths"]) {
		isExtension := strings.HasPrefix(template, "x-")
		if !isExtension && jsonvalue.Object(item) == nil {
			t.report("%s: is not an object", template)
		}
	}
}

// translate leaves out the members of the document itself that only OpenAPI 3.1 and 3.2 have and that no test is made from,
// and translates all that remains.
func (t *translator) translate() {
	for _, name := range []string{"webhooks", "jsonSchemaDialect", "$self"} {
		if t.root[name] != nil {
			t.report("the document, %s", name)
			delete(t.root, name)
		}
	}
	t.pathItems()
	t.walk("", t.root)
}

// pathItems puts copies of path items in place of references to them, so that the places of their schemas are below the path,
// and leaves out operations that OpenAPI 3.0 has no place for: those of the method QUERY, or of any other one.
func (t *translator) pathItems() {
	paths := jsonvalue.Object(t.root["paths"])
	for _, template := range jsonvalue.Names(paths) {
		item := jsonvalue.Object(jsonvalue.Resolve(t.root, paths[template]))
		if item == nil {
			continue // it is reported as every reference is
		}
		// Two paths may refer to one item, and each is translated.
		item = jsonvalue.Object(jsonvalue.Normal(item))
		paths[template] = item
		for _, name := range []string{"query", "additionalOperations"} {
			if item[name] != nil {
				t.report("%s, %s of OpenAPI 3.2", template, name)
				delete(item, name)
			}
		}
	}
}

// namedParts are the objects whose members the author has named, as /things in paths.
var namedParts = []string{"paths", "headers", "content", "responses", "callbacks", "links"}

// hasNames reports whether the author has named the members of the object in a place.
func hasNames(at string) bool {
	isComponent := strings.HasPrefix(at, "/components/") && strings.Count(at, "/") == 2
	return isComponent || slices.Contains(namedParts, at[strings.LastIndex(at, "/")+1:])
}

// walk finds the schemas below a place of the document.
func (t *translator) walk(at string, node any) {
	for i, item := range jsonvalue.List(node) {
		t.walk(fmt.Sprint(at, "/", i), item)
	}
	object := jsonvalue.Object(node)
	t.reference(at, object)
	if hasNames(at) {
		t.walkNamed(at, object)
		return
	}
	t.examples(at, object)
	for _, name := range jsonvalue.Names(object) {
		below := at + jsonvalue.Pointer(name)
		switch {
		case name == "schema":
			object[name] = t.library.Add(below, object[name])
		case name == "itemSchema":
			t.report("%s of OpenAPI 3.2", below)
		case !isOfAuthor(name):
			t.walk(below, object[name])
		}
	}
}

// walkNamed finds the schemas in an object whose members the author has named: a member schema is no schema there.
func (t *translator) walkNamed(at string, object map[string]any) {
	for _, name := range jsonvalue.Names(object) {
		below := at + jsonvalue.Pointer(name)
		if at == "/components/schemas" {
			object[name] = t.library.Add(below, object[name])
		} else {
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

// examples leaves out the examples that are in another document, or have a reference in them, which would be sent as it stands.
func (t *translator) examples(at string, object map[string]any) {
	if schema.Refers(object["example"]) {
		t.report("%s/example: has a reference, which is not read", at)
		delete(object, "example")
	}
	examples := jsonvalue.Object(object["examples"])
	for _, name := range jsonvalue.Names(examples) {
		value, has := jsonvalue.Object(jsonvalue.Resolve(t.root, examples[name]))["value"]
		if !has || schema.Refers(value) {
			t.report("%s/examples/%s: is not in the document", at, jsonvalue.Escape(name))
			delete(examples, name)
		}
	}
}
