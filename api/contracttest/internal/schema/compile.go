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

// keyword is the one with which a schema says that it is not for the direction.
func (d Direction) keyword() string {
	if d == Received {
		return "writeOnly"
	}
	return "readOnly"
}

// lacks reports whether a value in the direction leaves out what has a schema, as far as the schema or a part of its allOf
// says so.
func (d Direction) lacks(schema *Schema) bool {
	parts := []*Schema{schema}
	for i := 0; i < len(parts); i++ {
		isMarked := map[Direction]bool{Request: parts[i].ReadOnly, Received: parts[i].WriteOnly}
		if isMarked[d] {
			return true
		}
		for _, part := range parts[i].AllOf {
			if !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
	}
	return false
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

// Compile compiles the schemas for values in a direction. Keywords with values that they cannot have are reported and left
// out.
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
func (l *Library) compiled() (all []*Schema, err error) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	compiler.UseRegexpEngine(patternEngine)
	l.registerFormats(compiler)
	if err := compiler.AddResource(address, map[string]any{"$defs": l.definitions}); err != nil {
		return nil, err
	}
	for number := range l.places {
		compiled, err := compiler.Compile(address + definitions + strconv.Itoa(number))
		if err != nil {
			return nil, err
		}
		all = append(all, compiled)
	}
	return all, nil
}

// leaveOut leaves out of the definitions what jsonschema does not compile, and reports whether there is such. References
// lead to definitions, and each pattern compiles, so that is a keyword with a wrong value.
func (l *Library) leaveOut(err error) bool {
	invalid, isInvalid := errors.AsType[*jsonschema.SchemaValidationError](err)
	if !isInvalid {
		return false
	}
	wrong, isKnown := errors.AsType[*jsonschema.ValidationError](invalid.Err)
	return isKnown && l.leaveOutCause(wrong)
}

// leaveOutCause leaves out the keywords of the causes of an error.
func (l *Library) leaveOutCause(wrong *jsonschema.ValidationError) (hasLeftOut bool) {
	for _, cause := range wrong.Causes {
		hasLeftOut = l.leaveOutCause(cause) || hasLeftOut
	}
	at := wrong.InstanceLocation
	if len(wrong.Causes) > 0 {
		at = nil // it is the sum of them
	}
	// What is wrong may be an item of the value of the keyword.
	for end := len(at); end > 2; end-- {
		node := jsonvalue.Lookup(map[string]any{"$defs": l.definitions}, "#"+jsonvalue.Pointer(at[:end-1]...))
		schema := jsonvalue.Object(node)
		if name := at[end-1]; schema != nil && l.understands(name) {
			if value, has := schema[name]; has {
				l.reportValue(l.placeOf(jsonvalue.Pointer(at[:end-1]...)), name, value)
				delete(schema, name)
			}
			return true
		}
	}
	return hasLeftOut
}

// connect puts in place of each reference what it leads to, and makes the location of a schema that in the document.
func (s *Schemas) connect() {
	document := map[string]any{"$defs": s.library.definitions}
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
		_, fragment, _ := strings.Cut(schema.Location, "#")
		pointer, _ := url.PathUnescape(fragment) // it is one
		s.library.nodes[schema] = jsonvalue.Lookup(document, "#"+pointer)
		schema.Location = s.library.placeOf(pointer)
		replaceInner(schema, enter)
		return schema
	}
	for i, schema := range s.compiled {
		s.compiled[i] = enter(schema)
	}
}

// placeOf is the place in the document of what a pointer leads to in the JSON Schema.
func (l *Library) placeOf(pointer string) string {
	text, below, _ := strings.Cut(strings.TrimPrefix(pointer, "/$defs/"), "/")
	number, _ := strconv.Atoi(text) // it has no other parts
	if below != "" {
		below = "/" + below
	}
	return l.places[number] + below
}

// forbid makes members forbidden that are not sent in a direction, and not required. One part of an allOf may require what
// another one says is readOnly.
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

// registerFormats replaces the formats of jsonschema, which takes too much for some of them. A format without a check
// allows any value, and so does one that is not known.
func (l *Library) registerFormats(compiler *jsonschema.Compiler) {
	for name := range l.formats {
		check := func(value any) error {
			text, isText := value.(string)
			if known := Formats[name].Check; known != nil && isText {
				return known(text)
			}
			return nil
		}
		if format, isInteger := strings.CutPrefix(name, hidden); isInteger {
			check = func(value any) error { return l.checkInteger(value, bitsOf(format)) }
		}
		compiler.RegisterFormat(&jsonschema.Format{Name: name, Validate: check})
	}
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

// checkInteger returns an error if a number is not written as an integer, or none that so many bits hold. In OpenAPI 3.1, 5.0
// is one (JSON Schema 2020-12, section 4.2.3).
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
