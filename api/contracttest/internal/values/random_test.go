package values

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// Of the same numbers the same value is drawn, and of none the plainest one.
func TestDraw(t *testing.T) {
	t.Parallel()
	const anything = `{"type":"object","required":["b"],"properties":{"a":{"type":"boolean"},"b":{"type":"integer","maximum":9},"c":{"type":"boolean","readOnly":true}}}`
	const closed = `{"type":"object","properties":{"a":{"type":"boolean"}},"additionalProperties":false}`
	for _, c := range []struct {
		name    string
		wanted  string
		numbers []uint64
		want    string
	}{
		{"nothing is drawn", anything, nil, `{"b":0}`},
		{"an optional member", anything, []uint64{1, 1}, `{"a":true,"b":0}`},
		{"a small number", anything, []uint64{0, 5, 0, 0}, `{"b":5}`},
		{"a large number", anything, []uint64{0, 50, 0, 0}, `{"b":9}`},
		{"a shifted number", anything, []uint64{0, 4, 1, 0}, `{"b":2}`},
		{"a negative number", anything, []uint64{0, 5, 0, 1}, `{"b":-5}`},
		{"a member that is not named", anything, []uint64{0, 5, 0, 0, 0, 1, 1, 1}, `{"b":5,"unknown-member":true}`},
		{"no member that is not named", closed, []uint64{1, 1, 1, 1, 1}, `{"a":true}`},
		{"a branch", `{"oneOf":[{"type":"boolean"},{"type":"integer"}]}`, []uint64{1}, `1`},
		{"null", `{"type":"boolean","nullable":true}`, []uint64{7}, `null`},
		{"no null", `{"type":"boolean","nullable":true}`, []uint64{2, 1}, `true`},
		{"nothing else", `{"nullable":true}`, []uint64{3}, `"Ficus"`},
		{"a short array", `{"type":"array","items":{"type":"boolean"}}`, []uint64{0, 1}, `[true]`},
		{"a longer array", `{"type":"array","minItems":2,"items":{"type":"boolean"}}`, []uint64{7, 1, 0, 1, 0}, `[true,false,true,false]`},
		{"not too long an array", `{"type":"array","maxItems":2,"items":{"type":"boolean"}}`, []uint64{4, 1, 1, 1, 1}, `[true,true]`},
		{"a text", `{"type":"string"}`, []uint64{7, 5, 27, 8, 2, 96, 0}, `"b!"`},
		{"a padded text", `{"type":"string","minLength":2}`, []uint64{1, 0, 1, 0}, `"bx"`},
		{"an odd text", `{"type":"string"}`, []uint64{1, 4, 1, 1, 3, 0x00e9, 0}, `"\u1f301\u00e9"`},
		{"not what is not allowed", `{"type":"string","pattern":"^a$"}`, []uint64{1, 0, 1, 0}, `"a"`},
		{"a fraction", `{"type":"number"}`, []uint64{1}, `1.5`},
		{"both sides", `{"type":"boolean"}`, []uint64{1}, `true`},
	} {
		if got := shown(New(Settings{}).Draw((*numbered)(&c.numbers), schemaOf(t, c.wanted))); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A drawn value has fresh identities, given values, and an end.
func TestDrawnMembers(t *testing.T) {
	t.Parallel()
	g := New(Settings{Values: map[string]string{"given": "7"}})
	wanted := schemaOf(t, `{"type":"object","required":["id","given"],"properties":{"id":{"type":"integer"},"given":{"type":"integer"}}}`)
	g.MarkIdentity(wanted.Properties["id"])
	if got := shown(g.Draw(&numbered{}, wanted)); got != `{"given":7,"id":1000001}` {
		t.Errorf("drawn is %s", got)
	}
	var ones numbered
	for range 100 {
		ones = append(ones, 1)
	}
	if got := strings.Count(shown(g.Draw(&ones, list(t))), "next"); got < 2 || got > 6 {
		t.Errorf("it is followed %d times", got)
	}
}

// numbered are random numbers that are given, and then zeroes.
type numbered []uint64

func (n *numbered) Uint64() (number uint64) {
	if len(*n) > 0 {
		number = (*n)[0]
		*n = (*n)[1:]
	}
	return number
}

// What is drawn without a schema is of any type, as deep as told.
func TestDrawAny(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		numbers []uint64
		depth   int
		want    string
	}{
		{[]uint64{0}, 1, `null`},
		{[]uint64{1, 1}, 1, `true`},
		{[]uint64{2, 1, 0, 2, 0}, 1, `"c"`},
		{[]uint64{3, 2}, 1, `1.5`},
		{[]uint64{3, 7}, 1, `0`},
		{[]uint64{4, 7, 0, 1, 1, 4}, 1, `[null,true,null]`},
		{[]uint64{5, 6, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0, 0}, 1, `{"a":true,"b":null}`},
		{[]uint64{4, 1, 4, 1, 3, 1}, 2, `[[-1]]`},
		{[]uint64{4}, 0, `null`},
		{[]uint64{5, 1}, 0, `true`},
	} {
		if got := shown(drawAny((*numbered)(&c.numbers), c.depth)); got != c.want {
			t.Errorf("of %v it is %s, want %s", c.numbers, got, c.want)
		}
	}
}

// Integers are within their bounds.
func TestDrawInteger(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		numbers []uint64
		wanted  string
		want    int64
	}{
		{[]uint64{math.MaxUint64, 0, 0}, `{}`, -1},
		{[]uint64{math.MaxUint64, 1, 0}, `{}`, math.MaxInt64},
		{[]uint64{math.MaxUint64, 63, 0}, `{}`, 1},
		{[]uint64{math.MaxUint64, 1, 1}, `{"minimum":-5}`, -5},
		{[]uint64{7, 0, 0}, `{"maximum":5}`, 5},
	} {
		if got := drawInteger((*numbered)(&c.numbers), schemaOf(t, c.wanted)); got != c.want {
			t.Errorf("of %v it is %v, want %d", c.numbers, got, c.want)
		}
	}
}

// A mistake is in a member, or in an object of an array of it, and only what has one fault is told.
func TestSpoilt(t *testing.T) {
	t.Parallel()
	const wanted = `{"type":"object","required":["items"],"properties":{
		"items":{"type":"array","items":{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}}}},
		"note":{"type":"string","maxLength":3}}}`
	for _, c := range []struct {
		name    string
		numbers []uint64
		want    string
	}{
		{"an item", []uint64{0, 1, 1, 0, 0, 0}, `{"items":[{"id":1},{"id":null}]} /items/1/id nullable`},
		{"an item without a member", []uint64{0, 1, 0, 0, 1}, `{"items":[{},{"id":2}]} /items/0/id required`},
		{"a member", []uint64{0, 0, 0, 1, 1}, `{"items":true} /items type`},
		{"without a member", []uint64{0, 0, 1}, `{} /items required`},
		{"another member", []uint64{1, 1, 1}, `{"items":[{"id":1},{"id":2}],"note":true} /note type`},
		{"no mistake", []uint64{1, 2, 1, 0, 0, 0}, `null  `},
		{"one that is not told", []uint64{1, 2, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0}, `null  `},
	} {
		object, err := jsonvalue.Decode([]byte(`{"items":[{"id":1},{"id":2}]}`))
		if err != nil {
			t.Fatal(err)
		}
		spoilt, pointer, keyword := New(Settings{}).Spoil((*numbered)(&c.numbers), schemaOf(t, wanted), jsonvalue.Object(object))
		if got := shown(spoilt) + " " + pointer + " " + keyword; got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// An array of texts has no objects in which something may be wrong.
func TestSpoiltTexts(t *testing.T) {
	t.Parallel()
	wanted := schemaOf(t, `{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"}}}}`)
	spoilt, pointer, keyword := New(Settings{}).Spoil(&numbered{0, 1, 1}, wanted, map[string]any{"tags": []any{"a"}})
	if got := shown(spoilt) + " " + pointer + " " + keyword; got != `{"tags":true} /tags type` {
		t.Errorf("spoilt is %s", got)
	}
}

// An unknown member gets another name wherever it is, if the value is then as right or wrong as before.
func TestRenamed(t *testing.T) {
	t.Parallel()
	g := New(Settings{})
	const pointer = "/a/" + schema.UnknownMember
	inner := map[string]any{schema.UnknownMember: int64(1), "b": true}
	for _, c := range []struct{ wanted, name, value, pointer string }{
		{`{}`, "x/y", `{"a":[{"b":true,"x/y":1}],"x/y":2}`, "/a/x~1y"},
		{`{"required":["unknown-member"]}`, "x", `{"a":[{"b":true,"unknown-member":1}],"unknown-member":2}`, pointer},
	} {
		before := Variant{Pointer: pointer, Value: map[string]any{"a": []any{inner}, schema.UnknownMember: int64(2)}}
		after := g.Renamed(schemaOf(t, c.wanted), before, c.name)
		if shown(after.Value) != c.value || after.Pointer != c.pointer {
			t.Errorf("%s has become %s at %s", c.wanted, shown(after.Value), after.Pointer)
		}
	}
}

// A shuffle has all variants, in another order.
func TestShuffle(t *testing.T) {
	t.Parallel()
	var pointers, shuffled []string
	all := make([]Variant, 20)
	for i := range all {
		all[i].Pointer = fmt.Sprintf("%02d", i)
		pointers = append(pointers, all[i].Pointer)
	}
	New(Settings{}).Shuffle(all)
	for _, v := range all {
		shuffled = append(shuffled, v.Pointer)
	}
	if slices.Equal(shuffled, pointers) || !slices.Equal(slices.Sorted(slices.Values(shuffled)), pointers) {
		t.Errorf("the order is %v", shuffled)
	}
}

// What a test draws depends on the seed and on its name, and the order that it draws too.
func TestForTest(t *testing.T) {
	t.Parallel()
	draw := func(g *Generator) string {
		all := make([]Variant, 9)
		for i := range all {
			all[i].Pointer = fmt.Sprint(i)
		}
		g.Shuffle(all)
		text := fmt.Sprint(g.Below(1 << 20))
		for _, v := range all {
			text += " " + v.Pointer
		}
		return text
	}
	one := New(Settings{Seed: 1})
	first := draw(one.ForTest("a test"))
	draw(one)
	if draw(one.ForTest("a test")) != first || draw(New(Settings{Seed: 1}).ForTest("a test")) != first {
		t.Error("the same test draws something else")
	}
	if draw(one.ForTest("another test")) == first || draw(New(Settings{Seed: 2}).ForTest("a test")) == first {
		t.Error("another test draws the same")
	}
	if NumberOf("a test") != 0xefe94cfd6eedb80 {
		t.Errorf("the number of a test is %x", NumberOf("a test"))
	}
}
