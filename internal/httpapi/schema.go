package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// bodySchema is the schema of a body of one media type.
type bodySchema struct {
	*openapi3.Schema
	options []openapi3.SchemaValidationOption // for [openapi3.Schema.VisitJSON]
}

func loadBodySchema(schema *openapi3.Schema) *bodySchema {
	loaded := &bodySchema{Schema: schema, options: []openapi3.SchemaValidationOption{openapi3.FailFast()}}
	readOnly := false
	eachSchema(schema, map[*openapi3.Schema]bool{}, func(part *openapi3.Schema) {
		readOnly = readOnly || part.ReadOnly
	})
	if readOnly { // without readOnly members the option only takes time
		loaded.options = append(loaded.options, openapi3.VisitAsRequest())
	}
	return loaded
}

// violations validates a decoded body against its schema and returns every fault, up
// to maxDetails. It does not change the value. Exact means that every number in the
// value is an int64.
func (s *bodySchema) violations(value any, exact bool) []plantapi.ErrorDetail {
	fits := s.VisitJSON(value, s.options...) == nil
	if fits && exact {
		return nil
	}
	var details []plantapi.ErrorDetail
	if !fits {
		err := s.VisitJSON(shortened(s.Schema, value), openapi3.MultiErrors(), openapi3.VisitAsRequest())
		var long []string // arrays whose items shortened has replaced: the faults of these items are not real
		for _, e := range flatten(err) {
			d := detail(e)
			if e, ok := errors.AsType[*openapi3.SchemaError](e); ok && e.SchemaField == "maxItems" {
				long = append(long, d.Pointer+"/")
			}
			if !slices.ContainsFunc(long, func(array string) bool { return strings.HasPrefix(d.Pointer, array) }) {
				details = append(details, d)
			}
		}
	}
	for _, d := range inexactIntegers(s.Schema, value) {
		if !slices.ContainsFunc(details, func(known plantapi.ErrorDetail) bool { return known.Pointer == d.Pointer }) {
			details = append(details, d)
		}
	}
	return details[:min(len(details), maxDetails)]
}

// eachSchema calls f once with a schema and once with each schema inside it.
func eachSchema(schema *openapi3.Schema, seen map[*openapi3.Schema]bool, f func(*openapi3.Schema)) {
	if seen[schema] {
		return
	}
	seen[schema] = true
	f(schema)
	parts := slices.Concat(schema.AllOf, schema.AnyOf, schema.OneOf)
	parts = append(parts, schema.Not, schema.Items, schema.AdditionalProperties.Schema)
	for _, part := range slices.AppendSeq(parts, maps.Values(schema.Properties)) {
		if part != nil {
			eachSchema(part.Value, seen, f)
		}
	}
}

// shortened replaces the items of arrays that are too long by null. Otherwise the
// errors of a body of 1 MiB with a fault every three bytes would take 100 MiB.
func shortened(schema *openapi3.Schema, value any) any {
	switch value := value.(type) {
	case []any:
		if most := schema.MaxItems; most != nil && uint64(len(value)) > *most {
			return make([]any, *most+1)
		}
	case map[string]any:
		short := make(map[string]any, len(value))
		for name, member := range value {
			if property := schema.Properties[name]; property != nil {
				member = shortened(property.Value, member)
			}
			short[name] = member
		}
		return short
	}
	return value
}

// flatten returns the single errors in the error of a schema.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	multi, ok := err.(openapi3.MultiError)
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range multi {
		all = append(all, flatten(e)...)
	}
	return all
}

// detail describes one error of a schema. It quotes neither the value, which may be
// large or secret, nor the schema, which is in the document.
func detail(err error) plantapi.ErrorDetail {
	d := plantapi.ErrorDetail{In: plantapi.InBody, Message: "does not match the schema"}
	e, ok := errors.AsType[*openapi3.SchemaError](err)
	if !ok {
		return d
	}
	d.Pointer = pointer(e.JSONPointer())
	switch e.SchemaField {
	case "type":
		d.Message = mustBe(e.Schema)
	case "required":
		d.Message = "is required"
	case "nullable":
		d.Message = "must not be null"
	case "maxLength":
		d.Message = fmt.Sprintf("must have at most %d characters", *e.Schema.MaxLength)
	case "pattern":
		d.Message = "does not match the pattern"
	case "properties": // kin-openapi points at the object and names the member in its message
		if _, name, ok := strings.Cut(e.Reason, "property "); ok {
			if name, err := strconv.QuotedPrefix(name); err == nil {
				member, _ := strconv.Unquote(name)
				d.Pointer += pointerTo(member)
			}
		}
		d.Message = "is not known"
	default:
		if e.Reason != "" {
			d.Message = e.Reason
		}
	}
	return d
}

func mustBe(schema *openapi3.Schema) string {
	switch types := schema.Type.Slice(); {
	case len(types) != 1:
		return "has the wrong type"
	case slices.Contains([]string{"array", "integer", "object"}, types[0]):
		return "must be an " + types[0]
	default:
		return "must be a " + types[0]
	}
}

// inexactIntegers finds the numbers that kin-openapi accepts as integers and that are
// refused here. It compares them as float64, so it accepts 1.0, 1e2 and 2^63 as
// integers of 64 bits. The decoder returns every other integer as an int64.
func inexactIntegers(schema *openapi3.Schema, value any) []plantapi.ErrorDetail {
	var details []plantapi.ErrorDetail
	for _, part := range schema.AllOf {
		details = append(details, inexactIntegers(part.Value, value)...)
	}
	switch value := value.(type) {
	case json.Number:
		if schema.Type.Is("integer") {
			details = append(details, plantapi.ErrorDetail{
				In:      plantapi.InBody,
				Message: fmt.Sprintf("must be an integer of %s bits, without fraction or exponent", bits(schema)),
			})
		}
	case []any:
		if schema.Items == nil {
			break
		}
		for i, item := range value {
			for _, d := range inexactIntegers(schema.Items.Value, item) {
				d.Pointer = "/" + strconv.Itoa(i) + d.Pointer
				details = append(details, d)
			}
		}
	case map[string]any:
		for name, property := range schema.Properties {
			member, ok := value[name]
			if !ok {
				continue
			}
			for _, d := range inexactIntegers(property.Value, member) {
				d.Pointer = pointer([]string{name}) + d.Pointer
				details = append(details, d)
			}
		}
	}
	return details
}

func bits(schema *openapi3.Schema) string {
	return strings.TrimPrefix(schema.Format, "int")
}

// pointer writes a path as a JSON Pointer (RFC 6901).
func pointer(path []string) string {
	var b strings.Builder
	for _, step := range path {
		b.WriteString("/" + pointerEscaper.Replace(step))
	}
	return b.String()
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")
