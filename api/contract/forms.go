package contract

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// setFields sets the fields of a form: the members of its schema. They are written as parameters of a query, or as JSON if the
// encoding says so.
func (l *loader) setFields(form *content, encodings map[string]*openapi3.Encoding) {
	form.fields, form.contents = map[string]*parameter{}, map[string]string{}
	for name, schemas := range membersOf(form.schema.node) {
		field := &parameter{name: name, in: openapi3.ParameterInQuery, faultIn: inBody, kind: kindOf(schemas[0])}
		field.schema = l.schemaOf(schemas[0])
		field.style = style{openapi3.SerializationForm, true}
		if field.kind == record {
			field.style.name = openapi3.SerializationDeepObject // as generated code reads it
		}
		if encoding := encodings[name]; encoding != nil {
			l.setEncoding(form, field, encoding)
		}
		isJSONPart := form.mediaType == multipartType && field.kind == record && form.contents[name] == ""
		if isJSONPart { // without an encoding, an object is
			field.kind = jsonText
		}
		form.fields[name] = field
	}
}

func (l *loader) setEncoding(form *content, field *parameter, encoding *openapi3.Encoding) {
	form.contents[field.name] = encoding.ContentType
	if isJSON(encoding.ContentType) {
		field.kind = jsonText
		return
	}
	if encoding.Style != "" {
		field.style = style{encoding.Style, encoding.Style == openapi3.SerializationForm}
	}
	if encoding.Explode != nil {
		field.style.isExploded = *encoding.Explode
	}
}

// decodeForm reads a form. Fields that are not in the schema are texts.
func (c *content) decodeForm(body *body) error {
	given, err := url.ParseQuery(string(body.text))
	if err != nil {
		return errNoForm
	}
	read := &form{content: c, members: map[string]any{}}
	request := &Request{query: given}
	request.http.URL = &url.URL{RawQuery: string(body.text)}
	for _, name := range slices.Sorted(maps.Keys(c.fields)) {
		if texts := request.inQuery(c.fields[name]); len(texts) > 0 {
			read.add(c.fields[name], texts)
		}
	}
	for name, texts := range given {
		if !c.hasField(name) {
			read.addOther(name, texts)
		}
	}
	body.value, body.faults = read.members, read.faults
	if len(read.faults) > 0 {
		return errInvalid
	}
	return nil
}

// hasField reports whether a name in a form is that of a field, or of a member of one.
func (c *content) hasField(name string) bool {
	outer, _, _ := strings.Cut(name, "[")
	field := c.fields[outer]
	return c.fields[name] != nil || field != nil && field.knows(name)
}

// form is a form while it is read.
type form struct {
	content *content
	members map[string]any
	faults  []Fault
}

// add adds the value of a field.
func (f *form) add(field *parameter, texts []string) {
	isMany := field.kind == record || field.kind == list && field.isRepeated()
	if len(texts) > 1 && !isMany {
		f.faults = append(f.faults, field.fault("is given more than once")...)
		return
	}
	if field.kind != oneText {
		value, faults := field.parse(texts)
		f.members[field.name] = value
		f.faults = append(f.faults, faults...)
		return
	}
	value, wrong := readAs(field.schema.node, texts[0])
	f.members[field.name] = value
	if wrong != "" {
		f.faults = append(f.faults, field.fault(wrong)...)
	}
}

// addOther adds a field that the schema has no name for.
func (f *form) addOther(name string, texts []string) {
	if others := f.content.schema.others; len(texts) == 1 {
		f.members[name], _ = readAs(others, texts[0]) // the schema of others finds what is wrong
		return
	}
	items := make([]any, len(texts))
	for i, text := range texts {
		items[i] = text
	}
	f.members[name] = items
}
