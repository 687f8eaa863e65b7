package contracttest

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
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
	keyword string
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
	escape := url.QueryEscape
	switch p.In {
	case "path":
		escape = url.PathEscape
	case "header", "cookie":
		escape = func(s string) string { return s }
	}
	var parts []string // what the style puts its separators between
	var names []string // of an object
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			text, ok := plainText(item)
			if !ok || text == "" || !method.Explode && strings.ContainsAny(text, ",|; .") {
				return "", false
			}
			parts = append(parts, escape(text))
		}
		if len(parts) == 0 {
			return "", false // no style tells an empty array from none
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			text, ok := plainText(value[name])
			if !ok || text == "" || strings.ContainsAny(text, ",|; .=&") {
				return "", false
			}
			names, parts = append(names, name), append(parts, escape(text))
		}
		if len(parts) == 0 {
			return "", false
		}
	default:
		text, ok := plainText(value)
		if !ok || !allowedIn(p.In, text) {
			return "", false
		}
		parts = []string{escape(text)}
	}
	if p.In == "header" || p.In == "cookie" {
		if slices.ContainsFunc(parts, func(part string) bool { return !allowedIn(p.In, part) }) {
			return "", false
		}
	}
	return join(p, method, names, parts)
}

// join puts the parts of a value together (OpenAPI, "Style Values").
func join(p *openapi3.Parameter, method *openapi3.SerializationMethod, names, parts []string) (string, bool) {
	pairs := func(separator string) string {
		var all []string
		for i, part := range parts {
			all = append(all, names[i]+separator+part)
		}
		return strings.Join(all, ",")
	}
	var list string
	switch {
	case names == nil:
		list = strings.Join(parts, ",")
	case method.Explode:
		list = pairs("=")
	default:
		list = pairs(",")
	}
	switch method.Style {
	case openapi3.SerializationSimple:
		return list, true
	case openapi3.SerializationLabel:
		if method.Explode {
			list = strings.ReplaceAll(list, ",", ".")
		}
		return "." + list, true
	case openapi3.SerializationMatrix:
		switch {
		case method.Explode && names != nil:
			return ";" + strings.ReplaceAll(list, ",", ";"), true
		case method.Explode:
			return ";" + p.Name + "=" + strings.Join(parts, ";"+p.Name+"="), true
		}
		return ";" + p.Name + "=" + list, true
	case openapi3.SerializationForm:
		name := url.QueryEscape(p.Name)
		switch {
		case method.Explode && names != nil:
			return strings.ReplaceAll(list, ",", "&"), p.In == "query"
		case method.Explode && len(parts) > 1:
			return name + "=" + strings.Join(parts, "&"+name+"="), p.In == "query"
		}
		return name + "=" + list, true
	case openapi3.SerializationSpaceDelimited:
		return url.QueryEscape(p.Name) + "=" + strings.Join(parts, "%20"), names == nil && len(parts) > 0
	case openapi3.SerializationPipeDelimited:
		return url.QueryEscape(p.Name) + "=" + strings.Join(parts, "%7C"), names == nil && len(parts) > 0
	case openapi3.SerializationDeepObject:
		var all []string
		for i, name := range names {
			all = append(all, url.QueryEscape(p.Name+"["+name+"]")+"="+parts[i])
		}
		return strings.Join(all, "&"), names != nil
	}
	return "", false
}

// plainText writes a value that is neither an array nor an object.
func plainText(value any) (string, bool) {
	switch value := value.(type) {
	case nil, []any, map[string]any:
		return "", false
	default:
		return fmt.Sprint(value), true
	}
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

// obeyingParameter returns the ways to write a parameter that the document allows.
func (g *generator) obeyingParameter(p *openapi3.Parameter) (all []parameterVariant) {
	add := func(keyword string, value any) {
		if text, ok := written(p, value); ok {
			all = append(all, parameterVariant{keyword, text, fmt.Sprintf("%.40q", fmt.Sprint(value))})
		}
	}
	if p.Example != nil {
		add("example", normal(p.Example))
	}
	schema, _ := parameterSchema(p)
	if g.identities[schema] {
		schema = copyOf(schema)
	}
	if p.Example != nil && schema.Example == nil {
		schema = copyOf(schema)
		schema.Example = p.Example // it is the easiest match of a pattern
	}
	for _, v := range g.obeying(schema) {
		add(strings.TrimPrefix(place(v.pointer)+" ", " ")+v.keyword, v.value)
	}
	return all
}

func copyOf(s *openapi3.Schema) *openapi3.Schema {
	copied := *s
	return &copied
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

// breakingParameter returns the ways to write a parameter that the document
// forbids. Any text is a string, so only what is wrong as text is tried.
func (g *generator) breakingParameter(p *openapi3.Parameter) (all []parameterVariant) {
	schema, asJSON := parameterSchema(p)
	add := func(keyword string, value any) {
		if text, ok := written(p, value); ok {
			all = append(all, parameterVariant{keyword, text, fmt.Sprintf("%.40q", fmt.Sprint(value))})
		}
	}
	if asJSON {
		for _, v := range g.breaking(schema) {
			add(strings.TrimPrefix(place(v.pointer)+" ", " ")+v.keyword, v.value)
		}
		return all
	}
	flat := g.flatten(schema)
	switch {
	case flat.Type.Is("array"):
		for _, v := range g.breakingTexts(schemaOf(flat.Items), p.In) {
			add("/* "+v.keyword, g.filled(flat, v.value))
		}
		for _, v := range g.simpleBreaking(flat) {
			if _, isArray := v.value.([]any); isArray && v.pointer == "" {
				add(v.keyword, v.value)
			}
		}
	case flat.Type.Is("object"):
		for _, name := range slices.Sorted(maps.Keys(flat.Properties)) {
			for _, v := range g.breakingTexts(flat.Properties[name].Value, p.In) {
				add("/"+name+" "+v.keyword, g.with(flat, name, v.value))
			}
		}
	default:
		for _, v := range g.breakingTexts(schema, p.In) {
			add(v.keyword, v.value)
		}
		if p.In == "query" && g.rules.StrictParameters {
			base, _ := written(p, "1")
			all = append(all, parameterVariant{"once", base + "&" + base, "twice"})
		}
	}
	return all
}

// breakingTexts returns texts that are no value of a schema.
func (g *generator) breakingTexts(s *openapi3.Schema, in string) (all []variant) {
	add := func(keyword string, value any) { all = append(all, variant{"", keyword, value}) }
	if branches := g.branches(g.flatten(s)); len(branches) > 0 {
		keyword := compositionOf(g.flatten(s))
		for _, branch := range branches {
			for _, v := range g.breakingTexts(branch, in) {
				fits := slices.ContainsFunc(branches, func(b *openapi3.Schema) bool {
					value, err := parseText(g.flatten(b), fmt.Sprint(v.value))
					return err == nil && g.valid(b, value)
				})
				if !fits {
					add(keyword, v.value)
				}
			}
		}
		return all
	}
	s = g.flatten(s)
	switch {
	case len(s.Enum) > 0:
		add("enum", outside(s))
		if !s.Type.Is("string") {
			add("type", "x")
		}
	case s.Type.Is("integer"):
		wrong := []string{"x", "1.5", "1x"}
		if g.rules.StrictParameters {
			wrong = []string{"x", "+1", "01", "-0", "1.0", "1e0", "1 ", "1,2", "0x1", "١"}
		}
		for _, text := range wrong {
			add("type", text)
		}
		if in == "query" && g.rules.StrictParameters {
			add("type", "")
		}
		for _, v := range g.simpleBreaking(s) {
			if v.keyword != "type" && v.keyword != "nullable" && v.keyword != "format" {
				add(v.keyword, v.value)
			}
		}
		low, high := limits(s)
		if s.Min == nil && s.Format != "" {
			add("format", oneOff(low, -1).String())
		}
		if s.Max == nil && s.Format != "" {
			add("format", oneOff(high, 1).String())
		}
		if s.Format == "int32" {
			add("format", strconv.Itoa(math.MaxInt32+1))
		}
	case s.Type.Is("number"):
		add("type", "x")
		for _, v := range numbersAtEdges(s) {
			if !numberFits(s, v.number) {
				add(v.keyword, number(v.number))
			}
		}
	case s.Type.Is("boolean"):
		add("type", "maybe")
	case s.Type.Is("string"):
		all = append(all, breakingStrings(s)...)
		if s.Pattern == "" && in == "query" && g.rules.StrictParameters {
			add("type", "\xff") // no string is made of this
		}
	}
	return all
}
