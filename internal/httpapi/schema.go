package httpapi

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// violations returns what is wrong with a decoded body, at most maxDetails faults. It does
// not change the value.
func violations(schema *openapi3.Schema, value any) []plantapi.ErrorDetail {
	first := schema.VisitJSON(value, openapi3.VisitAsRequest())
	if first == nil {
		return nil
	}
	faults := []error{first}
	// An array that is too long is the only fault of its body. The errors of 1 MiB with a
	// fault every three bytes would take 100 MiB.
	if e, ok := errors.AsType[*openapi3.SchemaError](first); !ok || e.SchemaField != "maxItems" {
		faults = flatten(schema.VisitJSON(value, openapi3.VisitAsRequest(), openapi3.MultiErrors()))
	}
	var details []plantapi.ErrorDetail
	for _, fault := range faults[:min(len(faults), maxDetails)] {
		details = append(details, detail(fault))
	}
	return details
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
		d.Message = mustBe(e.Schema, e.Value)
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

func mustBe(schema *openapi3.Schema, value any) string {
	types := schema.Type.Slice()
	_, isInexact := value.(inexact)
	switch {
	case len(types) != 1:
		return "has the wrong type"
	case types[0] == "integer" && isInexact:
		return fmt.Sprintf("must be an integer of %s bits, without fraction or exponent", bits(schema))
	case slices.Contains([]string{"array", "integer", "object"}, types[0]):
		return "must be an " + types[0]
	default:
		return "must be a " + types[0]
	}
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
