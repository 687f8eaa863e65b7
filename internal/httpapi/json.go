package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is how deep arrays and objects may stand in each other.
const maxDepth = 64

// The ways in which a body is not JSON. Their words are for callers.
var (
	errJSONEnds      = errors.New("it ends too early")
	errJSONDeep      = fmt.Errorf("it is nested deeper than %d", maxDepth)
	errJSONDuplicate = errors.New("a member name occurs twice in one object")
	errJSONText      = errors.New("a string is not valid Unicode")
	errJSONTrailing  = errors.New("something follows the value")
	errJSONSyntax    = errors.New("syntax error")
)

// decodeJSON decodes exactly one JSON value (RFC 8259) and refuses what parsers
// disagree about: duplicate names, invalid UTF-8, lone surrogates, trailing
// bytes. Objects become map[string]any, arrays []any. A number is an int64 if
// it is written as an integer that fits, else a [json.Number].
func decodeJSON(body []byte) (any, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body))
	value, err := decodeValue(dec)
	if err != nil {
		return nil, explainJSON(err, body)
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return nil, fmt.Errorf("%w, at byte %d", errJSONTrailing, dec.InputOffset())
	}
	return value, nil
}

func decodeValue(dec *jsontext.Decoder) (any, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	if dec.StackDepth() > maxDepth {
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
		return decodeNumber(token.String()), nil
	case '[':
		return decodeArray(dec)
	default: // '{': the decoder lets no closing bracket stand for a value
		return decodeObject(dec)
	}
}

func decodeArray(dec *jsontext.Decoder) (any, error) {
	array := []any{}
	for dec.PeekKind() != ']' {
		value, err := decodeValue(dec)
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := dec.ReadToken()
	return array, err
}

func decodeObject(dec *jsontext.Decoder) (any, error) {
	object := map[string]any{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String() // the token is void after the next read
		if object[key], err = decodeValue(dec); err != nil {
			return nil, err
		}
	}
	_, err := dec.ReadToken()
	return object, err
}

func decodeNumber(literal string) any {
	if n, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return n
	}
	return json.Number(literal)
}

// explainJSON says what is wrong in words of ours, which do not change with the
// decoder's version and quote nothing of the body.
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
