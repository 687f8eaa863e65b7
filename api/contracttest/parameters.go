package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	sch "github.com/plantstore/plantstore/api/contracttest/internal/schema"

	"fmt"
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// parameterVariant is a parameter as it is written in a request, and what it is
// a case of.
type parameterVariant struct {
	variant
	promise string
	text    string // as it is sent: for a query, with its name
	shown   string // for the name of the case
}

// baseParameter writes the plainest value of a parameter.
func (g *generator) baseParameter(p *openapi3.Parameter) (string, bool) {
	schema, _ := document.ParameterSchema(p)
	for _, value := range []any{p.Example, schema.Example, g.base(schema)} {
		if value != nil {
			if text, ok := document.Written(p, jsonvalue.Normal(value)); ok {
				return text, true
			}
		}
	}
	return "", false
}

// parameterVariants returns the ways to write a parameter that the document allows, and
// those that it forbids. Any text is a string, so only what is wrong as text is tried.
func (g *generator) parameterVariants(p *openapi3.Parameter) (all []parameterVariant) {
	add := func(v variant) {
		promise := fmt.Sprintf("parameter %s%s %s, %s", p.Name, place(v.pointer), v.keyword, v.outcome())
		if text, ok := document.Written(p, v.value); ok || v.demand {
			all = append(all, parameterVariant{v, promise, text, fmt.Sprintf("%.40q", fmt.Sprint(v.value))})
		}
	}
	schema, asJSON := document.ParameterSchema(p)
	if g.identities[schema] {
		schema = new(*schema)
	}
	if p.Example != nil {
		add(variant{keyword: "example", value: jsonvalue.Normal(p.Example), valid: true})
		if schema.Example == nil {
			schema = new(*schema)
			schema.Example = p.Example // it is the easiest match of a pattern
		}
	}
	for _, v := range g.variants(schema) {
		ofTexts := v.keyword != "type" && v.keyword != "nullable"
		if v.valid || asJSON || ofTexts && (v.demand || !g.valid(schema, g.read(schema, v.value))) {
			add(v)
		}
	}
	if asJSON {
		return all
	}
	flat := g.flatten(schema)
	switch {
	case flat.Type.Is("array"):
		for _, v := range g.wrongTexts(sch.Of(flat.Items), p.In) {
			add(variant{pointer: "/0", keyword: v.keyword, value: g.many(flat, flat.MinItems, v.value)})
		}
	case flat.Type.Is("object"):
		for _, name := range slices.Sorted(maps.Keys(flat.Properties)) {
			for _, v := range g.wrongTexts(flat.Properties[name].Value, p.In) {
				add(variant{pointer: "/" + name, keyword: v.keyword, value: g.with(flat, name, v.value)})
			}
		}
	default:
		for _, v := range g.wrongTexts(schema, p.In) {
			add(v)
		}
		if p.In == "query" && g.rules.StrictParameters {
			base, _ := document.Written(p, "1")
			promise := "parameter " + p.Name + " once, refused"
			all = append(all, parameterVariant{variant{}, promise, base + "&" + base, "twice"})
		}
	}
	return all
}

// read returns what a service reads where a value is written as text, as far as it can.
func (g *generator) read(s *openapi3.Schema, value any) any {
	s = g.flatten(s)
	switch value := value.(type) {
	case []any:
		return jsonvalue.Map(value, func(_ string, item any) any { return g.read(sch.Of(s.Items), item) })
	case map[string]any:
		return jsonvalue.Map(value, func(name string, member any) any {
			if property := s.Properties[name]; property != nil {
				return g.read(property.Value, member)
			}
			return member
		})
	}
	text := fmt.Sprint(value)
	for _, branch := range append(g.branches(s), s) {
		if typed, err := judge.ParseText(g.flatten(branch), text); err == nil && g.valid(branch, typed) {
			return typed
		}
	}
	return text
}

// wrongTexts returns texts that have not the type of a schema, which is neither an array nor
// an object.
func (g *generator) wrongTexts(s *openapi3.Schema, in string) (all []variant) {
	flat, texts := g.flatten(s), []string(nil)
	if branches := g.branches(flat); len(branches) > 0 {
		for _, branch := range branches {
			for _, v := range g.wrongTexts(branch, in) {
				if !g.valid(s, g.read(s, v.value)) {
					all = append(all, variant{keyword: compositionOf(flat), value: v.value})
				}
			}
		}
		return all
	}
	switch {
	case flat.Type.Is("integer") && g.rules.StrictParameters:
		texts = []string{"x", "+1", "01", "-0", "1.0", "1e0", "1 ", "1,2", "0x1", "١"}
		if in == "query" {
			texts = append(texts, "")
		}
	case flat.Type.Is("integer"):
		texts = []string{"x", "1.5", "1x"}
	case flat.Type.Is("number"):
		texts = []string{"x"}
	case flat.Type.Is("boolean"):
		texts = []string{"maybe"}
	case flat.Type.Is("string") && flat.Pattern == "" && len(flat.Enum) == 0 && in == "query" && g.rules.StrictParameters:
		texts = []string{"\xff"} // no string is made of this
	}
	for _, text := range texts {
		all = append(all, variant{keyword: "type", value: text})
	}
	return all
}
