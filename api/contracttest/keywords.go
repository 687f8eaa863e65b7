package contracttest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// keywords lists what there is to obey and to break in the schema of a request,
// by place; an index is written *. It lists more keywords than obeying and
// breaking know: one that they do not try is reported as skipped.
func (g *generator) keywords(s *openapi3.Schema, at string) (all []string) {
	if !g.enter(s) {
		return nil
	}
	defer g.leave(s)
	s = g.flatten(s)
	add := func(demanded bool, keyword string) {
		if demanded {
			all = append(all, at+" "+keyword+", accepted", at+" "+keyword+", refused")
		}
	}
	add(len(s.AnyOf) > 0, "anyOf")
	add(len(s.OneOf) > 0, "oneOf")
	add(s.Not != nil, "not")
	if branches := g.branches(s); len(branches) > 0 {
		return all // the branches are tried, but what breaks one may be another
	}
	if s.Type != nil {
		if s.Nullable {
			all = append(all, at+" nullable, accepted")
		} else {
			all = append(all, at+" nullable, refused")
		}
	}
	if s.Type.Is("object") {
		all = append(all, at+" additionalProperties, accepted")
		if closed(s) {
			all = append(all, at+" additionalProperties, refused")
		}
	}
	for _, keyword := range demanded(s) {
		add(true, keyword)
	}
	if s.Items != nil {
		all = append(all, g.keywords(s.Items.Value, at+"/*")...)
	}
	if s.AdditionalProperties.Schema != nil {
		all = append(all, g.keywords(s.AdditionalProperties.Schema.Value, at+"/"+unknownMember)...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		if g.absent(property.Value) {
			continue
		}
		if slices.Contains(s.Required, name) {
			all = append(all, at+"/"+name+" required, accepted", at+"/"+name+" required, refused")
		}
		all = append(all, g.keywords(property.Value, at+"/"+name)...)
	}
	return all
}

// demanded lists the keywords of a schema of which both sides are tried.
func demanded(s *openapi3.Schema) (all []string) {
	free := len(s.Enum) == 0
	for _, k := range []struct {
		keyword string
		has     bool
	}{
		{"type", s.Type != nil},
		{"enum", !free},
		{"format", free && s.Type.Is("integer") && s.Format != "" && (s.Min == nil || s.Max == nil)},
		{"format", free && s.Type.Is("string") && formats[s.Format].check != nil},
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

// place writes a pointer as keywords does.
func place(pointer string) string { return index.ReplaceAllString(pointer, "/*$1") }

// bodyKeywords lists what there is to test of a request body.
func (g *generator) bodyKeywords(r *route) []string {
	mediaType, schema := r.body()
	if schema == nil {
		return nil
	}
	all := []string{"media type " + mediaType + ", accepted", "media type " + mediaType + ", refused", "body well-formed, refused"}
	if r.operation.RequestBody.Value.Required {
		all = append(all, "body required, refused")
	}
	return append(all, g.keywords(schema, "body ")...)
}

// parameterKeywords lists what there is to test of a parameter.
func (g *generator) parameterKeywords(p *openapi3.Parameter) (all []string) {
	at := "parameter " + p.Name
	schema, _ := parameterSchema(p)
	for _, keyword := range g.keywords(schema, at) {
		// Text is never null, and any text is a string. That it must be UTF-8 is tried only
		// where no pattern and no enum would refuse it.
		triesUTF8 := p.In == "query" && g.rules.StrictParameters &&
			schema.Type.Is("string") && schema.Pattern == "" && len(schema.Enum) == 0
		textOnly := keyword == at+" type, refused" && !breaksType(schema) && !triesUTF8
		nullable := len(keyword) > len(at) && (keyword == at+" nullable, refused" || keyword == at+"/* nullable, refused" || keyword == at+"/* type, refused" && !breaksType(schemaOf(schema.Items)))
		if !textOnly && !nullable {
			all = append(all, keyword)
		}
	}
	if p.In == "query" && g.rules.StrictParameters {
		all = append(all, at+" once, refused")
	}
	if p.Required && p.In != "path" {
		all = append(all, fmt.Sprint(at, " required, refused"))
	}
	return all
}

// breaksType reports whether a text can have the wrong type.
func breaksType(s *openapi3.Schema) bool {
	return s.Type.Is("integer") || s.Type.Is("number") || s.Type.Is("boolean")
}
