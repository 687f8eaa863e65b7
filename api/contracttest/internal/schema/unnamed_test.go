package schema_test

import (
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/schematest"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// A name is escaped in a JSON Pointer.
func TestPlaceOfUnnamed(t *testing.T) {
	t.Parallel()
	wanted := schematest.Of(t, `{"type":"object","properties":{"a/b":{"type":"object","properties":{"name":{"type":"string"}}}}}`)
	value := map[string]any{"a/b": map[string]any{"c~d": "x"}}
	faults := schema.Unnamed("", value, wanted)
	if len(faults) != 1 || faults[0].Where != "body /a~1b/c~0d" {
		t.Errorf("the faults are %v", faults)
	}
}

// A member is unnamed if no part of a schema names it, unless a part says that there are others, or no part names any.
func TestUnnamed(t *testing.T) {
	t.Parallel()
	const name = `{"type":"object","properties":{"name":{"type":"string"}}}`
	for text, want := range map[string]int{
		name: 1,
		`{"allOf":[` + name + `,{"description":"A part that names nothing."}]}`: 1,
		`{"allOf":[{"description":"A part that names nothing."},` + name + `]}`: 1,
		`{"allOf":[` + name + `,{"additionalProperties":true}]}`:                0,
		`{"type":"object"}`: 0,
		`{"type":"object","additionalProperties":false}`: 2,
	} {
		wanted := schematest.Of(t, text)
		value, err := jsonvalue.Decode([]byte(`{"name":"a","other":1}`))
		must.NoError(t, err)
		if faults := schema.Unnamed("", value, wanted); len(faults) != want {
			t.Errorf("%s: the faults are %v, want %d", text, faults, want)
		}
	}
}
