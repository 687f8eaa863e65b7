package docs

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/oasdiff/yaml3" // the YAML parser of kin-openapi
)

// toJSON converts a document from YAML to JSON. It keeps the order of the members,
// because the page shows the operations in that order. It drops comments.
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

// writeJSON writes one value. It copies numbers digit by digit. Values that JSON
// does not have, or that the document does not need, are errors: dates, anchors,
// 0x10.
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
	return fmt.Errorf("line %d: %q has no equivalent in JSON", n.Line, n.Value)
}

// writeAll writes an array or an object: the begin token, the children of n and
// the end token. The children of an object are names and values in turn.
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
