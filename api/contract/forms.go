package contract

import (
	"cmp"
	"errors"
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
		encoding := cmp.Or(encodings[name], &openapi3.Encoding{})
		form.contents[name] = encoding.ContentType
		isMultipart := form.mediaType == multipartType
		isJSONPart := isMultipart && field.kind == record && encoding.ContentType == "" // without an encoding, an object is
		if isJSONPart || isJSON(encoding.ContentType) {
			field.kind = jsonText
		}
		field.layout = field.layoutOf(styleOf(encoding, field.kind))
		field.isEscaped = field.isEscaped && !isMultipart
		form.fields[name] = field
	}
}

// styleOf returns the style of a field. Generated code reads an object as a deep one.
func styleOf(encoding *openapi3.Encoding, kind parameterKind) (style string, isExploded bool) {
	style, isExploded = encoding.Style, encoding.Style == openapi3.SerializationForm
	if style == "" {
		style, isExploded = openapi3.SerializationForm, true
		if kind == record {
			style = openapi3.SerializationDeepObject
		}
	}
	if encoding.Explode != nil {
		isExploded = *encoding.Explode
	}
	return style, isExploded
}

var errNoForm = errors.New("a well-formed form")

// decodeForm reads a form.
func (c *content) decodeForm(body *body) error {
	given, err := url.ParseQuery(string(body.text))
	if err != nil {
		return errNoForm
	}
	members, faults := c.readFields(given, string(body.text))
	body.value, body.faults = members, faults
	if len(faults) > 0 {
		return errInvalid
	}
	return nil
}

// readFields reads the fields of a form. Those that are not in the schema are texts. The form itself is needed for fields
// whose texts are escaped.
func (c *content) readFields(given url.Values, text string) (members map[string]any, faults []Fault) {
	members = map[string]any{}
	request := &Request{query: given}
	request.http.URL = &url.URL{RawQuery: text}
	for _, name := range slices.Sorted(maps.Keys(c.fields)) {
		texts := request.inQuery(c.fields[name])
		if len(texts) == 0 {
			continue
		}
		value, wrong := c.fields[name].read(texts)
		members[name] = value
		faults = append(faults, wrong...)
	}
	for name, texts := range given {
		if !c.hasField(name) {
			members[name] = c.readOther(texts)
		}
	}
	return members, faults
}

// hasField reports whether a name in a form is that of a field, or of a member of one.
func (c *content) hasField(name string) bool {
	outer, _, _ := strings.Cut(name, "[")
	field := c.fields[outer]
	return c.fields[name] != nil || field != nil && field.knows(name)
}

// readOther reads a field that the schema has no name for.
func (c *content) readOther(texts []string) any {
	if len(texts) == 1 {
		value, _ := readAs(c.schema.others, texts[0]) // the schema of others finds what is wrong
		return value
	}
	items := make([]any, len(texts))
	for i, text := range texts {
		items[i] = text
	}
	return items
}
