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
		encoding := cmp.Or(encodings[name], &openapi3.Encoding{})
		form.contents[name] = encoding.ContentType
		form.fields[name] = l.field(name, schemas[0], encoding, form.mediaType == multipartType)
		if len(encoding.Headers) > 0 {
			l.note("the headers of the part %s are not checked", name)
		}
	}
}

// field returns a field of a form.
func (l *loader) field(name string, schema *node, encoding *openapi3.Encoding, isMultipart bool) *parameter {
	field := &parameter{name: name, in: openapi3.ParameterInQuery, faultIn: inBody, kind: kindOf(schema)}
	field.schema = l.schemaOf(schema)
	isJSONPart := isMultipart && field.kind == record && encoding.ContentType == "" // without an encoding, an object is
	if isJSONPart || isJSON(encoding.ContentType) && !strings.Contains(encoding.ContentType, ",") {
		field.kind = jsonText
	}
	if isMultipart && schema.isFile() {
		l.noteFile(name, schema)
	}
	field.layout = field.layoutOf(styleOf(encoding, field.kind))
	field.isEscaped = field.isEscaped && !isMultipart
	return field
}

// isFile reports whether a member of a form is a file, which is a binary text, or a list of these.
func (n *node) isFile() bool {
	if n == nil {
		return false
	}
	isBinary := func(part *node) bool { return part.isBinary }
	return slices.ContainsFunc(n.together, isBinary) || n.items != nil && slices.ContainsFunc(n.items.together, isBinary)
}

// takesFile reports whether a member of a form may be a file: it is one, or nothing is asked of it.
func (n *node) takesFile() bool {
	isAny := n == nil || n.types == 0 && !n.isCombined() && !n.isEnum && n.pattern == nil && n.format == nil
	return isAny || n.isFile()
}

// noteFile notes what is not checked of a file, whose bytes are not kept.
func (l *loader) noteFile(name string, schema *node) {
	one := cmp.Or(schema.items, schema)
	if schema.isUnique || one.pattern != nil || one.format != nil {
		l.note("of the file %s, the length and the media type are checked, and nothing else", name)
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
	body.value, body.faults = c.readFields(given, string(body.text))
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
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if c.hasField(name) {
			continue
		}
		value, wrong := c.readOther(given[name])
		members[name] = value
		if wrong = cmp.Or(c.refuseName(name), wrong); wrong != "" {
			faults = append(faults, faultAt(inBody, name, wrong))
		}
	}
	return members, faults
}

// hasField reports whether a name in a form is that of a field, or of a member of one.
func (c *content) hasField(name string) bool {
	for _, field := range c.fields {
		if field.knows(name) {
			return true
		}
	}
	return false
}

// refuseName says what is wrong with a name that no field has: generated code binds ids[] and ids[0] to the field ids.
func (c *content) refuseName(name string) string {
	outer, _, hasBracket := strings.Cut(name, "[")
	if hasBracket && c.fields[outer] != nil && !c.hasField(name) {
		return "is not known: write " + outer
	}
	return ""
}

// readOther reads a field that the schema has no name for.
func (c *content) readOther(texts []string) (value any, wrong string) {
	if len(texts) == 1 {
		return readAs(c.schema.others, texts[0])
	}
	items := make([]any, len(texts))
	for i, text := range texts {
		items[i] = text
	}
	return items, ""
}
