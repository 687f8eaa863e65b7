package values

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// The plainest values are all the same, and that hides mistakes: a service that returns the last thing for any
// identity, or stores a member in the column of another one, would pass. So what sequences create has values
// that are drawn from the counter of identities.

// encoded is a value as text, to compare it with others.
func encoded(value any) string { return string(jsonvalue.Encode(value)) }

// normalEnum returns a value of an enumeration, from its beginning again after its end.
func normalEnum(flat *schema.Schema, number int64) any {
	return jsonvalue.Normal(schema.ValuesOf(flat)[number%int64(len(schema.ValuesOf(flat)))])
}

// Varied is Base with other values wherever the schema leaves them open, so that no two resources are
// alike. Two resources with the same values would let a service pass that mixes them up.
func (g *Generator) Varied(wanted *schema.Schema) any {
	object := jsonvalue.Object(g.Base(wanted))
	flat := g.Flatten(wanted)
	for _, name := range PropertyNames(flat) {
		property := flat.Properties[name]
		old, isThere := object[name]
		if isThere && !g.IsIdentity(property) && !g.IsGiven(name) {
			object[name] = g.vary(property, old)
		}
	}
	if object != nil && g.Fits(wanted, object) {
		return object
	}
	return g.Base(wanted)
}

// vary returns another value in place of an old one, or that, where the schema leaves no choice.
func (g *Generator) vary(wanted *schema.Schema, old any) any {
	if value := g.otherValue(g.Flatten(wanted), old); g.Fits(wanted, value) {
		return value
	}
	return old
}

// otherValue makes another value of the type of an old one, if it knows one. Whether the schema allows it is
// not looked at.
func (g *Generator) otherValue(flat *schema.Schema, old any) any {
	number := g.drawn.Add(1)
	if len(schema.ValuesOf(flat)) > 0 {
		return normalEnum(flat, number)
	}
	switch old.(type) {
	case bool:
		return number%2 == 0
	case json.Number:
		low, high := Limits(flat)
		low = max(low, 0)
		count := min(max(high-low, 0), 99) + 1 // of short numbers, a hundred are enough
		return json.Number(fmt.Sprint(low + number%count))
	case string:
		return fmt.Sprint("Ficus ", number)
	case []any:
		item := schema.Of(flat.Items2020)
		return g.Many(flat, OrNone(flat.MinItems), g.vary(item, g.Base(item)))
	}
	return old
}

// The forms of texts that no other test uses.
var freshForms = []string{"value%d", "value%d@plants.example", "https://plants.example/value%d", "00000000-0000-4000-8000-%012d"}

// Fresh returns a text that no other test uses, or at least a value that is not among others.
func (g *Generator) Fresh(wanted *schema.Schema, others []any) any {
	if schema.PatternOf(wanted) != "" {
		if text, ok := g.freshSample(wanted); ok {
			return text
		}
	}
	for _, form := range freshForms {
		if text := fmt.Sprintf(form, g.drawn.Add(1)); g.Fits(wanted, text) {
			return text
		}
	}
	return g.another(wanted, others)
}

// IsPlaceholder reports whether a text is one that stands where a schema leaves it open.
func (g *Generator) IsPlaceholder(of *schema.Schema, text string) bool {
	return strings.HasPrefix(text, "Ficus") || text == g.Base(of)
}
