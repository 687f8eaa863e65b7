package values

import (
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
)

// The options may give the value of a parameter or a member by its name: a tenant, a version, or one of an enumeration
// that the document does not have. It is then in each request that may have it, and of what else the document allows
// there nothing is known to be accepted.

// IsSent reports whether each request has a parameter.
func (g *Generator) IsSent(parameter *document.Parameter) bool {
	return parameter.Required || g.IsGiven(parameter.Name)
}

// IsGiven reports whether the options give a value for a name.
func (g *Generator) IsGiven(name string) bool {
	_, isGiven := g.Values[name]
	return isGiven
}

// given is the value that the options give for a name, as a schema allows it, or false.
func (g *Generator) given(name string, wanted *schema.Schema) (value any, ok bool) {
	text, isGiven := g.Values[name]
	if !isGiven {
		return nil, false
	}
	forms := []any{text}
	if decoded, err := jsonvalue.Decode([]byte(text)); err == nil {
		forms = append(forms, decoded, []any{decoded})
	}
	forms = append(forms, []any{text})
	i := slices.IndexFunc(forms, func(form any) bool { return g.Fits(wanted, form) })
	if i < 0 {
		return nil, false
	}
	return forms[i], true
}

// baseOf is the plainest value of a member: the given one, or that of its schema.
func (g *Generator) baseOf(name string, property *schema.Schema) any {
	if value, isGiven := g.given(name, property); isGiven {
		return value
	}
	return g.Base(property)
}

// onlyGiven leaves out of the variants of what has a name the valid ones, if the options give its value, which stands
// for them.
func (g *Generator) onlyGiven(name string, wanted *schema.Schema, all []Variant) []Variant {
	value, isGiven := g.given(name, wanted)
	if !isGiven {
		return all
	}
	all = slices.DeleteFunc(all, func(v Variant) bool { return v.Valid && !v.Demand })
	return append(all, Variant{Keyword: "type", Value: value, Valid: true})
}
