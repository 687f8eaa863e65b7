package contract

import (
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"
)

// fault returns the only fault of the parameter.
func (p *parameter) fault(message string) []Fault {
	return []Fault{faultAt(p.faultIn, p.name, message)}
}

// check reads the value of a parameter and holds it to its schema.
func (p *parameter) check(r *Request) (value any, faults []Fault) {
	texts := p.find(r, p)
	if len(texts) == 0 {
		return nil, p.missing()
	}
	if isEmpty := len(texts) == 1 && texts[0] == ""; isEmpty {
		return p.empty(r)
	}
	return p.read(texts)
}

// missing returns the fault of a parameter that is not given.
func (p *parameter) missing() []Fault {
	if p.isRequired {
		return p.fault("is required")
	}
	return nil
}

// empty returns the value of a parameter whose text is empty. Generated code cannot bind a required header that is empty, and
// no number, so an empty one that is allowed is taken out of the query.
func (p *parameter) empty(r *Request) (value any, faults []Fault) {
	isInQuery := p.in == openapi3.ParameterInQuery
	isText := scalars(p.schema.node) == typeString
	switch {
	case p.mayBeEmpty && isText:
		return "", nil
	case p.mayBeEmpty:
		r.removeFromQuery(p.name)
		return nil, p.missing()
	case p.isRequired && !isInQuery:
		return nil, p.fault("must not be empty")
	}
	return p.read([]string{""})
}

// read reads the value from its texts, and holds it to the schema.
func (p *parameter) read(texts []string) (value any, faults []Fault) {
	isMany := p.kind == record || p.kind == list && p.isRepeated
	if len(texts) > 1 && !isMany {
		return nil, p.fault("is given more than once")
	}
	if p.kind != oneText {
		if value, faults = p.parse(texts); len(faults) > 0 {
			return nil, faults
		}
		return value, p.schema.faults(value, p.faultIn, pointerTo(p.name))
	}
	text, isStyled := p.plainText(texts[0])
	if !isStyled {
		return nil, p.fault(p.wrongStyle())
	}
	return p.readText(text)
}

// parse reads the value of a list, an object or JSON.
func (p *parameter) parse(texts []string) (value any, faults []Fault) {
	switch p.kind {
	case jsonText:
		return p.readJSON(texts[0])
	case list:
		return p.readItems(p.items(texts))
	}
	return p.readMembers(p.members(texts))
}

// readText reads a text, and holds it to the schema.
func (p *parameter) readText(text string) (value any, faults []Fault) {
	value, wrong := readAs(p.schema.node, text)
	if wrong != "" {
		return nil, p.fault(wrong)
	}
	if p.isPlain {
		return value, nil
	}
	return value, p.schema.faults(value, p.faultIn, pointerTo(p.name))
}

func (p *parameter) readJSON(text string) (value any, faults []Fault) {
	plain := body{text: []byte(p.unescape(text))}
	if err := plain.decodeJSON(p.schema.wanted(), p.schema.maxDepth); err != nil {
		return nil, p.fault("must be one well-formed JSON value: " + err.Error())
	}
	if plain.isChanged { // a handler reads it as it was sent
		return nil, p.fault("must have members named as in the document, none that is only for responses, and times with T and Z in capitals")
	}
	return plain.value, nil
}

// readItems reads the items of an array.
func (p *parameter) readItems(texts []string, isStyled bool) (value any, faults []Fault) {
	if !isStyled {
		return nil, p.fault(p.wrongStyle())
	}
	items := make([]any, len(texts))
	for i, text := range texts {
		item, wrong := readAs(p.schema.item(i), text)
		items[i] = item
		if wrong != "" {
			faults = append(faults, p.faultBelow(wrong, strconv.Itoa(i)))
		}
	}
	return items, faults
}

// readMembers reads the members of an object.
func (p *parameter) readMembers(pairs []pair, isStyled bool) (value any, faults []Fault) {
	if !isStyled {
		return nil, p.fault(p.wrongStyle())
	}
	members := map[string]any{}
	for _, pair := range pairs {
		wrong := pair.addTo(members, p.schema.node, p.isDeep() && p.faultIn == openapi3.ParameterInQuery)
		if wrong != "" {
			faults = append(faults, p.faultBelow(wrong, pair.path...))
		}
	}
	return members, faults
}

func (p *parameter) faultBelow(message string, path ...string) Fault {
	fault := faultAt(p.faultIn, p.name, message)
	for _, step := range path {
		fault.Pointer += pointerTo(shorten(step))
	}
	return fault
}
