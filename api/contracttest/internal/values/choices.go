package values

import (
	"maps"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// Of a choice less is certain than of a simple schema. What breaks a branch may be another branch, so only
// the whole says whether a value is wrong; and what the keywords of a branch forbid is no promise of its own,
// so nothing in a branch is demanded.

// choiceVariants returns values of each type, the variants of each branch, and an object that has the members of all
// branches. Which of them a choice forbids, the whole schema decides later.
func (g *Generator) choiceVariants(wanted *schema.Schema, keyword string, branches []*schema.Schema) (all []Variant) {
	for _, typed := range ofEachType {
		all = append(all, Variant{Keyword: keyword, Value: typed.value})
	}
	both := map[string]any{}
	for _, branch := range branches {
		base := g.Base(branch)
		maps.Copy(both, jsonvalue.Object(base))
		all = append(all, Variant{Keyword: keyword, Value: base, Valid: true})
		if schema.IsNull(branch) {
			continue // the types that it lacks were tried for the choice
		}
		inner := slices.DeleteFunc(g.variants(branch), func(v Variant) bool { return v.Demand })
		all = append(all, inner...)
		all = append(all, g.firstBreaking(wanted, keyword, inner)...)
	}
	all = append(all, Variant{Keyword: keyword, Value: both})
	all = slices.DeleteFunc(all, func(v Variant) bool { return v.isBroken() && g.isAmbiguous(branches, v) })
	return append(all, demands(keyword)...)
}

// isAmbiguous reports whether a value breaks a choice only because several branches allow it, as 1 is an integer and a
// number. No service refuses it for that. An object that several branches allow is another case: the service must know
// which one is meant.
func (g *Generator) isAmbiguous(branches []*schema.Schema, v Variant) bool {
	isAllowed := func(branch *schema.Schema) bool { return g.Fits(branch, v.Value) }
	return v.Pointer == "" && jsonvalue.Object(v.Value) == nil && slices.ContainsFunc(branches, isAllowed)
}

// notVariants are values that "not" forbids, and one that it does not. A forbidden value must be right otherwise,
// so the last one is made of the schema and of what it forbids together. Values that the schema allows after all are left out
// later.
//
//	{"type": "string", "not": {"maxLength": 1}}   "Ficus" is valid, "s" is not
func (g *Generator) notVariants(wanted, flat *schema.Schema) []Variant {
	all := append(demands("not"), Variant{
		Keyword: "not",
		Value:   g.Base(wanted),
		Valid:   true,
	})
	for _, forbidden := range obeying(g.variants(flat.Not)) {
		all = append(all, Variant{Keyword: "not", Value: forbidden.Value})
	}
	return append(all, Variant{Keyword: "not", Value: g.Base(g.withoutNot(flat))})
}

// firstBreaking returns a variant of a part that breaks the whole. One is enough: all are sent for the part.
func (g *Generator) firstBreaking(whole *schema.Schema, keyword string, parts []Variant) []Variant {
	for _, part := range parts {
		if part.isBroken() && !g.Fits(whole, part.Value) {
			return []Variant{{Keyword: keyword, Value: part.Value}}
		}
	}
	return nil
}

// compositionOf is the keyword of a choice: of a schema with both it is oneOf, which is stricter.
func compositionOf(flat *schema.Schema) string {
	if len(flat.OneOf) > 0 {
		return "oneOf"
	}
	return "anyOf"
}
