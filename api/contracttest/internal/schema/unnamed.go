package schema

import (
	"fmt"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// UnknownMember is the name of a member that no schema has. Tests add it to objects.
const UnknownMember = "unknown-member"

// Unnamed finds the members of a value that its schemas do not name. Schemas are open so that they may
// grow; a response may still not say more than is documented. The value matches all of the schemas. at
// is its place, a JSON Pointer.
func Unnamed(at string, value any, schemas ...*Schema) (faults []scenario.Fault) {
	schemas = Parts(schemas...)
	items := Items(schemas)
	for i, item := range jsonvalue.List(value) {
		below := fmt.Sprint(at, "/", i)
		faults = append(faults, Unnamed(below, item, items...)...)
	}
	isOpen := allowsUnnamed(schemas)
	for name, member := range jsonvalue.Object(value) {
		below := at + jsonvalue.Pointer(name)
		named := Members(schemas, name)
		isNamed := len(named) > 0
		if isNamed {
			faults = append(faults, Unnamed(below, member, named...)...)
		}
		if !isNamed && !isOpen {
			faults = append(faults, scenario.Fault{
				Where:   "body " + below,
				Keyword: "properties",
				Message: "the document names no such member",
			})
		}
	}
	return faults
}

// allowsUnnamed reports whether schemas mean objects with any members: they name none, or say so. That a
// schema names some and leaves additionalProperties out is how most documents are written, and means no more.
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
