package document

import (
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// review reports what no judge can check. It comes last, when all that is left of the document is known.
func (d *Document) review() {
	r := reviewer{document: d, seen: map[string]bool{}}
	for _, operation := range d.Operations {
		for _, parameter := range operation.Parameters {
			where := operation.ID + ", parameter " + parameter.Name
			r.schema(where, parameter.Schema)
			r.content(where, parameter.Content)
		}
		r.content(operation.ID+", body", operation.Content)
		r.examples(operation)
		for _, status := range operation.Statuses() {
			where := operation.ID + ", " + status
			response := operation.Responses[status]
			r.content(where, response.Content)
			for _, name := range jsonvalue.Names(response.Headers) {
				r.schema(where+", header "+name, response.Headers[name].Schema)
			}
		}
		if operation.hasCallbacks {
			d.Unsupport(operation.ID, "callbacks")
		}
	}
}

// reviewer visits each schema once. What it reports has the place where the schema was visited first, so it visits all in order.
type reviewer struct {
	document *Document
	seen     map[string]bool // by location: those of a request and of a response are two
}

// examples reports examples of a body that its schema forbids: no test sends them.
func (r reviewer) examples(operation *Operation) {
	examples := operation.BodyExamples()
	for _, name := range jsonvalue.Names(examples) {
		if faults := schema.Faults("body", operation.BodySchema(), examples[name]); len(faults) > 0 {
			r.document.Unsupport(operation.ID, "example %s, which its schema forbids: %s", name, faults[0])
		}
	}
}

// content visits the schemas of a body, by media type.
func (r reviewer) content(where string, content Content) {
	for _, mediaType := range jsonvalue.Names(content) {
		r.schema(where, content[mediaType].Schema)
	}
}

// schema visits a schema and those in it, unless it was visited before.
func (r reviewer) schema(where string, visited *schema.Schema) {
	if visited == nil || r.seen[visited.Location] {
		return
	}
	r.seen[visited.Location] = true
	if !schema.IsChecked(visited) {
		r.document.report("%s: pattern %q is not one that can be checked", where, visited.Pattern)
	}
	if r.document.library.Node(visited)["discriminator"] != nil {
		r.document.report("%s: the discriminator; its schemas are checked as anyOf", where)
	}
	if format := schema.FormatOf(visited); schema.TypeOf(visited) == "string" && !schema.IsKnownFormat(format) {
		r.document.report("%s: format %q", where, format)
	}
	for _, name := range jsonvalue.Names(visited.Properties) {
		r.schema(where+jsonvalue.Pointer(name), visited.Properties[name])
	}
	r.schema(where+"/*", visited.Items2020)
	r.schema(where+"/additionalProperties", schema.More(visited))
	for _, part := range slices.Concat(visited.AllOf, visited.AnyOf, visited.OneOf, []*schema.Schema{visited.Not}) {
		r.schema(where, part)
	}
}
