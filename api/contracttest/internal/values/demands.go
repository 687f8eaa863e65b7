package values

import (
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// What a schema demands is listed by the keywords alone, whether a value is known for them or not. So a mistake in making
// values shows as a promise that is not tested, and not as nothing.

// The keywords of all values, and those of numbers and texts alone. The latter say nothing more beside an enumeration.
var (
	ofAll     = []string{"type", "enum", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"}
	ofScalars = []string{
		"format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
	}
)

// demandedKeywords lists the keywords of a schema, which is not composed, that promise to be obeyed and
// that what breaks them is refused. There are more than values are known for.
func demandedKeywords(wanted *schema.Schema) (all []string) {
	keywords := ofAll
	if len(schema.ValuesOf(wanted)) == 0 {
		keywords = slices.Concat(ofAll, ofScalars)
	}
	for _, keyword := range keywords {
		if isDemanded(wanted, keyword) {
			all = append(all, keyword)
		}
	}
	return all
}

// isDemanded reports whether a schema demands one of these keywords, by itself or by another one.
func isDemanded(wanted *schema.Schema, keyword string) bool {
	switch keyword {
	case "type":
		return schema.HasType(wanted) || schema.IsNull(wanted)
	case "enum":
		return len(schema.ValuesOf(wanted)) > 0 && !schema.IsNull(wanted)
	case "format":
		return isCheckedText(wanted) || isSizedInteger(wanted)
	case "minimum":
		return lowerBound(wanted) != nil
	case "maximum":
		return upperBound(wanted) != nil
	case "pattern":
		return schema.PatternOf(wanted) != ""
	}
	return schema.Has(wanted, keyword)
}

// isCheckedText reports whether texts of a schema have a format that not every text has.
func isCheckedText(wanted *schema.Schema) bool {
	return schema.TypeOf(wanted) == "string" && schema.Formats[schema.FormatOf(wanted)].Check != nil
}

// isSizedInteger reports whether the format of integers is what bounds them, at one side at least.
func isSizedInteger(wanted *schema.Schema) bool {
	isOpen := lowerBound(wanted) == nil || upperBound(wanted) == nil
	hasSize := schema.TypeOf(wanted) == "integer" && schema.FormatOf(wanted) != ""
	return hasSize && isOpen
}
