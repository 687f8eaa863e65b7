package values

import (
	"fmt"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// In a parameter everything is text, so half of the values that break a schema cannot be sent: the number 1
// where a string must be is the string 1. What a service would read again (asRead) decides whether a value
// is wrong at all.

// ParameterVariant is a parameter as it is written in a request, and what it is
// a case of.
type ParameterVariant struct {
	Variant
	Promise string
	Text    string // as it is sent: for a query, with its name
	Shown   string // for the name of the test
}

// BaseParameter writes the plainest value of a parameter, or reports false if none is known.
func (g *Generator) BaseParameter(parameter *openapi3.Parameter) (text string, ok bool) {
	wanted, _ := document.ParameterSchema(parameter)
	for _, value := range []any{parameter.Example, wanted.Example, g.Base(wanted)} {
		if value == nil {
			continue
		}
		if text, ok := document.Written(parameter, jsonvalue.Normal(value)); ok {
			return text, true
		}
	}
	return "", false
}

// ParameterVariants returns the ways to write a parameter that the document allows, and
// those that it forbids. Any text is a string, so only what is wrong as text is tried.
func (g *Generator) ParameterVariants(parameter *openapi3.Parameter) (all []ParameterVariant) {
	wanted, isJSON := document.ParameterSchema(parameter)
	// It is no identity: a path may name something that does not exist.
	own := *wanted
	if own.Example == nil {
		// It is the easiest match of a pattern.
		own.Example = parameter.Example
	}
	for _, variant := range g.variantsOfParameter(parameter, &own, isJSON) {
		text, canBeWritten := document.Written(parameter, variant.Value)
		if canBeWritten || variant.Demand {
			all = append(all, newParameterVariant(parameter, variant, text))
		}
	}
	isStrict := g.Rules.StrictParameters && parameter.In == "query"
	hasOneText := !isJSON && g.isScalar(&own)
	if isStrict && hasOneText {
		once, _ := document.Written(parameter, "1")
		all = append(all, ParameterVariant{
			Promise: "parameter " + parameter.Name + " once, refused",
			Text:    once + "&" + once,
			Shown:   "twice",
		})
	}
	return all
}

// variantsOfParameter returns the values that a parameter is written with.
func (g *Generator) variantsOfParameter(parameter *openapi3.Parameter, own *openapi3.Schema, isJSON bool) (all []Variant) {
	if parameter.Example != nil {
		all = append(all, Variant{
			Keyword: "example",
			Value:   jsonvalue.Normal(parameter.Example),
			Valid:   true,
		})
	}
	if isJSON { // it has types
		return append(all, g.Variants(own)...)
	}
	for _, variant := range g.Variants(own) {
		if variant.Valid || g.isWrongText(own, variant) {
			all = append(all, variant)
		}
	}
	return append(all, g.wrongTextsIn(own, parameter.In)...)
}

// newParameterVariant names what a variant shows.
func newParameterVariant(parameter *openapi3.Parameter, variant Variant, text string) ParameterVariant {
	place := parameter.Name + Place(variant.Pointer)
	return ParameterVariant{
		Variant: variant,
		Promise: fmt.Sprintf("parameter %s %s, %s", place, variant.Keyword, variant.Outcome()),
		Text:    text,
		Shown:   fmt.Sprintf("%.40q", fmt.Sprint(variant.Value)),
	}
}

// isWrongText reports whether a value that a schema forbids is wrong as text, too.
func (g *Generator) isWrongText(wanted *openapi3.Schema, variant Variant) bool {
	if variant.Keyword == "type" || variant.Keyword == "nullable" {
		return false
	}
	return variant.Demand || !g.Fits(wanted, g.asRead(wanted, variant.Value))
}

// isScalar reports whether a parameter has one value, so that giving it twice is a mistake.
func (g *Generator) isScalar(wanted *openapi3.Schema) bool {
	flat := g.Flatten(wanted)
	return !flat.Type.Is("array") && !flat.Type.Is("object")
}

// asRead returns what a service reads where a value is written as text, as far as it can.
func (g *Generator) asRead(wanted *openapi3.Schema, value any) any {
	flat := g.Flatten(wanted)
	switch value := value.(type) {
	case []any:
		return jsonvalue.Map(value, func(_ string, item any) any {
			return g.asRead(schema.Of(flat.Items), item)
		})
	case map[string]any:
		return jsonvalue.Map(value, func(name string, member any) any {
			if property := flat.Properties[name]; property != nil {
				return g.asRead(property.Value, member)
			}
			return member
		})
	}
	text := fmt.Sprint(value)
	branches := append([]*openapi3.Schema{}, g.Branches(flat)...)
	for _, branch := range append(branches, flat) {
		typed, err := judge.ParseText(g.Flatten(branch), text)
		if err == nil && g.Fits(branch, typed) {
			return typed
		}
	}
	return text
}

// wrongTextsIn returns texts that have not the type of a schema, or of its items or members.
func (g *Generator) wrongTextsIn(wanted *openapi3.Schema, in string) (all []Variant) {
	flat := g.Flatten(wanted)
	switch {
	case flat.Type.Is("array"):
		for _, wrong := range g.wrongTexts(schema.Of(flat.Items), in) {
			all = append(all, Variant{
				Pointer: "/0",
				Keyword: wrong.Keyword,
				Value:   g.Many(flat, flat.MinItems, wrong.Value),
			})
		}
	case flat.Type.Is("object"):
		for _, name := range PropertyNames(flat) {
			for _, wrong := range g.wrongTexts(flat.Properties[name].Value, in) {
				all = append(all, Variant{
					Pointer: "/" + name,
					Keyword: wrong.Keyword,
					Value:   g.with(flat, name, wrong.Value),
				})
			}
		}
	default:
		return g.wrongTexts(wanted, in)
	}
	return all
}

// Texts that are no integers, for a service that reads canonical ones only, and for any service.
var (
	strictWrongIntegers = []string{"x", "+1", "01", "-0", "1.0", "1e0", "1 ", "1,2", "0x1", "١"}
	wrongIntegers       = []string{"x", "1.5", "1x"}
)

// wrongTexts returns texts that have not the type of a schema, which is neither an array nor
// an object.
func (g *Generator) wrongTexts(wanted *openapi3.Schema, in string) (all []Variant) {
	flat := g.Flatten(wanted)
	branches := g.Branches(flat)
	for _, branch := range branches {
		for _, wrong := range g.wrongTexts(branch, in) {
			if !g.Fits(wanted, g.asRead(wanted, wrong.Value)) {
				all = append(all, Variant{Keyword: compositionOf(flat), Value: wrong.Value})
			}
		}
	}
	if len(branches) > 0 {
		return all
	}
	for _, text := range g.textsOfNoType(flat, in == "query") {
		all = append(all, Variant{Keyword: "type", Value: text})
	}
	return all
}

// textsOfNoType are texts that are no value of a type. Any text is a string.
func (g *Generator) textsOfNoType(flat *openapi3.Schema, inQuery bool) []string {
	switch {
	case flat.Type.Is("integer"):
		return g.textsOfNoInteger(inQuery)
	case flat.Type.Is("number"):
		return []string{"x"}
	case flat.Type.Is("boolean"):
		return []string{"maybe"}
	}
	isAnyText := flat.Type.Is("string") && flat.Pattern == "" && len(flat.Enum) == 0
	isSent := g.Rules.StrictParameters && inQuery
	if isAnyText && isSent {
		return []string{"\xff"} // no string is made of this
	}
	return nil
}

// textsOfNoInteger are texts that are no integer. Only in a query can one be empty: a path would be another
// one, and a header none.
func (g *Generator) textsOfNoInteger(inQuery bool) []string {
	switch {
	case !g.Rules.StrictParameters:
		return wrongIntegers
	case inQuery:
		return append([]string{""}, strictWrongIntegers...)
	}
	return strictWrongIntegers
}
