package contracttest

import (
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// loadParts loads a document that does not load as a whole: each operation alone, with
// the components that it refers to. Those that do not load are left out.
func (t *translator) loadParts(whole error) (*openapi3.T, error) {
	paths, _ := t.root["paths"].(map[string]any)
	kept, needed := map[string]any{}, map[string]any{}
	for _, template := range slices.Sorted(maps.Keys(paths)) {
		item, _ := paths[template].(map[string]any)
		for _, method := range []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"} {
			if item[method] == nil {
				continue
			}
			one := map[string]any{method: item[method]}
			if item["parameters"] != nil {
				one["parameters"] = item["parameters"]
			}
			components := map[string]any{}
			t.collect(one, components)
			if _, err := loadTree(t.with(map[string]any{template: one}, components)); err != nil {
				t.report("%s %s: %.200v", strings.ToUpper(method), template, err)
				continue
			}
			t.collect(one, needed)
			if other, ok := kept[template].(map[string]any); ok {
				maps.Copy(other, one)
			} else {
				kept[template] = one
			}
		}
	}
	if len(kept) == 0 {
		return nil, whole
	}
	return loadTree(t.with(kept, needed))
}

// with is a document with some paths and components of this one.
func (t *translator) with(paths, components map[string]any) map[string]any {
	root := maps.Clone(t.root)
	delete(root, "tags")
	if all, ok := t.root["components"].(map[string]any); ok && all["securitySchemes"] != nil {
		components = maps.Clone(components)
		components["securitySchemes"] = all["securitySchemes"]
	}
	root["paths"], root["components"] = paths, components
	return root
}

// collect copies the components that a part of the document refers to.
func (t *translator) collect(node any, into map[string]any) {
	object := mapOf(node)
	for _, child := range slices.Concat(listOf(node), slices.Collect(maps.Values(object))) {
		t.collect(child, into)
	}
	ref, _ := object["$ref"].(string)
	parts := strings.Split(ref, "/")
	if len(parts) < 4 || parts[1] != "components" {
		return
	}
	kind := mapOf(into[parts[2]])
	if kind == nil {
		kind = map[string]any{}
		into[parts[2]] = kind
	}
	if name := unescape(parts[3]); kind[name] == nil {
		kind[name] = lookup(t.root, strings.Join(parts[:4], "/"))
		t.collect(kind[name], into)
	}
}
