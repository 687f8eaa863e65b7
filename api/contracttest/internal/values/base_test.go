package values

import (
	"fmt"
	"strings"
	"testing"
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
	if got := len(object.(map[string]any)); got != Most+1 {
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
