package document

import (
	"net/http"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// A reference that leads out of the document leaves a hole. In a response it allows anything. In a request
// nothing is known that a service must accept, so an optional member is left out, and an operation that
// needs what is in the hole is not tested.

// unread is the member that remembers a reference that was taken out. It must begin with x- to be kept.
const unread = "x-unread"

// places are where a parameter can be.
var places = []string{"path", "query", "header", "cookie"}

// fillHoles leaves out of the operation what is not in the document and may be left out of a request, and notes whether there is
// something that may not.
func (o *Operation) fillHoles() {
	o.NeedsUnread = slices.ContainsFunc(o.Parameters, (*Parameter).isNeededHole)
	o.Parameters = slices.DeleteFunc(o.Parameters, (*Parameter).isHole)
	if !o.bodyIsHole() {
		return
	}
	// A body of GET has no meaning: tools write one where a framework injects an argument.
	hasMeaning := slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, o.Method)
	if hasMeaning || o.NeedsBody() {
		o.NeedsUnread = true
	} else {
		o.Content = nil
	}
}

// isPlaced reports whether it is known where a parameter is. Of a reference that was taken out nothing is left, not even that,
// and OpenAPI 3.2 has new places.
func (p *Parameter) isPlaced() bool { return slices.Contains(places, p.In) }

// isHole reports whether no value of a parameter is known.
func (p *Parameter) isHole() bool { return !p.isPlaced() || isHole(p.Schema) }

// isNeededHole reports whether no value of a parameter is known, and it must be sent, or may have to be.
func (p *Parameter) isNeededHole() bool { return p.isHole() && (p.Required || !p.isPlaced()) }

// bodyIsHole reports whether a body needs what is not in the document.
func (o *Operation) bodyIsHole() bool {
	described := o.BodySchema()
	if described != nil {
		return isHole(described)
	}
	return o.lacksBody
}

// isHole reports whether a value of a schema needs a value of one that is not in the document.
func isHole(wanted *schema.Schema) bool {
	return needsUnread(wanted, map[*schema.Schema]bool{})
}

// needsUnread is isHole for a schema that was not seen yet: a schema may have itself in it.
func needsUnread(wanted *schema.Schema, seen map[*schema.Schema]bool) bool {
	if wanted == nil || seen[wanted] {
		return false
	}
	seen[wanted] = true
	parts := slices.Concat(wanted.AllOf, wanted.AnyOf, wanted.OneOf)
	parts = append(parts, wanted.Not, wanted.Items2020, schema.More(wanted))
	for name, property := range wanted.Properties {
		canBeLeftOut := schema.IsUnread(property) && !slices.Contains(wanted.Required, name)
		if !canBeLeftOut {
			parts = append(parts, property)
		}
	}
	needs := func(part *schema.Schema) bool { return needsUnread(part, seen) }
	return schema.IsUnread(wanted) || slices.ContainsFunc(parts, needs)
}
