package document

import (
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// review looks for what no judge can check, reports it, and takes out what would make kin-openapi fail. It
// comes last, when all that is left of the document is known.
func (d *Document) review() {
	r := reviewer{document: d, seen: map[*openapi3.Schema]bool{}}
	for _, operation := range d.Operations {
		for _, parameter := range operation.Parameters {
			where := operation.ID + ", parameter " + parameter.Name
			r.schema(where, parameter.Schema)
			r.content(where, parameter.Content)
		}
		r.content(operation.ID+", body", operation.Content())
		for status, response := range operation.Spec.Responses.Map() {
			where := operation.ID + ", " + status
			r.content(where, response.Value.Content)
			for name, header := range response.Value.Headers {
				r.schema(where+", header "+name, header.Value.Schema)
			}
		}
		if len(operation.Spec.Callbacks) > 0 {
			d.Unsupport(operation.ID, "callbacks")
		}
	}
}

// reviewer visits each schema once.
type reviewer struct {
	document *Document
	seen     map[*openapi3.Schema]bool
}

// content visits the schemas of a body, by media type.
func (r reviewer) content(where string, content openapi3.Content) {
	for _, mediaType := range slices.Sorted(maps.Keys(content)) {
		r.schema(where, content[mediaType].Schema)
	}
}

// schema visits a schema and those in it, unless it was visited before.
func (r reviewer) schema(where string, reference *openapi3.SchemaRef) {
	visited := schema.Of(reference)
	if r.seen[visited] {
		return
	}
	r.seen[visited] = true
	r.pattern(where, visited)
	if visited.Discriminator != nil {
		r.document.report("%s: the discriminator; its schemas are checked as oneOf or anyOf", where)
		visited.Discriminator = nil
	}
	if visited.Type.Is("string") && !schema.IsKnownFormat(visited.Format) {
		r.document.report("%s: format %q", where, visited.Format)
	}
	for _, name := range slices.Sorted(maps.Keys(visited.Properties)) {
		r.schema(where+jsonvalue.Pointer(name), visited.Properties[name])
	}
	r.schema(where+"/*", visited.Items)
	r.schema(where+"/additionalProperties", visited.AdditionalProperties.Schema)
	for _, part := range slices.Concat(visited.AllOf, visited.AnyOf, visited.OneOf, openapi3.SchemaRefs{visited.Not}) {
		r.schema(where, part)
	}
}

// pattern takes out a pattern that no library can compile.
func (r reviewer) pattern(where string, visited *openapi3.Schema) {
	if schema.IsPattern(visited.Pattern) {
		return
	}
	r.document.report("%s: pattern %q is not one that can be checked", where, visited.Pattern)
	visited.Pattern = ""
}
