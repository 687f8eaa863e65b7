package values

import (
	"fmt"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// In a parameter everything is text, so half of the values that break a schema cannot be sent: the number 1
// where a string must be is the string 1. What a service would read again (asRead) decides whether a value
// is wrong at all.

// ParameterVariant is a parameter as it is written in a request, and what it is
// a case of.
type ParameterVariant struct {
	Variant
	Promise scenario.Promise // without the operation
	Text    string           // as it is sent: for a query, with its name
	Shown   string           // for the name of the test
}

// BaseParameter writes the value of a parameter that is most likely to be accepted: the one that the options give, else an
// example, else the plainest one of its schema. It reports false if none of them can be written.
func (g *Generator) BaseParameter(parameter *document.Parameter) (text string, ok bool) {
	wanted, _ := document.ParameterSchema(parameter)
	given, _ := g.given(parameter.Name, wanted)
	for _, value := range []any{given, parameter.Example, schema.Example(wanted), g.Base(wanted)} {
		if value == nil {
			continue // there is none; null could not be written, either
		}
		if text, ok := document.Written(parameter, jsonvalue.Normal(value)); ok {
			return text, true
		}
	}
	return "", false
}

// ParameterVariants returns the ways to write a parameter that the document allows, and
// those that it forbids. Any text is a string, so only what is wrong as text is tried.
func (g *Generator) ParameterVariants(parameter *document.Parameter) (all []ParameterVariant) {
	wanted, isJSON := document.ParameterSchema(parameter)
	// The copy of a schema of identities is not marked as such: a path may name something that does not exist.
	own := *wanted
	if schema.Example(wanted) == nil && parameter.Example != nil {
		own.Examples = []any{parameter.Example} // the easiest match of a pattern
	}
	variants := g.onlyGiven(parameter.Name, &own, append(exampleVariant(parameter), g.Variants(&own)...))
	if !isJSON {
		variants = g.asTexts(&own, variants, parameter.In)
	}
	for _, variant := range variants {
		text, canBeWritten := document.Written(parameter, variant.Value)
		isTried := canBeWritten || variant.Demand
		if isTried && !g.isLeftOpen(parameter, variant) {
			all = append(all, newParameterVariant(parameter, variant, text))
		}
	}
	isStrict := g.Rules.StrictParameters && parameter.In == "query"
	hasOneValue := !isJSON && schema.IsScalar(g.Flatten(&own))
	if isStrict && hasOneValue {
		all = append(all, twice(parameter))
	}
	return all
}

// isLeftOpen reports whether a service may refuse a valid variant because it is empty. In a query OpenAPI leaves that open,
// unless the document allows empty values.
func (g *Generator) isLeftOpen(parameter *document.Parameter, variant Variant) bool {
	isAccepted := parameter.AllowEmptyValue || g.Rules.StrictParameters
	isEmpty := variant.Valid && variant.Value == ""
	return isEmpty && parameter.In == "query" && !isAccepted
}

// exampleVariant is the example of a parameter: its author has promised that it is accepted.
func exampleVariant(parameter *document.Parameter) []Variant {
	if parameter.Example == nil {
		return nil
	}
	example := jsonvalue.Normal(parameter.Example)
	return []Variant{{Keyword: "example", Value: example, Valid: true}}
}

// asTexts leaves out the variants that are wrong, but not when they are written as text. It adds texts that are no value
// of the type.
func (g *Generator) asTexts(wanted *schema.Schema, variants []Variant, in string) []Variant {
	variants = slices.DeleteFunc(variants, func(v Variant) bool {
		return !v.Valid && !g.isWrongText(wanted, v)
	})
	return append(variants, g.wrongTextsIn(wanted, in)...)
}

// newParameterVariant names what a variant shows. The value is cut in the name of the test, which is a line in a
// report.
func newParameterVariant(parameter *document.Parameter, variant Variant, text string) ParameterVariant {
	return ParameterVariant{
		Variant: variant,
		Promise: scenario.Promise{
			Kind: scenario.ParameterKeyword, Place: parameter.Name + Place(variant.Pointer), Keyword: variant.Keyword, Duty: variant.Duty(),
		},
		Text:  text,
		Shown: fmt.Sprintf("%.40q", fmt.Sprint(variant.Value)),
	}
}

// twice is a parameter that is given twice.
func twice(parameter *document.Parameter) ParameterVariant {
	once, _ := document.Written(parameter, "1")
	return ParameterVariant{
		Promise: scenario.Promise{Kind: scenario.ParameterKeyword, Place: parameter.Name, Keyword: "once", Duty: scenario.MustRefuse},
		Text:    once + "&" + once,
		Shown:   "twice",
	}
}

// isWrongText reports whether a value that a schema forbids is wrong as text, too. Which texts have a wrong type,
// wrongTexts knows better.
func (g *Generator) isWrongText(wanted *schema.Schema, variant Variant) bool {
	if variant.Keyword == "type" || variant.Keyword == "nullable" {
		return false
	}
	return variant.Demand || !g.Fits(wanted, g.asRead(wanted, variant.Value))
}

// asRead returns what a service reads where a value is written as text: the first value of a branch, or of the schema
// itself, that the text can mean, or else the text. Members that no property names are texts.
//
//	["1", "x"]   [1, "x"], if the items are integers
func (g *Generator) asRead(wanted *schema.Schema, value any) any {
	flat := g.Flatten(wanted)
	switch value := value.(type) {
	case []any:
		return jsonvalue.Map(value, func(_ string, item any) any {
			return g.asRead(schema.Of(flat.Items2020), item)
		})
	case map[string]any:
		return jsonvalue.Map(value, func(name string, member any) any {
			return g.asRead(schema.Of(flat.Properties[name]), member)
		})
	}
	text := fmt.Sprint(value)
	for _, branch := range slices.Concat(g.Branches(flat), []*schema.Schema{flat}) {
		typed, err := judge.ParseText(g.Flatten(branch), text)
		if err == nil && g.Fits(branch, typed) {
			return typed
		}
	}
	return text
}

// wrongTextsIn returns texts that do not have the type of a schema, or of its items or members.
//
//	?ids=1,x     of an array of integers
//	?at=x,2      of an object of two numbers
func (g *Generator) wrongTextsIn(wanted *schema.Schema, in string) (all []Variant) {
	flat := g.Flatten(wanted)
	if schema.TypeOf(flat) == "array" {
		for _, wrong := range g.wrongTexts(schema.Of(flat.Items2020), in) {
			all = append(all, wrong.below("/0", g.Many(flat, OrNone(flat.MinItems), wrong.Value)))
		}
		return all
	}
	if schema.TypeOf(flat) != "object" {
		return g.wrongTexts(wanted, in)
	}
	for _, name := range PropertyNames(flat) {
		for _, wrong := range g.wrongTexts(flat.Properties[name], in) {
			all = append(all, wrong.below(jsonvalue.Pointer(name), g.with(flat, name, wrong.Value)))
		}
	}
	return all
}

// wrongTexts returns texts that do not have the type of a schema, which is neither an array nor an object. Of a choice
// they are those of all branches, without those that are right for another branch.
func (g *Generator) wrongTexts(wanted *schema.Schema, in string) (all []Variant) {
	flat := g.Flatten(wanted)
	branches := g.Branches(flat)
	if len(branches) == 0 {
		for _, text := range g.textsOfNoType(flat, in) {
			all = append(all, Variant{Keyword: "type", Value: text})
		}
		return all
	}
	for _, branch := range branches {
		all = append(all, g.wrongTexts(branch, in)...)
	}
	for i := range all {
		all[i].Keyword = compositionOf(flat)
	}
	return slices.DeleteFunc(all, func(v Variant) bool {
		return g.Fits(wanted, g.asRead(wanted, v.Value))
	})
}

// misfits are texts that are no value of a type.
type misfits struct {
	loose  []string // any service refuses them
	strict []string // a service refuses them that reads each value in one form only
	// Such a service refuses these, too, but only in a query. In a path an empty text would be another path, and in a
	// header it would be no value.
	inStrictQuery []string
}

// misfitsOf has the texts by type. Any text is a string, but not any bytes are text.
var misfitsOf = map[string]misfits{
	"integer": {
		loose:         []string{"x", "1.5", "1x"},
		strict:        []string{"x", "+1", "01", "-0", "1.0", "1e0", "1 ", "1,2", "0x1", "١"},
		inStrictQuery: []string{""},
	},
	"number":  {loose: []string{"x"}, strict: []string{"x"}},
	"boolean": {loose: []string{"maybe"}, strict: []string{"maybe"}},
	"string":  {inStrictQuery: []string{"\xff"}},
}

// textsOfNoType are texts that are no value of the type of a schema. Of a string with a pattern or an
// enumeration there are others, which are wrong for them.
func (g *Generator) textsOfNoType(flat *schema.Schema, in string) []string {
	isChosen := schema.PatternOf(flat) != "" || len(schema.ValuesOf(flat)) > 0
	if isChosen && schema.TypeOf(flat) == "string" {
		return nil
	}
	wrong := misfitsOf[schema.TypeOf(flat)]
	switch {
	case !g.Rules.StrictParameters:
		return wrong.loose
	case in == "query":
		return slices.Concat(wrong.inStrictQuery, wrong.strict)
	}
	return wrong.strict
}
