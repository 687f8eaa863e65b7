package document

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Exclude leaves an operation out, which is named by its operationId, or as in GET /things. Components that only it has stay.
func (d *Document) Exclude(name string) error {
	for _, operation := range d.Operations() {
		if name != operation.ID && !strings.EqualFold(name, operation.Method+" "+operation.Path) {
			continue
		}
		remove(operation.item, strings.ToLower(operation.Method))
		isMethod := func(key string) bool { return slices.Contains(methods, key) }
		if !slices.ContainsFunc(keysOf(operation.item), isMethod) {
			remove(find(d.root, "paths"), operation.Path)
		}
		return d.reprint()
	}
	return fmt.Errorf("%s has no operation %q to leave out: name it by its operationId, or as in \"GET /things\"", d.Path, name)
}

// reprint writes the text again after a change.
func (d *Document) reprint() error {
	if d.IsJSON() {
		d.Path = strings.TrimSuffix(d.Path, ".json") + ".yaml" // what is written is no JSON any more
		asBlocks(d.root)
	}
	text, err := encode(d.root)
	if err == nil {
		d.Text = text
	}
	return err
}

func encode(node *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := encoder.Encode(node)
	return out.Bytes(), err
}

// asBlocks writes what was JSON as people write YAML. Texts keep their quotes where they need them.
func asBlocks(node *yaml.Node) {
	node.Style = 0
	for _, below := range node.Content {
		asBlocks(below)
	}
}
