package values

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// varied is the plainest value with others wherever the schema leaves that open.
func varied(g *Generator, wanted *schema.Schema) any {
	plain := g.Base(wanted)
	return g.Vary(wanted, plain, plain, false)
}

// Values of two things differ wherever the schema leaves that open. The settings give the member given.
func TestVaried(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ member, wanted, want string }{
		{"a", `{"type":"string"}`, `"Ficus 1000004"`},
		{"a", `{"type":"integer"}`, `1`},
		{"a", `{"type":"integer","minimum":50}`, `51`},
		{"a", `{"type":"integer","minimum":7,"maximum":7}`, `7`},
		{"a", `{"type":"integer","maximum":-1}`, `-1`},
		{"a", `{"type":"number","maximum":2}`, `0.125`},
		{"a", `{"type":"number","minimum":-90,"maximum":90}`, `1`},
		{"a", `{"type":"integer","multipleOf":5}`, `5`},
		{"a", `{"type":"number","multipleOf":0.5,"minimum":3}`, `3.5`},
		{"a", `{"type":"boolean"}`, `true`},
		{"a", `{"type":"string","enum":["x","y","z"]}`, `"y"`},
		{"a", `{"type":"string","maxLength":3}`, `"004"`},
		{"a", `{"type":"string","pattern":"^[A-Z]{2}$"}`, `"AA"`},
		{"a", `{"type":"string","format":"email"}`, `"value1000006@plants.example"`},
		{"a", `{"type":"string","format":"date"}`, `"2025-10-19"`},
		{"a", `{"type":"string","format":"date","example":"2999-01-01"}`, `"2999-01-04"`},
		{"a", `{"type":"string","format":"date-time"}`, `"2025-10-19T09:00:04Z"`},
		{"a", `{"type":"string","format":"time"}`, `"06:03:04Z"`},
		{"a", `{"type":"string","format":"duration"}`, `"P4DT4H"`},
		{"a", `{"type":"array","items":{"type":"string"}}`, `["Ficus 1000004"]`},
		{"a", `{"type":"array","minItems":2,"items":{"type":"string"}}`, `["Ficus 1000004","Ficus"]`},
		{"a", `{"type":"object","properties":{"b":{"type":"string"}}}`, `{"b":"Ficus 1000004"}`},
		{"a", `{"allOf":[{"type":"string"}]}`, `"Ficus 1000004"`},
		{"a", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `"Ficus 1000004"`},
		{"given", `{"type":"string"}`, `"own"`},
		{"a", `{"type":"string","readOnly":true}`, `null`},
	} {
		g := New(Settings{Values: map[string]string{"given": "own"}})
		// So that the number tells which value is meant.
		g.Identity(schemaOf(t, `{"type":"string"}`))
		g.Identity(schemaOf(t, `{"type":"string"}`))
		object := jsonvalue.Object(varied(g, schemaOf(t, `{"type":"object","properties":{"`+c.member+`":`+c.wanted+`}}`)))
		if got := shown(object[c.member]); got != c.want {
			t.Errorf("%s is %s, want %s", c.wanted, got, c.want)
		}
	}
}

// Within a few bodies, no two members are alike in each of them, and each has more than one value.
func TestMembersDiffer(t *testing.T) {
	t.Parallel()
	for _, wanted := range []string{
		`{"type":"boolean"}`, `{"enum":["x","y"]}`, `{"enum":["x","y","z"]}`, `{"type":"integer","minimum":1,"maximum":9}`, `{"type":"number","minimum":0,"maximum":1}`,
		`{"type":"integer"}`, `{"type":"string"}`, `{"type":"string","format":"date"}`, `{"type":"string","format":"date-time"}`, `{"type":"string","format":"time"}`,
		`{"type":"string","format":"uuid"}`, `{"type":"string","format":"uri"}`, `{"type":"string","pattern":"^[a-z]{8}$"}`, `{"type":"string","maxLength":4}`,
		`{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}}}}`,
	} {
		for turn := range int64(40) {
			g := New(Settings{})
			g.turn = turn
			described := schemaOf(t, `{"type":"object","properties":{"a":`+wanted+`,"b":`+wanted+`,"c":`+wanted+`,"d":`+wanted+`}}`)
			values := map[string][]string{}
			for range g.Rounds(described) {
				for name, value := range jsonvalue.Object(varied(g, described)) {
					values[name] = append(values[name], shown(value))
				}
			}
			for one, other := range map[string]string{"a": "b", "b": "c", "c": "d", "d": "a"} {
				if slices.Equal(values[one], values[other]) || len(slices.Compact(slices.Clone(values[one]))) == 1 {
					t.Errorf("%s: after %d bodies the members are %v", wanted, turn, values)
				}
			}
		}
	}
}

// The values of one kind are in the order that the names of their members tell.
func TestVariedInOrder(t *testing.T) {
	t.Parallel()
	for _, names := range [][2]string{
		{"begin", "end"},
		{"start_date", "due_date"},
		{"dateFrom", "dateTo"},
		{"valid_from", "valid_to"},
		{"open", "close"},
		{"min_size", "max_size"},
		{"since", "created"},
		{"created", "expires"},
		{"periodStart", "periodEnd"},
		{"check_in", "check_out"},
	} {
		for _, wanted := range []string{
			`{"type":"string","format":"date"}`, `{"type":"string","format":"date-time"}`, `{"type":"string","format":"time"}`, `{"type":"integer"}`, `{"type":"number","minimum":5,"maximum":95}`,
		} {
			g := New(Settings{FirstID: 190})
			described := schemaOf(t, `{"type":"object","properties":{"`+names[1]+`":`+wanted+`,"`+names[0]+`":`+wanted+`}}`)
			bodies := []any{g.Base(described)}
			for range 250 {
				bodies = append(bodies, varied(g, described))
			}
			for i, body := range bodies {
				first, second := orderOf(t, jsonvalue.Object(body)[names[0]]), orderOf(t, jsonvalue.Object(body)[names[1]])
				mayBeEqual := i == 0 && !strings.Contains(wanted, `"date`)
				if first > second || first == second && !mayBeEqual {
					t.Fatalf("%s of %v: %v is not before %v", names[0], body, first, second)
				}
			}
		}
	}
}

// orderOf is a number that is as much after others as a value is.
func orderOf(t *testing.T, value any) float64 {
	t.Helper()
	text := fmt.Sprint(value)
	for _, layout := range []string{time.RFC3339, time.DateOnly, "15:04:05Z"} {
		if at, err := time.Parse(layout, text); err == nil {
			return float64(at.Unix())
		}
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// Of a service that refuses more, what has a format, objects and arrays stay the plainest, and what is not plain stays always.
func TestVariedLess(t *testing.T) {
	t.Parallel()
	wanted := schemaOf(t, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","format":"date"},"c":{"type":"object","properties":{"d":{"type":"string"}}},"e":{"type":"integer"},"f":{"type":"string"}}}`)
	g := New(Settings{})
	plain := g.Base(wanted)
	known := maps.Clone(jsonvalue.Object(plain))
	known["f"] = "known"
	if got, want := shown(g.Vary(wanted, plain, known, true)), `{"a":"Ficus 1000002","b":"2026-11-20","c":{"d":"Ficus"},"e":1,"f":"known"}`; got != want {
		t.Errorf("it is %s, want %s", got, want)
	}
}

// An identity stays, and what is no object, or would not be valid, is the plainest value.
func TestNotVaried(t *testing.T) {
	t.Parallel()
	g := New(Settings{})
	wanted := schemaOf(t, `{"type":"object","properties":{"id":{"type":"string"}}}`)
	g.MarkIdentity(wanted.Properties["id"])
	if got := shown(varied(g, wanted)); got != `{"id":"id1000001"}` {
		t.Errorf("the identity is %s", got)
	}
	for text, want := range map[string]string{
		`{"type":"string"}`: `"Ficus"`,
		`{"type":"object","properties":{"a":{"type":"string"}},"not":{"properties":{"a":{"pattern":"^Ficus 1"}},"required":["a"]}}`: `{"a":"Ficus"}`,
	} {
		if got := shown(varied(g, schemaOf(t, text))); got != want {
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
