package contracttest

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// parameterSchema returns the schema of a parameter, and whether its value is
// JSON ("content") and not text in a style ("schema").
func parameterSchema(p *openapi3.Parameter) (schema *openapi3.Schema, asJSON bool) {
	if _, schema := jsonOf(p.Content); schema != nil {
		return schema, true
	}
	return schemaOf(p.Schema), false
}

// parameterVariant is a parameter as it is written in a request, and what it is
// a case of.
type parameterVariant struct {
	variant
	promise string
	text    string // as it is sent: for a query, with its name
	shown   string // for the name of the case
}

// written writes a value as the style of a parameter says, or reports false if
// the style cannot write it.
func written(p *openapi3.Parameter, value any) (text string, ok bool) {
	if _, asJSON := parameterSchema(p); asJSON {
		return p.Name + "=" + url.QueryEscape(string(encode(value))), p.In == "query"
	}
	method, err := p.SerializationMethod()
	if err != nil {
		return "", false
	}
	escape := func(s string) string { return s }
	switch p.In {
	case "path":
		escape = url.PathEscape
	case "query":
		escape = url.QueryEscape
	}
	items, separators := []any{value}, "" // the style puts its separators between the items
	var names []string                    // of an object
	switch value := value.(type) {
	case []any:
		if items = value; !method.Explode {
			separators = ",|; ."
		}
	case map[string]any:
		names, items, separators = slices.Sorted(maps.Keys(value)), nil, ",|; .=&"
		for _, name := range names {
			items = append(items, value[name])
		}
	}
	_, isArray := value.([]any)
	var parts []string
	for _, item := range items {
		text := fmt.Sprint(item)
		_, inner := item.([]any)
		lost := text == "" && (isArray || names != nil) || strings.ContainsAny(text, separators)
		if item == nil || inner || mapOf(item) != nil || lost || !allowedIn(p.In, text) {
			return "", false
		}
		parts = append(parts, escape(text))
	}
	if len(parts) == 0 {
		return "", false // no style tells an empty array or object from none
	}
	return join(p, method, names, parts)
}

// join puts the parts of a value together (OpenAPI, "Style Values").
func join(p *openapi3.Parameter, method *openapi3.SerializationMethod, names, parts []string) (string, bool) {
	name, explode, inQuery, fits := url.QueryEscape(p.Name), method.Explode, p.In == "query", true
	items := slices.Clone(parts)
	for i, member := range names {
		separator := ","
		if explode {
			separator = "="
		}
		items[i] = member + separator + items[i]
	}
	begin, separator := "", ","
	switch method.Style {
	case openapi3.SerializationSimple:
		name = ""
	case openapi3.SerializationLabel:
		begin, separator, name = ".", ".", ""
	case openapi3.SerializationMatrix:
		begin, separator, name = ";", ";", p.Name+"="
	case openapi3.SerializationForm:
		separator, name = "&", name+"="
		fits = !explode || inQuery || names == nil && len(items) == 1
	case openapi3.SerializationSpaceDelimited:
		return name + "=" + strings.Join(parts, "%20"), names == nil
	case openapi3.SerializationPipeDelimited:
		return name + "=" + strings.Join(parts, "%7C"), names == nil
	case openapi3.SerializationDeepObject:
		for i, member := range names {
			items[i] = url.QueryEscape(p.Name+"["+member+"]") + "=" + parts[i]
		}
		return strings.Join(items, "&"), names != nil
	default:
		return "", false
	}
	switch {
	case !explode:
		return begin + name + strings.Join(items, ","), fits
	case names == nil:
		return begin + name + strings.Join(items, separator+name), fits
	}
	return begin + strings.Join(items, separator), fits
}

// allowedIn reports whether a part of a request can hold a text.
func allowedIn(in, text string) bool {
	switch in {
	case "path": // servers and proxies clean other paths
		return text != "" && text != "." && text != ".." && !strings.ContainsAny(text, "/\\\x00")
	case "header":
		return text == strings.TrimSpace(text) && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r > '~' })
	case "cookie":
		return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`",;\`, r) })
	}
	return true
}

// baseParameter writes the plainest value of a parameter.
func (g *generator) baseParameter(p *openapi3.Parameter) (string, bool) {
	schema, _ := parameterSchema(p)
	for _, value := range []any{p.Example, schema.Example, g.base(schema)} {
		if value != nil {
			if text, ok := written(p, normal(value)); ok {
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
		if text, ok := written(p, v.value); ok || v.demand {
			all = append(all, parameterVariant{v, promise, text, fmt.Sprintf("%.40q", fmt.Sprint(v.value))})
		}
	}
	schema, asJSON := parameterSchema(p)
	if g.identities[schema] {
		schema = new(*schema)
	}
	if p.Example != nil {
		add(variant{keyword: "example", value: normal(p.Example), valid: true})
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
		for _, v := range g.wrongTexts(schemaOf(flat.Items), p.In) {
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
			base, _ := written(p, "1")
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
		return mapped(value, func(_ string, item any) any { return g.read(schemaOf(s.Items), item) })
	case map[string]any:
		return mapped(value, func(name string, member any) any {
			if property := s.Properties[name]; property != nil {
				return g.read(property.Value, member)
			}
			return member
		})
	}
	text := fmt.Sprint(value)
	for _, branch := range append(g.branches(s), s) {
		if typed, err := parseText(g.flatten(branch), text); err == nil && g.valid(branch, typed) {
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
