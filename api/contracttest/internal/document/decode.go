package document

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v4"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
)

// errNoObject means that a text has a value, but none that could be a document.
var errNoObject = errors.New("is not an object")

// read reads, translates and loads a document.
func (d *Document) read(text []byte) error {
	root, err := Decode(text)
	if err != nil {
		return err
	}
	version, _ := root["openapi"].(string)
	if !strings.HasPrefix(version, "3.") {
		return fmt.Errorf("is not OpenAPI 3: its member openapi is %v", root["openapi"])
	}
	t := &translator{
		root:   root,
		modern: !strings.HasPrefix(version, "3.0"),
		report: d.Unsupport,
	}
	t.translate()
	d.Spec, err = load(t.root)
	if err != nil {
		d.Spec, err = t.loadParts(err)
	}
	return err
}

// Decode reads YAML, of which JSON is a part, as JSON would be: names are strings, as 200 is, and so are
// dates. A YAML reader alone would make a number of the key 200, and a time of a date.
func Decode(text []byte) (map[string]any, error) {
	var node yaml.Node
	if err := yaml.Unmarshal(text, &node); err != nil {
		return nil, err
	}
	tagAsJSON(&node)
	var tree any
	// Refuses aliases that are too many.
	if err := node.Decode(&tree); err != nil {
		return nil, err
	}
	same, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	value, err := jsonvalue.DecodeLoosely(same)
	if root := jsonvalue.Object(value); root != nil && err == nil {
		return root, nil
	}
	return nil, errNoObject
}

// tagAsJSON makes strings of names and of dates.
func tagAsJSON(node *yaml.Node) {
	if isScalar(node) && node.ShortTag() == "!!timestamp" {
		node.Tag = "!!str"
	}
	for i, child := range node.Content {
		isName := node.Kind == yaml.MappingNode && i%2 == 0
		if isName && isScalar(child) {
			child.Tag = "!!str"
		}
		tagAsJSON(child)
	}
}

// isScalar reports whether a node has a value, and is not the name << that merges others.
func isScalar(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() != "!!merge"
}

// load makes a document of kin-openapi.
func load(root map[string]any) (*openapi3.T, error) {
	text, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	return openapi3.NewLoader().LoadFromData(text)
}

// translate writes the members of the document itself, and then all that is in it.
func (t *translator) translate() {
	t.root["openapi"] = "3.0.3"
	info := jsonvalue.Object(t.root["info"])
	title, _ := info["title"].(string)
	version, _ := info["version"].(string)
	t.root["info"] = map[string]any{"title": cmp.Or(title, "untitled"), "version": cmp.Or(version, "?")}
	for _, name := range []string{"webhooks", "jsonSchemaDialect", "$self"} {
		if t.root[name] != nil {
			t.report("the document, %s", name)
			delete(t.root, name)
		}
	}
	if jsonvalue.Object(t.root["paths"]) == nil {
		t.root["paths"] = map[string]any{}
	}
	t.walk("", t.root)
}
