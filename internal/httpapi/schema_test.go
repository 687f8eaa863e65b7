package httpapi

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// A body of a megabyte that is wrong every three bytes costs a few allocations
// to refuse, and not a few for each fault.
func TestRefusalOfLargeBatchIsCheap(t *testing.T) {
	ops, err := loadOperations(api.Document)
	must.NoError(t, err)
	schema := ops[operationKey{"POST", "/plants:batch"}].bodies[jsonType]
	value, err := new(decoder).decode([]byte(`{"plants":[`+strings.Repeat("{},", 300_000)+`{}]}`), schema)
	must.NoError(t, err)
	details := violations(schema, value)
	if len(details) == 0 || details[0].Pointer != "/plants" {
		t.Errorf("details are %v, want /plants first", details)
	}
	if got := testing.AllocsPerRun(1, func() { violations(schema, value) }); got > 20_000 {
		t.Errorf("refusing it costs %.0f allocations", got)
	}
}

// The decoder builds all that the schemas of bodies restrict.
func TestSchemasOfBodies(t *testing.T) {
	ops, err := loadOperations(api.Document)
	must.NoError(t, err)
	var check func(name string, s *openapi3.Schema)
	check = func(name string, s *openapi3.Schema) {
		parts := len(s.AllOf) + len(s.AnyOf) + len(s.OneOf)
		additional := s.AdditionalProperties.Has != nil || s.AdditionalProperties.Schema != nil
		if parts > 0 || s.Not != nil || additional {
			t.Errorf("%s: the decoder does not know allOf, anyOf, oneOf, not and additionalProperties", name)
		}
		if len(s.Type.Slice()) != 1 {
			t.Errorf("%s: the decoder needs one type", name)
		}
		if s.Type.Is("array") {
			if s.Items == nil || s.MaxItems == nil {
				t.Fatalf("%s: the decoder needs items and maxItems", name)
			}
			check(name+"/0", s.Items.Value)
		}
		for member, schema := range s.Properties {
			check(name+"/"+member, schema.Value)
		}
	}
	for _, op := range ops {
		for _, schema := range op.bodies {
			check(op.id, schema)
		}
	}
}

// Wherever a schema says that a member is not for requests, it is refused.
func TestReadOnly(t *testing.T) {
	made := openapi3.NewObjectSchema().WithProperty("made", &openapi3.Schema{Type: &openapi3.Types{"string"}, ReadOnly: true})
	for name, c := range map[string]struct {
		schema *openapi3.Schema
		body   string
	}{
		"itself":        {made, `{"made":"now"}`},
		"in a property": {openapi3.NewObjectSchema().WithProperty("p", made), `{"p":{"made":"now"}}`},
		"in an item":    {openapi3.NewArraySchema().WithItems(made), `[{"made":"now"}]`},
		"in a part":     {openapi3.NewAllOfSchema(made), `{"made":"now"}`},
	} {
		var value any
		must.NoError(t, json.Unmarshal([]byte(c.body), &value))
		if details := violations(c.schema, value); len(details) != 1 {
			t.Errorf("%s: details are %v, want one", name, details)
		}
	}
}
