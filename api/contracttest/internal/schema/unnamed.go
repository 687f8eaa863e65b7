package schema

import (
	"fmt"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// UnknownMember is the name of a member that no schema has. Tests add it to objects.
const UnknownMember = "unknown-member"

// Unnamed finds the members of a value that its schemas do not name, in the order of their names. Schemas are open so that
// they may grow; a response may still not say more than is documented. The value matches all of the schemas. at is its place,
// a JSON Pointer.
func Unnamed(at string, value any, schemas ...*Schema) (faults []scenario.Fault) {
	schemas = Parts(schemas...)
	items := Items(schemas)
	for i, item := range jsonvalue.List(value) {
		below := fmt.Sprint(at, "/", i)
		faults = append(faults, Unnamed(below, item, items...)...)
	}
	isOpen := allowsUnnamed(schemas)
	object := jsonvalue.Object(value)
	for _, name := range jsonvalue.Names(object) {
		below := at + jsonvalue.Pointer(name)
		named := Members(schemas, name)
		switch {
		case len(named) > 0:
			faults = append(faults, Unnamed(below, object[name], named...)...)
		case !isOpen:
			faults = append(faults, scenario.Fault{
				Where:   "body " + below,
				Keyword: "properties",
				Message: "the document names no such member",
			})
		}
	}
	return faults
}

// allowsUnnamed reports whether schemas mean objects with any members: they name none, or one of them says so. A schema that
// names some and leaves additionalProperties out does not: most documents are written so, and mean no other members.
func allowsUnnamed(schemas []*Schema) bool {
	hasNames := false
	for _, schema := range schemas {
		if schema.AdditionalProperties == true {
			return true
		}
		hasNames = hasNames || IsClosed(schema) || len(schema.Properties) > 0
	}
	return !hasNames
}
