package jsonvalue_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// Decode takes one value, as strict readers do; DecodeLoosely takes the first one, as most readers do. Both keep the
// digits of numbers.
func TestDecode(t *testing.T) {
	t.Parallel()
	const none = "an error"
	for text, want := range map[string][2]string{
		`{"a": 1.0, "b": [12345678901234567890]}`: {`{"a":1.0,"b":[12345678901234567890]}`, `{"a":1.0,"b":[12345678901234567890]}`},
		`{"a": 1, "a": 2}`:                        {none, `{"a":2}`},
		`1 2`:                                     {none, `1`},
		`1x`:                                      {none, `1`},
		"\"\xff\"":                                {none, "\"\ufffd\""},
		`"<&>"`:                                   {`"<&>"`, `"<&>"`},
		`null`:                                    {`null`, `null`},
		`{`:                                       {none, none},
		``:                                        {none, none},
	} {
		for i, decode := range []func([]byte) (any, error){jsonvalue.Decode, jsonvalue.DecodeLoosely} {
			got := none
			if value, err := decode([]byte(text)); err == nil {
				got = string(jsonvalue.Encode(value))
			}
			if got != want[i] {
				t.Errorf("%s is %s, want %s", text, got, want[i])
			}
		}
	}
	for text, want := range map[string]string{`1 2`: "more follows it", `{"a": 1, "a": 2}`: "duplicate"} {
		if _, err := jsonvalue.Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error of %s is %v", text, err)
		}
	}
}

// A value that JSON does not have is a mistake of the engine, not an empty text.
func TestEncodePanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a channel is written")
		}
	}()
	jsonvalue.Encode(make(chan int))
}

// Normal makes of a value what Decode returns.
func TestNormal(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]any{
		`null`:          nil,
		`true`:          true,
		`1.50`:          json.Number("1.50"),
		`-7`:            int64(-7),
		`7`:             7,
		`1.5`:           1.5,
		"\"a\ufffd\"":   "a\xff",
		`[1,{"a":2}]`:   []any{int64(1), map[string]any{"a": 2}},
		`{"A":["b"]}`:   struct{ A []string }{[]string{"b"}},
		`"2026-01-01"`:  json.RawMessage(`"2026-01-01"`),
		`{"a":{"b":1}}`: map[string]map[string]int{"a": {"b": 1}},
	} {
		got := jsonvalue.Normal(value)
		decoded, err := jsonvalue.Decode([]byte(want))
		must.NoError(t, err)
		if !jsonvalue.Same(got, decoded) || string(jsonvalue.Encode(got)) != want {
			t.Errorf("%#v is %s, want %s", value, jsonvalue.Encode(got), want)
		}
	}
	if number, isNumber := jsonvalue.Normal(int64(7)).(json.Number); !isNumber || number != "7" {
		t.Error("an integer is no number of JSON")
	}
}

// Values are the same if they are written alike, and whole if 64 bits hold them.
func TestSame(t *testing.T) {
	t.Parallel()
	one := map[string]any{"a": json.Number("1"), "b": []any{nil}}
	other := map[string]any{"b": []any{nil}, "a": json.Number("1")}
	if !jsonvalue.Same(one, other) || jsonvalue.Same(json.Number("1"), json.Number("1.0")) || jsonvalue.Same(nil, "null") {
		t.Error("values are not compared as they are written")
	}
	for value, want := range map[any]bool{json.Number("1"): true, json.Number("1.0"): false, json.Number("9223372036854775808"): false, "1": false, nil: false} {
		if got := jsonvalue.IsInteger(value); got != want {
			t.Errorf("%#v is whole: %v", value, got)
		}
	}
}

// A map is a copy with other values.
func TestMap(t *testing.T) {
	t.Parallel()
	value := map[string]any{"a": []any{"b"}, "c": "d"}
	mapped := jsonvalue.Map(value, func(name string, inner any) any {
		if jsonvalue.List(inner) != nil {
			return jsonvalue.Map(inner, func(name string, _ any) any { return "item" + name })
		}
		return name
	})
	if got := string(jsonvalue.Encode(mapped)); got != `{"a":["item"],"c":"c"}` || value["c"] != "d" {
		t.Errorf("it is %s, of %v", got, value)
	}
	if got := jsonvalue.Map("x", nil); got != "x" {
		t.Errorf("a text is %v", got)
	}
	if jsonvalue.Object("x") != nil || jsonvalue.List(value) != nil || jsonvalue.Object(value)["c"] != "d" {
		t.Error("a value is taken for another one")
	}
}

// References are followed within a document, however they are escaped, and not in a circle.
func TestReferences(t *testing.T) {
	t.Parallel()
	root, err := jsonvalue.Decode([]byte(`{"a/b": {"~{x}": [10, 11]}, "one": {"$ref": "#/two"}, "two": {"$ref": "#/a~1b"}, "circle": {"$ref": "#/circle"}, "out": {"$ref": "x.yaml#/a"}, "odd": {"$ref": 7}}`))
	must.NoError(t, err)
	for reference, want := range map[string]string{
		"#/a~1b/~0{x}/1":     "11",
		"#/a~1b/~0%7Bx%7D/0": "10",
		"#/a~1b/~0{x}/2":     "null",
		"#/a~1b/~0{x}/-1":    "null",
		"#/a~1b/~0{x}/x":     "null",
		"#/none":             "null",
		"#/none/deep":        "null",
		"x.yaml#/a":          "null",
		"/a~1b":              "null",
	} {
		if got := string(jsonvalue.Encode(jsonvalue.Lookup(root, reference))); got != want {
			t.Errorf("%s is %s, want %s", reference, got, want)
		}
	}
	if got := jsonvalue.Object(jsonvalue.Lookup(root, "#")); got["one"] == nil {
		t.Error("# is not the document")
	}
	for name, want := range map[string]string{"one": `{"~{x}":[10,11]}`, "circle": "null", "out": "null", "odd": `{"$ref":7}`} {
		if got := string(jsonvalue.Encode(jsonvalue.Resolve(root, jsonvalue.Object(root)[name]))); got != want {
			t.Errorf("%s leads to %s, want %s", name, got, want)
		}
	}
	for name, token := range map[string]string{"a/b~c": "a~1b~0c", "~1": "~01"} {
		if got := jsonvalue.Escape(name); got != token || jsonvalue.Unescape(got) != name {
			t.Errorf("%s is escaped as %s", name, got)
		}
	}
}

// A pointer is split before its last token, and the empty one has none.
func TestSplit(t *testing.T) {
	t.Parallel()
	for pointer, want := range map[string][2]string{"/a/b/c": {"/a/b", "/c"}, "/a": {"", "/a"}, "/a/": {"/a", "/"}, "a": {"", "a"}, "": {"", ""}} {
		if above, last := jsonvalue.Split(pointer); above != want[0] || last != want[1] {
			t.Errorf("%q is split into %q and %q", pointer, above, last)
		}
	}
}

// A value gets another one at a pointer, and objects on the way are made.
func TestWith(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ value, pointer, want string }{
		{`{"a":1}`, "", "2"},
		{`{"a":1}`, "/a", `{"a":2}`},
		{`{"a":1,"b":{"d":3}}`, "/b/c", `{"a":1,"b":{"c":2,"d":3}}`},
		{`{"a":1}`, "/a/b~1c/d", `{"a":{"b/c":{"d":2}}}`},
	} {
		value, err := jsonvalue.Decode([]byte(c.value))
		must.NoError(t, err)
		got := string(jsonvalue.Encode(jsonvalue.With(value, c.pointer, 2)))
		if got != c.want || string(jsonvalue.Encode(value)) != c.value {
			t.Errorf("%s with 2 at %s is %s, want %s", jsonvalue.Encode(value), c.pointer, got, c.want)
		}
	}
	if got := jsonvalue.First("/*/a*/*"); got != "/0/a*/0" {
		t.Errorf("the first one is %s", got)
	}
}

// Values differ at the deepest places, and lists of different lengths as a whole.
func TestDifferences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ one, other, want string }{
		{`{"a":1,"b":[1,2]}`, `{"b":[1,2],"a":1}`, ""},
		{`{"a":1,"b":{"c/d":1}}`, `{"a":2,"b":{"c/d":null}}`, "/a /b/c~1d"},
		{`{"a":1}`, `{"a":1,"b":2}`, "/b"},
		{`{"a":{"b":1}}`, `{"a":1}`, "/a"},
		{`{"a":1}`, `{"a":{"b":1}}`, "/a"},
		{`[1,{"a":1}]`, `[1,{}]`, "/1/a"},
		{`{"a":[1]}`, `{"a":[1,2]}`, "/a"},
		{`1`, `[]`, "."},
	} {
		one, err := jsonvalue.Decode([]byte(c.one))
		must.NoError(t, err)
		other, err := jsonvalue.Decode([]byte(c.other))
		must.NoError(t, err)
		got := strings.Join(jsonvalue.Differences("", one, other), " ")
		if want := strings.TrimPrefix(c.want, "."); got != want {
			t.Errorf("%s and %s differ at %q, want %q", c.one, c.other, got, want)
		}
	}
}
