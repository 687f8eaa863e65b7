package values

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// Values are drawn by their type alone, and so are mistakes. The judge says whether a drawn value is valid,
// and what is wrong with a mistake. So no keyword needs a way of its own to draw values or to break it.

// below draws a number from 0 to n-1.
func below(draws rand.Source, n int) int { return int(draws.Uint64() % uint64(n)) }

// coin draws one of two sides.
func coin(draws rand.Source) bool { return below(draws, 2) == 1 }

// Draw draws a valid value. Where the drawn one is not allowed, as hardly any is by a pattern, the
// value is the plainest. Identities are fresh, as in Base.
func (g *Generator) Draw(draws rand.Source, wanted *schema.Schema) any {
	if g.IsIdentity(wanted) || !g.enter(wanted) {
		return g.Base(wanted)
	}
	defer g.leave(wanted)
	if value := g.drawByType(draws, g.Flatten(wanted)); g.Fits(wanted, value) {
		return value
	}
	return g.Base(wanted)
}

// drawByType draws a value of the type of a schema. Fractions are not drawn: services round them.
func (g *Generator) drawByType(draws rand.Source, flat *schema.Schema) any {
	branches := g.Branches(flat)
	isNullable := schema.AllowsType(flat, "null")
	switch {
	case len(branches) > 0:
		return g.Base(branches[below(draws, len(branches))])
	case isNullable && below(draws, 4) == 3:
		return nil
	case schema.IsObject(flat):
		return g.drawObject(draws, flat)
	case schema.TypeOf(flat) == "array":
		return g.drawArray(draws, flat)
	case schema.TypeOf(flat) == "integer":
		return drawInteger(draws, flat)
	case schema.TypeOf(flat) == "boolean":
		return coin(draws)
	case schema.TypeOf(flat) == "string":
		return padded(drawText(draws), flat)
	}
	return g.Base(flat)
}

// drawObject draws which optional members an object has, and the values of all members but those that the options give.
func (g *Generator) drawObject(draws rand.Source, flat *schema.Schema) any {
	object := map[string]any{}
	for _, name := range PropertyNames(flat) {
		property := flat.Properties[name]
		isThere := isRequired(flat, name) || coin(draws)
		if !isThere || g.IsAbsent(property) {
			continue
		}
		object[name] = g.Draw(draws, property)
		if value, isGiven := g.given(name, property); isGiven {
			object[name] = value
		}
	}
	if takesAnyMember(flat) && coin(draws) {
		object[schema.UnknownMember] = drawAny(draws, 2)
	}
	return object
}

// takesAnyMember reports whether an object may have a member of which its schema says nothing.
func takesAnyMember(flat *schema.Schema) bool {
	return !schema.IsClosed(flat) && schema.More(flat) == nil
}

// drawArray draws a short array. An empty one shows little, so it has an item where it may.
func (g *Generator) drawArray(draws rand.Source, flat *schema.Schema) any {
	length := max(OrNone(flat.MinItems), 1) + below(draws, 5)
	array := make([]any, min(length, orMost(flat.MaxItems)))
	for i := range array {
		array[i] = g.Draw(draws, schema.Of(flat.Items2020))
	}
	return array
}

// drawInteger draws an integer within the bounds, as often a small one as a large one.
func drawInteger(draws rand.Source, flat *schema.Schema) any {
	number := int64(draws.Uint64() >> below(draws, 64))
	if coin(draws) {
		number = -number
	}
	low, high := Limits(flat)
	return min(max(number, low), high)
}

// spoilable are the keywords that Spoil breaks. Of the others a service may take more than the judge does, as
// the integer 1e2.
var spoilable = []string{"required", "type", "nullable", "enum"}

// Spoil returns an object with one fault, with the place of the fault and the keyword that is broken. The
// keyword is empty if the drawn mistake is none, or more than one: of two faults a service would report the
// first, and the second would stay unknown.
func (g *Generator) Spoil(draws rand.Source, wanted *schema.Schema, object map[string]any) (spoilt map[string]any, pointer, keyword string) {
	spoilt = g.changed(draws, wanted, object)
	faults := schema.Faults("", wanted, spoilt)
	if len(faults) != 1 || !slices.Contains(spoilable, faults[0].Keyword) {
		return nil, "", ""
	}
	return spoilt, strings.TrimSpace(faults[0].Where), faults[0].Keyword
}

// changed draws another value for one member of an object, leaves the member out, or does so in an object of its array. In
// a batch a service may check the first item only.
//
//	{"items": [{"size": 1}, {"size": null}]}   a member of an item
//	{"items": "x"}                             a member
//	{}                                         a required member is left out
func (g *Generator) changed(draws rand.Source, wanted *schema.Schema, object map[string]any) map[string]any {
	names := PropertyNames(wanted)
	name := names[below(draws, len(names))]
	item := schema.Of(wanted.Properties[name].Items2020)
	array := slices.Clone(jsonvalue.List(object[name]))
	hasObjects := len(array) > 0 && len(item.Properties) > 0
	changed := map[string]any{}
	maps.Copy(changed, object)
	switch {
	case hasObjects && coin(draws):
		i := below(draws, len(array))
		array[i] = g.changed(draws, item, jsonvalue.Object(array[i]))
		changed[name] = array
	case isRequired(wanted, name) && coin(draws):
		delete(changed, name)
	default:
		changed[name] = drawAny(draws, 1)
	}
	return changed
}

// drawnNumbers are numbers in forms that decoders treat differently.
var drawnNumbers = []json.Number{"0", "-1", "1.5", "1.0", "1e2", "-0.0", "9007199254740993"}

// drawAny draws any value, as deep as told.
func drawAny(draws rand.Source, depth int) any {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch below(draws, kinds) {
	case 0:
		return nil
	case 1:
		return coin(draws)
	case 2:
		return drawText(draws)
	case 3:
		return drawnNumbers[below(draws, len(drawnNumbers))]
	case 4:
		array := make([]any, below(draws, 4))
		for i := range array {
			array[i] = drawAny(draws, depth-1)
		}
		return array
	}
	object := map[string]any{}
	for range below(draws, 4) {
		object[drawText(draws)] = drawAny(draws, depth-1)
	}
	return object
}

// characters are a range of characters.
type characters struct {
	first rune
	count int
}

// drawnCharacters are those that texts are drawn from.
var drawnCharacters = []characters{
	{'a', 26},
	{'a', 26}, // twice, so that most texts can be read
	{' ', 95},
	{0, 0xd800}, // up to the surrogates, which no text has
	{'🌀', 256},
}

// drawText draws a few characters.
func drawText(draws rand.Source) (text string) {
	for below(draws, 6) > 0 {
		from := drawnCharacters[below(draws, len(drawnCharacters))]
		text += string(from.first + rune(below(draws, from.count)))
	}
	return text
}
