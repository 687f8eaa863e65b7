package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// variant is a value made from a schema, with one thing about it: at one place
// it shows, or breaks, one keyword of the schema there.
type variant struct {
	pointer string // of the place, as a JSON Pointer
	keyword string
	value   any // the whole value; its numbers are int64 or json.Number
}

// generator makes values from schemas. Values for an identity are drawn fresh,
// so that what one case creates is in no other's way.
type generator struct {
	identities  map[*openapi3.Schema]bool
	first, next int64 // what has been drawn: after first, up to next
}

// texts are strings that services have stumbled over.
var texts = []string{
	"Ficus", "", " ", "\x00", "a\x00b", "\t\r\n", `"\/`, "<&>", "'; --", "%_", "null", "0",
	"Épinette à feuilles d'if", "E\u0301", "蘭", "🌵", "\u202eRTL", "\u2028\ufeff", "\U0010ffff", strings.Repeat("x", 5000),
}

// unknownMember is the name of a member that no schema has.
const unknownMember = "unknown-member"

// base returns the plainest valid value: every property, every minimum met.
func (g *generator) base(s *openapi3.Schema) any {
	if g.identities[s] {
		g.next++
		return g.next
	}
	switch {
	case len(s.Enum) > 0:
		return normal(s.Enum[0])
	case s.Type.Is("object"):
		object := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			object[name] = g.base(s.Properties[name].Value)
		}
		return object
	case s.Type.Is("array"):
		return g.many(s, max(1, s.MinItems))
	case s.Type.Is("integer"):
		low, high := limits(s)
		return min(max(low, 1), high)
	case s.Type.Is("boolean"):
		return true
	case s.Pattern != "" && s.Example != nil:
		return normal(s.Example)
	default:
		return padded("Ficus", s)
	}
}

// many returns an array of n items.
func (g *generator) many(s *openapi3.Schema, n uint64) []any {
	array := make([]any, n)
	for i := range array {
		array[i] = g.base(s.Items.Value)
	}
	return array
}

// obeying returns valid values, each at the edge of some keyword.
func (g *generator) obeying(s *openapi3.Schema) (all []variant) {
	add := func(keyword string, value any) { all = append(all, variant{"", keyword, value}) }
	add("type", g.base(s))
	if s.Nullable {
		add("nullable", nil)
	}
	for _, v := range s.Enum {
		add("enum", normal(v))
	}
	switch {
	case len(s.Enum) > 0:
	case s.Type.Is("integer"):
		low, high := limits(s)
		add(edge(s.Min != nil, "minimum", "format"), low)
		add(edge(s.Max != nil, "maximum", "format"), high)
		for _, n := range []int64{-1, 0, 1, 1 << 53, 1<<53 + 1} { // beyond 2^53 a float64 is off by one
			if low <= n && n <= high {
				add("type", n)
			}
		}
	case s.Type.Is("string"):
		if s.Pattern != "" {
			add("pattern", g.base(s))
			break
		}
		for _, text := range texts {
			if length := uint64(len([]rune(text))); length >= s.MinLength && (s.MaxLength == nil || length <= *s.MaxLength) {
				add("type", text)
			}
		}
		if s.MinLength > 0 {
			add("minLength", strings.Repeat("蘭", int(s.MinLength)))
		}
		if s.MaxLength != nil {
			add("maxLength", strings.Repeat("蘭", int(*s.MaxLength)))
		}
	case s.Type.Is("array"):
		add("minItems", g.many(s, s.MinItems))
		if s.MaxItems != nil {
			add("maxItems", g.many(s, *s.MaxItems))
		}
		for _, v := range g.obeying(s.Items.Value) {
			all = append(all, variant{"/0" + v.pointer, v.keyword, []any{v.value}})
		}
	case s.Type.Is("object"):
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			required := slices.Contains(s.Required, name)
			all = append(all, variant{"/" + name, "required", g.with(s, name, g.base(s.Properties[name].Value))})
			if !required {
				object := g.base(s).(map[string]any)
				delete(object, name)
				all = append(all, variant{"/" + name, "required", object})
			}
			for _, v := range g.obeying(s.Properties[name].Value) {
				all = append(all, variant{"/" + name + v.pointer, v.keyword, g.with(s, name, v.value)})
			}
		}
		if closed(s) {
			add("additionalProperties", g.base(s))
		} else {
			add("additionalProperties", g.with(s, unknownMember, map[string]any{"deep": []any{nil}}))
		}
	}
	return all
}

// breaking returns values that break one keyword each.
func (g *generator) breaking(s *openapi3.Schema) (all []variant) {
	add := func(keyword string, value any) { all = append(all, variant{"", keyword, value}) }
	wrongTypes := map[string]any{"string": "1", "integer": int64(1), "number": json.Number("1.5"), "boolean": true, "array": []any{}, "object": map[string]any{}}
	for _, name := range slices.Sorted(maps.Keys(wrongTypes)) {
		if !s.Type.Is(name) && !(s.Type.Is("number") && name == "integer") {
			add("type", wrongTypes[name])
		}
	}
	if !s.Nullable {
		add("nullable", nil)
	}
	if len(s.Enum) > 0 {
		add("enum", outside(s))
	}
	switch {
	case len(s.Enum) > 0:
	case s.Type.Is("integer"):
		low, high := limits(s)
		add("type", json.Number("1.0"))
		add("type", json.Number("1e2"))
		add(edge(s.Min != nil, "minimum", "format"), oneOff(low, -1))
		add(edge(s.Max != nil, "maximum", "format"), oneOff(high, +1))
		add("format", json.Number("1e400"))
		add("format", json.Number(strings.Repeat("9", 400)))
	case s.Type.Is("string"):
		if s.MinLength > 0 {
			add("minLength", strings.Repeat("x", int(s.MinLength)-1))
		}
		if s.MaxLength != nil {
			add("maxLength", strings.Repeat("x", int(*s.MaxLength)+1))
		}
		if s.Pattern != "" {
			add("pattern", unmatched(s))
		}
	case s.Type.Is("array"):
		if s.MinItems > 0 {
			add("minItems", g.many(s, s.MinItems-1))
		}
		if s.MaxItems != nil {
			add("maxItems", g.many(s, *s.MaxItems+1))
		}
		for _, v := range g.breaking(s.Items.Value) {
			all = append(all, variant{"/1" + v.pointer, v.keyword, []any{g.base(s.Items.Value), v.value}})
		}
	case s.Type.Is("object"):
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if slices.Contains(s.Required, name) {
				object := g.base(s).(map[string]any)
				delete(object, name)
				all = append(all, variant{"/" + name, "required", object})
			}
			for _, v := range g.breaking(s.Properties[name].Value) {
				all = append(all, variant{"/" + name + v.pointer, v.keyword, g.with(s, name, v.value)})
			}
		}
		if closed(s) {
			all = append(all, variant{"/" + unknownMember, "additionalProperties", g.with(s, unknownMember, int64(1))})
		}
	}
	return all
}

// with returns the base of an object with one member set.
func (g *generator) with(s *openapi3.Schema, name string, value any) map[string]any {
	object := g.base(s).(map[string]any)
	object[name] = value
	return object
}

func closed(s *openapi3.Schema) bool {
	return s.AdditionalProperties.Has != nil && !*s.AdditionalProperties.Has
}

// keywords lists what there is to obey and to break in a schema, by place; an
// index is written *. It knows more keywords than obeying and breaking do: one
// that the document takes up before they have learned it stays uncovered in the
// ledger.
func keywords(s *openapi3.Schema, at string) (all []string) {
	add := func(demanded bool, keyword string) {
		if demanded {
			all = append(all, at+" "+keyword+", obeyed", at+" "+keyword+", broken")
		}
	}
	if s.Nullable {
		all = append(all, at+" nullable, obeyed")
	} else {
		all = append(all, at+" nullable, broken")
	}
	if s.Type.Is("object") {
		all = append(all, at+" additionalProperties, obeyed")
		if closed(s) {
			all = append(all, at+" additionalProperties, broken")
		}
	}
	add(s.Type != nil, "type")
	add(len(s.Enum) > 0, "enum")
	add(s.Type.Is("integer") && s.Format != "" && (s.Min == nil || s.Max == nil), "format")
	add(s.Type.Is("string") && s.Format != "", "format")
	add(s.Min != nil, "minimum")
	add(s.Max != nil, "maximum")
	add(s.ExclusiveMin.IsSet(), "exclusiveMinimum")
	add(s.ExclusiveMax.IsSet(), "exclusiveMaximum")
	add(s.MultipleOf != nil, "multipleOf")
	add(s.MinLength > 0, "minLength")
	add(s.MaxLength != nil, "maxLength")
	add(s.Pattern != "", "pattern")
	add(s.MinItems > 0, "minItems")
	add(s.MaxItems != nil, "maxItems")
	add(s.UniqueItems, "uniqueItems")
	add(s.MinProps > 0, "minProperties")
	add(s.MaxProps != nil, "maxProperties")
	add(len(s.AllOf) > 0, "allOf")
	add(len(s.AnyOf) > 0, "anyOf")
	add(len(s.OneOf) > 0, "oneOf")
	add(s.Not != nil, "not")
	if s.Items != nil {
		all = append(all, keywords(s.Items.Value, at+"/*")...)
	}
	for name, property := range s.Properties {
		if slices.Contains(s.Required, name) {
			all = append(all, at+"/"+name+" required, obeyed", at+"/"+name+" required, broken")
		}
		all = append(all, keywords(property.Value, at+"/"+name)...)
	}
	return all
}

var index = regexp.MustCompile(`/[0-9]+(/|$)`)

// place writes a pointer as keywords does.
func place(pointer string) string { return index.ReplaceAllString(pointer, "/*$1") }

// limits are the smallest and the largest integer that a schema allows.
func limits(s *openapi3.Schema) (low, high int64) {
	low, high = math.MinInt64, math.MaxInt64
	if s.Format == "int32" {
		low, high = math.MinInt32, math.MaxInt32
	}
	if s.Min != nil {
		low = max(low, int64(*s.Min))
	}
	if s.Max != nil {
		high = min(high, int64(*s.Max))
	}
	return low, high
}

func edge(set bool, keyword, otherwise string) string {
	if set {
		return keyword
	}
	return otherwise
}

// oneOff returns n+d, which may be beyond int64.
func oneOff(n, d int64) json.Number {
	return json.Number(new(big.Int).Add(big.NewInt(n), big.NewInt(d)).String())
}

func padded(text string, s *openapi3.Schema) string {
	if need := int(s.MinLength) - len(text); need > 0 {
		text += strings.Repeat("x", need)
	}
	if s.MaxLength != nil && uint64(len(text)) > *s.MaxLength {
		text = text[:*s.MaxLength]
	}
	return text
}

// outside returns a value of the right type that no enum lists.
func outside(s *openapi3.Schema) any {
	if s.Type.Is("integer") {
		n := int64(0)
		for _, v := range s.Enum {
			if m, err := strconv.ParseInt(fmt.Sprint(v), 10, 64); err == nil {
				n = max(n, m+1)
			}
		}
		return n
	}
	return fmt.Sprint(s.Enum[0], "?")
}

// unmatched returns a text that a pattern does not match.
func unmatched(s *openapi3.Schema) string {
	pattern := regexp.MustCompile(s.Pattern)
	for _, text := range []string{"", "~", "a", "1", "ABC def", `"`, "\n"} {
		if !pattern.MatchString(text) {
			return text
		}
	}
	return "\x00"
}

// normal makes a value of the document one of ours.
func normal(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // the document is JSON
	}
	decoded, err := decode(text)
	if err != nil {
		panic(err)
	}
	return decoded
}
