package schema

import (
	"errors"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Direction says whether a value is sent or received: a request leaves out what is readOnly, a
// response what is writeOnly.
type Direction bool

// The directions of a value.
const (
	Request  Direction = false
	Received Direction = true
)

// Lacks reports whether a value in the direction leaves out what has a schema.
func (d Direction) Lacks(schema *openapi3.Schema) bool {
	if d == Received {
		return schema.WriteOnly
	}
	return schema.ReadOnly
}

func (d Direction) options(more ...openapi3.SchemaValidationOption) []openapi3.SchemaValidationOption {
	direction := openapi3.VisitAsRequest()
	if d == Received {
		direction = openapi3.VisitAsResponse()
	}
	return append(more, direction, openapi3.EnableFormatValidation(),
		openapi3.WithStringFormatValidators(StringFormats), openapi3.SetSchemaRegexCompiler(compileForFirstJudge))
}

// Allows reports whether a schema allows a value, by kin-openapi.
func Allows(schema *openapi3.Schema, value any, direction Direction) bool {
	return schema.VisitJSON(jsonvalue.Normal(value), direction.options(openapi3.FailFast())...) == nil
}

// Faults lists what a schema finds wrong with a value, by kin-openapi. where is the beginning of each
// place.
func Faults(where string, schema *openapi3.Schema, value any, direction Direction) (faults []scenario.Fault) {
	err := schema.VisitJSON(value, direction.options(openapi3.MultiErrors())...)
	for _, err := range flattened(err) {
		fault := scenario.Fault{Where: where, Keyword: "schema", Message: err.Error()}
		if broken, ok := errors.AsType[*openapi3.SchemaError](err); ok {
			if path := broken.JSONPointer(); len(path) > 0 {
				fault.Where += " /" + strings.Join(path, "/")
			}
			fault.Keyword, fault.Message = broken.SchemaField, broken.Reason
		}
		faults = append(faults, fault)
	}
	return faults
}

// flattened lists the errors in errors.
func flattened(err error) (all []error) {
	several, isSeveral := err.(openapi3.MultiError)
	switch {
	case err == nil:
		return nil
	case !isSeveral:
		return []error{err}
	}
	for _, inner := range several {
		all = append(all, flattened(inner)...)
	}
	return all
}
