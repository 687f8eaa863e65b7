package values

import (
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// The options may give the value of a parameter or a member by its name: a tenant, a version, or one of an enumeration
// that the document does not have. Each request that may have the value then has it. Of other values that the document
// allows there, none is known to be accepted.

// IsSent reports whether each request has a parameter.
func (g *Generator) IsSent(parameter *document.Parameter) bool {
	return parameter.Required || g.IsGiven(parameter.Name)
}

// IsGiven reports whether the options give a value for a name.
func (g *Generator) IsGiven(name string) bool {
	_, isGiven := g.Values[name]
	return isGiven
}

// given is the value that the options give for a name, in the first form that a schema allows, or false. The option 7 may be
//
//	"7"   7   [7]   ["7"]
func (g *Generator) given(name string, wanted *schema.Schema) (value any, ok bool) {
	text, isGiven := g.Values[name]
	if !isGiven {
		return nil, false
	}
	forms := []any{text}
	if decoded, err := jsonvalue.Decode([]byte(text)); err == nil {
		forms = append(forms, decoded, []any{decoded})
	}
	return g.FirstFit(wanted, append(forms, []any{text})...)
}

// baseOf is the plainest value of a member: the given one, or that of its schema.
func (g *Generator) baseOf(name string, property *schema.Schema) any {
	if value, isGiven := g.given(name, property); isGiven {
		return value
	}
	return g.Base(property)
}

// onlyGiven returns the variants of a parameter or member with a name. If the options give its value, that is the only
// valid one.
func (g *Generator) onlyGiven(name string, wanted *schema.Schema, all []Variant) []Variant {
	value, isGiven := g.given(name, wanted)
	if !isGiven {
		return all
	}
	all = slices.DeleteFunc(all, func(v Variant) bool { return v.Valid && !v.Demand })
	return append(all, Variant{Keyword: "type", Value: value, Valid: true})
}
