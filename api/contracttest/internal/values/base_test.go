package values

import (
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/schematest"
)

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

// What ends a recursion is not kept for where it begins.
func TestRecursionBeginsAnew(t *testing.T) {
	t.Parallel()
	read := schematest.Read(t, "3.0.3", `
    One: {type: object, properties: {other: {$ref: '#/components/schemas/Other'}}}
    Other: {type: object, properties: {one: {$ref: '#/components/schemas/One'}}}
    Both: {type: object, properties: {a: {$ref: '#/components/schemas/One'}, b: {$ref: '#/components/schemas/Other'}}}
`)
	one := read.Component("One", schema.Request)
	other := read.Component("Other", schema.Request)
	both := read.Component("Both", schema.Request)
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

// A base that is too much work lacks members, which is said, and the next one is not affected.
func TestTooMuchForBase(t *testing.T) {
	t.Parallel()
	g := New(Settings{Enough: 1})
	large := schemaOf(t, `{"type":"object","required":["a","b"],"properties":{"a":{"enum":["a"]},"b":{"enum":["b"]}}}`)
	if got := shown(g.Base(large)); got != `{"a":"a","b":null}` || !g.TakeExhausted() {
		t.Errorf("it is %s", got)
	}
	if got := shown(g.Base(large.Properties["b"])); got != `"b"` || g.TakeExhausted() {
		t.Errorf("the next one is %s", got)
	}
}

// A recursion that must not end is cut, and what was cut is not kept for where another one begins.
func TestEndlessBeginsAnew(t *testing.T) {
	t.Parallel()
	read := schematest.Read(t, "3.0.3", `
    One: {type: object, required: [other], properties: {other: {$ref: '#/components/schemas/Other'}}}
    Other: {type: object, required: [one], properties: {one: {$ref: '#/components/schemas/One'}}}
`)
	one := read.Component("One", schema.Request)
	other := read.Component("Other", schema.Request)
	g := New(Settings{})
	first := strings.Count(shown(g.Base(one)), "{")
	if second := strings.Count(shown(g.Base(other)), "{"); first != 10 || second != 10 {
		t.Errorf("they are followed %d and %d times", first, second)
	}
}
