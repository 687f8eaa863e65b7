package contracttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// breaking returns values that break one keyword each.
func (g *generator) breaking(s *openapi3.Schema) (all []variant) {
	if g.work > g.enough && g.nesting > 0 || !g.enter(s) {
		return nil
	}
	defer g.leave(s)
	flat := g.flatten(s)
	if branches := g.branches(flat); len(branches) > 0 {
		keyword := compositionOf(flat)
		for _, value := range []any{"1", int64(1), true, []any{}, map[string]any{}, json.Number("1.5")} {
			all = append(all, variant{"", keyword, value})
		}
		both := map[string]any{}
		for _, branch := range branches {
			if object, ok := g.base(branch).(map[string]any); ok {
				maps.Copy(both, object)
			}
			for _, v := range g.breaking(branch) {
				all = append(all, v, variant{"", keyword, v.value})
			}
		}
		all = append(all, variant{"", keyword, both})
	} else {
		all = g.simpleBreaking(flat)
	}
	if len(s.AllOf) > 0 {
		for _, v := range slices.Clone(all) {
			all = append(all, variant{"", "allOf", v.value})
		}
	}
	if flat.Not != nil {
		for _, v := range append(g.obeying(flat.Not.Value), variant{value: g.mergedWithNot(flat)}) {
			all = append(all, variant{"", "not", v.value})
		}
	}
	if isComposed(s) {
		all = g.filtered(s, all, false)
	}
	return g.fewer(all)
}

// mergedWithNot returns a value that a schema would allow but for its not.
func (g *generator) mergedWithNot(s *openapi3.Schema) any {
	merged := *s
	merged.Not = nil
	merged.Properties = maps.Clone(s.Properties)
	g.merge(&merged, g.flatten(s.Not.Value))
	return g.base(&merged)
}

func (g *generator) simpleBreaking(s *openapi3.Schema) (all []variant) {
	add := func(keyword string, value any) { all = append(all, variant{"", keyword, value}) }
	wrongTypes := map[string]any{"string": "1", "integer": int64(1), "number": json.Number("1.5"), "boolean": true, "array": []any{}, "object": map[string]any{}}
	for _, name := range slices.Sorted(maps.Keys(wrongTypes)) {
		if s.Type != nil && !s.Type.Is(name) && !(s.Type.Is("number") && name == "integer") {
			add("type", wrongTypes[name])
		}
	}
	if s.Type != nil && !s.Nullable {
		add("nullable", nil)
	}
	if len(s.Enum) > 0 {
		add("enum", outside(s))
	}
	switch {
	case len(s.Enum) > 0:
	case s.Type.Is("integer"):
		g.breakingIntegers(s, add)
	case s.Type.Is("number"):
		for _, v := range numbersAtEdges(s) {
			if !numberFits(s, v.number) {
				add(v.keyword, number(v.number))
			}
		}
	case s.Type.Is("string"):
		for _, v := range breakingStrings(s) {
			add(v.keyword, v.value)
		}
	case s.Type.Is("array"):
		if s.MinItems > 0 {
			add("minItems", g.many(s, s.MinItems-1))
		}
		if s.MaxItems != nil && *s.MaxItems <= most {
			add("maxItems", g.many(s, *s.MaxItems+1))
		}
		if s.UniqueItems && orMost(s.MaxItems) > 1 {
			array := g.filled(s, g.base(schemaOf(s.Items)))
			if uint64(len(array)) < orMost(s.MaxItems) {
				array = append(array, nil)
			}
			array[len(array)-1] = array[0]
			add("uniqueItems", array)
		}
		for _, v := range g.breaking(schemaOf(s.Items)) {
			at, array := "/0", g.filled(s, v.value)
			if s.MaxItems == nil || *s.MaxItems > 1 {
				at, array = "/1", append([]any{g.base(schemaOf(s.Items)), v.value}, array[min(2, len(array)):]...)
			}
			all = append(all, variant{at + v.pointer, v.keyword, array})
		}
	case s.Type.Is("object"), s.Type == nil && len(s.Properties) > 0:
		all = append(all, g.breakingObjects(s)...)
	}
	return all
}

func (g *generator) breakingIntegers(s *openapi3.Schema, add func(string, any)) {
	low, high := limits(s)
	add("type", json.Number("1.5"))
	if g.rules.StrictJSON {
		add("type", json.Number("1.0"))
		add("type", json.Number("1e2"))
		add("format", json.Number("1e400"))
		add("format", json.Number(strings.Repeat("9", 400)))
	}
	if s.Min != nil || s.Format != "" {
		add(edge(s.Min != nil, "minimum", "format"), oneOff(low, -1))
	}
	if s.Max != nil || s.Format != "" {
		add(edge(s.Max != nil, "maximum", "format"), oneOff(high, +1))
	}
	exclusives(s, int64(floor(s.Min)), int64(floor(s.Max)), add)
	if s.MultipleOf != nil && *s.MultipleOf > 1 {
		n := multipleFrom(s, max(low, min(high, int64(*s.MultipleOf)))).(int64)
		add("multipleOf", oneOff(n, +1))
	}
}

func (g *generator) breakingObjects(s *openapi3.Schema) (all []variant) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name].Value
		if g.absent(property) {
			continue // a service may ignore a readOnly member or refuse it
		}
		if slices.Contains(s.Required, name) {
			object := g.with(s, name, nil)
			delete(object, name)
			all = append(all, variant{"/" + name, "required", object})
		}
		for _, v := range g.breaking(property) {
			all = append(all, variant{"/" + name + v.pointer, v.keyword, g.with(s, name, v.value)})
		}
	}
	if s.MinProps > 0 {
		object := g.simpleBase(s, true).(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if uint64(len(object)) >= s.MinProps && !slices.Contains(s.Required, name) {
				delete(object, name)
			}
		}
		if uint64(len(object)) < s.MinProps {
			all = append(all, variant{"", "minProperties", object})
		}
	}
	if s.MaxProps != nil && !closed(s) && *s.MaxProps <= most {
		object := g.with(s, unknownMember, g.additional(s))
		for i := 0; uint64(len(object)) <= *s.MaxProps; i++ {
			object[fmt.Sprint("member", i)] = g.additional(s)
		}
		all = append(all, variant{"", "maxProperties", object})
	}
	switch {
	case closed(s):
		all = append(all, variant{"/" + unknownMember, "additionalProperties", g.with(s, unknownMember, int64(1))})
	case s.AdditionalProperties.Schema != nil:
		for _, v := range g.breaking(s.AdditionalProperties.Schema.Value) {
			wrong := g.with(s, unknownMember, v.value)
			all = append(all, variant{"/" + unknownMember + v.pointer, v.keyword, wrong}, variant{"/" + unknownMember, "additionalProperties", wrong})
		}
	}
	return all
}

// breakingStrings returns texts that break one keyword each.
func breakingStrings(s *openapi3.Schema) (all []variant) {
	add := func(keyword, text string) { all = append(all, variant{"", keyword, text}) }
	// Where several keywords limit a text, only the one that is named is broken.
	without := func(change func(*openapi3.Schema)) func(string) bool {
		rest := *s
		change(&rest)
		return func(text string) bool { return fitsText(&rest, text) }
	}
	if s.MinLength > 0 && s.MinLength <= longest {
		fits := without(func(r *openapi3.Schema) { r.MinLength = 0 })
		for _, text := range []string{strings.Repeat("x", int(s.MinLength)-1), strings.Repeat("0", int(s.MinLength)-1)} {
			if fits(text) {
				add("minLength", text)
				break
			}
		}
	}
	if s.MaxLength != nil && *s.MaxLength < longest {
		fits := without(func(r *openapi3.Schema) { r.MaxLength = nil })
		long := *s
		long.MaxLength, long.MinLength = nil, *s.MaxLength+1
		grown, _ := matchPattern(&long)
		for _, text := range []string{strings.Repeat("x", int(*s.MaxLength)+1), strings.Repeat("0", int(*s.MaxLength)+1), grown} {
			if text != "" && fits(text) {
				add("maxLength", text)
				break
			}
		}
	}
	if s.Pattern != "" {
		if text, ok := unmatched(s); ok {
			add("pattern", text)
		}
	}
	for _, text := range formats[s.Format].invalid {
		if without(func(r *openapi3.Schema) { r.Format = "" })(text) {
			add("format", text)
		}
	}
	return all
}
