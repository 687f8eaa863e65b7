package values

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// The plainest values are all the same, and that hides mistakes: a service that returns the last thing for any identity,
// or stores a member in the column of another one, would pass. So what sequences create has another value for each member
// of a body, and for each body. A service may ask for an order of them: an end after its begin, a maximum above its
// minimum. So the values of one kind increase, in the order in which the names of the members say that they come.

// encoded is a value as text, to compare it with others.
func encoded(value any) string { return string(jsonvalue.Encode(value)) }

// normalEnum returns a value of an enumeration. After the last one comes the first one again.
func normalEnum(flat *schema.Schema, number int64) any {
	values := schema.ValuesOf(flat)
	return jsonvalue.Normal(values[number%int64(len(values))])
}

// Rounds is how many varied bodies of a schema are needed so that each value of its enumerations is in one of them, as far
// as these are not large, and so that no two of its booleans are alike in all of them.
func (g *Generator) Rounds(wanted *schema.Schema) int {
	rounds := 3
	flat := g.Flatten(wanted)
	for _, name := range PropertyNames(flat) {
		rounds = max(rounds, min(len(schema.ValuesOf(g.Flatten(flat.Properties[name]))), mostRounds))
	}
	return rounds
}

// mostRounds is the largest enumeration of which each value is sent.
const mostRounds = 8

// Vary returns a value with other members in place of the plainest ones, which are those of plain. So no two resources are
// alike, and no two members of one. A member that is not the plainest any more stays: it is known to be needed. If isShallow,
// objects, arrays and texts with a format stay, too: some services know rules about them.
//
//	plain {"id": 1, "name": "Ficus"}, value {"id": 7, "name": "Ficus"}: {"id": 7, "name": "Ficus 1000001"}
func (g *Generator) Vary(wanted *schema.Schema, plain, value any, isShallow bool) any {
	g.turn++
	body := &varying{Generator: g, first: g.drawn.Add(1), isShallow: isShallow, counts: map[string]int64{}, taken: map[string]bool{}}
	if varied := body.inner(wanted, plain, value); g.Fits(wanted, varied) {
		return varied
	}
	return value
}

// varying varies one body.
type varying struct {
	*Generator
	first     int64 // the number of the body
	isShallow bool
	counts    map[string]int64 // how many members of each kind have a value
	taken     map[string]bool  // values of members
}

// inner varies the members of an object, or the first item of an array. Any other value stays.
func (v *varying) inner(wanted *schema.Schema, plain, old any) any {
	shape := v.ShapeOf(wanted, plain)
	items, plainItems := jsonvalue.List(old), jsonvalue.List(plain)
	if len(items) > 0 && len(plainItems) > 0 {
		first := v.vary(itemAt(shape, 0), plainItems[0], items[0])
		return append([]any{first}, items[1:]...)
	}
	if object := jsonvalue.Object(old); object != nil {
		return v.members(shape, jsonvalue.Object(plain), object)
	}
	return old
}

// members varies the members of an object: first those whose values come before others, so that the values increase.
func (v *varying) members(shape *schema.Schema, plain, old map[string]any) map[string]any {
	names := jsonvalue.Names(old)
	slices.SortStableFunc(names, func(one, other string) int { return PlaceInOrder(one) - PlaceInOrder(other) })
	varied := maps.Clone(old)
	for _, name := range names {
		property := shape.Properties[name]
		if property != nil && !v.IsGiven(name) {
			varied[name] = v.vary(property, plain[name], old[name])
		}
	}
	return varied
}

// mostTries is how often another value is looked for that no other member has.
const mostTries = 8

// vary returns another value in place of an old one. The old one stays if it is not the plainest one any more, or if no other
// value is known that the schema allows. If none is left that no other member has, the last one is taken.
func (v *varying) vary(wanted *schema.Schema, plain, old any) (found any) {
	flat := v.WithoutNull(v.Flatten(wanted))
	isInner := jsonvalue.Object(old) != nil || jsonvalue.List(old) != nil
	switch {
	case isInner && !v.isShallow:
		return v.inner(flat, plain, old)
	case v.IsIdentity(wanted) || !jsonvalue.Same(plain, old):
		return old
	}
	found = old
	for range mostTries {
		value := v.other(flat, old)
		if v.Fits(wanted, value) {
			found = value
		}
		if !v.taken[encoded(found)] {
			break
		}
	}
	v.taken[encoded(found)] = true
	return found
}

// other makes another value of the type of an old one, if it knows one. Whether the schema allows it is
// not looked at.
func (v *varying) other(flat *schema.Schema, old any) any {
	text, isText := old.(string)
	choices := int64(len(schema.ValuesOf(flat)))
	switch {
	case choices > 0:
		return normalEnum(flat, v.choice(v.next("enum"), choices))
	case schema.TypeOf(flat) == "boolean":
		return v.choice(v.next("boolean"), 2) == 0
	case schema.IsNumber(flat):
		return v.number(flat)
	case !isText || v.isShallow && schema.FormatOf(flat) != "":
		return old
	}
	if at, isTime := v.timed(schema.FormatOf(flat), text); isTime {
		return at
	}
	text = padded(fmt.Sprint("Ficus ", v.drawn.Add(1)), flat)
	if v.Fits(flat, text) {
		return text
	}
	return v.Fresh(flat, nil)
}

// next counts the members of a kind, from 0.
func (v *varying) next(kind string) int64 {
	v.counts[kind]++
	return v.counts[kind] - 1
}

// choice is which of n values the i-th member has that has such a choice. Of two values, the members have the digits of 1 to 6
// in base 2, one in each of three bodies: no two members have the same digits, and each has both 0 and 1. Of more values,
// each member has the next one in each body, and members that have the same one now go on in other steps.
//
//	member 0   1 0 0     member 1   0 1 0     member 2   1 1 0     of two values, in three bodies
//	member 0   0 1 2     member 3   0 2 1     of three values
func (v *varying) choice(i, n int64) int64 {
	if n == 2 {
		return (i%6 + 1) >> (v.turn % 3) & 1
	}
	return (i + v.turn*(1+i/n)) % n
}

// Of the numbers that a schema allows, a hundred short ones are enough. Bodies begin with one of some of them.
const (
	mostNumbers = 100
	mostFirst   = 32
)

// number is another number: one of those from 0 or the lower bound on, in steps. The first member of a body has one of the
// first half of them, and each other member the next one. Where only few whole ones are allowed, they have a fraction.
func (v *varying) number(flat *schema.Schema) any {
	low, high := Limits(flat)
	low = max(low, 0)
	step := oneWhole
	isNarrow := high-low < mostNumbers/8
	if isNarrow && schema.TypeOf(flat) == "number" {
		step = big.NewRat(1, 8)
	}
	step = cmp.Or(flat.MultipleOf, step)
	least := multipleFrom(big.NewRat(low, 1), step)
	room := new(big.Rat).Sub(big.NewRat(high, 1), least)
	times, _ := room.Quo(room, step).Float64()
	count := int64(min(max(times, 0), mostNumbers-1)) + 1
	first := v.turn % min(count-count/2, mostFirst)
	steps := big.NewRat((first+v.next("number"))%count, 1)
	return numberOf(steps.Add(least, steps.Mul(steps, step))) // least + steps * step
}

// mostTimes is how many bodies have times of their own.
const mostTimes = 200

// timed is a text of a format of times, or false if it is no such format. It is after those that the body has already: the old
// one, moved by days and seconds that grow with each member and each body. A date in the past stays in the past, as a date of
// birth must, and one in the future in the future, as a date that is due. Every second one is in another zone.
func (v *varying) timed(format, old string) (text string, isTime bool) {
	i := v.next("time")
	steps := int(v.first%mostTimes + i)
	switch format {
	case "duration":
		return fmt.Sprintf("P%dDT4H", steps+1), true
	case "time":
		return time.Date(2000, 1, 1, 6, steps, 1+steps%58, 0, time.UTC).Format("15:04:05Z"), true
	}
	at, err := time.Parse(layouts[format], old)
	if err != nil {
		return "", false
	}
	at = at.Add(time.Duration(1+steps%58) * time.Second)
	if at.Before(time.Now()) {
		steps -= 2 * mostTimes
	}
	if (i+v.turn)%2 == 0 {
		at = at.In(time.FixedZone("", 5*60*60+30*60)) // +05:30
	}
	return at.AddDate(0, 0, steps).Format(layouts[format]), true
}

// layouts are how the formats with a date are written.
var layouts = map[string]string{"date": time.DateOnly, "date-time": time.RFC3339Nano}

// Moved is a date, or a date and time, some years and days after another one, or false if the value is none.
func Moved(format string, value any, years, days int) (text string, isDate bool) {
	layout := layouts[format]
	at, err := time.Parse(layout, fmt.Sprint(value))
	return at.AddDate(years, 0, days).Format(layout), err == nil && layout != ""
}

// Names of members whose values come before those of others, and after them.
var (
	beginnings = regexp.MustCompile(`(?i:(^|_)(begin|start|from|since|open|min|low|first|check_?in|birth))|[a-z](Begin|Start|From|Min|Low|First)`)
	endings    = regexp.MustCompile(`(?i:(^|_)(end|until|till|to$|due|clos|max|high|last|stop|finish|expir|return|deadline|check_?out))|[a-z](End|Until|Till|To|Due|Max|High|Last)`)
)

// PlaceInOrder is -1 if the value of a member with a name comes before those of others, 1 if it comes after them, or else 0.
func PlaceInOrder(name string) int {
	switch {
	case beginnings.MatchString(name):
		return -1
	case endings.MatchString(name):
		return 1
	}
	return 0
}

// inOrder is the plainest value of a member. A date is one day earlier if its name says that it comes before others, and one
// day later if it comes after them, unless the document or the options say what it is.
func (g *Generator) inOrder(name string, property *schema.Schema, plain any) any {
	flat := g.Flatten(property)
	other, isDate := Moved(schema.FormatOf(flat), plain, 0, PlaceInOrder(name))
	isOpen := schema.Example(flat) == nil && !g.IsGiven(name)
	if isDate && isOpen && g.Fits(property, other) {
		return other
	}
	return plain
}

// The forms of texts that no other test uses.
var freshForms = []string{"value%d", "value%d@plants.example", "https://plants.example/value%d", "00000000-0000-4000-8000-%012d"}

// Fresh returns a text that no other test uses, or at least a value that is not among others.
func (g *Generator) Fresh(wanted *schema.Schema, others []any) any {
	if text, ok := g.freshSample(wanted); ok {
		return text
	}
	for _, form := range freshForms {
		if text := fmt.Sprintf(form, g.drawn.Add(1)); g.Fits(wanted, text) {
			return text
		}
	}
	return g.another(wanted, others)
}

// IsPlaceholder reports whether a text is one that stands where a schema leaves it open.
func (g *Generator) IsPlaceholder(of *schema.Schema, text string) bool {
	return strings.HasPrefix(text, "Ficus") || text == g.Base(of)
}
