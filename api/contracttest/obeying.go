package contracttest

import (
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

func isComposed(s *openapi3.Schema) bool {
	return len(s.AllOf) > 0 || len(s.OneOf) > 0 || len(s.AnyOf) > 0 || s.Not != nil
}

// obeying returns valid values, each at the edge of some keyword.
func (g *generator) obeying(s *openapi3.Schema) (all []variant) {
	if g.work > g.enough && g.nesting > 0 || !g.enter(s) {
		return nil
	}
	defer g.leave(s)
	flat := g.flatten(s)
	if branches := g.branches(flat); len(branches) > 0 {
		keyword := compositionOf(flat)
		for _, branch := range branches {
			all = append(all, variant{"", keyword, g.base(branch)})
			all = append(all, g.obeying(branch)...)
		}
	} else {
		all = g.simpleObeying(flat)
	}
	if len(s.AllOf) > 0 {
		all = append(all, variant{"", "allOf", g.base(s)})
	}
	if flat.Not != nil {
		all = append(all, variant{"", "not", g.base(s)})
	}
	if isComposed(s) {
		all = g.filtered(s, all, true)
	}
	return g.fewer(all)
}

func compositionOf(s *openapi3.Schema) string {
	if len(s.OneOf) > 0 {
		return "oneOf"
	}
	return "anyOf"
}

func (g *generator) simpleObeying(s *openapi3.Schema) (all []variant) {
	add := func(keyword string, value any) { all = append(all, variant{"", keyword, value}) }
	if s.Type.Is("string") && len(s.Enum) == 0 && unknownFormat(s) && s.Example == nil {
		return nil // no text is known to have it
	}
	add("type", g.simpleOrIdentity(s))
	if s.Nullable && (s.Type != nil || len(s.Enum) > 0) { // no client means null without a type
		add("nullable", nil)
	}
	for _, v := range s.Enum {
		add("enum", normal(v))
	}
	switch {
	case len(s.Enum) > 0:
	case s.Type.Is("integer"):
		low, high := limits(s)
		low, high = multipleFrom(s, low).(int64), multipleBelow(s, high)
		add(edge(s.Min != nil, "minimum", "format"), low)
		add(edge(s.Max != nil, "maximum", "format"), high)
		exclusives(s, low, high, add)
		for _, n := range []int64{-1, 0, 1, 1 << 53, 1<<53 + 1} { // beyond 2^53 a float64 is off by one
			if low <= n && n <= high && multipleFrom(s, n) == any(n) {
				add("type", n)
			}
		}
		if s.MultipleOf != nil {
			add("multipleOf", multipleFrom(s, max(low, min(high, int64(*s.MultipleOf)))))
		}
	case s.Type.Is("number"):
		for _, v := range numbersAtEdges(s) {
			if numberFits(s, v.number) {
				add(v.keyword, number(v.number))
			}
		}
		add("type", plainNumber(s))
	case s.Type.Is("string"):
		g.obeyingStrings(s, add)
	case s.Type.Is("array"):
		add("minItems", g.many(s, s.MinItems))
		if s.MaxItems != nil {
			add("maxItems", g.many(s, min(*s.MaxItems, most)))
		}
		if s.UniqueItems {
			add("uniqueItems", g.many(s, max(s.MinItems, min(2, orMost(s.MaxItems)))))
		}
		for _, v := range g.obeying(schemaOf(s.Items)) {
			all = append(all, variant{"/0" + v.pointer, v.keyword, g.filled(s, v.value)})
		}
	case s.Type.Is("object"), s.Type == nil && len(s.Properties) > 0:
		all = append(all, g.obeyingObjects(s)...)
	}
	return all
}

// most is the largest array or object that is made, where the document allows
// still larger ones.
const most = 1000

// longest is the longest text that is made, in characters.
const longest = 1 << 20

func orMost(n *uint64) uint64 {
	if n == nil {
		return most
	}
	return *n
}

func (g *generator) simpleOrIdentity(s *openapi3.Schema) any {
	if g.identities[s] {
		return g.identity(s)
	}
	return g.simpleBase(s, g.active[s] > 1)
}

func (g *generator) obeyingStrings(s *openapi3.Schema, add func(string, any)) {
	switch {
	case s.Pattern != "":
		add("pattern", g.text(s))
		if s.Format != "" {
			add("format", g.text(s))
		}
		add(edge(s.MinLength > 0, "minLength", "type"), g.text(s))
		if s.MaxLength != nil {
			add("maxLength", g.text(s))
		}
		return
	case len(formats[s.Format].valid) > 0:
		for _, text := range formats[s.Format].valid {
			if fitsText(s, text) {
				add("format", text)
			}
		}
		return
	}
	if s.Format != "" {
		add("format", g.text(s)) // of an unknown format it is the example
		if unknownFormat(s) {
			return
		}
	}
	tried := texts
	if g.plain || g.recursive() {
		tried = append(slices.Clip(texts[:fewTexts]), texts[fewTexts+g.random.IntN(len(texts)-fewTexts)])
	}
	for _, text := range tried {
		if fitsText(s, text) {
			add("type", text)
		}
	}
	if s.MinLength > 0 {
		add("minLength", strings.Repeat("蘭", int(min(s.MinLength, longest))))
	}
	if s.MaxLength != nil && *s.MaxLength <= longest {
		add("maxLength", strings.Repeat("蘭", int(*s.MaxLength)))
	}
}

func (g *generator) obeyingObjects(s *openapi3.Schema) (all []variant) {
	add := func(keyword string, value any) { all = append(all, variant{"", keyword, value}) }
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name].Value
		if g.absent(property) {
			continue
		}
		all = append(all, variant{"/" + name, "required", g.with(s, name, g.base(property))})
		if !slices.Contains(s.Required, name) {
			object := g.with(s, name, nil)
			delete(object, name)
			if uint64(len(object)) >= s.MinProps {
				all = append(all, variant{"/" + name, "required", object})
			}
		}
		for _, v := range g.obeying(property) {
			all = append(all, variant{"/" + name + v.pointer, v.keyword, g.with(s, name, v.value)})
		}
	}
	if s.MinProps > 0 {
		add("minProperties", g.simpleBase(s, false))
	}
	if s.MaxProps != nil {
		add("maxProperties", g.simpleBase(s, false))
	}
	switch {
	case s.MaxProps != nil && uint64(len(g.with(s, unknownMember, nil))) > *s.MaxProps: // no room for another member
	case closed(s):
		add("additionalProperties", g.simpleBase(s, false))
	case s.AdditionalProperties.Schema != nil:
		add("additionalProperties", g.with(s, unknownMember, g.additional(s)))
		for _, v := range g.obeying(s.AdditionalProperties.Schema.Value) {
			all = append(all, variant{"/*" + v.pointer, v.keyword, g.with(s, unknownMember, v.value)})
		}
	default:
		add("additionalProperties", g.with(s, unknownMember, map[string]any{"deep": []any{nil}}))
	}
	return all
}

// filled returns an array that begins with a value and has as many items as it must.
func (g *generator) filled(s *openapi3.Schema, first any) []any {
	array := []any{first}
	for uint64(len(array)) < min(s.MinItems, most) {
		array = append(array, g.another(schemaOf(s.Items), array))
	}
	return array
}
