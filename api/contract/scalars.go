package contract

import "unicode/utf8"

// typeOfValue returns the types that a value has. A number is an integer if it is written as one of 64 bits.
func typeOfValue(value any) types {
	switch value.(type) {
	case map[string]any:
		return typeObject
	case []any:
		return typeArray
	case string, fileSize:
		return typeString
	case bool:
		return typeBoolean
	case int64:
		return typeNumber | typeInteger
	case float64:
		return typeNumber
	}
	return typeNull
}

// refuse says which type a value must have, or nothing if it has one of the types.
func (t types) refuse(value any) string {
	isFloat := typeOfValue(value) == typeNumber
	switch {
	case t == 0 || t.has(typeOfValue(value)):
		return ""
	case value == nil:
		return "must not be null"
	case isFloat && t.has(typeInteger):
		return "must be an integer of at most 64 bits, without fraction or exponent"
	}
	return "must be " + t.String()
}

func (v *visit) holdText(schema *node, text string) {
	switch {
	case schema.length == nil:
	case schema.isBinary:
		v.holdSize(schema.length, len(text))
	default:
		v.holdSize(schema.length, utf8.RuneCountInString(text))
	}
	if schema.pattern != nil && !v.matches(schema.pattern, text) {
		v.fault(schema.patternMessage)
	}
	if schema.format != nil && schema.format.checkText != nil && schema.format.checkText(text) != nil {
		v.fault(schema.format.message)
	}
}

// fileSize is the value of a file in a form while the form is checked: how many bytes it has.
type fileSize int

// unread is the size of a file that is not read yet.
const unread fileSize = -1

func (v *visit) holdFile(schema *node, size fileSize) {
	if size != unread {
		v.holdSize(schema.length, int(size))
	}
}

func (v *visit) holdNumber(schema *node, number any) {
	if schema.format != nil && schema.format.checkNumber != nil && !schema.format.checkNumber(number) {
		v.fault(schema.format.message)
	}
	for _, bound := range schema.bounds {
		if !bound.allows(number) {
			v.fault(bound.message)
		}
	}
	if schema.multipleOf != nil && !isMultiple(number, schema.multipleOf) {
		v.fault("must be a multiple of " + formatNumber(schema.multipleOf))
	}
}
