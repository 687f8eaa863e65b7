package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is how deep arrays and objects may be nested.
const maxDepth = 64

// The reasons why a body is not JSON. Clients see these texts.
var (
	errJSONEnds      = errors.New("it ends too early")
	errJSONDeep      = fmt.Errorf("it is nested deeper than %d", maxDepth)
	errJSONDuplicate = errors.New("a member name occurs twice in one object")
	errJSONText      = errors.New("a string is not valid Unicode")
	errJSONTrailing  = errors.New("something follows the value")
	errJSONSyntax    = errors.New("syntax error")
)

// decoder decodes one JSON text after the other, with the same buffers.
type decoder struct {
	input  bytes.Buffer
	tokens jsontext.Decoder
}

// decode decodes exactly one JSON value (RFC 8259) and refuses what parsers
// disagree about: duplicate names, invalid UTF-8, lone surrogates, trailing
// bytes. Objects become map[string]any, arrays []any. A number is an int64 if
// it is written as an integer that fits, else [inexact].
func (d *decoder) decode(text []byte) (any, error) {
	d.input = *bytes.NewBuffer(text)
	d.tokens.Reset(&d.input)
	value, err := d.value()
	if err != nil {
		return nil, explainJSON(err, text)
	}
	if _, err := d.tokens.ReadToken(); err != io.EOF {
		return nil, fmt.Errorf("%w, at byte %d", errJSONTrailing, d.tokens.InputOffset())
	}
	return value, nil
}

func (d *decoder) value() (any, error) {
	token, err := d.tokens.ReadToken()
	if err != nil {
		return nil, err
	}
	if d.tokens.StackDepth() > maxDepth {
		return nil, errJSONDeep
	}
	switch token.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return token.Bool(), nil
	case '"':
		return token.String(), nil
	case '0':
		return number(token), nil
	case '[':
		return d.array()
	default: // '{': the decoder refuses a closing bracket in place of a value
		return d.object()
	}
}

func (d *decoder) array() (any, error) {
	array := []any{}
	for d.tokens.PeekKind() != ']' {
		value, err := d.value()
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := d.tokens.ReadToken()
	return array, err
}

func (d *decoder) object() (any, error) {
	object := map[string]any{}
	for d.tokens.PeekKind() != '}' {
		token, err := d.tokens.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String() // the token is void after the next read
		if object[name], err = d.value(); err != nil {
			return nil, err
		}
	}
	_, err := d.tokens.ReadToken()
	return object, err
}

// inexact is a number that is not written as an integer of 64 bits, such as 1.0, 1e2 or
// 2^63. No schema accepts it. kin-openapi compares numbers as float64, and would accept
// these as integers. The document has no numbers that are not integers.
type inexact struct{}

func number(token jsontext.Token) any {
	if n, err := strconv.ParseInt(token.String(), 10, 64); err == nil {
		return n
	}
	return inexact{}
}

// explainJSON describes the error in our own words, which do not change with the
// version of the decoder and do not quote the body.
func explainJSON(err error, body []byte) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return errJSONEnds
	}
	syntactic, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return err // errJSONDeep
	}
	reason, at := errJSONSyntax, syntactic.ByteOffset
	switch rest := body[min(at, int64(len(body))):]; {
	case errors.Is(err, jsontext.ErrDuplicateName):
		reason = errJSONDuplicate
	case bytes.HasPrefix(rest, []byte(`\`)), isBadUTF8(rest):
		reason = errJSONText
	}
	return fmt.Errorf("%w, at byte %d", reason, at)
}

// isBadUTF8 reports whether b begins with a byte that is not UTF-8.
func isBadUTF8(b []byte) bool {
	r, size := utf8.DecodeRune(b)
	return r == utf8.RuneError && size == 1
}
