package contracttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json/jsontext"
)

// transportHeaders are headers that HTTP needs, so no document names them.
var transportHeaders = []string{"Connection", "Content-Length", "Content-Type", "Date", "Keep-Alive", "Trailer", "Transfer-Encoding"}

// unnamedMember and unnamedHeader are the keywords of faults that say more than
// the document does.
const (
	unnamedMember = "properties"
	unnamedHeader = "headers"
)

// twoOracles is the keyword of a fault that only one oracle sees.
const twoOracles = "two oracles"

// checkResponse checks a response against what the document says for its status.
func (c *Contract) checkResponse(r *route, x Interaction) []Fault {
	response := r.response(x.Status)
	if response == nil {
		return []Fault{{"status", "responses", fmt.Sprintf("the document does not list %d for %s", x.Status, r.operation.OperationID)}}
	}
	exact := c.options.Undeclared == Exact
	faults := checkHeaders(response.Headers, x.Header)
	if exact {
		faults = append(faults, c.checkUnnamedHeaders(response.Headers, x.Header)...)
	}
	if x.Status == http.StatusUnauthorized || x.Header.Get("WWW-Authenticate") != "" {
		faults = append(faults, c.checkChallenge(x)...)
	}
	switch {
	case x.Method == http.MethodHead:
		if len(x.Body) > 0 {
			faults = append(faults, Fault{"body", "HEAD", "must be empty"})
		}
	case len(response.Content) == 0 || x.Status == http.StatusNoContent || x.Status == http.StatusNotModified:
		if len(x.Body) > 0 && (exact || x.Status == http.StatusNoContent || x.Status == http.StatusNotModified) {
			faults = append(faults, Fault{"body", "content", "must be empty"})
		}
	default:
		faults = append(faults, c.document.checkBody(r, response.Content, x, exact)...)
	}
	return faults
}

// checkHeaders checks the headers of a response against their schemas.
func checkHeaders(headers openapi3.Headers, got http.Header) []Fault {
	var faults []Fault
	for name, ref := range headers {
		where := "header " + name
		values, schema := got.Values(name), schemaOf(ref.Value.Schema)
		switch {
		case http.CanonicalHeaderKey(name) == "Content-Type": // OpenAPI: it is described by content
		case len(values) == 0 && ref.Value.Required:
			faults = append(faults, Fault{where, "required", "is missing"})
		case len(values) == 0:
		case len(values) > 1 && http.CanonicalHeaderKey(name) != "Set-Cookie":
			faults = append(faults, Fault{where, "schema", "is given more than once"})
		default:
			value, err := parseText(schema, values[0])
			if err != nil {
				faults = append(faults, Fault{where, "type", err.Error()})
				continue
			}
			faults = append(faults, schemaFaults(where, schema, value, openapi3.VisitAsResponse())...)
		}
	}
	return faults
}

// parseText reads a header value as its schema says (style "simple").
func parseText(s *openapi3.Schema, text string) (value any, err error) {
	switch {
	case s.Type.Is("integer"):
		value, err = strconv.ParseInt(text, 10, 64)
	case s.Type.Is("number"):
		value, err = strconv.ParseFloat(text, 64)
	case s.Type.Is("boolean"):
		if value = text == "true"; text != "true" && text != "false" {
			err = errors.New("is not a boolean")
		}
	case s.Type.Is("array"):
		array := []any{}
		for part := range strings.SplitSeq(text, ",") {
			item, wrong := parseText(schemaOf(s.Items), strings.TrimSpace(part))
			array, err = append(array, item), errors.Join(err, wrong)
		}
		value = array
	default:
		value = text
	}
	return value, err
}

// checkUnnamedHeaders finds headers that neither the document nor the options name.
func (c *Contract) checkUnnamedHeaders(named openapi3.Headers, got http.Header) (faults []Fault) {
	for name := range got {
		if slices.Contains(transportHeaders, name) || hasHeader(named, name) || hasHeader(c.options.AnyHeader, name) {
			continue
		}
		faults = append(faults, Fault{"header " + name, unnamedHeader, "the document names no such header"})
	}
	return faults
}

func hasHeader[V any](headers map[string]V, name string) bool {
	named := func(documented string) bool { return strings.EqualFold(documented, name) }
	return slices.ContainsFunc(slices.Collect(maps.Keys(headers)), named)
}

// checkBody checks the body of a response against the schema for its media type; if
// exact, it must not say more. Of an earlier document, r is nil.
func (d *document) checkBody(r *route, content openapi3.Content, x Interaction, exact bool) []Fault {
	header := x.Header.Get("Content-Type")
	mediaType, parameters, err := mime.ParseMediaType(header)
	media := content.Get(mediaType)
	if err != nil || media == nil {
		return []Fault{{"media type", "content", fmt.Sprintf("the document does not list %q", header)}}
	}
	if !isJSON(mediaType) {
		if schema := schemaOf(media.Schema); strings.HasPrefix(mediaType, "text/") && schema.Type.Is("string") {
			faults := schemaFaults("body", schema, string(x.Body), openapi3.VisitAsResponse())
			if mediaType == eventStreamType {
				_, wrong := x.Events()
				faults = append(faults, wrong...)
			}
			return faults
		}
		return nil // a schema says nothing of other media types
	}
	var faults []Fault
	if len(parameters) > 0 && exact {
		faults = append(faults, Fault{"media type", "content", fmt.Sprintf("%q: JSON has no parameters (RFC 8259, section 11)", header)})
	}
	value, err := decode(x.Body)
	if err != nil {
		return append(faults, Fault{"body", "content", "is not one JSON value: " + err.Error()})
	}
	if media.Schema == nil {
		return faults
	}
	wrong := schemaFaults("body", media.Schema.Value, value, openapi3.VisitAsResponse())
	for _, f := range strictFaults([]*openapi3.Schema{media.Schema.Value}, value, "") {
		if f.Keyword != unnamedMember {
			wrong = append(wrong, f)
		} else if exact {
			faults = append(faults, f)
		}
	}
	if r != nil {
		if err := d.oracle.differs(len(wrong) == 0, value, true, r.responsePlace(x.Status, media)...); err != nil {
			faults = append(faults, Fault{"body", twoOracles, err.Error()})
		}
	}
	return append(faults, wrong...)
}

// decode reads exactly one JSON value and keeps its numbers as they are written.
// Duplicate names and invalid UTF-8 are errors (RFC 7493).
func decode(body []byte) (value any, err error) {
	if text := jsontext.Value(body); !text.IsValid() {
		dec := jsontext.NewDecoder(bytes.NewReader(body))
		if _, err := dec.ReadValue(); err != nil {
			return nil, err
		}
		return nil, errors.New("more follows it")
	}
	return decodeLoosely(body)
}

func decodeLoosely(body []byte) (value any, err error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	err = dec.Decode(&value)
	return value, err
}

// schemaFaults lists what a schema finds wrong with a value of a response.
func schemaFaults(where string, schema *openapi3.Schema, value any, direction openapi3.SchemaValidationOption) []Fault {
	err := schema.VisitJSON(value, openapi3.MultiErrors(), direction,
		openapi3.EnableFormatValidation(), openapi3.WithStringFormatValidators(formatValidators))
	var faults []Fault
	for _, e := range flattenErrors(err) {
		f := Fault{where, "schema", e.Error()}
		if s, ok := errors.AsType[*openapi3.SchemaError](e); ok {
			if path := s.JSONPointer(); len(path) > 0 {
				f.Where += " /" + strings.Join(path, "/")
			}
			f.Keyword, f.Message = s.SchemaField, s.Reason
		}
		faults = append(faults, f)
	}
	return faults
}

func flattenErrors(err error) (all []error) {
	if err == nil {
		return nil
	}
	multi, ok := err.(openapi3.MultiError)
	if !ok {
		return []error{err}
	}
	for _, e := range multi {
		all = append(all, flattenErrors(e)...)
	}
	return all
}

// strictFaults finds what a schema allows and this package does not: a member
// that the document does not name (its schemas are open so that they may grow; a
// response may still not say more than is documented), and an integer that is
// not written as one or that its format cannot hold. The value matches all of
// the schemas.
func strictFaults(schemas []*openapi3.Schema, value any, at string) []Fault {
	schemas = composed(schemas)
	var faults []Fault
	switch value := value.(type) {
	case json.Number:
		isNumber := func(s *openapi3.Schema) bool { return s.Type.Is("number") }
		wrong := func(s *openapi3.Schema) bool { return s.Type.Is("integer") && integerFault(s, value) != "" }
		if s := firstWhere(schemas, wrong); s != nil && !slices.ContainsFunc(schemas, isNumber) {
			faults = append(faults, Fault{"body " + at, "format", integerFault(s, value)})
		}
	case []any:
		items := itemsOf(schemas)
		for i, item := range value {
			faults = append(faults, strictFaults(items, item, fmt.Sprint(at, "/", i))...)
		}
	case map[string]any:
		open := !slices.ContainsFunc(schemas, func(s *openapi3.Schema) bool { return len(s.Properties) > 0 || s.AdditionalProperties.Has != nil })
		for name, member := range value {
			at := at + "/" + name
			if named := propertiesOf(schemas, name); len(named) > 0 {
				faults = append(faults, strictFaults(named, member, at)...)
			} else if !open && !allowsMore(schemas) {
				faults = append(faults, Fault{"body " + at, unnamedMember, "the document names no such member"})
			}
		}
	}
	return faults
}

// integerFault says why a number is not written as an integer, or none that its format can hold.
func integerFault(s *openapi3.Schema, n json.Number) string {
	bits := 64
	if s.Format == "int32" {
		bits = 32
	}
	if _, err := strconv.ParseInt(string(n), 10, bits); err != nil {
		return fmt.Sprintf("%.40s is not an integer of %d bits", n, bits)
	}
	return ""
}

// composed adds the schemas that schemas are composed of.
func composed(schemas []*openapi3.Schema) (all []*openapi3.Schema) {
	for _, s := range schemas {
		if slices.Contains(all, s) {
			continue
		}
		all = append(all, s)
		for _, ref := range slices.Concat(s.AllOf, s.AnyOf, s.OneOf) {
			all = append(all, composed([]*openapi3.Schema{ref.Value})...)
		}
	}
	return all
}

func itemsOf(schemas []*openapi3.Schema) (all []*openapi3.Schema) {
	for _, s := range schemas {
		if s.Items != nil {
			all = append(all, s.Items.Value)
		}
	}
	return all
}

func propertiesOf(schemas []*openapi3.Schema, name string) (all []*openapi3.Schema) {
	for _, s := range schemas {
		if property := s.Properties[name]; property != nil {
			all = append(all, property.Value)
		}
	}
	if len(all) == 0 {
		for _, s := range schemas {
			if s.AdditionalProperties.Schema != nil {
				all = append(all, s.AdditionalProperties.Schema.Value)
			}
		}
	}
	return all
}

func allowsMore(schemas []*openapi3.Schema) bool {
	return slices.ContainsFunc(schemas, func(s *openapi3.Schema) bool {
		return s.AdditionalProperties.Has != nil && *s.AdditionalProperties.Has
	})
}
