package contract

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// reader reads the texts of a type, or returns what is wrong with one.
type reader struct {
	reads types
	read  func(text string, schema *node) (value any, wrong string)
}

// readers are tried in this order: a text is a number if it can be one.
var readers = []reader{
	{typeInteger, readInteger},
	{typeNumber, readNumber},
	{typeBoolean, readBoolean},
	{typeString, readText},
}

// readersOf returns the readers of some types. What has none of these is a text.
func readersOf(allowed types) []reader {
	for i, each := range readers { // most have one
		if allowed == each.reads {
			return readers[i : i+1]
		}
	}
	var found []reader
	for _, each := range readers {
		if allowed.has(each.reads) {
			found = append(found, each)
		}
	}
	if len(found) == 0 {
		return readers[len(readers)-1:]
	}
	return found
}

// scalars returns the types of a schema and of those that it is combined of. Without a type, the values of an enum
// have it.
func scalars(schema *node) (allowed types) {
	if schema == nil {
		return 0
	}
	if schema.types != 0 && !schema.isCombined() {
		return schema.types
	}
	for _, part := range schema.together {
		allowed |= part.types
		for _, value := range part.enum {
			if part.types == 0 {
				allowed |= typeOfValue(value)
			}
		}
	}
	return allowed
}

// readAs reads a text of a schema, which may be nil. The first of several types counts whose value is allowed, or the last one
// whose value can be read.
func readAs(schema *node, text string) (value any, wrong string) {
	readers := readersOf(scalars(schema))
	for _, reader := range readers {
		read, isWrong := reader.read(text, schema)
		if isWrong != "" {
			wrong = isWrong
			continue
		}
		value = read
		if len(readers) == 1 || isAllowed(schema, read) {
			break
		}
	}
	if value != nil {
		return value, ""
	}
	return nil, wrong
}

// isAllowed reports whether a schema allows a text, number or boolean.
func isAllowed(schema *node, value any) bool {
	alone := visit{isSilent: true}
	return alone.isAllowed(schema, value)
}

func readNumber(text string, _ *node) (value any, wrong string) {
	number, err := strconv.ParseFloat(text, 64)
	isDecimal := strings.Trim(text, "0123456789+-.eE") == "" // not inf, nan, 0x1p-2 or 1_000
	if err != nil || !isDecimal {
		return nil, "must be a number"
	}
	if whole, err := strconv.ParseInt(text, 10, 64); err == nil {
		return whole, ""
	}
	return number, ""
}

var booleans = map[string]any{"true": true, "false": false}

func readBoolean(text string, _ *node) (value any, wrong string) {
	if value = booleans[text]; value == nil {
		return nil, "must be true or false"
	}
	return value, ""
}

// readText reads a text. A time in small letters is refused, because generated code cannot bind it.
func readText(text string, schema *node) (value any, wrong string) {
	if !utf8.ValidString(text) {
		return nil, "must be valid UTF-8"
	}
	isTime := schema != nil && schema.format != nil && schema.format.name == "date-time"
	if isTime && strings.ToUpper(text) != text {
		return nil, "must match the format date-time: write T and Z in capitals"
	}
	return text, ""
}

// readInteger reads an integer. It refuses +5, 05 and -0, which routers, validators and generated code
// read differently.
func readInteger(text string, schema *node) (value any, wrong string) {
	bits := 64
	if schema.format != nil && schema.format.name == "int32" {
		bits = 32
	}
	number, err := strconv.ParseInt(text, 10, bits)
	if errors.Is(err, strconv.ErrRange) {
		return nil, fmt.Sprintf("must be an integer of %d bits", bits)
	}
	if err != nil {
		return nil, "must be an integer"
	}
	var buffer [len("-9223372036854775808")]byte // FormatInt would allocate
	if string(strconv.AppendInt(buffer[:0], number, 10)) != text {
		return nil, fmt.Sprintf("must be written as %d", number)
	}
	return number, ""
}
