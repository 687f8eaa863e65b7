package document

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// errNoObject means that a text has a value, but none that could be a document.
var errNoObject = errors.New("is not an object")

// read reads, translates and loads a document.
func (d *Document) read(text []byte) error {
	root, err := Decode(text, d.report)
	if err != nil {
		return err
	}
	t := &translator{root: root, report: d.report}
	t.tidy()
	version, _ := root["openapi"].(string)
	// OpenAPI 3.2 is read as 3.1, which it adds to.
	isModern := strings.HasPrefix(version, "3.") && !strings.HasPrefix(version, "3.0")
	switch {
	case root["swagger"] == "2.0":
		t.root = swagger{root, d.report}.converted()
	case !strings.HasPrefix(version, "3."):
		return fmt.Errorf("is neither OpenAPI 3 nor Swagger 2.0: its member openapi is %v", root["openapi"])
	}
	t.library = schema.NewLibrary(t.root, isModern, d.report)
	t.translate()
	d.library = t.library
	request, err := t.library.Compile(schema.Request)
	if err != nil {
		return err
	}
	received, err := t.library.Compile(schema.Received)
	d.reader = &reader{root: t.root, request: request, received: received}
	return err
}

// Decode reads JSON, or YAML as JSON would be: names are strings, as 200 is, and so are dates. A YAML reader
// alone would make a number of the key 200, and a time of a date. If an object has a name twice, the last one
// counts, as for readers of JSON, and report is told, because people do not see it.
func Decode(text []byte, report reporter) (map[string]any, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	same, err := asJSON(text, report)
	if err != nil {
		return nil, err
	}
	value, _ := jsonvalue.DecodeLoosely(same) // of what was read as JSON
	if root := jsonvalue.Object(value); root != nil {
		return root, nil
	}
	return nil, errNoObject
}

// reporter is told what the document has and the engine cannot test.
type reporter func(format string, args ...any)

// asJSON returns JSON as it is, and YAML as JSON. YAML is not quite a superset of it: its readers refuse
// an emoji that is escaped as two surrogates, as json.dumps of Python writes it, and change large numbers.
func asJSON(text []byte, report reporter) ([]byte, error) {
	if jsontext.Value(text).IsValid(looseNames, looseText) {
		reportDuplicates(text, report)
		return text, nil
	}
	var node yaml.Node
	if err := yaml.Unmarshal(text, &node); err != nil {
		return nil, err
	}
	tagAsJSON(&node, report)
	var tree any
	// Refuses aliases that are too many.
	if err := node.Decode(&tree); err != nil {
		return nil, err
	}
	return json.Marshal(tree)
}

// What documents have, and package jsontext would refuse.
var (
	looseNames = jsontext.AllowDuplicateNames(true)
	looseText  = jsontext.AllowInvalidUTF8(true)
)

const duplicateName = "the document, the name %q in %s is given more than once; the last one counts"

// reportDuplicates reports names that an object of a JSON text has more than once.
func reportDuplicates(text []byte, report reporter) {
	decoder := jsontext.NewDecoder(bytes.NewReader(text), looseNames, looseText)
	seen := map[jsontext.Pointer]bool{}
	for {
		_, err := decoder.ReadToken()
		if err != nil {
			return // the end, because the text is valid
		}
		kind, length := decoder.StackIndex(decoder.StackDepth())
		at := decoder.StackPointer()
		isName := kind == '{' && length%2 == 1 // an object has names and values in turn
		if isName && seen[at] {
			report(duplicateName, at.LastToken(), cmp.Or(string(at.Parent()), "it"))
			// Names in it would have the pointers of those in the first one.
			_ = decoder.SkipValue()
		}
		seen[at] = true
	}
}

// tagAsJSON makes strings of names and of dates, and leaves out all but the last one of equal names.
func tagAsJSON(node *yaml.Node, report reporter) {
	if node.ShortTag() == "!!timestamp" {
		node.Tag = "!!str"
	}
	if node.Kind == yaml.MappingNode {
		node.Content = tagNames(node, report)
	}
	for _, child := range node.Content {
		tagAsJSON(child, report)
	}
}

// tagNames makes strings of the names of one object, and returns what is left of it: names and values in turn.
func tagNames(object *yaml.Node, report reporter) (kept []*yaml.Node) {
	last := map[string]bool{}
	pairs := slices.Collect(slices.Chunk(object.Content, 2))
	for _, pair := range slices.Backward(pairs) {
		name := pair[0]
		if isMerge := name.ShortTag() == "!!merge"; !isMerge { // << merges other objects
			name.Tag = "!!str"
			if last[name.Value] {
				report(duplicateName, name.Value, fmt.Sprint("line ", name.Line))
				continue
			}
			last[name.Value] = true
		}
		kept = slices.Insert(kept, 0, pair...)
	}
	return kept
}
