package contracttest

import (
	sch "github.com/plantstore/plantstore/api/contracttest/internal/schema"

	"regexp"

	"github.com/getkin/kin-openapi/openapi3"
)

// demanded lists the keywords of a schema, which is not composed, that promise to be obeyed and
// that what breaks them is refused. There are more than values are known for.
func demanded(s *openapi3.Schema) (all []string) {
	free := len(s.Enum) == 0
	for _, k := range []struct {
		keyword string
		has     bool
	}{
		{"type", s.Type != nil},
		{"enum", !free},
		{"format", free && s.Type.Is("integer") && s.Format != "" && (s.Min == nil || s.Max == nil)},
		{"format", free && s.Type.Is("string") && sch.Formats[s.Format].Check != nil},
		{"minimum", free && s.Min != nil},
		{"maximum", free && s.Max != nil},
		{"exclusiveMinimum", free && s.ExclusiveMin.IsTrue()},
		{"exclusiveMaximum", free && s.ExclusiveMax.IsTrue()},
		{"multipleOf", free && s.MultipleOf != nil},
		{"minLength", free && s.MinLength > 0},
		{"maxLength", free && s.MaxLength != nil},
		{"pattern", free && s.Pattern != ""},
		{"minItems", s.MinItems > 0},
		{"maxItems", s.MaxItems != nil},
		{"uniqueItems", s.UniqueItems},
		{"minProperties", s.MinProps > 0},
		{"maxProperties", s.MaxProps != nil},
	} {
		if k.has {
			all = append(all, k.keyword)
		}
	}
	return all
}

var index = regexp.MustCompile(`/[0-9]+(/|$)`)

// place writes a pointer as promises do: an index is *.
func place(pointer string) string { return index.ReplaceAllString(pointer, "/*$1") }
