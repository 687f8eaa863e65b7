package schema

import (
	"path"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

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

// described is a schema and where it stands.
type described struct {
	reference *openapi3.SchemaRef
	place     Place
}

// PlaceOf finds the place of what a JSON Pointer names in values of a schema.
func PlaceOf(root *openapi3.SchemaRef, pointer string) Place { return describedAt(root, pointer).place }

// At returns the schema of what a JSON Pointer names in values of a schema.
func At(root *openapi3.SchemaRef, pointer string) *openapi3.Schema {
	return Of(describedAt(root, pointer).reference)
}

// describedAt follows a JSON Pointer.
func describedAt(root *openapi3.SchemaRef, pointer string) described {
	at := described{reference: root}.entered()
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
	if d.reference == nil || d.reference.Ref == "" {
		return d
	}
	return described{d.reference, Place{Component: path.Base(d.reference.Ref)}}
}

// child is what an object has as a member, or an array as an item. Where no schema says anything of it, only its
// place is known.
func (d described) child(token string) described {
	for _, part := range d.parts(nil) {
		named := part.reference.Value.Properties[jsonvalue.Unescape(token)]
		if named != nil {
			return described{named, part.place.below(token)}.entered()
		}
	}
	for _, part := range d.parts(nil) {
		of := part.reference.Value
		for _, each := range []*openapi3.SchemaRef{of.Items, of.AdditionalProperties.Schema} {
			if each != nil {
				return described{each, part.place.below("*")}.entered()
			}
		}
	}
	return described{place: d.place.below(token)}
}

// parts are the schema and those that it is composed of, without those that were seen before: a schema may
// consist of itself.
func (d described) parts(seen []*openapi3.Schema) (all []described) {
	if d.reference == nil || d.reference.Value == nil {
		return nil
	}
	of := d.reference.Value
	for _, other := range seen {
		if other == of {
			return nil
		}
	}
	seen = append(seen, of)
	all = append(all, d)
	for _, references := range []openapi3.SchemaRefs{of.AllOf, of.AnyOf, of.OneOf} {
		for _, reference := range references {
			all = append(all, described{reference, d.place}.entered().parts(seen)...)
		}
	}
	return all
}
