package docs

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/oasdiff/yaml3" // which kin-openapi reads the document with, too
)

// toJSON writes a document in YAML as JSON. The order of names stays: it is the
// one in which readers meet the operations. Comments have no place there.
func toJSON(document []byte) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	var buf bytes.Buffer
	if err := writeJSON(jsontext.NewEncoder(&buf), &root); err != nil {
		return nil, fmt.Errorf("write the document as JSON: %w", err)
	}
	return buf.Bytes(), nil
}

// writeJSON writes one value. Numbers are copied digit by digit. What JSON has
// not, or the document no use for, is an error: dates, anchors, 0x10.
func writeJSON(enc *jsontext.Encoder, n *yaml.Node) error {
	switch n.Kind {
	case yaml.DocumentNode:
		return writeJSON(enc, n.Content[0])
	case yaml.MappingNode:
		return writeAll(enc, n, jsontext.BeginObject, jsontext.EndObject)
	case yaml.SequenceNode:
		return writeAll(enc, n, jsontext.BeginArray, jsontext.EndArray)
	case yaml.ScalarNode:
		switch n.ShortTag() {
		case "!!str":
			return enc.WriteToken(jsontext.String(n.Value))
		case "!!null":
			return enc.WriteToken(jsontext.Null)
		case "!!bool", "!!int", "!!float":
			return enc.WriteValue(jsontext.Value(n.Value))
		}
	}
	return fmt.Errorf("line %d: %q is nothing that JSON has", n.Line, n.Value)
}

// writeAll writes the values of an array, or names and values of an object in
// turn, between its brackets.
func writeAll(enc *jsontext.Encoder, n *yaml.Node, begin, end jsontext.Token) error {
	if err := enc.WriteToken(begin); err != nil {
		return err
	}
	for _, child := range n.Content {
		if err := writeJSON(enc, child); err != nil {
			return err
		}
	}
	return enc.WriteToken(end)
}
