package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// UnknownMember is the name of a member that no schema has. Tests add it to objects.
const UnknownMember = "unknown-member"

// UnnamedMember is the keyword of a fault of a value that says more than its schema.
const UnnamedMember = "properties"

// Beyond finds what the schemas of a value allow and a strict reader does not: a member that the
// document does not name (its schemas are open so that they may grow; a response may still not say
// more than is documented), and an integer that is not written as one or that its format cannot hold.
// The value matches all of the schemas. at is its place, a JSON Pointer.
func Beyond(at string, value any, schemas ...*openapi3.Schema) (faults []scenario.Fault) {
	schemas = Parts(schemas...)
	switch value := value.(type) {
	case json.Number:
		if message := wrongInteger(schemas, value); message != "" {
			faults = append(faults, scenario.Fault{Where: "body " + at, Keyword: "format", Message: message})
		}
	case []any:
		items := Items(schemas)
		for i, item := range value {
			faults = append(faults, Beyond(fmt.Sprint(at, "/", i), item, items...)...)
		}
	case map[string]any:
		open := allowsUnnamed(schemas)
		for name, member := range value {
			below := at + "/" + name
			if named := Members(schemas, name); len(named) > 0 {
				faults = append(faults, Beyond(below, member, named...)...)
			} else if !open {
				faults = append(faults, scenario.Fault{Where: "body " + below, Keyword: UnnamedMember, Message: "the document names no such member"})
			}
		}
	}
	return faults
}

// allowsUnnamed reports whether schemas mean objects with any members: they name none, or say so.
func allowsUnnamed(schemas []*openapi3.Schema) bool {
	names, saysYes := false, false
	for _, schema := range schemas {
		has := schema.AdditionalProperties.Has
		names = names || has != nil || len(schema.Properties) > 0
		saysYes = saysYes || has != nil && *has
	}
	return saysYes || !names
}

// wrongInteger says why a number is none of the integers that schemas allow, if they allow no fractions.
func wrongInteger(schemas []*openapi3.Schema, number json.Number) string {
	message := ""
	for _, schema := range schemas {
		if schema.Type.Is("number") {
			return ""
		}
		if schema.Type.Is("integer") && message == "" {
			message = IntegerFault(schema, number)
		}
	}
	return message
}

// IntegerFault says why a number is not written as an integer, or none that its format can hold.
func IntegerFault(schema *openapi3.Schema, number json.Number) string {
	bits := 64
	if schema.Format == "int32" {
		bits = 32
	}
	if _, err := strconv.ParseInt(string(number), 10, bits); err != nil {
		return fmt.Sprintf("%.40s is not an integer of %d bits", number, bits)
	}
	return ""
}

// WithoutUnnamed removes from faults what a value says more than its schema, and returns it.
func WithoutUnnamed(faults []scenario.Fault) (wrong, unnamed []scenario.Fault) {
	for _, fault := range faults {
		if fault.Keyword == UnnamedMember {
			unnamed = append(unnamed, fault)
		} else {
			wrong = append(wrong, fault)
		}
	}
	return wrong, slices.Clip(unnamed)
}
