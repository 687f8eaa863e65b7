package httpapi

import (
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
	value, err := new(decoder).decode([]byte(`{"plants":[` + strings.Repeat("{},", 300_000) + `{}]}`))
	must.NoError(t, err)
	details := violations(schema, value)
	if len(details) == 0 || details[0].Pointer != "/plants" {
		t.Errorf("details are %v, want /plants first", details)
	}
	if got := testing.AllocsPerRun(1, func() { violations(schema, value) }); got > 20_000 {
		t.Errorf("refusing it costs %.0f allocations", got)
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
		value, err := new(decoder).decode([]byte(c.body))
		must.NoError(t, err)
		if details := violations(c.schema, value); len(details) != 1 {
			t.Errorf("%s: details are %v, want one", name, details)
		}
	}
}
