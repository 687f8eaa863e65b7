package values

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/schematest"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// asJSON is a schema as text, without what it was merged from.
func asJSON(t *testing.T, of *schema.Schema) string {
	t.Helper()
	if of == nil {
		return "none"
	}
	text, err := json.Marshal(keywordsOf(of, true))
	must.NoError(t, err)
	return string(text)
}

// keywordsOf are the keywords of a schema. That of allOf is left out at the top.
func keywordsOf(of *schema.Schema, isTop bool) map[string]any {
	keywords := map[string]any{}
	inner := func(of *schema.Schema) any { return keywordsOf(of, false) }
	each := func(name string, all []*schema.Schema) {
		var texts []any
		for _, one := range all {
			texts = append(texts, inner(one))
		}
		if len(texts) > 0 {
			keywords[name] = texts
		}
	}
	if of.Types != nil {
		keywords["type"] = of.Types.ToStrings()
		if name := schema.TypeOf(of); name != "" && !schema.AllowsType(of, "null") {
			keywords["type"] = name
		}
	}
	if of.Enum != nil {
		keywords["enum"] = of.Enum.Values
	}
	if format := schema.FormatOf(of); format != "" {
		keywords["format"] = format
	}
	if of.Pattern != nil {
		keywords["pattern"] = of.Pattern.String()
	}
	for name, number := range map[string]*big.Rat{
		"minimum": of.Minimum, "maximum": of.Maximum, "exclusiveMinimum": of.ExclusiveMinimum, "exclusiveMaximum": of.ExclusiveMaximum, "multipleOf": of.MultipleOf,
	} {
		if number != nil {
			keywords[name] = numberOf(number)
		}
	}
	for name, count := range map[string]*int{
		"minLength": of.MinLength, "maxLength": of.MaxLength, "minItems": of.MinItems, "maxItems": of.MaxItems, "minProperties": of.MinProperties, "maxProperties": of.MaxProperties,
	} {
		if count != nil {
			keywords[name] = *count
		}
	}
	if of.UniqueItems {
		keywords["uniqueItems"] = true
	}
	if of.Items2020 != nil {
		keywords["items"] = inner(of.Items2020)
	}
	if of.Not != nil {
		keywords["not"] = inner(of.Not)
	}
	if !isTop {
		each("allOf", of.AllOf)
	}
	each("anyOf", of.AnyOf)
	each("oneOf", of.OneOf)
	if len(of.Required) > 0 {
		keywords["required"] = of.Required
	}
	properties := map[string]any{}
	for name, property := range of.Properties {
		properties[name] = inner(property)
	}
	if len(properties) > 0 {
		keywords["properties"] = properties
	}
	switch more := of.AdditionalProperties.(type) {
	case bool:
		keywords["additionalProperties"] = more
	case *schema.Schema:
		keywords["additionalProperties"] = inner(more)
	}
	return keywords
}

// A schema of allOf becomes one that allows the same, or nearly.
func TestMerge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, one, other, want string }{
		{
			"one has what the other lacks", `{"type":"string","format":"date","pattern":"a","uniqueItems":true}`, `{}`,
			`{"format":"date","pattern":"a","type":"string","uniqueItems":true}`,
		},
		{"items", `{"type":"array","items":{"type":"string"}}`, `{}`, `{"items":{"type":"string"},"type":"array"}`},
		{"not", `{"not":{"type":"string"}}`, `{}`, `{"not":{"type":"string"}}`},
		{"multiples", `{"multipleOf":2}`, `{}`, `{"multipleOf":2}`},
		{"a choice", `{"oneOf":[{"type":"string"}]}`, `{}`, `{"oneOf":[{"type":"string"}]}`},
		{"another choice", `{"anyOf":[{"type":"string"}]}`, `{}`, `{"anyOf":[{"type":"string"}]}`},
		{"no more members", `{"additionalProperties":false}`, `{}`, `{"additionalProperties":false}`},
		{"other members", `{"additionalProperties":{"type":"string"}}`, `{}`, `{"additionalProperties":{"type":"string"}}`},
		{"null in both", `{"nullable":true}`, `{"nullable":true}`, `{}`},
		{
			"exclusive bounds", `{"minimum":2,"exclusiveMinimum":true,"maximum":3,"exclusiveMaximum":true}`, `{"minimum":1,"maximum":4}`,
			`{"exclusiveMaximum":3,"exclusiveMinimum":2,"maximum":4,"minimum":1}`,
		},
		{"sizes of objects", `{"minProperties":2,"maxProperties":3}`, `{"minProperties":1,"maxProperties":4}`, `{"maxProperties":3,"minProperties":2}`},
		{
			"properties of both", `{"properties":{"a":{"type":"string"}}}`, `{"properties":{"a":{"maxLength":2},"b":{"type":"string"}}}`,
			`{"properties":{"a":{"allOf":[ONE,OTHER]},"b":{"type":"string"}}}`,
		},
		{
			"the stricter bounds", `{"minLength":1,"maxLength":9,"minItems":1,"maxItems":9,"minimum":1,"maximum":9}`, `{"minLength":2,"maxLength":8,"minItems":2,"maxItems":8,"minimum":2,"maximum":8}`,
			`{"maxItems":8,"maxLength":8,"maximum":8,"minItems":2,"minLength":2,"minimum":2}`,
		},
		{"values of both", `{"enum":["a","b"],"required":["a"]}`, `{"enum":["b"],"required":["b"]}`, `{"enum":["b"],"required":["a","b"]}`},
		{"values of one", `{"enum":["a"]}`, `{}`, `{"enum":["a"]}`},
		{"required by both", `{"required":["b","a"]}`, `{"required":["a"]}`, `{"required":["a","b"]}`},
	} {
		for _, parts := range [][]string{{c.one, c.other}, {c.other, c.one}} {
			got := asJSON(t, New(Settings{}).Flatten(schemaOf(t, `{"allOf":[`+strings.Join(parts, ",")+`]}`)))
			want := strings.NewReplacer("ONE", `{"type":"string"}`, "OTHER", `{"maxLength":2}`).Replace(c.want)
			swapped := strings.NewReplacer("ONE", `{"maxLength":2}`, "OTHER", `{"type":"string"}`).Replace(c.want)
			if got != want && got != swapped {
				t.Errorf("%s: %s, want %s", c.name, got, want)
			}
		}
	}
}

// Of two keywords that have nothing in common the first one is kept, and the schema stays as it was. Two types have null in
// common here.
func TestFirstIsKept(t *testing.T) {
	t.Parallel()
	wanted := schemaOf(t, `{"nullable":true,"properties":{"x":{"type":"string"}},"allOf":[
		{"nullable":true,"type":"string","pattern":"a","format":"date","multipleOf":2,"oneOf":[{"maxLength":1}],"anyOf":[{"maxLength":1}],"additionalProperties":false,"items":{"maxLength":1},"not":{"maxLength":1}},
		{"nullable":true,"type":"integer","pattern":"b","format":"time","multipleOf":3,"oneOf":[{"maxLength":2}],"anyOf":[{"maxLength":2}],"additionalProperties":true,"items":{"maxLength":2},"not":{"maxLength":2},"properties":{"y":{}}}]}`)
	before := asJSON(t, wanted)
	shapes := newShapes()
	flat := shapes.Flatten(wanted)
	const want = `{"additionalProperties":false,"anyOf":[{"maxLength":1}],"format":"date","items":{"maxLength":1},"multipleOf":2,"not":{"maxLength":1},` +
		`"oneOf":[{"maxLength":1}],"pattern":"a","properties":{"x":{"type":"string"},"y":{}},"type":["null"]}`
	if got := asJSON(t, flat); got != want {
		t.Errorf("it is %s, want %s", got, want)
	}
	if after := asJSON(t, wanted); after != before {
		t.Errorf("the schema has become %s", after)
	}
	if shapes.Flatten(wanted) != flat {
		t.Error("it is another one the second time")
	}
	plain := schemaOf(t, `{"type":"string"}`)
	if shapes.Flatten(plain) != plain {
		t.Error("what has no allOf is another one")
	}
}

// A schema that is composed of itself has an end.
func TestComposedOfItself(t *testing.T) {
	t.Parallel()
	wanted := schemaOf(t, `{allOf: [{type: object, properties: {a: {type: boolean}}}, {$ref: '#/components/schemas/Wanted'}]}`)
	shapes := newShapes()
	if got := shapes.Names(wanted); !slices.Equal(got, []string{"a"}) {
		t.Errorf("it has the members %v", got)
	}
	if len(shapes.merging) > 0 {
		t.Error("it is still being merged")
	}
	// A base of which each part is one of its branches.
	for _, keyword := range []string{"oneOf", "anyOf"} {
		read := schematest.Read(t, "3.0.3", `
    Base: {type: object, properties: {a: {type: boolean}}, `+keyword+`: [{$ref: '#/components/schemas/Part'}]}
    Part: {allOf: [{properties: {b: {type: boolean}}}, {$ref: '#/components/schemas/Base'}]}`)
		shapes := newShapes()
		only := shapes.Branches(read.Component("Base", schema.Request))[0]
		if got := shapes.Branches(only); len(got) > 0 || !slices.Equal(shapes.Names(only), []string{"a", "b"}) {
			t.Errorf("%s: a branch has the members %v and %d branches", keyword, shapes.Names(only), len(got))
		}
	}
}

// Each branch of a choice is the whole schema with it.
func TestBranches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		choice string
		want   []string
	}{
		{`{"type":"string"}`, nil},
		{
			`{"maxLength":5,"oneOf":[{"type":"string"},{"minLength":2,"nullable":true}]}`,
			[]string{`{"maxLength":5,"type":"string"}`, `{"maxLength":5,"minLength":2}`},
		},
		{`{"anyOf":[{"allOf":[{"type":"string"},{"minLength":2}]}]}`, []string{`{"minLength":2,"type":"string"}`}},
		{`{"nullable":true,"oneOf":[{"nullable":true}],"anyOf":[{"type":"string"}]}`, []string{`{}`, `{"type":"string"}`}},
		{
			`{"properties":{"a":{}},"oneOf":[{"properties":{"b":{}}},{"properties":{"c":{}}}]}`,
			[]string{`{"properties":{"a":{},"b":{}}}`, `{"properties":{"a":{},"c":{}}}`},
		},
	} {
		choice := schemaOf(t, c.choice)
		shapes := newShapes()
		var got []string
		branches := shapes.Branches(choice)
		for _, branch := range branches {
			got = append(got, asJSON(t, branch))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s has the branches %v, want %v", c.choice, got, c.want)
		}
		if !slices.Equal(shapes.Branches(choice), branches) {
			t.Errorf("%s has other branches the second time", c.choice)
		}
	}
}

// A member has a schema without allOf. What a schema does not name has none.
func TestProperty(t *testing.T) {
	t.Parallel()
	shapes := newShapes()
	wanted := schemaOf(t, `{"allOf":[{"properties":{"b":{"allOf":[{"type":"string"},{"maxLength":2}]},"a":{}}}]}`)
	for name, want := range map[string]string{"b": `{"maxLength":2,"type":"string"}`, "a": "{}", "c": "none"} {
		if got := asJSON(t, shapes.Property(wanted, name)); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if got := shapes.Names(wanted); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the names are %v", got)
	}
	if shapes.Property(nil, "a") != nil || shapes.Names(nil) != nil {
		t.Error("no schema has members")
	}
}

// What may be null, and one of what may be several, are what they are otherwise.
func TestWithoutNull(t *testing.T) {
	t.Parallel()
	shapes := newShapes()
	for _, c := range []struct{ of, without, scalar string }{
		{`{"type":"string"}`, `{"type":"string"}`, `{"type":"string"}`},
		{`{"anyOf":[{"type":"string"},{"enum":[null]}]}`, `{"type":"string"}`, "same"},
		{`{"anyOf":[{"enum":[null]},{"type":"string"}]}`, `{"type":"string"}`, "same"},
		{`{"anyOf":[{"type":"string"},{"type":"integer"}]}`, "same", "same"},
		{`{"anyOf":[{"type":"string"},{"type":"string","enum":[null]}]}`, "same", "same"},
		{`{"anyOf":[{"enum":[null]}]}`, "same", "same"},
		{`{"anyOf":[{"type":"string"},{"enum":[1]}]}`, "same", "same"},
		{`{"anyOf":[{"type":"string"},{"enum":[null,1]}]}`, "same", "same"},
		{`{"type":"array","items":{"allOf":[{"type":"string"}]}}`, "same", `{"type":"string"}`},
		{`{"type":"array"}`, "same", "{}"},
	} {
		of := schemaOf(t, c.of)
		without := strings.Replace(c.without, "same", asJSON(t, of), 1)
		if got := asJSON(t, shapes.WithoutNull(of)); got != without {
			t.Errorf("%s without null is %s, want %s", c.of, got, without)
		}
		scalar := strings.Replace(c.scalar, "same", asJSON(t, of), 1)
		if got := asJSON(t, shapes.Scalar(of)); got != scalar {
			t.Errorf("%s has one of %s, want %s", c.of, got, scalar)
		}
	}
	if shapes.WithoutNull(nil) != nil {
		t.Error("no schema is one")
	}
}

// The members of a value are those of the first branch that allows it.
func TestShapeOf(t *testing.T) {
	t.Parallel()
	const cat = `{"properties":{"cat":{"type":"string"}},"required":["cat"]}`
	const dog = `{"properties":{"dog":{"type":"string"}},"required":["dog"]}`
	wanted := schemaOf(t, `{"oneOf":[`+cat+`,`+dog+`]}`)
	for member, want := range map[string]string{"cat": cat, "dog": dog, "cow": `{"oneOf":[` + cat + `,` + dog + `]}`} {
		if got := asJSON(t, New(Settings{}).ShapeOf(wanted, map[string]any{member: "a"})); got != want {
			t.Errorf("with %s it is %s, want %s", member, got, want)
		}
	}
}
