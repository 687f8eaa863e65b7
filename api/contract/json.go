package contract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json/jsontext"
)

// shape says what of a JSON value its schema can need. JSON of a MiB can become forty as Go
// values, so what the schema cannot need is checked as JSON, and not kept.
type shape struct {
	isWhole   bool // everything is kept: the schema is combined of others, or has no type
	isNumber  bool // numbers are float64, also if they are integers
	isInteger bool // numbers are integers

	isObject     bool
	members      map[string]*shape
	others       *shape // members with other names; nil if only their names are kept, or nothing
	keepsUnknown bool   // names of other members are kept: the schema counts or forbids them

	isArray bool
	items   *shape
	most    int // items that an array may have; 0 means any number
}

// wholeShape keeps everything.
var wholeShape = &shape{isWhole: true}

// shapes are the shapes of schemas, which may contain themselves. The key has the addresses of the schemas.
type shapes map[string]*shape

// of returns the shape of a value that must match a schema, or of several schemas at least one.
func (known shapes) of(schemas ...*openapi3.Schema) *shape {
	schema := schemas[0]
	if schema == nil {
		return wholeShape
	}
	key := ""
	for _, each := range schemas {
		key += fmt.Sprintf("%p ", each)
	}
	if found := known[key]; found != nil {
		return found
	}
	if len(schemas) > 1 {
		schema = &openapi3.Schema{}
		for _, each := range schemas {
			schema.AnyOf = append(schema.AnyOf, each.NewRef())
		}
	}
	made := &shape{members: map[string]*shape{}}
	known[key] = made
	isCombined := len(schema.OneOf)+len(schema.AnyOf)+len(schema.AllOf) > 0 || schema.Not != nil
	made.isWhole = isCombined || schema.Type == nil || len(schema.Enum) > 0
	made.isInteger = schema.Type.Is(openapi3.TypeInteger)
	for _, part := range schema.AllOf {
		made.isInteger = made.isInteger || known.of(part.Value).isInteger
	}
	made.isNumber = schema.Type.Is(openapi3.TypeNumber)
	made.isObject = schema.Type.Is(openapi3.TypeObject)
	made.isArray = schema.Type.Is(openapi3.TypeArray)
	for name, described := range membersOf(schema) {
		made.members[name] = known.of(described...)
	}
	additional := schema.AdditionalProperties
	if additional.Schema != nil {
		made.others = known.of(additional.Schema.Value)
	}
	isForbidden := additional.Has != nil && !*additional.Has
	isAllowed := additional.Has != nil && *additional.Has
	made.keepsUnknown = isForbidden || schema.MinProps > 0 || schema.MaxProps != nil
	isFree := len(schema.Properties) == 0 && !isForbidden
	if (isAllowed || isFree) && made.others == nil {
		made.others = wholeShape // an object of any members
	}
	if schema.Items != nil {
		made.items = known.of(schema.Items.Value)
	}
	if schema.MaxItems != nil {
		made.most = int(*schema.MaxItems)
	}
	return made
}

// membersOf returns the schemas that a schema, and those that it is combined of, have for each member.
func membersOf(schema *openapi3.Schema) map[string][]*openapi3.Schema {
	members := map[string][]*openapi3.Schema{}
	parts := []*openapi3.Schema{schema}
	for i := 0; i < len(parts); i++ { // parts grows
		for name, member := range parts[i].Properties {
			if !slices.Contains(members[name], member.Value) {
				members[name] = append(members[name], member.Value)
			}
		}
		for _, part := range slices.Concat(parts[i].AllOf, parts[i].OneOf, parts[i].AnyOf) {
			if !slices.Contains(parts, part.Value) {
				parts = append(parts, part.Value)
			}
		}
	}
	return members
}

// decoder decodes one JSON text after the other, with the same buffers.
type decoder struct {
	input       bytes.Buffer
	tokens      jsontext.Decoder
	maxDepth    int
	isAmbiguous bool // see body
}

// decoders are used again: a new one costs 10 % of the processor time of a small request.
var decoders = sync.Pool{New: func() any { return new(decoder) }}

// decodeJSON decodes exactly one JSON value (RFC 8259) and refuses what parsers disagree about:
// duplicate names, invalid UTF-8, lone surrogates, and bytes after the value. Objects become
// map[string]any, arrays []any.
//
// It keeps what the shape needs: members with other names are skipped, of an array there is at
// most one item more than it may have, and an object or array in place of something else is
// empty.
func decodeJSON(text []byte, wanted *shape, maxDepth int) (value any, isAmbiguous bool, err error) {
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	d.input = *bytes.NewBuffer(text)
	d.tokens.Reset(&d.input)
	d.maxDepth, d.isAmbiguous = maxDepth, false
	defer func() {
		d.input = bytes.Buffer{} // the text is not ours
		d.tokens.Reset(&d.input)
	}()
	if value, err = d.value(wanted); err != nil {
		return nil, false, explainJSON(err, text)
	}
	if _, err := d.tokens.ReadToken(); err != io.EOF {
		return nil, false, fmt.Errorf("something follows the value, at byte %d", d.tokens.InputOffset())
	}
	return value, d.isAmbiguous, nil
}

// read reads the next token.
func (d *decoder) read() (jsontext.Token, error) {
	token, err := d.tokens.ReadToken()
	if err == nil && d.tokens.StackDepth() > d.maxDepth {
		err = fmt.Errorf("it is nested deeper than %d", d.maxDepth)
	}
	return token, err
}

func (d *decoder) value(wanted *shape) (any, error) {
	token, err := d.read()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return token.Bool(), nil
	case '"':
		return token.String(), nil
	case '0':
		return wanted.number(token.String()), nil
	case '[':
		return d.array(wanted)
	default: // '{': the decoder refuses a closing bracket in place of a value
		return d.object(wanted)
	}
}

func (d *decoder) array(wanted *shape) (any, error) {
	array := []any{}
	if !wanted.isArray && !wanted.isWhole {
		return array, d.skipRest()
	}
	items := wanted.items
	if items == nil {
		items = wholeShape
	}
	for d.tokens.PeekKind() != ']' {
		if wanted.most > 0 && len(array) > wanted.most {
			return array, d.skipRest()
		}
		value, err := d.value(items)
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := d.read()
	return array, err
}

func (d *decoder) object(wanted *shape) (any, error) {
	object := map[string]any{}
	if !wanted.isObject && !wanted.isWhole {
		return object, d.skipRest()
	}
	for d.tokens.PeekKind() != '}' {
		token, err := d.read()
		if err != nil {
			return nil, err
		}
		name := token.String() // the token is void after the next read
		if err := d.member(wanted, object, name); err != nil {
			return nil, err
		}
	}
	_, err := d.read()
	return object, err
}

// member reads the value of a member, and keeps it if the shape needs it.
func (d *decoder) member(wanted *shape, object map[string]any, name string) (err error) {
	member := wanted.members[name]
	if member == nil {
		member = wanted.others
		if wanted.isWhole && member == nil {
			member = wholeShape
		}
		if known := wanted.resembled(name); known != "" {
			if member != nil || wanted.keepsUnknown {
				return fmt.Errorf("a member differs from the member %s in upper and lower case only", known)
			}
			d.isAmbiguous = true
		}
	}
	switch {
	case member != nil:
		object[name], err = d.value(member)
	case wanted.keepsUnknown:
		object[name] = true
		err = d.skip()
	default:
		err = d.skip()
	}
	return err
}

// resembled returns the member whose name differs from another name in upper and lower case only, or
// an empty text. encoding/json would take one for the other.
func (s *shape) resembled(name string) string {
	for known := range s.members {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	return ""
}

// skip checks a value and keeps nothing.
func (d *decoder) skip() error {
	token, err := d.read()
	if kind := token.Kind(); err == nil && (kind == '{' || kind == '[') {
		err = d.skipRest()
	}
	return err
}

// skipRest skips what is left of an object or an array.
func (d *decoder) skipRest() error {
	for depth := d.tokens.StackDepth(); d.tokens.StackDepth() >= depth; {
		if _, err := d.read(); err != nil {
			return err
		}
	}
	return nil
}

// notAnInteger is a number, in place of an integer, that is not written as one of 64 bits, such as
// 1.0, 1e2 or 2^63. No schema accepts it. kin-openapi compares numbers as float64, and would
// accept these.
type notAnInteger struct{}

// number reads a number.
func (s *shape) number(text string) any {
	if !s.isNumber {
		if integer, err := strconv.ParseInt(text, 10, 64); err == nil {
			return integer
		}
		if s.isInteger {
			return notAnInteger{}
		}
	}
	number, _ := strconv.ParseFloat(text, 64) // out of range: infinite, which no schema accepts
	return number
}

// syntaxErrors are the reasons for an error, by what the text goes on with there.
var syntaxErrors = []struct {
	rest   *regexp.Regexp
	reason string
}{
	{regexp.MustCompile(`^\\u[dD][89a-fA-F][[:xdigit:]]{2}`), "a string is not valid Unicode"}, // half of a surrogate pair
	{regexp.MustCompile(`^\\(["\\/bfnrt]|$)`), "a backslash is not in a string: remove it"},
	{regexp.MustCompile(`^\\`), `a string has an unknown escape: write a backslash as \\`},
}

// explainJSON describes the error in our own words, which do not change with the version of the
// decoder and do not quote the body.
func explainJSON(err error, body []byte) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends too early")
	}
	syntactic, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return err // of read
	}
	rest := body[min(syntactic.ByteOffset, int64(len(body))):]
	return fmt.Errorf("%s, at byte %d", reasonOf(err, rest), syntactic.ByteOffset)
}

func reasonOf(err error, rest []byte) string {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return "a member name occurs twice in one object"
	}
	if letter, size := utf8.DecodeRune(rest); letter == utf8.RuneError && size == 1 {
		return "a string is not valid Unicode"
	}
	for _, known := range syntaxErrors {
		if known.rest.Match(rest) {
			return known.reason
		}
	}
	return "syntax error"
}
