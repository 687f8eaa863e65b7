package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
)

// compiler compiles schemas for values in one direction.
//
// Each schema is a resource of its own with a URL, and those in it are references to others. So each is
// translated once, when jsonschema asks for it, and a schema may refer to itself.
type compiler struct {
	direction Direction
	library   *jsonschema.Compiler
	schemas   []*openapi3.Schema // by number
	numbers   map[*openapi3.Schema]int
	// Nil: it cannot be compiled.
	compiled map[*openapi3.Schema]*jsonschema.Schema
}

// newCompiler returns a compiler that loads nothing but schemas of the document.
func newCompiler(direction Direction) *compiler {
	library := jsonschema.NewCompiler()
	library.DefaultDraft(jsonschema.Draft2020)
	library.AssertFormat()
	library.UseRegexpEngine(compilePattern)
	registerFormats(library)
	c := &compiler{
		direction: direction,
		library:   library,
		numbers:   map[*openapi3.Schema]int{},
		compiled:  map[*openapi3.Schema]*jsonschema.Schema{},
	}
	library.UseLoader(c)
	return c
}

// compile returns a schema as jsonschema has it, or nil if it cannot be compiled. That is kept, too: a schema is
// asked for with every value.
func (c *compiler) compile(wanted *openapi3.Schema) *jsonschema.Schema {
	compiled, isKnown := c.compiled[wanted]
	if !isKnown {
		compiled, _ = c.library.Compile(c.address(wanted)) // an error leaves it nil
		c.compiled[wanted] = compiled
	}
	return compiled
}

// addresses is the beginning of the URL of each schema.
const addresses = "contract://schemas/"

// address is the URL of a schema.
func (c *compiler) address(of *openapi3.Schema) string {
	number, isKnown := c.numbers[of]
	if !isKnown {
		number = len(c.schemas)
		c.numbers[of] = number
		c.schemas = append(c.schemas, of)
	}
	return addresses + strconv.Itoa(number)
}

// errNoSchema cannot happen: references are made by address.
var errNoSchema = errors.New("there is no such schema")

// Load makes the JSON Schema with a URL. jsonschema calls it.
func (c *compiler) Load(url string) (any, error) {
	number, err := strconv.Atoi(strings.TrimPrefix(url, addresses))
	if err != nil || number >= len(c.schemas) {
		return nil, errNoSchema
	}
	return c.translated(c.schemas[number]), nil
}

// jsonSchema is a schema of JSON Schema 2020-12, by keyword.
type jsonSchema map[string]any

// translated writes a schema of OpenAPI 3.0 as one of JSON Schema.
func (c *compiler) translated(wanted *openapi3.Schema) map[string]any {
	made := jsonSchema{}
	made.addTypes(wanted)
	made.addNumbers(wanted)
	made.addTexts(wanted)
	c.addItems(made, wanted)
	c.addMembers(made, wanted)
	c.addParts(made, wanted)
	return made
}

// addTypes adds the types, and the values of an enumeration. What may be null has one more type.
func (made jsonSchema) addTypes(wanted *openapi3.Schema) {
	if IsNull(wanted) {
		made["type"] = "null"
		return
	}
	var types []any
	for _, name := range wanted.Type.Slice() {
		types = append(types, name)
	}
	if wanted.Nullable {
		types = append(types, "null")
	}
	if len(wanted.Type.Slice()) > 0 { // else any type is allowed
		made["type"] = types
	}
	if len(wanted.Enum) > 0 {
		made["enum"] = jsonvalue.Normal(wanted.Enum)
	}
}

// addNumbers adds the bounds of numbers. OpenAPI 3.0 says beside a bound that it is exclusive. A number
// such as 1.0 is no integer to a service, and an integer has a size.
func (made jsonSchema) addNumbers(wanted *openapi3.Schema) {
	if wanted.Type.Is("integer") {
		made["format"] = integerFormat(bitsOf(wanted))
	}
	least := "minimum"
	most := "maximum"
	if wanted.ExclusiveMin.IsTrue() {
		least = "exclusiveMinimum"
	}
	if wanted.ExclusiveMax.IsTrue() {
		most = "exclusiveMaximum"
	}
	made.addNumber(least, wanted.Min)
	made.addNumber(most, wanted.Max)
	made.addNumber("multipleOf", wanted.MultipleOf)
}

// addNumber adds a number that a schema may have. kin-openapi has read it as a float64; written with the
// fewest digits it is the one of the document again.
func (made jsonSchema) addNumber(keyword string, number *float64) {
	if number != nil {
		made[keyword] = json.Number(strconv.FormatFloat(*number, 'g', -1, 64))
	}
}

// addTexts adds what is asked of texts. A pattern that cannot be compiled was reported by the reader, and
// allows everything.
func (made jsonSchema) addTexts(wanted *openapi3.Schema) {
	if Formats[wanted.Format].Check != nil {
		made["format"] = wanted.Format
	}
	if wanted.Pattern != "" && IsPattern(wanted.Pattern) {
		made["pattern"] = wanted.Pattern
	}
	made.addCounts("minLength", wanted.MinLength, "maxLength", wanted.MaxLength)
}

// addCounts adds the bounds of a length. A lower one of 0 is none.
func (made jsonSchema) addCounts(lower string, least uint64, upper string, most *uint64) {
	if least > 0 {
		made[lower] = json.Number(strconv.FormatUint(least, 10))
	}
	if most != nil {
		made[upper] = json.Number(strconv.FormatUint(*most, 10))
	}
}

// addItems adds what is asked of arrays.
func (c *compiler) addItems(made jsonSchema, wanted *openapi3.Schema) {
	if wanted.Items != nil {
		made["items"] = c.reference(wanted.Items)
	}
	if wanted.UniqueItems {
		made["uniqueItems"] = true
	}
	made.addCounts("minItems", wanted.MinItems, "maxItems", wanted.MaxItems)
}

// addMembers adds the members of an object. Those that are not sent in the direction are forbidden, and
// not required.
func (c *compiler) addMembers(made jsonSchema, wanted *openapi3.Schema) {
	properties := map[string]any{}
	for name, property := range wanted.Properties {
		properties[name] = c.reference(property)
		if c.lacks(wanted, name) {
			properties[name] = false
		}
	}
	var required []any
	for _, name := range wanted.Required {
		if !c.lacks(wanted, name) {
			required = append(required, name)
		}
	}
	if len(properties) > 0 {
		made["properties"] = properties
	}
	if len(required) > 0 {
		made["required"] = required
	}
	made.addCounts("minProperties", wanted.MinProps, "maxProperties", wanted.MaxProps)
	switch more := wanted.AdditionalProperties; {
	case more.Schema != nil:
		made["additionalProperties"] = c.reference(more.Schema)
	case IsClosed(wanted):
		made["additionalProperties"] = false
	}
}

// lacks reports whether a member is not sent in the direction, by any part of its object. One part of an allOf may
// require what another one says is readOnly.
func (c *compiler) lacks(wanted *openapi3.Schema, name string) bool {
	for _, part := range Parts(wanted) {
		property := part.Properties[name]
		if property != nil && c.direction.Lacks(Of(property)) {
			return true
		}
	}
	return false
}

// addParts adds the schemas that a schema is composed of.
func (c *compiler) addParts(made jsonSchema, wanted *openapi3.Schema) {
	for keyword, parts := range map[string]openapi3.SchemaRefs{
		"allOf": wanted.AllOf,
		"anyOf": wanted.AnyOf,
		"oneOf": wanted.OneOf,
	} {
		var all []any
		for _, part := range parts {
			all = append(all, c.reference(part))
		}
		if len(all) > 0 {
			made[keyword] = all
		}
	}
	if wanted.Not != nil {
		made["not"] = c.reference(wanted.Not)
	}
}

// reference is a JSON Schema that refers to another one.
func (c *compiler) reference(to *openapi3.SchemaRef) any {
	return map[string]any{"$ref": c.address(Of(to))}
}

// bitsOf is the size of the integers of a schema.
func bitsOf(wanted *openapi3.Schema) int {
	if wanted.Format == "int32" {
		return 32
	}
	return 64
}

// integerFormat is the name of a format that no document can have, because it has spaces.
func integerFormat(bits int) string { return fmt.Sprint("integer of ", bits) }

// registerFormats replaces the formats of jsonschema, which takes too much for some of them. Integers
// have formats of the engine.
func registerFormats(library *jsonschema.Compiler) {
	for name, format := range Formats {
		library.RegisterFormat(&jsonschema.Format{Name: name, Validate: format.validate})
	}
	for _, bits := range []int{32, 64} {
		library.RegisterFormat(&jsonschema.Format{
			Name:     integerFormat(bits),
			Validate: func(value any) error { return checkInteger(value, bits) },
		})
	}
}

// validate checks a value, of which only texts have the format. A format without a check is not asked for.
func (f Format) validate(value any) error {
	text, isText := value.(string)
	if !isText {
		return nil
	}
	return f.Check(text)
}

// checkInteger returns an error if a number is not written as an integer, or none that so many bits hold.
func checkInteger(value any, bits int) error {
	number, isNumber := value.(json.Number)
	if !isNumber {
		return nil
	}
	if _, err := strconv.ParseInt(string(number), 10, bits); err != nil {
		return fmt.Errorf("%.40s is not an integer of %d bits", number, bits)
	}
	return nil
}
