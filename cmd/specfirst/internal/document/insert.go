package document

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Insert writes lines at the end of a mapping of the document, such as that of components and schemas, which is made if there is
// none. All other lines stay as they are.
func (d *Document) Insert(lines string, names ...string) error {
	above, key, value := (*yaml.Node)(nil), (*yaml.Node)(nil), d.root
	for i, name := range names {
		nextKey, next := member(value, name)
		if next == nil {
			for _, missing := range slices.Backward(names[i:]) {
				lines = missing + ":\n" + indent(lines, 2)
			}
			break
		}
		above, key, value = value, nextKey, next
	}
	if value.Style&yaml.FlowStyle != 0 {
		return d.mistake(value, "%s is written in braces: write a line for each of its members, so that lines can be added",
			strings.Join(names, "."))
	}
	column := 1
	switch {
	case len(value.Content) > 0:
		column = value.Content[0].Column
	case above != nil:
		column = above.Content[0].Column + 2
	}
	text := strings.SplitAfter(strings.TrimRight(string(d.Text), "\n")+"\n", "\n")
	at := len(text) - 1
	if key != nil {
		at = endOf(text, key)
	}
	d.Text = []byte(strings.Join(text[:at], "") + indent(lines, column-1) + strings.Join(text[at:], ""))
	root, err := parse(d.Path, d.Text)
	if err == nil {
		d.root = root
	}
	return err
}

// endOf returns the number of lines up to the end of what a key has: the next line that is not further to the right. Comments before
// that one belong to it.
func endOf(text []string, key *yaml.Node) int {
	end := key.Line
	for i, line := range text[key.Line:] {
		content := strings.TrimLeft(line, " ")
		isInside := len(line)-len(content) >= key.Column
		isBlank := strings.TrimSpace(line) == ""
		switch {
		case isInside && !isBlank:
			end = key.Line + i + 1
		case !isBlank && !strings.HasPrefix(content, "#"):
			return end
		}
	}
	return end
}

// indent puts spaces before each line.
func indent(lines string, spaces int) string {
	before := strings.Repeat(" ", spaces)
	return before + strings.ReplaceAll(strings.TrimSuffix(lines, "\n"), "\n", "\n"+before) + "\n"
}

// member returns a key of a mapping and its value.
func member(node *yaml.Node, name string) (key, value *yaml.Node) {
	for key, value := range members(node) {
		if key.Value == name {
			return key, value
		}
	}
	return nil, nil
}

// Taken returns where the document has a member, as a mistake, or nil.
func (d *Document) Taken(names ...string) error {
	parent := find(d.root, names[:len(names)-1]...)
	if key, _ := member(parent, names[len(names)-1]); key != nil {
		return d.mistake(key, "%s exists already: give the resource another name", key.Value)
	}
	return nil
}

// IsSecured reports whether operations without security of their own need credentials.
func (d *Document) IsSecured() bool { return d.isSecured(Operation{}) }

// ErrorReference returns the reference to the response with an error, as the document has it in other operations. If none has it, it
// is added to the components, in the form of other errors.
func (d *Document) ErrorReference(status string) (string, error) {
	for _, operation := range d.Operations() {
		if reference := text(operation.node, "responses", status, "$ref"); reference != "" {
			return reference, nil
		}
	}
	i := slices.IndexFunc(commonErrors, func(each commonError) bool { return each.status == status })
	name, response := d.newResponse(commonErrors[i], d.errorContent())
	lines, err := encode(mapping(scalar(name), response))
	if err != nil {
		return "", err
	}
	return "#/components/responses/" + name, d.Insert(string(lines), "components", "responses")
}
