package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	sch "github.com/plantstore/plantstore/api/contracttest/internal/schema"

	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// variant is a value made from a schema that obeys, or breaks, one keyword of
// the schema at one place.
type variant struct {
	pointer string // of the place, a JSON Pointer
	keyword string
	value   any // the whole value; its numbers are int64 or json.Number
	valid   bool
	demand  bool // it has no value: what is not tried, either, is a promise
}

// outcome is what a service must do with the value.
func (v variant) outcome() string {
	if v.valid {
		return "accepted"
	}
	return "refused"
}

// demands are what both sides of a keyword promise.
func demands(keyword string) []variant {
	return []variant{{keyword: keyword, valid: true, demand: true}, {keyword: keyword, demand: true}}
}

// obeying returns valid values, each at the edge of some keyword.
func (g *generator) obeying(s *openapi3.Schema) []variant {
	return slices.DeleteFunc(g.variants(s), func(v variant) bool { return !v.valid || v.demand })
}

// variants returns values on both sides of the edge of each keyword. It demands more than it
// knows values for.
func (g *generator) variants(s *openapi3.Schema) (all []variant) {
	if g.work > g.enough && g.nesting > 0 || !g.enter(s) {
		return nil
	}
	defer g.leave(s)
	add := func(keyword string, value any, valid bool) {
		all = append(all, variant{keyword: keyword, value: value, valid: valid})
	}
	// What breaks a part breaks the whole. One such value is enough: all are sent for the part.
	addBroken := func(keyword string, parts []variant) {
		breaks := func(v variant) bool { return !v.valid && !v.demand && !g.valid(s, v.value) }
		if i := slices.IndexFunc(parts, breaks); i >= 0 {
			add(keyword, parts[i].value, false)
		}
	}
	flat := g.flatten(s)
	if branches := g.branches(flat); len(branches) > 0 {
		keyword, both := compositionOf(flat), map[string]any{}
		for _, value := range ofEachType {
			add(keyword, value, false)
		}
		for _, branch := range branches {
			base := g.base(branch)
			if object, ok := base.(map[string]any); ok {
				maps.Copy(both, object)
			}
			add(keyword, base, true)
			// What breaks a branch may be another one.
			inner := slices.DeleteFunc(g.variants(branch), func(v variant) bool { return v.demand })
			all = append(all, inner...)
			addBroken(keyword, inner)
		}
		add(keyword, both, false)
		all = append(all, demands(keyword)...)
	} else {
		all = g.simpleVariants(flat)
	}
	if len(s.AllOf) > 0 {
		addBroken("allOf", all)
		add("allOf", g.base(s), true)
	}
	if flat.Not != nil {
		all = append(all, demands("not")...)
		add("not", g.base(s), true)
		for _, v := range append(g.obeying(flat.Not.Value), variant{value: g.mergedWithNot(flat)}) {
			add("not", v.value, false)
		}
	}
	if sch.IsComposed(s) { // what is merged may not be what it is meant to be
		all = slices.DeleteFunc(all, func(v variant) bool { return !v.demand && g.valid(s, v.value) != v.valid })
	}
	return g.fewer(all)
}

func compositionOf(s *openapi3.Schema) string {
	if len(s.OneOf) > 0 {
		return "oneOf"
	}
	return "anyOf"
}

// mergedWithNot returns a value that a schema would allow but for its not.
func (g *generator) mergedWithNot(s *openapi3.Schema) any {
	merged := *s
	merged.Not = nil
	merged.Properties = maps.Clone(s.Properties)
	g.merge(&merged, g.flatten(s.Not.Value))
	return g.base(&merged)
}

var ofEachType = []any{[]any{}, true, int64(1), json.Number("1.5"), map[string]any{}, "1"}

// simpleVariants returns the variants of a schema that is not composed.
func (g *generator) simpleVariants(s *openapi3.Schema) (all []variant) {
	add := func(keyword string, value any, valid bool) {
		all = append(all, variant{keyword: keyword, value: value, valid: valid})
	}
	// Of an unknown format no text is known, but for an example.
	madeUp := s.Type.Is("string") && len(s.Enum) == 0 && !sch.IsKnownFormat(s.Format) && s.Example == nil
	switch {
	case madeUp:
	case g.identities[s]:
		add("type", g.identity(s), true)
	default:
		add("type", g.simpleBase(s, g.active[s] > 1), true)
	}
	for _, value := range ofEachType {
		if typed := (&openapi3.Schema{Type: s.Type}); !g.valid(typed, value) {
			add("type", value, false)
		}
	}
	if s.Type.Is("integer") && g.rules.StrictJSON {
		for _, text := range []string{"1.0", "1e2", "1e400", strings.Repeat("9", 400)} {
			add("type", json.Number(text), false)
		}
	}
	if s.Type != nil || s.Nullable && len(s.Enum) > 0 { // no client means null without a type
		add("nullable", nil, s.Nullable)
	}
	for _, keyword := range demanded(s) {
		all = append(all, demands(keyword)...)
	}
	if s.Type.Is("object") {
		all = append(all, variant{keyword: "additionalProperties", valid: true, demand: true})
	}
	seen := map[string]bool{}
	g.candidates(s, func(keyword string, value any) {
		valid, shows := g.shows(s, keyword, value)
		text := string(jsonvalue.Encode(value))
		side := fmt.Sprint(keyword, valid) // of most keywords one value on each side is enough
		switch keyword {
		case "type":
			side = text
		case "enum", "format":
			side += text
		}
		if shows && !seen[side] && !(valid && madeUp) {
			add(keyword, value, valid)
			seen[side], seen[text] = true, true
		}
	})
	return append(all, g.innerVariants(s)...)
}

// shows reports whether a schema allows a value, and whether the value shows that a
// keyword is obeyed or that it, and no other one, is broken.
func (g *generator) shows(s *openapi3.Schema, keyword string, value any) (valid, shows bool) {
	faults := sch.Faults("", s, jsonvalue.Normal(value), g.direction())
	if n, ok := jsonvalue.Normal(value).(json.Number); ok && s.Type.Is("integer") && sch.IntegerFault(s, n) != "" {
		faults = append(faults, Fault{Keyword: "format"})
	}
	others := slices.ContainsFunc(faults, func(f Fault) bool {
		// An exclusive bound is broken with the bound, and bounds with the format of integers.
		with := strings.EqualFold(f.Keyword, "exclusive"+keyword)
		if s.Type.Is("integer") && keyword != "type" {
			with = with || f.Keyword == "format" || keyword == "format"
		}
		return f.Where != "" || f.Keyword != keyword && !with
	})
	return len(faults) == 0, !others
}

// innerVariants returns the variants of the items and members of a schema.
func (g *generator) innerVariants(s *openapi3.Schema) (all []variant) {
	add := func(pointer, keyword string, value any, valid bool) {
		all = append(all, variant{pointer: pointer, keyword: keyword, value: value, valid: valid})
	}
	if s.Type.Is("array") {
		for _, v := range g.variants(sch.Of(s.Items)) {
			at, array := "/0", []any(nil)
			if !v.demand {
				array = g.many(s, s.MinItems, v.value)
			}
			if !v.demand && !v.valid && (s.MaxItems == nil || *s.MaxItems > 1) {
				at, array = "/1", append([]any{g.base(sch.Of(s.Items)), v.value}, array[min(2, len(array)):]...)
			}
			v.pointer, v.value = at+v.pointer, array
			all = append(all, v)
		}
	}
	if !sch.IsObject(s) {
		return all
	}
	member := func(name string, schema *openapi3.Schema) {
		for _, v := range g.variants(schema) {
			if v.pointer = "/" + name + v.pointer; !v.demand {
				v.value = g.with(s, name, v.value)
			}
			all = append(all, v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name].Value
		if g.absent(property) {
			continue // a service may ignore a readOnly member or refuse it
		}
		add("/"+name, "required", g.with(s, name, g.base(property)), true)
		object := g.with(s, name, nil)
		delete(object, name)
		if optional := !slices.Contains(s.Required, name); !optional || uint64(len(object)) >= s.MinProps {
			add("/"+name, "required", object, optional)
		}
		member(name, property)
	}
	if sch.IsClosed(s) {
		add("/"+judge.UnknownMember, "additionalProperties", g.with(s, judge.UnknownMember, int64(1)), false)
	}
	if more := s.AdditionalProperties.Schema; more != nil &&
		uint64(len(g.with(s, judge.UnknownMember, nil))) <= orMost(s.MaxProps) {
		before := len(all)
		member(judge.UnknownMember, more.Value)
		if i := slices.IndexFunc(all[before:], func(v variant) bool { return !v.valid && !v.demand }); i >= 0 {
			add("/"+judge.UnknownMember, "additionalProperties", all[before+i].value, false)
		}
	}
	return all
}
