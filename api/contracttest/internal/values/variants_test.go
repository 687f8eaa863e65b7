package values

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/schematest"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// shown is a value as a table has it: in ASCII, and not longer than a line.
func shown(value any) string {
	text := encoded(value)
	if len(text) > 120 {
		return strconv.Itoa(len(text)) + " bytes"
	}
	var ascii strings.Builder
	for _, r := range text {
		if r > 0x7e {
			fmt.Fprintf(&ascii, `\u%04x`, r)
		} else {
			ascii.WriteRune(r)
		}
	}
	return ascii.String()
}

// table are variants, a line for each keyword at each place: what is accepted, and what is refused. Three dots are a demand.
func table(all []Variant) (lines []string) {
	var places []string
	sides := map[string]*[2][]string{}
	for _, v := range all {
		place := strings.TrimSpace(v.Pointer + " " + v.Keyword)
		if sides[place] == nil {
			places = append(places, place)
			sides[place] = &[2][]string{}
		}
		text := shown(v.Value)
		isDemand := v.Demand && v.Value == nil
		if isDemand {
			text = "..."
		}
		side := map[bool]int{true: 0, false: 1}[v.Valid]
		sides[place][side] = append(sides[place][side], text)
	}
	for _, place := range places {
		accepted := strings.Join(sides[place][0], " ")
		refused := strings.Join(sides[place][1], " ")
		lines = append(lines, strings.TrimRight(place+": "+accepted+" | "+refused, " "))
	}
	return lines
}

// Of each schema of the table, the plainest value, and the values on both sides of each keyword. A value obeys or breaks the
// schema as it says, and what is broken is where it says.
func TestVariantTable(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"3.0.3", "3.1.0"} {
		checkVariantTable(t, version)
	}
}

// checkVariantTable checks the table of schemas of a version of OpenAPI.
func checkVariantTable(t *testing.T, version string) {
	t.Helper()
	text, err := os.ReadFile("testdata/variants " + version + ".txt")
	must.NoError(t, err)
	for part := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		described, want, _ := strings.Cut(part, "\n")
		wanted := schematest.Read(t, version, "{Wanted: "+described+"}").Component("Wanted", schema.Request)
		got := append([]string{"plainest: " + shown(New(Settings{}).Base(wanted))}, table(New(Settings{}).Variants(wanted))...)
		if text := strings.Join(got, "\n"); text != want {
			t.Errorf("%s\nhas\n%s\nwant\n%s\n", described, text, want)
		}
		for _, variant := range New(Settings{}).Variants(wanted) {
			faults := schema.Faults("", wanted, variant.Value)
			isHere := func(f scenario.Fault) bool {
				where := strings.TrimSpace(f.Where)
				return where == "" || strings.HasPrefix(where, parent(variant)) // of a choice only the whole is broken
			}
			isAsMeant := len(faults) == 0 && variant.Valid || !variant.Valid && slices.ContainsFunc(faults, isHere)
			if !variant.Demand && !isAsMeant {
				t.Errorf("%s: %v must be %sed at %s: %v", described, variant.Value, variant.Duty(), variant.Pointer, faults)
			}
		}
	}
}

// checkTable reports an error unless variants are as wanted, or those of a keyword at a place are.
func checkTable(t *testing.T, all []Variant, want ...string) {
	t.Helper()
	if got := table(all); !slices.Equal(got, want) {
		t.Errorf("the variants are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// at are the variants of a keyword at a place.
func at(all []Variant, pointer, keyword string) []Variant {
	return slices.DeleteFunc(all, func(v Variant) bool { return v.Pointer != pointer || v.Keyword != keyword })
}

// A service with strict JSON refuses numbers that are no integers to it.
func TestLooseIntegers(t *testing.T) {
	t.Parallel()
	strict := New(Settings{Rules: scenario.Rules{StrictJSON: true}})
	checkTable(t, at(strict.Variants(schemaOf(t, `{"type":"integer","maximum":1}`)), "", "type"),
		`type: 1 ... 1 0 -1 -9223372036854775808 | [] true 1.5 {} "1" 1.0 1e2 1e400 400 bytes ... 1.5`)
	checkTable(t, at(strict.Variants(schemaOf(t, `{"type":"number","maximum":1}`)), "", "type"),
		`type: 1 ... 1 0 -1 | [] true {} "1" ...`)
}

// Of a request what only a response has is no part, and the other way round.
func TestDirections(t *testing.T) {
	t.Parallel()
	read := schematest.Read(t, "3.0.3", `{Wanted: {type: object, properties: {a: {type: boolean, readOnly: true}, b: {type: boolean, writeOnly: true}, c: {type: boolean}}}}`)
	for direction, want := range map[schema.Direction]string{
		schema.Request:  `{"b":true,"c":true}`,
		schema.Received: `{"a":true,"c":true}`,
	} {
		g := New(Settings{})
		wanted := read.Component("Wanted", direction)
		if got := shown(g.Base(wanted)); got != want {
			t.Errorf("in direction %v it is %s, want %s", direction, got, want)
		}
		isOfOther := func(v Variant) bool {
			return strings.HasPrefix(v.Pointer, "/a") && direction == schema.Request
		}
		if slices.ContainsFunc(g.Variants(wanted), isOfOther) {
			t.Error("there are variants of what a request does not have")
		}
	}
}

// In a large document few odd texts are tried, and one that is drawn.
func TestFewTexts(t *testing.T) {
	t.Parallel()
	wanted := schemaOf(t, `{"type":"string"}`)
	texts := map[string]bool{}
	for test := range 40 {
		all := at(New(Settings{Few: true}).ForTest(fmt.Sprint(test)).Variants(wanted), "", "type")
		all = slices.DeleteFunc(all, func(v Variant) bool { return !v.Valid || v.Demand })
		// The plainest one, and those of every document.
		if len(all) != 1+5+1 {
			t.Fatalf("there are %d texts", len(all))
		}
		last := fmt.Sprint(all[len(all)-1].Value)
		if !slices.Contains(robustnessStrings[5:], last) {
			t.Errorf("%q was drawn", last)
		}
		texts[last] = true
	}
	if len(texts) < 5 {
		t.Errorf("only %v were drawn", texts)
	}
}

// list is a schema that leads to itself: an object with one of the same kind.
func list(t *testing.T) *schema.Schema {
	t.Helper()
	return schemaOf(t, `{type: object, properties: {a: {type: boolean}, next: {$ref: '#/components/schemas/Wanted'}}}`)
}

// A schema that leads to itself is followed twice, and all of its keywords are tried once.
func TestRecursion(t *testing.T) {
	t.Parallel()
	g := New(Settings{})
	if got, want := shown(g.Base(list(t))), `{"a":true,"next":{"a":true,"next":{}}}`; got != want {
		t.Errorf("the plainest value is %s, want %s", got, want)
	}
	all := g.Variants(list(t))
	for place, want := range map[string]int{"/a": 5, "/next/a": 1, "/next/next/a": 0} {
		refused := slices.DeleteFunc(at(slices.Clone(all), place, "type"), func(v Variant) bool { return !v.isBroken() })
		if len(refused) != want {
			t.Errorf("at %s %d values have another type, want %d", place, len(refused), want)
		}
	}
	checkTable(t, slices.DeleteFunc(at(slices.Clone(all), "/next", "type"), func(v Variant) bool { return !v.Valid }),
		`/next type: {"a":true,"next":{}} ... |`)
	endless := schemaOf(t, `{type: object, required: [next], properties: {next: {$ref: '#/components/schemas/Wanted'}}}`)
	if got, want := shown(g.Base(endless)), `{"next":{"next":{"next":{"next":{"next":null}}}}}`; got != want {
		t.Errorf("the plainest value is %s, want %s", got, want)
	}
	array := schemaOf(t, `{type: array, items: {$ref: '#/components/schemas/Wanted'}}`)
	if got, want := shown(g.Base(array)), `[[[]]]`; got != want {
		t.Errorf("the plainest value is %s, want %s", got, want)
	}
}

// What is too much work is left out, and said so once.
func TestExhausted(t *testing.T) {
	t.Parallel()
	wanted := schemaOf(t, `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"object","properties":{"c":{"type":"boolean"}}}}}}}`)
	// With 70 all is left out the first time, and nothing the second time, because bases are kept.
	for enough, want := range map[int]int{1: 1, 10: 1, 30: 2, 60: 3, 70: 3} {
		g := New(Settings{Enough: enough})
		time.AfterFunc(10*time.Second, g.Stop)
		deepest := 0
		for _, v := range g.Variants(wanted) {
			if !v.Demand && g.Fits(wanted, v.Value) != v.Valid {
				t.Errorf("of %d values %s at %s should be %s", enough, shown(v.Value), v.Pointer, v.Duty())
			}
			if !v.Demand {
				deepest = max(deepest, strings.Count(v.Pointer, "/"))
			}
		}
		if deepest != want || g.stopped.Load() {
			t.Errorf("of %d values the deepest is %d deep, want %d", enough, deepest, want)
		}
		if !g.TakeExhausted() || g.TakeExhausted() {
			t.Errorf("of %d values it is not said once that some were left out", enough)
		}
	}
	if New(Settings{}).TakeExhausted() {
		t.Error("values were left out before there were any")
	}
	stopped := New(Settings{})
	stopped.ForTest("a test").Stop()
	if all := stopped.Variants(wanted); all != nil {
		t.Errorf("after a stop there are %v", table(all))
	}
}

// An index in a promise is a star.
func TestPlace(t *testing.T) {
	t.Parallel()
	for pointer, want := range map[string]string{"": "", "/0": "/*", "/a/12/b": "/a/*/b", "/a1/b": "/a1/b", "/1a": "/1a", "/0/1": "/*/*", "/a/0/1/b": "/a/*/*/b"} {
		if got := Place(pointer); got != want {
			t.Errorf("%s is %s, want %s", pointer, got, want)
		}
	}
}

// Obeying are the valid variants alone.
func TestObeying(t *testing.T) {
	t.Parallel()
	checkTable(t, New(Settings{}).Obeying(schemaOf(t, `{"type":"integer","minimum":1,"maximum":2}`)), "type: 1 1 |", "minimum: 1 |", "maximum: 2 |")
}
