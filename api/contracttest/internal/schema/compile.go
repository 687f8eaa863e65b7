package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
)

// One compiled schema is not enough for a schema of the document: readOnly and writeOnly make it two, one for
// requests and one for responses.

// Direction says whether a value is sent or received: a request leaves out what is readOnly, a
// response what is writeOnly.
type Direction bool

// The directions of a value.
const (
	Request  Direction = false
	Received Direction = true
)

// keyword is the one with which a schema says that its values are not sent in the direction.
func (d Direction) keyword() string {
	if d == Received {
		return "writeOnly"
	}
	return "readOnly"
}

// isOn reports whether a schema itself has the keyword of the direction.
func (d Direction) isOn(schema *Schema) bool {
	if d == Received {
		return schema.WriteOnly
	}
	return schema.ReadOnly
}

// lacks reports whether values in the direction leave out a member with a schema: the schema, or a part of its allOf, has
// the keyword of the direction.
func (d Direction) lacks(schema *Schema) bool {
	allOf := func(part *Schema) []*Schema { return part.AllOf }
	return slices.ContainsFunc(withParts(nil, allOf, schema), d.isOn)
}

// Schemas are those of a document, for values in one direction.
type Schemas struct {
	library  *Library
	compiled []*Schema // by number
	all      []*Schema // also those in others
}

// Of returns the schema that a reference of [Library.Add] leads to. What is no reference leads to one that allows any value.
func (s *Schemas) Of(reference any) *Schema {
	text, _ := jsonvalue.Object(reference)["$ref"].(string)
	number, err := strconv.Atoi(strings.TrimPrefix(text, definitions))
	if err != nil || number >= len(s.compiled) {
		return anything
	}
	return s.compiled[number]
}

// address is the URL of the JSON Schema with all definitions.
const address = "contract://document"

// schemaOfAll is that JSON Schema.
func (l *Library) schemaOfAll() map[string]any { return map[string]any{"$defs": l.definitions} }

// Compile compiles the schemas for values in a direction. Keywords with values that they cannot have are reported and left
// out, and all is compiled again.
func (l *Library) Compile(direction Direction) (*Schemas, error) {
	for {
		compiled, err := l.compiled()
		if err == nil {
			s := &Schemas{library: l, compiled: compiled}
			s.connect()
			s.all = append(s.all, cut(s.all)...)
			s.forbid(direction)
			return s, nil
		}
		if !l.leaveOut(err) {
			return nil, err
		}
	}
}

// compiled compiles all definitions.
func (l *Library) compiled() ([]*Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	compiler.UseRegexpEngine(patternEngine)
	l.registerFormats(compiler)
	if err := compiler.AddResource(address, l.schemaOfAll()); err != nil {
		return nil, err
	}
	var all []*Schema
	for number := range l.places {
		compiled, err := compiler.Compile(address + definitions + strconv.Itoa(number))
		if err != nil {
			return nil, err
		}
		all = append(all, compiled)
	}
	return all, nil
}

// leaveOut leaves out of the definitions what jsonschema does not compile, and returns false if it finds nothing to leave out.
// References lead to definitions, and each pattern compiles, so that is a keyword with a wrong value.
func (l *Library) leaveOut(err error) bool {
	invalid, isInvalid := errors.AsType[*jsonschema.SchemaValidationError](err)
	if !isInvalid {
		return false
	}
	wrong, isKnown := errors.AsType[*jsonschema.ValidationError](invalid.Err)
	return isKnown && l.leaveOutCause(wrong)
}

// leaveOutCause leaves out the keywords of an error, or of its causes if it is the sum of them.
func (l *Library) leaveOutCause(wrong *jsonschema.ValidationError) (hasLeftOut bool) {
	for _, cause := range wrong.Causes {
		hasLeftOut = l.leaveOutCause(cause) || hasLeftOut
	}
	if len(wrong.Causes) > 0 {
		return hasLeftOut
	}
	// An item of the value of a keyword may be wrong: /$defs/3/required/0. Then the keyword is the last name before it.
	at := wrong.InstanceLocation
	for i := len(at) - 1; i >= 2; i-- {
		pointer := jsonvalue.Pointer(at[:i]...)
		schema := jsonvalue.Object(jsonvalue.Lookup(l.schemaOfAll(), "#"+pointer))
		if !l.understands(at[i]) { // such as an index
			continue
		}
		if _, has := schema[at[i]]; has { // else another cause has left it out
			l.leaveOutWrong(l.placeOf(pointer), schema, at[i])
		}
		return true
	}
	return false
}

// connect puts in place of each reference what it leads to, and collects all schemas. The location of each becomes its place
// in the document.
func (s *Schemas) connect() {
	seen := map[*Schema]bool{}
	var enter func(*Schema) *Schema
	enter = func(schema *Schema) *Schema {
		for schema.Ref != nil {
			schema = schema.Ref
		}
		if seen[schema] {
			return schema
		}
		seen[schema] = true
		s.all = append(s.all, schema)
		s.library.locate(schema)
		replaceInner(schema, enter)
		return schema
	}
	for i, schema := range s.compiled {
		s.compiled[i] = enter(schema)
	}
}

// locate notes what a schema was compiled from, and makes its location, which is a URL, its place in the document.
func (l *Library) locate(schema *Schema) {
	_, fragment, _ := strings.Cut(schema.Location, "#")
	pointer, _ := url.PathUnescape(fragment) // jsonschema has escaped it
	l.nodes[schema] = jsonvalue.Lookup(l.schemaOfAll(), "#"+pointer)
	schema.Location = l.placeOf(pointer)
}

// placeOf is the place in the document of what a pointer leads to in the JSON Schema.
//
//	/$defs/3/properties/name   /components/schemas/Plant/properties/name
func (l *Library) placeOf(pointer string) string {
	inDefinitions := strings.TrimPrefix(pointer, "/$defs/")
	text, _, _ := strings.Cut(inDefinitions, "/")
	number, _ := strconv.Atoi(text) // it has no other parts
	return l.places[number] + strings.TrimPrefix(inDefinitions, text)
}

// forbid forbids the members that are not sent in a direction, and makes them optional. One part of an allOf may require what
// another part says is readOnly. All such members are found first: one that is forbidden already is not found any more.
func (s *Schemas) forbid(direction Direction) {
	isFalse := false
	forbidden := &Schema{Bool: &isFalse, Location: direction.keyword(), DraftVersion: draft}
	lacking := map[*Schema][]string{}
	for _, schema := range s.all {
		lacking[schema] = lackingIn(schema, direction)
	}
	for schema, names := range lacking {
		for _, name := range names {
			if schema.Properties[name] != nil {
				schema.Properties[name] = forbidden
			}
		}
		schema.Required = slices.DeleteFunc(slices.Clone(schema.Required), func(name string) bool { return slices.Contains(names, name) })
	}
}

// lackingIn are the names of members of a schema, or of a part of it, that are not sent in a direction.
func lackingIn(schema *Schema, direction Direction) (all []string) {
	for _, part := range Parts(schema) {
		for name, property := range part.Properties {
			if direction.lacks(property) {
				all = append(all, name)
			}
		}
	}
	return all
}

// hidden is the beginning of the format of an integer. No document has it, because it has spaces.
const hidden = "integer of "

// registerFormats replaces the formats of jsonschema, which takes too much for some of them.
func (l *Library) registerFormats(compiler *jsonschema.Compiler) {
	for name := range l.formats {
		check := func(value any) error { return checkText(value, Formats[name].Check) }
		if format, isInteger := strings.CutPrefix(name, hidden); isInteger {
			check = func(value any) error { return l.checkInteger(value, bitsOf(format)) }
		}
		compiler.RegisterFormat(&jsonschema.Format{Name: name, Validate: check})
	}
}

// checkText checks a text. Without a check, as of a format that is not known, anything is allowed, and so are other values.
func checkText(value any, check func(string) error) error {
	text, isText := value.(string)
	if check == nil || !isText {
		return nil
	}
	return check(text)
}

// bitsOf is the size of integers of a format.
func bitsOf(format string) int {
	if format == "int32" {
		return 32
	}
	return 64
}

// zeroFraction finds an integer with a fraction of zeros.
var zeroFraction = regexp.MustCompile(`^(-?\d+)\.0+$`)

// checkInteger returns an error if a number is not written as an integer, or needs more bits. In OpenAPI 3.1, 5.0 is an
// integer (JSON Schema 2020-12, section 4.2.3).
func (l *Library) checkInteger(value any, bits int) error {
	number, isNumber := value.(json.Number)
	if !isNumber {
		return nil
	}
	if l.modern {
		number = json.Number(zeroFraction.ReplaceAllString(string(number), "$1"))
	}
	if _, err := strconv.ParseInt(string(number), 10, bits); err != nil {
		return fmt.Errorf("%.40s is not an integer of %d bits", number, bits)
	}
	return nil
}
