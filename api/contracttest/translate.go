package contracttest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v4"
)

// translator turns a document into one of OpenAPI 3.0 that this package and its
// validator understand. What they do not understand it leaves out and reports, so that
// the rest can be tested.
type translator struct {
	root   map[string]any
	newer  bool // OpenAPI 3.1 or later
	report func(format string, args ...any)
}

// load reads a document, of which original is what was read, before the translation. If the
// translation leaves something out, it is left out of the original, too.
func load(text []byte, report func(format string, args ...any)) (doc *openapi3.T, original map[string]any, err error) {
	if original, err = decodeDocument(text); err != nil {
		return nil, nil, err
	}
	root, _ := decodeDocument(text) // a copy that is changed
	t := &translator{root: root, report: func(format string, args ...any) {
		original = root
		report(format, args...)
	}}
	version, _ := root["openapi"].(string)
	t.newer = !strings.HasPrefix(version, "3.0")
	if !strings.HasPrefix(version, "3.") {
		return nil, nil, fmt.Errorf("is not OpenAPI 3: its member openapi is %v", root["openapi"])
	}
	root["openapi"] = "3.0.3"
	title, _ := mapOf(root["info"])["title"].(string)
	edition, _ := mapOf(root["info"])["version"].(string)
	root["info"] = map[string]any{"title": cmp.Or(title, "untitled"), "version": cmp.Or(edition, "?")}
	for _, name := range []string{"webhooks", "jsonSchemaDialect", "$self"} {
		if root[name] != nil {
			t.report("the document, %s", name)
			delete(root, name)
		}
	}
	if _, ok := root["paths"].(map[string]any); !ok {
		root["paths"] = map[string]any{}
	}
	t.walk("", root)
	doc, err = loadTree(root)
	if err != nil {
		doc, err = t.loadParts(err)
	}
	return doc, original, err
}

// decodeDocument reads YAML, of which JSON is a part, as JSON would be: names are strings, as
// 200 is, and so are dates.
func decodeDocument(text []byte) (map[string]any, error) {
	var node yaml.Node
	if err := yaml.Unmarshal(text, &node); err != nil {
		return nil, err
	}
	asJSON(&node)
	var tree any
	if err := node.Decode(&tree); err != nil { // refuses aliases that are too many
		return nil, err
	}
	same, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(same))
	decoder.UseNumber()
	var root map[string]any
	if err := decoder.Decode(&root); err != nil || root == nil {
		return nil, errors.New("is not an object")
	}
	return root, nil
}

// asJSON makes strings of names and of dates.
func asJSON(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!timestamp" {
		n.Tag = "!!str"
	}
	for i, child := range n.Content {
		isName := n.Kind == yaml.MappingNode && i%2 == 0
		if isName && child.Kind == yaml.ScalarNode && child.ShortTag() != "!!merge" {
			child.Tag = "!!str"
		}
		asJSON(child)
	}
}

func loadTree(root map[string]any) (*openapi3.T, error) {
	text, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	return openapi3.NewLoader().LoadFromData(text)
}

func unescape(token string) string {
	return strings.NewReplacer("~1", "/", "~0", "~", "%7B", "{", "%7D", "}").Replace(token)
}

func escape(token string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(token) }

// lookup returns what a reference within a document, as #/components/schemas/Plant, refers to.
func lookup(root any, ref string) any {
	rest, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil
	}
	for token := range strings.SplitSeq(strings.TrimPrefix(rest, "/"), "/") {
		switch node := root.(type) {
		case map[string]any:
			if rest != "" {
				root = node[unescape(token)]
			}
		case []any:
			i := -1
			if _, err := fmt.Sscan(token, &i); err != nil || i < 0 || i >= len(node) {
				return nil
			}
			root = node[i]
		default:
			return nil
		}
	}
	return root
}

// resolved follows references until there is none, or returns nil.
func resolved(root, node any) any {
	for range 100 {
		ref, ok := mapOf(node)["$ref"].(string)
		if !ok {
			return node
		}
		node = lookup(root, ref)
	}
	return nil
}

var namedParts = []string{"paths", "headers", "content", "responses", "callbacks", "links"}

// walk finds the schemas of a document.
func (t *translator) walk(at string, node any) {
	switch node := node.(type) {
	case []any:
		for i, child := range node {
			t.walk(fmt.Sprint(at, "/", i), child)
		}
	case map[string]any:
		t.reference(at, node)
		// The members of these have names of the author.
		named := slices.Contains(namedParts, at[strings.LastIndex(at, "/")+1:]) || strings.HasPrefix(at, "/components/") && strings.Count(at, "/") == 2
		for _, name := range slices.Sorted(maps.Keys(node)) {
			switch at := at + "/" + escape(name); {
			case at == "/components/schemas":
				t.schemas(at, node[name])
			case named:
				t.walk(at, node[name])
			case name == "schema":
				node[name] = t.schema(at, node[name])
			case strings.HasPrefix(name, "x-"), name == "example", name == "examples", name == "value":
			default:
				t.walk(at, node[name])
			}
		}
	}
}

// reference takes out a reference that leads nowhere, out of the document, or in a circle.
func (t *translator) reference(at string, node map[string]any) {
	ref, ok := node["$ref"].(string)
	if !ok {
		return
	}
	if _, found := resolved(t.root, node).(map[string]any); found {
		maps.DeleteFunc(node, func(name string, _ any) bool { return name != "$ref" })
		return
	}
	t.report("%s: the reference %q leads to nothing in the document", at, ref)
	delete(node, "$ref")
}

// keywords are those that are understood, with the type of their value: s string, n number,
// c a count, b boolean, a array, o object, t array of texts, * any.
var understood = map[string]string{
	"type": "*", "nullable": "b", "enum": "a", "format": "s", "pattern": "s", "minLength": "c", "maxLength": "c",
	"minimum": "n", "maximum": "n", "exclusiveMinimum": "b", "exclusiveMaximum": "b", "multipleOf": "n",
	"items": "*", "minItems": "c", "maxItems": "c", "uniqueItems": "b",
	"properties": "o", "required": "t", "additionalProperties": "*", "minProperties": "c", "maxProperties": "c",
	"allOf": "a", "anyOf": "a", "oneOf": "a", "not": "*", "readOnly": "b", "writeOnly": "b", "default": "*", "example": "*",
	"discriminator": "o",
}

// said are keywords that constrain nothing.
var said = []string{"$schema", "$comment", "$id", "title", "description", "deprecated", "externalDocs", "xml", "$defs", "definitions"}

func isOfKind(kind string, value any) bool {
	switch value := value.(type) {
	case string:
		return kind == "s" || kind == "*"
	case bool:
		return kind == "b" || kind == "*"
	case json.Number:
		_, err := value.Float64()
		count, notCount := value.Int64()
		return kind == "n" && err == nil || kind == "c" && notCount == nil && 0 <= count && count <= 1<<40 || kind == "*"
	case map[string]any:
		return kind == "o" || kind == "*"
	case []any:
		texts := !slices.ContainsFunc(value, func(v any) bool { return !isOfKind("s", v) })
		return kind == "a" && len(value) > 0 || kind == "t" && texts || kind == "*"
	}
	return kind == "*"
}

func (t *translator) schemas(at string, node any) {
	object, list := mapOf(node), listOf(node)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		object[name] = t.schema(at+"/"+escape(name), object[name])
	}
	for i := range list {
		list[i] = t.schema(fmt.Sprint(at, "/", i), list[i])
	}
}

// schema translates a schema.
func (t *translator) schema(at string, node any) any {
	s, ok := node.(map[string]any)
	switch {
	case node == true:
		return map[string]any{}
	case node == false:
		return map[string]any{"not": map[string]any{"nullable": true}} // an empty one would count as none
	case !ok:
		t.report("%s: is not a schema", at)
		return map[string]any{}
	}
	t.schemas(at+"/$defs", s["$defs"])
	t.schemas(at+"/definitions", s["definitions"])
	if s["$ref"] != nil {
		siblings := maps.Clone(s)
		if t.reference(at, s); s["$ref"] == nil {
			return s
		}
		maps.DeleteFunc(siblings, func(name string, _ any) bool {
			return understood[name] == "" || name == "default" || name == "example" // nor is $ref understood
		})
		if !t.newer || len(siblings) == 0 {
			return s
		}
		siblings["allOf"] = append([]any{map[string]any{"$ref": s["$ref"]}}, listOf(siblings["allOf"])...)
		s = siblings
	}
	if t.newer {
		t.modern(s)
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		switch {
		case strings.HasPrefix(name, "x-"), slices.Contains(said, name):
		case understood[name] == "":
			t.report("%s: the keyword %s", at, name)
			delete(s, name)
		case !isOfKind(understood[name], s[name]):
			t.report("%s: the keyword %s: %.40s is not a value of it", at, name, encode(s[name]))
			delete(s, name)
		}
	}
	if s["type"] != nil && !slices.Contains([]any{"string", "integer", "number", "boolean", "array", "object"}, s["type"]) {
		t.report("%s: the type %.40s", at, encode(s["type"]))
		delete(s, "type")
	}
	if s["type"] == "array" && s["items"] == nil {
		s["items"] = map[string]any{}
	}
	for _, name := range []string{"items", "not"} {
		if s[name] != nil {
			s[name] = t.schema(at+"/"+name, s[name])
		}
	}
	if _, isBool := s["additionalProperties"].(bool); !isBool && s["additionalProperties"] != nil {
		s["additionalProperties"] = t.schema(at+"/additionalProperties", s["additionalProperties"])
	}
	for _, name := range []string{"properties", "allOf", "anyOf", "oneOf"} {
		t.schemas(at+"/"+name, s[name])
	}
	// A schema without a type allows null (OpenAPI 3.0.3, "nullable").
	if !slices.ContainsFunc([]string{"type", "nullable", "enum", "allOf", "anyOf", "oneOf", "not", "$ref"}, func(name string) bool { return s[name] != nil }) {
		s["nullable"] = true
	}
	return s
}

func listOf(value any) []any {
	list, _ := value.([]any)
	return list
}

// modern writes what a schema of OpenAPI 3.1 says as OpenAPI 3.0 says it.
func (t *translator) modern(s map[string]any) {
	delete(s, "nullable") // it has no meaning any more
	if value, ok := s["const"]; ok {
		s["enum"] = []any{value}
		delete(s, "const")
	}
	for keyword, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		value, ok := s[keyword].(json.Number)
		if !ok {
			continue
		}
		exclusive, err := value.Float64()
		inclusive, other := s[bound].(json.Number)
		if n, e := inclusive.Float64(); other && e == nil && err == nil && (bound == "minimum" && n > exclusive || bound == "maximum" && n < exclusive) {
			delete(s, keyword) // the other one is stricter
			continue
		}
		s[bound], s[keyword] = value, true
	}
	if examples := listOf(s["examples"]); len(examples) > 0 && s["example"] == nil {
		s["example"] = examples[0]
	}
	delete(s, "examples")
	types := listOf(s["type"])
	if s["type"] == "null" {
		types = []any{"null"}
	}
	if len(types) > 0 {
		null := slices.Contains(types, "null")
		types = slices.DeleteFunc(types, func(v any) bool { return v == "null" })
		delete(s, "type")
		switch {
		case len(types) == 0:
			s["enum"] = []any{nil}
		case len(types) == 1:
			s["type"] = types[0]
		case s["anyOf"] == nil:
			var branches []any
			for _, name := range types {
				branches = append(branches, map[string]any{"type": name})
			}
			s["anyOf"] = branches
		}
		if null && (s["enum"] == nil || slices.Contains(listOf(s["enum"]), nil)) {
			s["nullable"] = true
		}
	} else if slices.Contains(listOf(s["enum"]), nil) && s["type"] == nil {
		s["nullable"] = true
	}
}
