package document

import (
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// names are the names in Go that parameters of an operation, or properties of a schema, have.
type names map[string]bool

// add gives a parameter or property another name in Go, by x-go-name, if an earlier one has its name.
func (n names) add(node *yaml.Node, name string) {
	if find(node, "x-go-name") != nil {
		return
	}
	plain := goName(name)
	free := plain
	for i := 2; n[strings.ToLower(free)]; i++ {
		free = plain + strconv.Itoa(i)
	}
	n[strings.ToLower(free)] = true
	if free != plain {
		set(node, "x-go-name", scalar(free))
	}
}

// goName writes the words of a name as Go does.
func goName(name string) string {
	isBorder := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	var out strings.Builder
	for _, word := range strings.FieldsFunc(name, isBorder) {
		letters := []rune(word)
		letters[0] = unicode.ToUpper(letters[0])
		out.WriteString(string(letters))
	}
	if out.Len() == 0 {
		return "Value"
	}
	return out.String()
}

// nameParameters gives the parameters of an operation names of their own: generated code has those of a path apart from others.
func (d *Document) nameParameters() {
	for _, operation := range d.Operations() {
		inPath, others := names{}, names{}
		for _, parameter := range d.parametersOf(operation) {
			group := others
			if text(parameter, "in") == "path" {
				group = inPath
			}
			group.add(parameter, text(parameter, "name"))
		}
	}
}

func nameProperties(schema *yaml.Node) {
	// Generated code has a member for all others.
	known := names{"additionalproperties": find(schema, "additionalProperties") != nil}
	for key, property := range members(find(schema, "properties")) {
		if property.Kind == yaml.MappingNode && find(property, "$ref") == nil {
			known.add(property, key.Value)
		}
	}
}

// nameComponents gives schemas and shared parameters names of their own: generated code has a type for each. Those of responses have
// other names. (The option resolve-type-name-collisions makes code that does not compile of a response with two types of JSON.)
func (d *Document) nameComponents() {
	known := names{}
	for _, kind := range []string{"schemas", "parameters"} {
		for key, component := range members(find(d.root, "components", kind)) {
			if component.Kind == yaml.MappingNode {
				known.add(component, key.Value)
			}
		}
	}
}
