package schema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
)

// Place is where a value stands in a document: in the innermost component that describes it, and where in that. What
// is wrong with a component is wrong wherever it is used, so a report names the place, and not each use of it.
type Place struct {
	Component string // empty: none on the way is a component
	// A JSON Pointer, in which * stands for every item and for every member that has no name.
	Pointer string
}

// below is the place of what a place has under a token.
func (p Place) below(token string) Place {
	return Place{Component: p.Component, Pointer: p.Pointer + "/" + token}
}

// Component is the name of a schema that is a component, or nothing.
func Component(of *Schema) string {
	name, isComponent := strings.CutPrefix(of.Location, "/components/schemas/")
	if !isComponent || strings.Contains(name, "/") {
		return ""
	}
	return jsonvalue.Unescape(name)
}

// described is a schema and where it stands.
type described struct {
	schema *Schema
	place  Place
}

// PlaceOf finds the place of what a JSON Pointer names in values of a schema, which may be nil. If the owner of a plant is the
// component Person, /owner/emails/0 is at
//
//	Place{Component: "Person", Pointer: "/emails/*"}
func PlaceOf(root *Schema, pointer string) Place { return describedAt(root, pointer).place }

// At returns the schema of what a JSON Pointer names in values of a schema, which may be nil.
func At(root *Schema, pointer string) *Schema { return Of(describedAt(root, pointer).schema) }

// FormatAt is the format of the texts that a JSON Pointer names in values of a schema, or nothing.
func FormatAt(root *Schema, pointer string) (format string) {
	for _, part := range describedAt(root, pointer).parts(nil) {
		format = cmp.Or(format, FormatOf(part.schema))
	}
	return format
}

// describedAt follows a JSON Pointer.
func describedAt(root *Schema, pointer string) described {
	at := described{schema: root}.entered()
	_, tokens, _ := strings.Cut(pointer, "/")
	if tokens == "" {
		return at
	}
	for token := range strings.SplitSeq(tokens, "/") {
		at = at.child(token)
	}
	return at
}

// entered is the same schema, at the place of its component if it is one.
func (d described) entered() described {
	if d.schema == nil {
		return d
	}
	if name := Component(d.schema); name != "" {
		d.place = Place{Component: name}
	}
	return d
}

// child is what an object has as a member, or an array as an item. Where no schema says anything of it, only its
// place is known.
func (d described) child(token string) described {
	parts := d.parts(nil)
	for _, part := range parts {
		if named := part.schema.Properties[jsonvalue.Unescape(token)]; named != nil {
			return described{named, part.place.below(token)}.entered()
		}
	}
	for _, part := range parts {
		for _, each := range []*Schema{part.schema.Items2020, More(part.schema)} {
			if each != nil {
				return described{each, part.place.below("*")}.entered()
			}
		}
	}
	return described{place: d.place.below(token)}
}

// parts are the schema and those that it is composed of, without those that were seen before: a schema may
// consist of itself.
func (d described) parts(seen []*Schema) (all []described) {
	if d.schema == nil || slices.Contains(seen, d.schema) {
		return nil
	}
	seen = append(seen, d.schema)
	all = append(all, d)
	for _, part := range partsOf(d.schema) {
		all = append(all, described{part, d.place}.entered().parts(seen)...)
	}
	return all
}
