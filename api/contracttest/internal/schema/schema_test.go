package schema_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/schematest"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// What a schema is follows from its type, or from its members.
func TestKinds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`:                                      "scalar",
		`{"type":"object"}`:                       "object",
		`{"properties":{"a":{}}}`:                 "object, scalar",
		`{"type":"array"}`:                        "",
		`{"type":"string"}`:                       "scalar",
		`{"type":"integer"}`:                      "number, scalar",
		`{"type":"number"}`:                       "number, scalar",
		`{"type":["integer","null"]}`:             "number, scalar",
		`{"additionalProperties":false}`:          "closed, scalar",
		`{"additionalProperties":true}`:           "scalar",
		`{"additionalProperties":{}}`:             "scalar",
		`{"allOf":[{}]}`:                          "composed, scalar",
		`{"anyOf":[{}]}`:                          "composed, scalar",
		`{"oneOf":[{}]}`:                          "composed, scalar",
		`{"not":{}}`:                              "composed, scalar",
		`{"type":"object","items":{}}`:            "object",
		`{"type":"string","properties":{"a":{}}}`: "scalar",
	} {
		read := schematest.Of(t, text)
		var got []string
		for name, is := range map[string]bool{
			"closed": schema.IsClosed(read), "composed": schema.IsComposed(read), "number": schema.IsNumber(read),
			"object": schema.IsObject(read), "scalar": schema.IsScalar(read),
		} {
			if is {
				got = append(got, name)
			}
		}
		slices.Sort(got)
		if strings.Join(got, ", ") != want {
			t.Errorf("%s is %v, want %s", text, got, want)
		}
	}
	if !schema.Allows(schema.Of(nil), "anything") {
		t.Error("a schema that is absent does not allow anything")
	}
}

// A value of a composed schema has the items and members of all parts.
func TestParts(t *testing.T) {
	t.Parallel()
	whole := schematest.Of(t, `{"title":"whole","items":{"title":"item"},"properties":{"a":{"title":"a"}},
		"allOf":[{"title":"all","items":{"title":"item of all"},"properties":{"a":{"title":"a of all"}},"anyOf":[{"title":"any"}]}],
		"oneOf":[{"title":"one","additionalProperties":{"title":"more","writeOnly":true}}],"not":{"title":"no"}}`)
	titles := func(all []*schema.Schema) string {
		var names []string
		for _, part := range all {
			names = append(names, part.Title)
		}
		return strings.Join(names, ", ")
	}
	parts := schema.Parts(nil, whole, whole)
	for what, c := range map[string]struct{ got, want string }{
		"parts":   {titles(parts), "whole, all, any, one"},
		"items":   {titles(schema.Items(parts)), "item, item of all"},
		"a":       {titles(schema.Members(parts, "a")), "a, a of all"},
		"other":   {titles(schema.Members(parts, "other")), "more"},
		"nothing": {titles(schema.Members(parts[:1], "other")), ""},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", what, c.got, c.want)
		}
	}
}

// A member at any depth is unnamed at its place.
func TestUnnamedPlaces(t *testing.T) {
	t.Parallel()
	wanted := schematest.Of(t, `{"properties":{"a":{"type":"array","items":{"properties":{"b":{}}}},"map":{"additionalProperties":{"properties":{"c":{}}}},"open":{}}}`)
	value, err := jsonvalue.Decode([]byte(`{"a":[{"b":1},{"b":{"any":1},"x":1}],"map":{"k":{"c":1,"y":1}},"open":{"any":1},"z":1}`))
	must.NoError(t, err)
	var got []string
	for _, fault := range schema.Unnamed("/at", value, wanted) {
		got = append(got, fault.Where+" "+fault.Keyword)
	}
	if want := "body /at/a/1/x properties, body /at/map/k/y properties, body /at/z properties"; strings.Join(got, ", ") != want {
		t.Errorf("the faults are %v, want %s", got, want)
	}
}

// The schemas in a schema are visited in the same order each time.
func TestEachIsOrdered(t *testing.T) {
	t.Parallel()
	wanted := schematest.Read(t, "3.1.0", `{Wanted: {properties: {b: {title: "2"}, a: {title: "1"}},
    dependentSchemas: {d: {title: "4"}, c: {title: "3"}}, patternProperties: {g: {title: "7"}, f: {title: "6"}, e: {title: "5"}}}}`).
		Component("Wanted", schema.Request)
	for range 20 {
		titles := ""
		schema.Each(wanted, func(part *schema.Schema) { titles += part.Title })
		if titles != "1234567" {
			t.Fatalf("the order is %s", titles)
		}
	}
}

// At returns the schema at a place, through items, names and parts.
func TestAt(t *testing.T) {
	t.Parallel()
	root := schematest.Of(t, `{"title":"root","properties":{"a~b":{"title":"named"}},"allOf":[{"items":{"title":"item"}}],"additionalProperties":{"title":"more"}}`)
	for pointer, want := range map[string]string{"": "root", "/a~0b": "named", "/0": "more", "/other": "more", "/a~0b/deep": ""} {
		if got := schema.At(root, pointer).Title; got != want {
			t.Errorf("at %q is %q, want %q", pointer, got, want)
		}
	}
}

// A pattern that goes back ends in time, and one of ECMA-262 is read as that.
func TestPatterns(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]bool{`^a$`: true, `(?=a)`: true, `(`: false, `\u0061`: true, ``: true} {
		wanted := schematest.Of(t, `{"pattern":"`+strings.ReplaceAll(pattern, `\`, `\\`)+`"}`)
		if got := schema.IsChecked(wanted); got != want {
			t.Errorf("%s is a pattern: %v", pattern, got)
		}
	}
	if got := schema.GoPattern(`a\u00e9\d`); got != `a\x{00e9}\d` {
		t.Errorf("it is %s", got)
	}
	slow := schematest.Of(t, `{"pattern":"^(?=a)(a+)+$"}`)
	if schema.Allows(slow, strings.Repeat("a", 40)+"b") {
		t.Error("a text that does not match is allowed")
	}
	for name, want := range map[string]bool{"": true, "date": true, "password": true, "odd": false} {
		if got := schema.IsKnownFormat(name); got != want {
			t.Errorf("the format %q is known: %v", name, got)
		}
	}
}
