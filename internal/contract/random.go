package contract

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"pgregory.net/rapid"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// Random tries bodies that are drawn from the schemas of the document: any valid
// one must not be refused, and any with one fault must be, pointing at it. What
// fails is shrunk. The ids it uses begin at firstID.
func Random(t *testing.T, target Target, firstID int64) {
	ds, err := documents()
	if err != nil {
		t.Fatalf("contract: %v", err)
	}
	s := newSuite(ds.api, firstID)
	for _, r := range ds.api.routes {
		if r.operation.RequestBody == nil {
			continue
		}
		t.Run(r.operation.OperationID, func(t *testing.T) {
			_, schema := bodyOf(r)
			rapid.Check(t, func(rt *rapid.T) {
				value := s.gen.draw(rt, schema)
				c := s.request(r, "random body", "random")
				if rapid.Bool().Draw(rt, "broken") {
					pointer := spoil(rt, schema, value)
					c = c.refused(plantapi.CodeInvalidBody).at(plantapi.InBody, pointer)
				}
				c.body = encode(value)
				try := Test{c.Name, c.promise, func(v *session) { v.run(c) }}
				if fault, _ := try.fault(ds.api, ds.seed, t.Name(), target); fault != "" {
					rt.Fatalf("contract: %s: %s", c.Name, fault)
				}
			})
		})
	}
}

// draw draws a valid value. Identities come fresh, as in base.
func (g *generator) draw(rt *rapid.T, s *openapi3.Schema) any {
	switch {
	case g.identities[s], len(s.Enum) > 0, s.Pattern != "":
		return g.base(s)
	case s.Nullable && rapid.IntRange(0, 3).Draw(rt, "null") == 0:
		return nil
	case s.Type.Is("object"):
		object := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if slices.Contains(s.Required, name) || rapid.Bool().Draw(rt, "has "+name) {
				object[name] = g.draw(rt, s.Properties[name].Value)
			}
		}
		if !closed(s) && rapid.Bool().Draw(rt, "more") {
			object[unknownMember] = anyJSON(2).Draw(rt, "unknown")
		}
		return object
	case s.Type.Is("array"):
		most := 5
		if s.MaxItems != nil {
			most = int(min(*s.MaxItems, 5))
		}
		array := make([]any, rapid.IntRange(max(int(s.MinItems), 1), max(most, int(s.MinItems))).Draw(rt, "items"))
		for i := range array {
			array[i] = g.draw(rt, s.Items.Value)
		}
		return array
	case s.Type.Is("integer"):
		low, high := limits(s)
		return rapid.Int64Range(low, high).Draw(rt, "integer")
	default:
		return padded(rapid.String().Draw(rt, "text"), s)
	}
}

// spoil breaks one member of an object, or of one in it, and says which.
func spoil(rt *rapid.T, s *openapi3.Schema, value any) (pointer string) {
	object := value.(map[string]any)
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(s.Properties))).Draw(rt, "spoiled")
	property := s.Properties[name].Value
	if array, ok := object[name].([]any); ok && property.Items != nil && property.Items.Value.Type.Is("object") {
		i := rapid.IntRange(0, len(array)-1).Draw(rt, "index")
		return "/" + name + "/" + string('0'+rune(i)) + spoil(rt, property.Items.Value, array[i])
	}
	if slices.Contains(s.Required, name) && rapid.Bool().Draw(rt, "missing") {
		delete(object, name)
		return "/" + name
	}
	object[name] = anyJSON(1).Filter(func(v any) bool { return !fits(property, v) }).Draw(rt, "wrong")
	return "/" + name
}

// fits reports whether a value has the type of a schema.
func fits(s *openapi3.Schema, value any) bool {
	switch value := value.(type) {
	case nil:
		return s.Nullable
	case string:
		return s.Type.Is("string")
	case bool:
		return s.Type.Is("boolean")
	case json.Number:
		return s.Type.Is("number") || s.Type.Is("integer") && !strings.ContainsAny(string(value), ".eE")
	case []any:
		return s.Type.Is("array")
	default:
		return s.Type.Is("object")
	}
}

// anyJSON draws any value, as deep as told.
func anyJSON(depth int) *rapid.Generator[any] {
	plain := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Bool().AsAny(),
		rapid.String().AsAny(),
		rapid.SampledFrom([]json.Number{"0", "-1", "1.5", "1.0", "1e2", "-0.0", "9007199254740993"}).AsAny(),
	}
	if depth > 0 {
		inner := anyJSON(depth - 1)
		plain = append(plain,
			rapid.Map(rapid.SliceOfN(inner, 0, 3), func(v []any) any { return v }),
			rapid.Map(rapid.MapOfN(rapid.StringN(1, 5, -1), inner, 0, 3), func(v map[string]any) any { return v }))
	}
	return rapid.OneOf(plain...)
}
