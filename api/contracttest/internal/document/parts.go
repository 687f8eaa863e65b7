package document

import (
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
)

// One wrong operation makes kin-openapi refuse a document of a hundred. Its parts are then loaded one by
// one, and what is wrong with one of them is a line in the report.

// methods are the members of a path that are operations. Others, such as its parameters, are for all of them.
var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

// loadParts loads a document that does not load as a whole: each operation alone, with the components
// that it refers to. Those that do not load are left out.
func (t *translator) loadParts(whole error) (*openapi3.T, error) {
	paths := jsonvalue.Object(t.root["paths"])
	kept := map[string]any{}
	needed := map[string]any{}
	for _, template := range slices.Sorted(maps.Keys(paths)) {
		item := jsonvalue.Object(paths[template])
		for _, method := range methods {
			if item[method] == nil {
				continue
			}
			part := map[string]any{method: item[method]}
			if item["parameters"] != nil {
				part["parameters"] = item["parameters"]
			}
			if err := t.loads(template, part); err != nil {
				t.report("%s %s: %.200v", strings.ToUpper(method), template, err)
				continue
			}
			t.collect(part, needed)
			if other := jsonvalue.Object(kept[template]); other != nil {
				maps.Copy(other, part)
			} else {
				kept[template] = part
			}
		}
	}
	if len(kept) == 0 {
		return nil, whole
	}
	return load(t.with(kept, needed))
}

// loads returns what is wrong with one operation.
func (t *translator) loads(template string, part map[string]any) error {
	components := map[string]any{}
	t.collect(part, components)
	_, err := load(t.with(map[string]any{template: part}, components))
	return err
}

// with is a document with some paths and components of this one.
func (t *translator) with(paths, components map[string]any) map[string]any {
	root := maps.Clone(t.root)
	delete(root, "tags")
	if schemes := jsonvalue.Object(t.root["components"])["securitySchemes"]; schemes != nil {
		components = maps.Clone(components)
		components["securitySchemes"] = schemes
	}
	root["paths"] = paths
	root["components"] = components
	return root
}

// collect copies the components that a part of the document refers to.
//
//	{"schema": {"$ref": "#/components/schemas/Thing"}} copies Thing, and what that refers to
func (t *translator) collect(node any, into map[string]any) {
	part := jsonvalue.Object(node)
	for _, inner := range slices.Concat(jsonvalue.List(node), slices.Collect(maps.Values(part))) {
		t.collect(inner, into)
	}
	reference, _ := part["$ref"].(string)
	tokens := strings.Split(reference, "/") // # components KIND NAME
	if len(tokens) < 4 || tokens[1] != "components" {
		return
	}
	components := jsonvalue.Object(into[tokens[2]])
	if components == nil {
		components = map[string]any{}
		into[tokens[2]] = components
	}
	if name := jsonvalue.Unescape(tokens[3]); components[name] == nil {
		components[name] = jsonvalue.Lookup(t.root, strings.Join(tokens[:4], "/"))
		t.collect(components[name], into)
	}
}
