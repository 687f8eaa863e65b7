package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// check holds an answer against what the document promises for its status.
func (d *document) check(x Exchange) []Fault {
	route := d.find(documented(x.Method), x.Path)
	ref := route.operation.Responses.Status(x.Status)
	if ref == nil {
		return []Fault{{"status", "responses", fmt.Sprintf("the document does not list %d for %s", x.Status, route.operation.OperationID)}}
	}
	faults := checkHeaders(ref.Value.Headers, x.Header)
	if x.Method == http.MethodHead {
		if len(x.Body) > 0 {
			faults = append(faults, Fault{"body", "HEAD", "must be empty"})
		}
		return faults
	}
	if len(ref.Value.Content) == 0 {
		if len(x.Body) > 0 {
			faults = append(faults, Fault{"body", "content", "must be empty"})
		}
		return faults
	}
	faults = append(faults, checkBody(ref.Value.Content, x)...)
	if x.Status >= 400 {
		_, errorFaults := readError(x)
		faults = append(faults, errorFaults...)
	}
	return faults
}

// checkHeaders holds the headers of an answer against their schemas.
func checkHeaders(headers openapi3.Headers, got http.Header) []Fault {
	var faults []Fault
	for name, ref := range headers {
		where := "header " + name
		values := got.Values(name)
		switch {
		case len(values) == 0 && ref.Value.Required:
			faults = append(faults, Fault{where, "required", "is missing"})
			continue
		case len(values) == 0:
			continue
		case len(values) > 1:
			faults = append(faults, Fault{where, "schema", "is there more than once"})
			continue
		}
		var value any = values[0]
		if schema := ref.Value.Schema.Value; schema.Type.Is("integer") {
			n, err := strconv.ParseInt(values[0], 10, 64)
			if err != nil {
				faults = append(faults, Fault{where, "type", "is no integer"})
				continue
			}
			value = n
		}
		faults = append(faults, schemaFaults(where, ref.Value.Schema.Value, value)...)
	}
	return faults
}

// checkBody holds the body of an answer against the schema for its media type.
func checkBody(content openapi3.Content, x Exchange) []Fault {
	mediaType, _, err := mime.ParseMediaType(x.Header.Get("Content-Type"))
	media := content[mediaType]
	if err != nil || media == nil {
		return []Fault{{"media type", "content", fmt.Sprintf("the document does not list %q", x.Header.Get("Content-Type"))}}
	}
	value, err := decode(x.Body)
	if err != nil {
		return []Fault{{"body", "content", "is not one JSON value: " + err.Error()}}
	}
	faults := schemaFaults("body", media.Schema.Value, value)
	return append(faults, unnamed(media.Schema.Value, value, "")...)
}

// decode reads exactly one JSON value and keeps its numbers as they are written.
func decode(body []byte) (value any, err error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("something follows it")
	}
	return value, nil
}

// schemaFaults lists what a schema finds wrong with a value.
func schemaFaults(where string, schema *openapi3.Schema, value any) []Fault {
	err := schema.VisitJSON(value, openapi3.MultiErrors(), openapi3.VisitAsResponse(), openapi3.EnableFormatValidation())
	var faults []Fault
	for _, e := range flatten(err) {
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

func flatten(err error) (all []error) {
	if err == nil {
		return nil
	}
	multi, ok := err.(openapi3.MultiError)
	if !ok {
		return []error{err}
	}
	for _, e := range multi {
		all = append(all, flatten(e)...)
	}
	return all
}

// unnamed finds members that the document does not name. Its schemas are open,
// so that they may grow; an answer may still not say more than is promised.
func unnamed(schema *openapi3.Schema, value any, at string) []Fault {
	var faults []Fault
	switch value := value.(type) {
	case []any:
		if schema.Items != nil {
			for i, item := range value {
				faults = append(faults, unnamed(schema.Items.Value, item, fmt.Sprint(at, "/", i))...)
			}
		}
	case map[string]any:
		for name, member := range value {
			at := at + "/" + name
			if property := propertyOf(schema, name); property != nil {
				faults = append(faults, unnamed(property, member, at)...)
			} else {
				faults = append(faults, Fault{"body " + at, "properties", "the document names no such member"})
			}
		}
	}
	return faults
}

// propertyOf finds a property in a schema or in what it is composed of.
func propertyOf(schema *openapi3.Schema, name string) *openapi3.Schema {
	if property := schema.Properties[name]; property != nil {
		return property.Value
	}
	for _, parts := range []openapi3.SchemaRefs{schema.AllOf, schema.AnyOf, schema.OneOf} {
		for _, part := range parts {
			if property := propertyOf(part.Value, name); property != nil {
				return property
			}
		}
	}
	return nil
}

// readError reads the body of an answer as the Error that every failure is.
func readError(x Exchange) (e plantapi.Error, faults []Fault) {
	if got := x.Header.Get("Content-Type"); got != "application/json" {
		return e, []Fault{{"media type", "Error", fmt.Sprintf("%q is not application/json", got)}}
	}
	if err := json.Unmarshal(x.Body, &e); err != nil {
		return e, []Fault{{"body", "Error", err.Error()}}
	}
	if !plantapi.ErrorCode(e.Error).Valid() {
		return e, []Fault{{"body /error", "ErrorCode", fmt.Sprintf("%d is not in the table", e.Error)}}
	}
	if int(e.Error)/100 != x.Status {
		faults = append(faults, Fault{"body /error", "ErrorCode", fmt.Sprintf("%d does not fit status %d", e.Error, x.Status)})
	}
	if e.Message == "" {
		faults = append(faults, Fault{"body /message", "minLength", "is empty"})
	}
	return e, faults
}
