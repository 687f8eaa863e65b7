package contracttest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"pgregory.net/rapid"
)

// Random sends bodies that are drawn from the schemas of the document: the
// service must not refuse a valid one, and must refuse one with a single fault.
// What fails is shrunk. The identities it uses begin at firstID.
func (c *Contract) Random(t *testing.T, target Target, firstID int64) {
	s := newSuite(c, firstID)
	for _, r := range c.document.routes {
		_, schema := r.body()
		if schema == nil || s.unwritable(r) != "" {
			continue
		}
		t.Run(r.operation.OperationID, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				value := s.gen.draw(rt, schema)
				request := s.request(r, "random body", "random")
				if object, ok := value.(map[string]any); ok && !isComposed(schema) && len(schema.Properties) > 0 && rapid.Bool().Draw(rt, "broken") {
					pointer := spoil(rt, schema, object)
					request.refused(Violation{InvalidBody, "body", pointer})
				}
				request.body = encode(value)
				test := Case{request.name, c, []string{request.promise}, func(v *Session) { v.suite = s; v.run(request) }}
				if failures, _ := test.Try(target); len(failures) > 0 {
					rt.Fatalf("contract: %s: %s", request.name, failures[0])
				}
			})
		})
	}
}

// draw draws a valid value. Identities are fresh, as in base, and composed
// schemas have their generated values.
func (g *generator) draw(rt *rapid.T, s *openapi3.Schema) any {
	if isComposed(s) {
		all := g.obeying(s)
		if len(all) == 0 {
			return g.base(s)
		}
		return all[rapid.IntRange(0, len(all)-1).Draw(rt, "variant")].value
	}
	if !g.enter(s) {
		return g.base(s)
	}
	defer g.leave(s)
	switch {
	case g.identities[s], len(s.Enum) > 0, s.Pattern != "", s.MultipleOf != nil, s.UniqueItems, formats[s.Format].check != nil, s.Type.Is("number"):
		return g.base(s)
	case s.Nullable && rapid.IntRange(0, 3).Draw(rt, "null") == 0:
		return nil
	case s.Type.Is("object"):
		object := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			property := s.Properties[name].Value
			if !g.absent(property) && (slices.Contains(s.Required, name) || rapid.Bool().Draw(rt, "has "+name)) {
				object[name] = g.draw(rt, property)
			}
		}
		if !closed(s) && s.AdditionalProperties.Schema == nil && s.MaxProps == nil && rapid.Bool().Draw(rt, "more") {
			object[unknownMember] = anyJSON(2).Draw(rt, "unknown")
		}
		return object
	case s.Type.Is("array"):
		items := int(min(orMost(s.MaxItems), 5))
		array := make([]any, rapid.IntRange(max(int(s.MinItems), min(1, items)), max(items, int(s.MinItems))).Draw(rt, "items"))
		for i := range array {
			array[i] = g.draw(rt, schemaOf(s.Items))
		}
		return array
	case s.Type.Is("integer"):
		low, high := limits(s)
		return rapid.Int64Range(low, high).Draw(rt, "integer")
	case s.Type.Is("boolean"):
		return rapid.Bool().Draw(rt, "boolean")
	case s.Type == nil:
		return g.base(s)
	default:
		return padded(rapid.String().Draw(rt, "text"), s)
	}
}

// spoil breaks one member of an object, or of one in it, and says which.
func spoil(rt *rapid.T, s *openapi3.Schema, object map[string]any) (pointer string) {
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(s.Properties))).Draw(rt, "spoiled")
	property := s.Properties[name].Value
	if array, ok := object[name].([]any); ok && len(array) > 0 && property.Items != nil && len(property.Items.Value.Properties) > 0 {
		i := rapid.IntRange(0, len(array)-1).Draw(rt, "index")
		if inner, ok := array[i].(map[string]any); ok {
			return "/" + name + "/" + string('0'+rune(i)) + spoil(rt, property.Items.Value, inner)
		}
	}
	if slices.Contains(s.Required, name) && rapid.Bool().Draw(rt, "missing") {
		delete(object, name)
		return "/" + name
	}
	object[name] = anyJSON(1).Filter(func(v any) bool { return !hasType(property, v) }).Draw(rt, "wrong")
	return "/" + name
}

// hasType reports whether a value has the type of a schema.
func hasType(s *openapi3.Schema, value any) bool {
	if s.Type == nil {
		return true
	}
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

// Request is a generated request without credentials, as it is sent.
type Request struct {
	Method, Path, Query string // path and query are escaped
	Header              http.Header
	Body                []byte
}

// Requests returns the requests of [Contract.Tests]: each keyword of the
// document obeyed and broken. They are for a test that needs something to start
// from.
func (c *Contract) Requests(firstID int64) []Request {
	var all []Request
	for _, r := range newSuite(c, firstID).cases() {
		if r.credentials == nil {
			all = append(all, Request{r.route.method, r.path(), strings.Join(r.query, "&"), r.header, r.body})
		}
	}
	return all
}
