package values

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// Values are drawn from numbers, and the numbers are kept, as package rapid does it. To make a body that
// fails smaller, the numbers are made fewer and smaller, and the value is drawn again: it is valid, or
// wrong in its one way, as before, which cutting members out of the body would not ensure.

// Draws are the random numbers that a value is made from. They are kept, so that it can be
// shrunk: fewer and smaller numbers make a plainer value.
type Draws struct {
	again  []uint64   // come first
	random *rand.Rand // then these; nil: zeroes
	Made   []uint64
}

// NewDraws returns numbers that are drawn from a seed.
func NewDraws(random *rand.Rand) *Draws { return &Draws{random: random} }

// Again returns numbers that were made before, and then zeroes.
func Again(numbers []uint64) *Draws { return &Draws{again: numbers} }

// below draws a number from 0 to n-1. The draw of 0 gives the plainest value, which is what shrinking aims
// at.
func (d *Draws) below(n int) int { return int(d.bits() % uint64(max(n, 1))) }

// Coin draws one of two sides.
func (d *Draws) Coin() bool { return d.below(2) == 1 }

// bits draws a number, and keeps it.
func (d *Draws) bits() (bits uint64) {
	switch at := len(d.Made); {
	case at < len(d.again):
		bits = d.again[at]
	case d.random != nil:
		bits = d.random.Uint64()
	}
	d.Made = append(d.Made, bits)
	return bits
}

// Shrink looks for fewer and smaller numbers that still fail. It takes the first success each time: the
// best body is not worth many requests.
func Shrink(found []uint64, attempts int, fails func([]uint64) bool) {
	for i := 0; i < len(found) && attempts > 0; attempts-- {
		replace := func(count int, with ...uint64) bool {
			shorter := slices.Concat(found[:i], with, found[min(i+count, len(found)):])
			if !fails(shorter) {
				return false
			}
			found = shorter
			return true
		}
		isShorter := replace(3) || replace(1)
		canBeLess := !isShorter && found[i] != 0
		isLess := canBeLess && (replace(1, 0) || replace(1, found[i]/2))
		if !isShorter && !isLess {
			i++
		}
	}
}

// Draw draws a valid value. Identities are fresh, as in Base.
func (g *Generator) Draw(draws *Draws, wanted *openapi3.Schema) any {
	if g.IsIdentity(wanted) || !g.enter(wanted) {
		return g.Base(wanted)
	}
	defer g.leave(wanted)
	flat := g.Flatten(wanted)
	if branches := g.Branches(flat); len(branches) > 0 {
		if value := g.Base(branches[draws.below(len(branches))]); g.Fits(wanted, value) {
			return value
		}
		return g.Base(wanted)
	}
	isNullable := flat.Nullable && flat.Type != nil
	switch {
	case isNarrow(flat):
		return g.Base(flat)
	case isNullable && draws.below(4) == 3:
		return nil
	case schema.IsObject(flat):
		return g.drawObject(draws, flat)
	case flat.Type.Is("array"):
		return g.drawArray(draws, flat)
	case flat.Type.Is("integer"):
		return drawInteger(draws, flat)
	case flat.Type.Is("boolean"):
		return draws.Coin()
	case flat.Type.Is("string"):
		return padded(drawText(draws), flat)
	}
	return g.Base(flat)
}

// isNarrow reports whether most values of a type are not allowed.
func isNarrow(flat *openapi3.Schema) bool {
	isChosen := flat.Not != nil || len(flat.Enum) > 0
	isOfForm := flat.Pattern != "" || schema.Formats[flat.Format].Check != nil
	isStepped := flat.MultipleOf != nil || flat.Type.Is("number")
	return isChosen || isOfForm || isStepped || flat.UniqueItems
}

// drawObject draws which optional members an object has, and their values.
func (g *Generator) drawObject(draws *Draws, flat *openapi3.Schema) any {
	object := map[string]any{}
	for _, name := range PropertyNames(flat) {
		property := flat.Properties[name].Value
		if g.IsAbsent(property) {
			continue
		}
		if isRequired(flat, name) || draws.Coin() {
			object[name] = g.Draw(draws, property)
		}
	}
	if takesAnyMember(flat) && draws.Coin() {
		object[schema.UnknownMember] = drawAny(draws, 2)
	}
	size := uint64(len(object))
	isOfSize := size >= flat.MinProps && size <= orMost(flat.MaxProps)
	if !isOfSize {
		return g.Base(flat)
	}
	return object
}

// takesAnyMember reports whether an object may have a member of which its schema says nothing.
func takesAnyMember(flat *openapi3.Schema) bool {
	isOpen := !schema.IsClosed(flat) && flat.AdditionalProperties.Schema == nil
	return isOpen && flat.MaxProps == nil
}

// drawArray draws a short array. An empty one shows little, so it has an item where it may.
func (g *Generator) drawArray(draws *Draws, flat *openapi3.Schema) any {
	most := int(min(orMost(flat.MaxItems), 5))
	least := max(int(flat.MinItems), min(1, most))
	array := make([]any, least+draws.below(max(most, least)-least+1))
	for i := range array {
		array[i] = g.Draw(draws, schema.Of(flat.Items))
	}
	return array
}

// drawInteger draws an integer within the bounds.
func drawInteger(draws *Draws, flat *openapi3.Schema) any {
	low, high := Limits(flat)
	// As often small as large.
	number := int64(draws.bits() >> draws.below(64))
	return min(max(number*int64(1-2*draws.below(2)), low), high)
}

// Spoil breaks one member of an object, or of one in it, and says which and by which keyword. The keyword
// is empty if nothing is broken. One fault only: of two, a service would report the first, and the second
// would stay unknown.
func (g *Generator) Spoil(draws *Draws, wanted *openapi3.Schema, object map[string]any) (pointer, keyword string) {
	names := PropertyNames(wanted)
	name := names[draws.below(len(names))]
	property := wanted.Properties[name].Value
	pointer = "/" + jsonvalue.Escape(name)
	array := jsonvalue.List(object[name])
	if item := schema.Of(property.Items); len(array) > 0 && len(item.Properties) > 0 {
		i := draws.below(len(array))
		if inner := jsonvalue.Object(array[i]); inner != nil {
			below, keyword := g.Spoil(draws, item, inner)
			return fmt.Sprintf("%s/%d%s", pointer, i, below), keyword
		}
	}
	if g.IsAbsent(property) {
		return "", ""
	}
	if isRequired(wanted, name) && draws.Coin() {
		delete(object, name)
		return pointer, "required"
	}
	plain := jsonvalue.Normal(g.Base(property))
	wrong := drawAny(draws, 1)
	isOfType := fmt.Sprintf("%T", wrong) == fmt.Sprintf("%T", plain)
	if isOfType || g.Fits(property, wrong) {
		return "", ""
	}
	object[name] = wrong
	if wrong == nil {
		return pointer, "nullable"
	}
	return pointer, "type"
}

// drawnNumbers are numbers in forms that decoders treat differently.
var drawnNumbers = []json.Number{"0", "-1", "1.5", "1.0", "1e2", "-0.0", "9007199254740993"}

// drawAny draws any value, as deep as told.
func drawAny(draws *Draws, depth int) any {
	switch draws.below(4 + 2*min(depth, 1)) {
	case 0:
		return nil
	case 1:
		return draws.Coin()
	case 2:
		return drawText(draws)
	case 3:
		return drawnNumbers[draws.below(len(drawnNumbers))]
	case 4:
		array := make([]any, draws.below(4))
		for i := range array {
			array[i] = drawAny(draws, depth-1)
		}
		return array
	}
	object := map[string]any{}
	for range draws.below(4) {
		object[drawText(draws)] = drawAny(draws, depth-1)
	}
	return object
}

// The characters that texts are drawn from, many of them letters: the first one and how many.
var drawnCharacters = [][2]int{{'a', 26}, {'a', 26}, {' ', 95}, {0, 0xd800}, {0x1f300, 256}}

// drawText draws a few characters. Three draws are a character.
func drawText(draws *Draws) (text string) {
	for draws.below(6) > 0 {
		from := drawnCharacters[draws.below(len(drawnCharacters))]
		text += string(rune(from[0] + draws.below(from[1])))
	}
	return text
}
