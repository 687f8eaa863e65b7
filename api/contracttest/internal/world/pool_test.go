package world

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// everything is what a pool has, a line for each name.
func everything(p *pool) (lines []string) {
	for name, entries := range p.entries {
		line := name + ":"
		for _, entry := range entries {
			line += " " + fmt.Sprint(entry.Value)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// What a response has is looked at as far as it may identify something.
func TestLearn(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	deep := func(levels int) any {
		var value any = object("id", "d1")
		for range levels {
			value = object("data", value)
		}
		return value
	}
	for _, c := range []struct {
		name  string
		value any
		want  []string
	}{
		{"an object", object("id", "f1"), []string{"flowid: f1"}},
		{"a name of several words", object("owner_id", "o1"), []string{"flowownerid: o1", "ownerid: o1"}},
		{"a number", object("id", json.Number("7")), []string{"flowid: 7"}},
		{"a fraction", object("id", json.Number("7.5")), nil},
		{"what is neither", object("id", true), nil},
		{"no text", object("id", ""), nil},
		{"a long text", object("id", long), []string{"flowid: " + long}},
		{"too long a text", object("id", long+"x"), nil},
		{"texts", object("ids", []any{"f1", "f2"}), []string{"flowid: f1"}},
		{"no texts", object("ids", []any{}), nil},
		{"an object in it", object("owner", object("id", "o1")), []string{"ownerid: o1"}},
		{"objects in it", object("owners", []any{object("id", "o1"), object("id", "o2")}), []string{"ownerid: o1 o2"}},
		{"the first items", []any{object("id", "1"), object("id", "2"), object("id", "3"), object("id", "4")}, []string{"flowid: 1 2 3"}},
		{"as deep as that", deep(3), []string{"flowid: d1"}},
		{"too deep", deep(4), nil},
		{"no object", "f1", nil},
	} {
		p := &pool{}
		p.learn([]string{"flow"}, c.value, Place{})
		if got := everything(p); !slices.Equal(got, c.want) {
			t.Errorf("%s: there is %q, want %q", c.name, got, c.want)
		}
	}
}

// A value is kept with its place, and with what else identifies its object.
func TestEntry(t *testing.T) {
	t.Parallel()
	p := &pool{}
	place := Place{Shape: "/pools/{}", Trail: []string{"p1"}}
	value := map[string]any{"id": "f1", "flow_names": "a", "size": json.Number("7"), "done": true, "inner": object("inner_id", "i1")}
	p.learn([]string{"flow"}, []any{value}, place)
	for name, want := range map[string]string{"flowid": "map[flowname:a id:f1 size:7]", "innerid": "map[innerid:i1]"} {
		got, ok := (&World{seen: *p}).Find([]string{name}, func(Entry) bool { return true })
		if !ok || fmt.Sprint(got.Beside) != want || fmt.Sprint(got.Place) != fmt.Sprint(place) {
			t.Errorf("%s is beside %v at %v", name, got.Beside, got.Place)
		}
	}
}

// Find takes the first name that has a suitable value, and says if there is none.
func TestFindFirst(t *testing.T) {
	t.Parallel()
	p := &pool{}
	p.add("a", Entry{Value: "a1"})
	p.add("b", Entry{Value: "b1"})
	p.add("b", Entry{Value: "b2"})
	for _, c := range []struct {
		names []string
		fits  string
		want  any
	}{
		{[]string{"a", "b"}, "ab", "a1"},
		{[]string{"b", "a"}, "ab", "b2"},
		{[]string{"a", "b"}, "b", "b2"},
		{[]string{"c", "b"}, "b1", "b1"},
		{[]string{"a", "b"}, "c", nil},
		{nil, "a", nil},
	} {
		got, ok := (&World{seen: *p}).Find(c.names, func(entry Entry) bool {
			return strings.HasPrefix(fmt.Sprint(entry.Value), c.fits) || c.fits == "ab"
		})
		if got.Value != c.want || ok != (c.want != nil) {
			t.Errorf("under %v that is %s there is %v, %v", c.names, c.fits, got.Value, ok)
		}
	}
}

// Only what was not known is counted, and what is dropped is not known any more, under none of its names.
func TestAdded(t *testing.T) {
	t.Parallel()
	p := &pool{}
	p.add("a", Entry{Value: "7"})
	p.add("a", Entry{Value: json.Number("7")}) // it is written alike
	p.add("a", Entry{Value: "8"})
	p.add("b", Entry{Value: "7"})
	if p.added != 3 {
		t.Errorf("%d values were added", p.added)
	}
	p.drop([]string{"a", "b", "c"}, json.Number("7"))
	if got := everything(p); !slices.Equal(got, []string{"a: 8", "b:"}) {
		t.Errorf("there is %q", got)
	}
	if len(p.entries) != 2 {
		t.Errorf("there are %d names", len(p.entries))
	}
}

// With a thing goes what was seen below it, and nothing else.
func TestDropBelow(t *testing.T) {
	t.Parallel()
	gone := Place{Shape: "/rooms/{}", Trail: []string{"r1"}}
	for _, c := range []struct {
		name  string
		place Place
		want  bool // it goes
	}{
		{"the thing", gone, true},
		{"a list below it", Place{Shape: "/rooms/{}/boards", Trail: []string{"r1"}}, true},
		{"a thing below it", Place{Shape: "/rooms/{}/boards/{}", Trail: []string{"r1", "b1"}}, true},
		{"another thing", Place{Shape: "/rooms/{}", Trail: []string{"r2"}}, false},
		{"below another thing", Place{Shape: "/rooms/{}/boards/{}", Trail: []string{"r2", "r1"}}, false},
		{"below something else", Place{Shape: "/halls/{}", Trail: []string{"r1"}}, false},
		{"below its path in another one", Place{Shape: "/old/rooms/{}", Trail: []string{"r1"}}, false},
		{"above it", Place{Shape: "/rooms"}, false},
		{"nowhere", Place{}, false},
	} {
		p := &pool{}
		p.add("a", Entry{Value: "other", Place: Place{Shape: "/others"}})
		p.add("a", Entry{Value: "seen", Place: c.place})
		p.dropBelow(gone)
		want := "a: other seen"
		if c.want {
			want = "a: other"
		}
		if got := everything(p); len(got) != 1 || got[0] != want {
			t.Errorf("%s: there is %q, want %q", c.name, got, want)
		}
	}
}
