// Package jsonvalue reads, writes and compares values of JSON as all other packages of the engine
// hold them: nil, bool, string, []any, map[string]any, and json.Number for a number.
//
// A number keeps the digits with which it was written. That matters twice: an integer beyond 2^53
// would not survive a float64, and 1.0 is not the integer 1 to a service that reads integers.
//
// Reading is strict where the engine judges, and loose where it reads what people have written: a service
// may not send a member twice, a document may have one, and is read as its author's tools do.
//
// The files, in the order in which one reads them: this one reads and writes; tree.go walks through
// values and documents, which refer to themselves by JSON Pointers.
package jsonvalue

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// errMoreFollows means that a text has more than one value.
var errMoreFollows = errors.New("more follows it")

// Decode reads exactly one JSON value. Duplicate names and invalid UTF-8 are errors (RFC 7493).
func Decode(text []byte) (any, error) {
	if jsontext.Value(text).IsValid() {
		return DecodeLoosely(text)
	}
	// A text is not valid because of its first value, or because of what follows that.
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	if _, err := decoder.ReadValue(); err != nil {
		return nil, err
	}
	return nil, errMoreFollows
}

// DecodeLoosely reads the first JSON value of a text as encoding/json does: the last of two equal
// names counts, and what follows the value is ignored.
func DecodeLoosely(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// Encode writes a value in one line. HTML is not escaped, because a service would see the escapes.
func Encode(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // a value of another type is a mistake in the engine
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// Normal returns a value as Decode would return it, with texts and numbers as services see them.
func Normal(value any) any {
	switch value := value.(type) {
	case nil, bool, json.Number:
		return value
	case string:
		return strings.ToValidUTF8(value, "\ufffd")
	case int64:
		return json.Number(strconv.FormatInt(value, 10))
	case []any, map[string]any:
		return Map(value, func(_ string, inner any) any { return Normal(inner) })
	}
	decoded, _ := DecodeLoosely(Encode(value)) // Encode writes what can be read
	return decoded
}

// IsInteger reports whether a value is a whole number that fits into 64 bits.
func IsInteger(value any) bool {
	number, _ := value.(json.Number) // the empty one is none
	_, err := number.Int64()
	return err == nil
}

// Same reports whether two values are written alike.
func Same(value, other any) bool {
	return bytes.Equal(Encode(value), Encode(other))
}

// Differences are the places, as JSON Pointers below at, at which two values differ. Lists of different lengths differ as a
// whole, and so do values of different types. A member that one of them lacks is like null.
//
//	{"a": 1, "b": [1, 2]}, {"a": 2, "b": [1, 3]}   /a and /b/1
func Differences(at string, one, other any) (places []string) {
	object, otherObject := Object(one), Object(other)
	list, otherList := List(one), List(other)
	switch {
	case object != nil && otherObject != nil:
		members := maps.Clone(object)
		maps.Copy(members, otherObject)
		for _, name := range Names(members) {
			places = append(places, Differences(at+Pointer(name), object[name], otherObject[name])...)
		}
	case list != nil && len(list) == len(otherList):
		for i := range list {
			places = append(places, Differences(at+"/"+strconv.Itoa(i), list[i], otherList[i])...)
		}
	case !Same(one, other):
		places = []string{at}
	}
	return places
}
