package values

import (
	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// What a schema demands, whether a value is known for it or not. It is listed by the keywords alone, apart from
// the values, so that a mistake in making values shows as an untried promise and not as nothing.

// demand is a keyword that a schema may have.
type demand struct {
	keyword string
	has     bool
}

// demandedKeywords lists the keywords of a schema, which is not composed, that promise to be obeyed and
// that what breaks them is refused. There are more than values are known for.
func demandedKeywords(wanted *openapi3.Schema) (all []string) {
	isEnum := len(wanted.Enum) > 0
	isNull := schema.IsNull(wanted)
	demanded := []demand{
		{"type", isNull || wanted.Type != nil},
		{"enum", isEnum && !isNull},
		{"minItems", wanted.MinItems > 0},
		{"maxItems", wanted.MaxItems != nil},
		{"uniqueItems", wanted.UniqueItems},
		{"minProperties", wanted.MinProps > 0},
		{"maxProperties", wanted.MaxProps != nil},
	}
	if !isEnum {
		demanded = append(demanded, scalarDemands(wanted)...)
	}
	for _, keyword := range demanded {
		if keyword.has {
			all = append(all, keyword.keyword)
		}
	}
	return all
}

// scalarDemands are keywords of numbers and texts. Beside an enumeration they say nothing more.
func scalarDemands(wanted *openapi3.Schema) []demand {
	return []demand{
		{"format", isCheckedText(wanted) || isSizedInteger(wanted)},
		{"minimum", wanted.Min != nil},
		{"maximum", wanted.Max != nil},
		{"exclusiveMinimum", wanted.ExclusiveMin.IsTrue()},
		{"exclusiveMaximum", wanted.ExclusiveMax.IsTrue()},
		{"multipleOf", wanted.MultipleOf != nil},
		{"minLength", wanted.MinLength > 0},
		{"maxLength", wanted.MaxLength != nil},
		{"pattern", wanted.Pattern != ""},
	}
}

// isCheckedText reports whether texts of a schema have a format that not every text has.
func isCheckedText(wanted *openapi3.Schema) bool {
	return wanted.Type.Is("string") && schema.Formats[wanted.Format].Check != nil
}

// isSizedInteger reports whether the format of integers is what bounds them, at one side at least.
func isSizedInteger(wanted *openapi3.Schema) bool {
	isOpen := wanted.Min == nil || wanted.Max == nil
	hasSize := wanted.Type.Is("integer") && wanted.Format != ""
	return hasSize && isOpen
}
