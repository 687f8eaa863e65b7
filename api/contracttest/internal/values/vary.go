package values

import (
	"cmp"
	"fmt"
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

// normalEnum returns a value of an enumeration, from its beginning again after its end.
func normalEnum(flat *schema.Schema, number int64) any {
	return jsonvalue.Normal(schema.ValuesOf(flat)[number%int64(len(schema.ValuesOf(flat)))])
}

// Rounds is how many varied bodies of a schema have each value of its enumerations, as far as they are not large, and
// tell each two of its booleans apart.
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

// Vary returns a value with others in place of those that are still the plainest ones; plain has these. So no two resources are
// alike, and no two members of one. If isShallow, what has a format, objects and arrays stay the plainest: some services know
// rules about them.
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
	object, items, plainItems := jsonvalue.Object(old), jsonvalue.List(old), jsonvalue.List(plain)
	if min(len(items), len(plainItems)) > 0 {
		return append([]any{v.vary(itemAt(shape, 0), plainItems[0], items[0])}, items[1:]...)
	}
	names := jsonvalue.Names(object)
	slices.SortStableFunc(names, func(one, other string) int { return PlaceInOrder(one) - PlaceInOrder(other) })
	varied := map[string]any{}
	for _, name := range names {
		varied[name] = object[name]
		if property := shape.Properties[name]; property != nil && !v.IsGiven(name) {
			varied[name] = v.vary(property, jsonvalue.Object(plain)[name], object[name])
		}
	}
	if object == nil {
		return old
	}
	return varied
}

// mostTries is how often another value is looked for that no other member has.
const mostTries = 8

// vary returns another value in place of an old one, or that, if it is not the plainest one, or the schema leaves no choice.
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

// choice is which of n values the i-th member has that has such a choice. Of two values, six members have others in at least
// one of three bodies, and each has both.
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

// number is another number. Where only few whole ones are allowed, it has a fraction.
func (v *varying) number(flat *schema.Schema) any {
	low, high := Limits(flat)
	low = max(low, 0)
	step := oneWhole
	if isNarrow := high-low < mostNumbers/8; isNarrow && schema.TypeOf(flat) == "number" {
		step = big.NewRat(1, 8)
	}
	step = cmp.Or(flat.MultipleOf, step)
	least := multipleFrom(big.NewRat(low, 1), step)
	room := new(big.Rat).Sub(big.NewRat(high, 1), least)
	times, _ := room.Quo(room, step).Float64()
	count := int64(min(max(times, 0), mostNumbers-1)) + 1
	first := v.turn % min(count-count/2, mostFirst)
	at := big.NewRat((first+v.next("number"))%count, 1)
	return numberOf(at.Add(least, at.Mul(at, step)))
}

// mostTimes is how many bodies have times of their own.
const mostTimes = 200

// timed is a text of a format of times that is after those that the body has already, or false if it is no such format. A date in
// the past stays there, as a date of birth must, and one in the future, as a date that is due.
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
		at = at.In(time.FixedZone("", 5*60*60+30*60))
	}
	return at.AddDate(0, 0, steps).Format(layouts[format]), true
}

// layouts are those of dates.
var layouts = map[string]string{"date": time.DateOnly, "date-time": time.RFC3339Nano}

// Moved is a date, or a time with one, some years and days after another one, or false if a value has no such format.
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

// inOrder is the plainest value of a member: of a date with a place in an order, a day before or after that of others.
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
	if schema.PatternOf(wanted) != "" {
		if text, ok := g.freshSample(wanted); ok {
			return text
		}
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
