package values

import (
	"fmt"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// Where "not" forbids the plainest value there is another one, of the first type that is allowed.
func TestOtherThan(t *testing.T) {
	t.Parallel()
	const forbidden = `{"not":{"anyOf":[TYPES]}}`
	for types, want := range map[string]string{
		"":                                    `"Ficus"`,
		"string":                              `2`,
		"string integer":                      `true`,
		"string integer boolean":              `{}`,
		"string integer boolean object":       `[]`,
		"string integer boolean object array": `1.5`,
		"string integer boolean object array number": `"Ficus"`,
	} {
		all := []string{`{"enum":["a"]}`}
		for name := range strings.FieldsSeq(types) {
			all = append(all, fmt.Sprintf(`{"type":%q}`, name))
		}
		text := strings.Replace(forbidden, "TYPES", strings.Join(all, ","), 1)
		if got := shown(New(Settings{}).Base(schemaOf(t, text))); got != want {
			t.Errorf("not %s is %s, want %s", types, got, want)
		}
	}
	if got := shown(New(Settings{}).Base(schemaOf(t, `{"type":"string","not":{"enum":["Ficus"]}}`))); got != `"another"` {
		t.Errorf("another text is %s", got)
	}
}

// Arrays in arrays, and objects, are not made larger than a service can take.
func TestLarge(t *testing.T) {
	t.Parallel()
	g := New(Settings{})
	// Of an array that is that deep in others.
	for depth, want := range []int{1001, 126, 16, 2, 2} {
		g.depth = depth
		if got := len(g.Many(schemaOf(t, `{"type":"array","items":{"type":"boolean"}}`), 5000)); got != want {
			t.Errorf("%d deep there are %d items, want %d", depth, got, want)
		}
	}
	object := New(Settings{}).Base(schemaOf(t, `{"type":"object","minProperties":5000}`))
	if got := len(object.(map[string]any)); got != 1001 {
		t.Errorf("there are %d members", got)
	}
}

// An object that may not have all members has those that it must have.
func TestObjectBase(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"type":"object","maxProperties":1,"properties":{"a":{"type":"boolean"},"b":{"type":"boolean"}}}`: `{"a":true}`,
		`{"type":"object","maxProperties":0,"properties":{"a":{"type":"boolean"}}}`:                        `{}`,
		`{"type":"object","minProperties":2,"additionalProperties":{"type":"integer"}}`:                    `{"member0":1,"member1":1}`,
	} {
		if got := shown(New(Settings{}).Base(schemaOf(t, text))); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// Of a pattern the plainest text is one that it matches, as long as it must be.
func TestSamples(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ bounds, pattern, want string }{
		{``, `^a$`, "a"},
		{``, `^(a|b)c?$`, "ac"},
		{``, `^[0-9]x*y+$`, "0xy"},
		{``, `^[_.-]$`, "-"},
		{``, `^[!?]$`, "!"},
		{``, `^\\d\\w$`, "0a"},
		{``, `^.$`, "a"},
		{``, `^(?s:.)b$`, "ab"},
		{``, `^[^A-Za-z0-9]{2}$`, "--"},
		{`"minLength":3,`, `^a*$`, "aaa"},
		{`"minLength":3,`, `^(?:ab)?c{3}$`, "abccc"},
		{`"minLength":7,"maxLength":7,`, `^a(bc)+$`, "abcbcbc"},
		{`"minLength":8,"maxLength":8,`, `^a(bcd)*e$`, "abcdbcde"},
		{`"maxLength":1,`, `^b(ac)*$`, "b"},
		{`"minLength":5,`, `^a`, "axxxx"},
		{`"maxLength":2,`, `a+`, "a"},
		{`"example":"xa",`, `^(?=x)[a-z]+$`, "xa"},
		{`"example":"no",`, `^a$`, "a"},
		{`"example":"b",`, `^[ab]$`, "b"},
		{``, `^(?=x)[a-z]+$`, "Ficus"},
	} {
		wanted := schemaOf(t, `{"type":"string",`+c.bounds+`"pattern":"`+c.pattern+`"}`)
		if got := New(Settings{}).Base(wanted); got != c.want {
			t.Errorf("%s with %s is %v, want %s", c.pattern, c.bounds, got, c.want)
		}
	}
}

// What ends a recursion is not kept for where it begins.
func TestRecursionBeginsAnew(t *testing.T) {
	t.Parallel()
	one := openapi3.NewObjectSchema()
	other := openapi3.NewObjectSchema()
	one.Properties = openapi3.Schemas{"other": openapi3.NewSchemaRef("", other)}
	other.Properties = openapi3.Schemas{"one": openapi3.NewSchemaRef("", one)}
	both := openapi3.NewObjectSchema().WithProperty("a", one).WithProperty("b", other)
	g := New(Settings{})
	first := shown(g.Base(one))
	const want = `{"other":{"one":{"other":{"one":{}}}}}`
	if second := shown(g.Base(other)); first != want || second != `{"one":{"other":{"one":{"other":{}}}}}` {
		t.Errorf("they are %s and %s", first, second)
	}
	if got := shown(New(Settings{}).Base(both)); got != `{"a":`+want+`,"b":{"one":{"other":{"one":{"other":{}}}}}}` {
		t.Errorf("both are %s", got)
	}
	if got := shown(g.Base(one)); got != first {
		t.Errorf("the second time it is %s", got)
	}
}

// A recursion that must not end is cut, and what was cut is not kept for where another one begins.
func TestEndlessBeginsAnew(t *testing.T) {
	t.Parallel()
	one := openapi3.NewObjectSchema()
	other := openapi3.NewObjectSchema()
	one.Properties = openapi3.Schemas{"other": openapi3.NewSchemaRef("", other)}
	other.Properties = openapi3.Schemas{"one": openapi3.NewSchemaRef("", one)}
	one.Required = []string{"other"}
	other.Required = []string{"one"}
	g := New(Settings{})
	first := strings.Count(shown(g.Base(one)), "{")
	if second := strings.Count(shown(g.Base(other)), "{"); first != 10 || second != 10 {
		t.Errorf("they are followed %d and %d times", first, second)
	}
}

// Where no value is known that a schema allows, any other is as good.
func TestNoBase(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"type":"integer","multipleOf":0}`:                                           `1.5`,
		`{"type":"integer","minimum":5,"maximum":4}`:                                  `1`,
		`{"oneOf":[{"type":"boolean"},{"type":"boolean"}]}`:                           `true`,
		`{"oneOf":[{"type":"boolean"},{"enum":[true]}]}`:                              `true`,
		`{"type":"array","uniqueItems":true,"minItems":2,"items":{"type":"boolean"}}`: `[true,true]`,
	} {
		if got := shown(New(Settings{}).Base(schemaOf(t, text))); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}
