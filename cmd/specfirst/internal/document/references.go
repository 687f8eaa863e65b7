package document

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// checkReferences finds references that lead to nothing.
func (d *Document) checkReferences() error { return d.checkReferencesOf(d.root, "") }

func (d *Document) checkReferencesOf(node *yaml.Node, name string) error {
	for key, value := range members(node) {
		if isValue(key.Value) && !isGroup(name) {
			continue
		}
		if key.Value == "$ref" && value.Kind == yaml.ScalarNode && !isGroup(name) {
			return d.checkReference(value)
		}
		if err := d.checkReferencesOf(value, key.Value); err != nil {
			return err
		}
	}
	for _, item := range items(node) {
		if err := d.checkReferencesOf(item, ""); err != nil {
			return err
		}
	}
	return nil
}

func (d *Document) checkReference(reference *yaml.Node) error {
	pointer, isInside := strings.CutPrefix(reference.Value, "#/")
	if !isInside {
		return d.mistake(reference, "$ref %q is not understood: write it as '#/components/schemas/NAME'", reference.Value)
	}
	if resolve(d.root, pointer) != nil {
		return nil
	}
	end := strings.LastIndex(pointer, "/")
	siblings := keysOf(resolve(d.root, pointer[:max(end, 0)]))
	return d.mistake(reference, "$ref %q leads to nothing: %s has no %s%s", reference.Value, strings.ReplaceAll(pointer[:max(end, 0)], "/", "."),
		unescape(pointer[end+1:]), didYouMean(unescape(pointer[end+1:]), siblings))
}

// types are those of schemas.
var types = []string{"string", "number", "integer", "boolean", "array", "object"}

// checkSchemas finds what belongs to the other version of OpenAPI, and words that are no types.
func (d *Document) checkSchemas() (err error) {
	d.schemas(d.root, func(schema *yaml.Node) {
		if err == nil {
			err = d.checkSchema(schema)
		}
	})
	return err
}

func (d *Document) checkSchema(schema *yaml.Node) error {
	kind := find(schema, "type")
	words := append(items(kind), kind)
	known := types
	if d.isModern() {
		known = append(slices.Clone(types), "null")
	}
	switch {
	case !d.isModern() && len(items(kind)) > 0:
		return d.mistake(kind, "a list of types is of OpenAPI 3.1, and the document has %s: write one type, with nullable: true for null, or openapi: 3.1.0",
			text(d.root, "openapi"))
	case d.isModern() && find(schema, "nullable") != nil && len(d.Warnings) == 0:
		d.Warnings = append(d.Warnings, d.mistake(find(schema, "nullable"), "nullable is of OpenAPI 3.0, and means nothing in %s: write type: [%s, 'null']",
			text(d.root, "openapi"), cmp.Or(text(schema, "type"), "string")))
	case text(schema, "required") == "true" || text(schema, "required") == "false":
		return d.mistake(find(schema, "required"), "required of a schema is a list of names: write required: [name] beside properties")
	}
	for _, word := range words {
		if word != nil && word.Kind == yaml.ScalarNode && !slices.Contains(known, word.Value) {
			return d.mistake(word, "there is no type %s%s", word.Value, didYouMean(word.Value, known))
		}
	}
	return nil
}

func keysOf(node *yaml.Node) (names []string) {
	for key := range members(node) {
		names = append(names, key.Value)
	}
	return names
}

// didYouMean is the end of a message that names what is nearest.
func didYouMean(name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return ": did you mean " + near + "?"
	}
	if len(known) == 0 {
		return ": add it there"
	}
	return ": there are " + strings.Join(known[:min(len(known), 6)], ", ")
}

// nearest returns the name that differs in the fewest letters, if that is at most a third of them.
func nearest(name string, known []string) (best string) {
	least := max(len(name)/3, 1) + 1
	for _, each := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(each)); d < least {
			best, least = each, d
		}
	}
	return best
}

// distance counts the letters to change, add or take out.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
