package values

import (
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/schematest"
)

// An identity has a number that no other one has, as its schema writes it.
func TestIdentity(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first  int64
		wanted string
		want   string
	}{
		{0, `{"type":"integer"}`, `1000001`},
		{7, `{"type":"integer"}`, `8`},
		{0, `{"type":"string"}`, `"id1000001"`},
		{0, `{"type":"string","format":"uuid"}`, `"00000000-0000-4000-8000-0000000f4241"`},
		{0, `{"type":"string","maxLength":4}`, `"0001"`},
		{0, `{"type":"string","minLength":12}`, `"id1000001xxx"`},
	} {
		if got := shown(New(Settings{FirstID: c.first}).Identity(schemaOf(t, c.wanted))); got != c.want {
			t.Errorf("%s has %s, want %s", c.wanted, got, c.want)
		}
	}
}

// marked is a schema of things that have an identity, at the top or in a batch.
func marked(t *testing.T, g *Generator, identity string) *schema.Schema {
	t.Helper()
	const id = `{$ref: '#/components/schemas/ID'}`
	read := schematest.Read(t, "3.0.3", `
    ID: `+identity+`
    Wanted: {allOf: [{type: object, properties: {id: `+id+`, batch: {type: array, items:
      {type: object, properties: {id: `+id+`, name: {type: string}}}}}}]}`)
	g.MarkIdentity(read.Component("ID", schema.Request))
	return read.Component("Wanted", schema.Request)
}

// The identities of a value are found wherever they are, also in a batch, in the form in which they are drawn. Shared are
// those that the generator has not drawn.
func TestIdentitiesOf(t *testing.T) {
	t.Parallel()
	const number = `{"type":"integer"}`
	const text = `{"type":"string"}`
	for _, c := range []struct{ identity, value, all, shared string }{
		{number, `{"id":7}`, "[7]", "[7]"},
		{number, `{"id":1000001}`, "[1000001]", "null"},
		{number, `{"id":1000000}`, "[1000000]", "[1000000]"},
		{number, `{"id":1000003}`, "[1000003]", "null"},
		{number, `{"id":1000004}`, "[1000004]", "[1000004]"},
		{number, `{"id":"7"}`, "null", "null"},
		{number, `{"id":1.5}`, "null", "null"},
		{number, `{"id":true}`, "null", "null"},
		{number, `{"batch":[{"id":8},{"id":9}],"id":7}`, "[8,9,7]", "[8,9,7]"},
		{number, `{"batch":[{"name":"a"},{}]}`, "null", "null"},
		{number, `["a"]`, "null", "null"},
		{text, `{"id":"a"}`, `["a"]`, `["a"]`},
		{text, `{"id":7}`, "null", "null"},
		{text, `{"id":"id1000001"}`, `["id1000001"]`, "null"},
		{text, `{"id":"id1000001xx"}`, `["id1000001xx"]`, "null"},
		{text, `{"id":"id"}`, `["id"]`, `["id"]`},
		{text, `{"id":"my id1"}`, `["my id1"]`, `["my id1"]`},
		{text, `{"id":"00000000-0000-4000-8000-0000000f4241"}`, `["00000000-0000-4000-8000-0000000f4241"]`, "null"},
		{text, `{"id":"10000000-0000-4000-8000-0000000f4241"}`, `["10000000-0000-4000-8000-0000000f4241"]`, `["10000000-0000-4000-8000-0000000f4241"]`},
	} {
		g := New(Settings{})
		wanted := marked(t, g, c.identity)
		for range 3 {
			g.Identity(schemaOf(t, number))
		}
		value, err := jsonvalue.Decode([]byte(c.value))
		if err != nil {
			t.Fatal(err)
		}
		if got := shownList(g.Identities(wanted, value)); got != c.all {
			t.Errorf("%s has the identities %s, want %s", c.value, got, c.all)
		}
		if got := shownList(g.SharedIdentities(wanted, value)); got != c.shared {
			t.Errorf("%s shares the identities %s, want %s", c.value, got, c.shared)
		}
	}
}

// shownList is a list as text, null if it has nothing.
func shownList(all []any) string {
	if len(all) == 0 {
		return "null"
	}
	return shown(all)
}

// Each value has fresh identities, wherever it has them, and what is kept of a base is not one of them.
func TestFreshIdentities(t *testing.T) {
	t.Parallel()
	g := New(Settings{})
	wanted := marked(t, g, `{"type":"integer"}`)
	for _, want := range []string{
		`{"batch":[{"id":1000001,"name":"Ficus"}],"id":1000002}`,
		`{"batch":[{"id":1000003,"name":"Ficus"}],"id":1000004}`,
	} {
		if got := shown(g.Base(wanted)); got != want {
			t.Errorf("the value is %s, want %s", got, want)
		}
	}
	seen := map[string]bool{}
	for _, v := range at(g.Variants(wanted), "/batch", "type") {
		id := shown(jsonvalue.Object(v.Value)["id"])
		if !v.Demand && seen[id] {
			t.Errorf("two values have the identity %s", id)
		}
		seen[id] = true
	}
}

// What is in a base that is kept does not change with a value that was made of it.
func TestKeptBase(t *testing.T) {
	t.Parallel()
	g := New(Settings{})
	object := schemaOf(t, `{"type":"object","properties":{"a":{"type":"boolean"}}}`)
	array := schemaOf(t, `{"type":"array","items":{"type":"boolean"}}`)
	g.Base(object).(map[string]any)["a"] = 1
	g.Base(array).([]any)[0] = 1
	if shown(g.Base(object)) != `{"a":true}` || shown(g.ForTest("a test").Base(array)) != `[true]` {
		t.Errorf("the values are %s and %s", shown(g.Base(object)), shown(g.Base(array)))
	}
}

// A value of the options is given in the first form that the schema allows, and is in each value that may have it.
func TestGiven(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, wanted, want string }{
		{"7", `{"type":"string"}`, `{"given":"7"}`},
		{"7", `{"type":"integer"}`, `{"given":7}`},
		{"7", `{"type":"array","items":{"type":"integer"}}`, `{"given":[7]}`},
		{"7", `{"type":"array","items":{"type":"string"}}`, `{"given":["7"]}`},
		{`{"a":1}`, `{"type":"object"}`, `{"given":{"a":1}}`},
		{"x", `{"type":"string","enum":["y"]}`, `{"given":"y"}`},
		{"x", `{"type":"array","items":{"type":"string"}}`, `{"given":["x"]}`},
	} {
		g := New(Settings{Values: map[string]string{"given": c.text}})
		wanted := schemaOf(t, `{"type":"object","properties":{"given":`+c.wanted+`}}`)
		if got := shown(g.Base(wanted)); got != c.want {
			t.Errorf("%q of %s is %s, want %s", c.text, c.wanted, got, c.want)
		}
	}
	g := New(Settings{Values: map[string]string{"given": "7"}})
	wanted := schemaOf(t, `{"type":"object","required":["given"],"properties":{"given":{"type":"integer","maximum":9}}}`)
	all := g.Variants(wanted)
	checkTable(t, at(all, "/given", "type"), `/given type: ... {"given":7} | {"given":[]} {"given":true} {"given":1.5} {"given":{}} {"given":"1"} ... {"given":1.5}`)
}
