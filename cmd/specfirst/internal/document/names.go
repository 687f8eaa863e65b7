package document

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// namer gives what would have the same name in Go another one, by x-go-name.
type namer map[string]bool

// name names a parameter or property, unless it is the first one of its name.
func (n namer) name(node *yaml.Node, name string) {
	plain := goName(name)
	if !n[strings.ToLower(plain)] {
		n[strings.ToLower(plain)] = true
		return
	}
	for i := 2; ; i++ {
		free := plain + strconv.Itoa(i)
		if !n[strings.ToLower(free)] {
			n[strings.ToLower(free)] = true
			set(node, "x-go-name", scalar(free))
			return
		}
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
		inPath, others := namer{}, namer{}
		for _, each := range slices.Concat(items(find(operation.item, "parameters")), items(find(operation.node, "parameters"))) {
			parameter := d.followed(each)
			if parameter == nil || find(parameter, "x-go-name") != nil {
				continue
			}
			if text(parameter, "in") == "path" {
				inPath.name(parameter, text(parameter, "name"))
			} else {
				others.name(parameter, text(parameter, "name"))
			}
		}
	}
}

func nameProperties(schema *yaml.Node) {
	names := namer{}
	if find(schema, "additionalProperties") != nil {
		names["additionalproperties"] = true // the member for all others
	}
	for key, property := range members(find(schema, "properties")) {
		if property.Kind == yaml.MappingNode && find(property, "$ref") == nil && find(property, "x-go-name") == nil {
			names.name(property, key.Value)
		}
	}
}

// nameComponents gives schemas and shared parameters names of their own: generated code has a type for each. Those of responses have
// other names.
func (d *Document) nameComponents() {
	names := namer{}
	for _, kind := range []string{"schemas", "parameters"} {
		for key, component := range members(find(d.root, "components", kind)) {
			if component.Kind == yaml.MappingNode && find(component, "x-go-name") == nil {
				names.name(component, key.Value)
			}
		}
	}
}
