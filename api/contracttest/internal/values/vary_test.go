package values

import (
	"regexp"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
)

// Values of two things differ wherever the schema leaves that open. The settings give the member given.
func TestVaried(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ member, wanted, want string }{
		{"a", `{"type":"string"}`, `"Ficus 1000003"`},
		{"a", `{"type":"integer"}`, `3`},
		{"a", `{"type":"integer","minimum":50}`, `53`},
		{"a", `{"type":"integer","minimum":1,"maximum":5}`, `4`},
		{"a", `{"type":"integer","minimum":7,"maximum":7}`, `7`},
		{"a", `{"type":"integer","maximum":-1}`, `-1`},
		{"a", `{"type":"number","maximum":2}`, `1`},
		{"a", `{"type":"integer","multipleOf":5}`, `0`},
		{"a", `{"type":"boolean"}`, `false`},
		{"a", `{"type":"string","enum":["x","y"]}`, `"y"`},
		{"a", `{"type":"string","maxLength":3}`, `"cus"`},
		{"a", `{"type":"array","items":{"type":"string"}}`, `["Ficus 1000004"]`},
		{"a", `{"type":"array","minItems":2,"items":{"type":"string"}}`, `["Ficus 1000004","Ficus"]`},
		{"a", `{"type":"object","properties":{"b":{"type":"string"}}}`, `{"b":"Ficus"}`},
		{"a", `{"allOf":[{"type":"string"}]}`, `"Ficus 1000003"`},
		{"given", `{"type":"string"}`, `"own"`},
		{"a", `{"type":"string","readOnly":true}`, `null`},
	} {
		g := New(Settings{Values: map[string]string{"given": "own"}})
		// So that the number tells which value is meant.
		g.Identity(schemaOf(t, `{"type":"string"}`))
		g.Identity(schemaOf(t, `{"type":"string"}`))
		object := jsonvalue.Object(g.Varied(schemaOf(t, `{"type":"object","properties":{"`+c.member+`":`+c.wanted+`}}`)))
		if got := shown(object[c.member]); got != c.want {
			t.Errorf("%s is %s, want %s", c.wanted, got, c.want)
		}
	}
}

// Every second number is true.
func TestVariedBool(t *testing.T) {
	t.Parallel()
	for first, want := range map[int64]string{1: `{"a":true}`, 2: `{"a":false}`, 3: `{"a":true}`, 4: `{"a":false}`} {
		g := New(Settings{FirstID: first})
		if got := shown(g.Varied(schemaOf(t, `{"type":"object","properties":{"a":{"type":"boolean"}}}`))); got != want {
			t.Errorf("after %d it is %s, want %s", first, got, want)
		}
	}
}

// An identity stays, and what is no object, or would not be valid, is the plainest value.
func TestNotVaried(t *testing.T) {
	t.Parallel()
	g := New(Settings{})
	wanted := schemaOf(t, `{"type":"object","properties":{"id":{"type":"string"}}}`)
	g.MarkIdentity(wanted.Properties["id"])
	if got := shown(g.Varied(wanted)); got != `{"id":"id1000001"}` {
		t.Errorf("the identity is %s", got)
	}
	for text, want := range map[string]string{
		`{"type":"string"}`: `"Ficus"`,
		`{"type":"object","properties":{"a":{"type":"string"}},"not":{"properties":{"a":{"pattern":"^Ficus 1"}},"required":["a"]}}`: `{"a":"Ficus"}`,
	} {
		if got := shown(g.Varied(schemaOf(t, text))); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// A fresh text is one that no other test uses, as the schema wants it.
func TestFresh(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ wanted, want string }{
		{`{"type":"string"}`, `"value1000001"`},
		{`{"type":"string","format":"email"}`, `"value1000002@plants.example"`},
		{`{"type":"string","format":"uri"}`, `"https://plants.example/value1000003"`},
		{`{"type":"string","format":"uuid"}`, `"00000000-0000-4000-8000-000001000004"`},
		{`{"type":"string","maxLength":3}`, `"cus"`},
		{`{"type":"integer"}`, `1`},
		{`{"type":"integer","maximum":3}`, `1`},
		{`{"type":"string","enum":["a","b"]}`, `"b"`},
		{`{"type":"string","pattern":"^[a-c]{3}$"}`, `"caa"`},
		{`{"type":"string","pattern":"^v[0-9]+$"}`, `"v10000010"`},
		{`{"type":"string","pattern":"^(?=x)x$"}`, `"Ficus"`},
	} {
		g := New(Settings{})
		others := []any{"a", "Ficus", jsonvalue.Normal(int64(2))}
		if got := shown(g.Fresh(schemaOf(t, c.wanted), others)); got != c.want {
			t.Errorf("%s has %s, want %s", c.wanted, got, c.want)
		}
	}
}

// Fresh texts of a pattern differ, and match it.
func TestFreshSamples(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{
		"^[a-z]+$", "^[a-z]*$", "^([a-z]{4}|x)$", "^[a-z]{1,4}-?$", "^[0-9]{6}$", "^#[0-9a-f]{6}$", `^[^\x00-~]+[a-z]{4}$`, "^[a-z]{4}.$",
	} {
		g := New(Settings{})
		wanted := schemaOf(t, string(jsonvalue.Encode(map[string]any{"type": "string", "pattern": pattern})))
		seen := map[string]bool{}
		for range 30 {
			text, ok := g.freshSample(wanted)
			if !ok || seen[text] || !regexp.MustCompile(pattern).MatchString(text) {
				t.Errorf("%s has %q after %v", pattern, text, seen)
			}
			seen[text] = true
		}
	}
	g := New(Settings{})
	if text, ok := g.freshSample(schemaOf(t, `{"type":"string","pattern":"^[a-z]+$","minLength":9}`)); !ok || len(text) < 9 {
		t.Errorf("the text is %q", text)
	}
	if text, ok := g.freshSample(schemaOf(t, `{"type":"string","pattern":"^[a-z]+$","maxLength":1}`)); !ok || len(text) != 1 {
		t.Errorf("the text is %q", text)
	}
	for _, none := range []string{`{"type":"string","pattern":"(?=x)y"}`, `{"type":"string","pattern":"^a$","minLength":5}`} {
		if text, ok := g.freshSample(schemaOf(t, none)); ok {
			t.Errorf("of %s the text is %q", none, text)
		}
	}
}

// A placeholder begins as the plainest text of the engine, or is the plainest value.
func TestIsPlaceholder(t *testing.T) {
	t.Parallel()
	g := New(Settings{})
	for _, c := range []struct {
		wanted, text string
		want         bool
	}{
		{`{"type":"string"}`, "Ficus", true},
		{`{"type":"string"}`, "Ficus 7", true},
		{`{"type":"string"}`, "a Ficus", false},
		{`{"type":"string","enum":["a","b"]}`, "a", true},
		{`{"type":"string","enum":["a","b"]}`, "b", false},
	} {
		if got := g.IsPlaceholder(schemaOf(t, c.wanted), c.text); got != c.want {
			t.Errorf("%s is a placeholder of %s: %v", c.text, c.wanted, got)
		}
	}
}

// A value is padded, or cut at its beginning, to the length that a schema wants.
func TestPadded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, wanted, want string }{
		{"蘭", `{}`, "蘭"},
		{"蘭", `{"minLength":2}`, "蘭x"},
		{"a蘭", `{"minLength":2}`, "a蘭"},
		{"a蘭", `{"maxLength":2}`, "a蘭"},
		{"a蘭", `{"maxLength":1}`, "蘭"},
		{"a蘭", `{"maxLength":0}`, ""},
		{"", `{"minLength":2000000}`, strings.Repeat("x", 1<<20)},
	} {
		if got := padded(c.text, schemaOf(t, c.wanted)); got != c.want {
			t.Errorf("%s of %s is %.20q", c.text, c.wanted, got)
		}
	}
}
