package values

import (
	"cmp"
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// Numbers are decimal fractions here, as the document has them: a float64 is only near 0.1, so a value at
// such a bound would be on the wrong side of it.

var (
	oneWhole = big.NewRat(1, 1)
	oneHalf  = big.NewRat(1, 2)
)

// The keywords that may be broken at the end of a range.
var (
	lowerKeywords = []string{"minimum", "exclusiveMinimum", "multipleOf", "format"}
	upperKeywords = []string{"maximum", "exclusiveMaximum", "multipleOf", "format"}
)

// numberCandidates are numbers at the bounds of a schema and beside them.
func numberCandidates(wanted *schema.Schema) (all []candidate) {
	for _, number := range []json.Number{"1.5", "1", "0", "-1"} {
		all = append(all, candidate{"type", number})
	}
	all = append(all, numbersNear(wanted, []string{"multipleOf"}, big.NewRat(3, 2))...)
	low, high := Limits(wanted)
	all = append(all, numbersNear(wanted, lowerKeywords, edges(lowerBound(wanted), low)...)...)
	all = append(all, numbersNear(wanted, upperKeywords, edges(upperBound(wanted), high)...)...)
	if schema.FormatOf(wanted) == "int32" {
		// Cut to 32 bits, it may be within the bounds.
		all = append(all, candidate{"format", json.Number("2147483648")})
	}
	if schema.TypeOf(wanted) == "integer" {
		// Beyond 2^53 a float64 is off by one.
		for _, number := range []int64{low, high, 1 << 53, 1<<53 + 1} {
			all = append(all, candidate{"type", json.Number(strconv.FormatInt(number, 10))})
		}
	}
	return all
}

// edges are where a range may end: at the bound, if the document has one, and at the last integer: of a maximum of 7.5, at 7.5
// and at 7.
func edges(bound *big.Rat, integer int64) []*big.Rat {
	last := new(big.Rat).SetInt64(integer)
	if bound == nil {
		return []*big.Rat{last}
	}
	return []*big.Rat{bound, last}
}

// lowerBound is the stricter one of the lower bounds of a schema, or nil.
func lowerBound(wanted *schema.Schema) *big.Rat {
	return strictest(wanted.Minimum, wanted.ExclusiveMinimum, 1)
}

// upperBound is the stricter one of the upper bounds of a schema, or nil.
func upperBound(wanted *schema.Schema) *big.Rat {
	return strictest(wanted.Maximum, wanted.ExclusiveMaximum, -1)
}

// strictest is the larger one of a bound and an exclusive bound, which may be absent, or the smaller one if sign is -1. Of
// two equal ones it is the exclusive bound.
func strictest(bound, exclusive *big.Rat, sign int) *big.Rat {
	if bound == nil || exclusive == nil {
		return cmp.Or(bound, exclusive)
	}
	if bound.Cmp(exclusive) == sign {
		return bound
	}
	return exclusive
}

// numbersNear are numbers at the ends of a range and on both sides of them, and of the multiples after them, for those of
// the keywords that a schema has. Half a step beyond an end is what rounding gets wrong.
//
//	minimum 10, multipleOf 4   12, 16, 8, 13, 11, 14, 10, and the same around 10
func numbersNear(wanted *schema.Schema, keywords []string, ends ...*big.Rat) (all []candidate) {
	step := stepOf(wanted)
	var centers []*big.Rat
	for _, end := range ends {
		centers = append(centers, multipleFrom(end, step), end)
	}
	demanded := demandedKeywords(wanted)
	for _, keyword := range keywords {
		if slices.Contains(demanded, keyword) {
			all = append(all, numbersAround(keyword, centers, step)...)
		}
	}
	return all
}

// numbersAround are some numbers for a keyword, and others on both sides of each: one step, 1 and half a step away.
func numbersAround(keyword string, centers []*big.Rat, step *big.Rat) (all []candidate) {
	halfStep := new(big.Rat).Mul(step, oneHalf)
	for _, center := range centers {
		for _, distance := range []*big.Rat{new(big.Rat), step, oneWhole, halfStep} {
			all = append(all,
				candidate{keyword, numberOf(new(big.Rat).Add(center, distance))},
				candidate{keyword, numberOf(new(big.Rat).Sub(center, distance))})
		}
	}
	return all
}

// stepOf is how far a number of a schema is from the next one. Fractions have no next one.
func stepOf(wanted *schema.Schema) *big.Rat {
	switch {
	case wanted.MultipleOf != nil:
		return wanted.MultipleOf
	case schema.TypeOf(wanted) == "integer":
		return oneWhole
	}
	return oneHalf
}

// numberOf writes a fraction with all of its digits, and without an exponent, which strict decoders of integers
// refuse.
func numberOf(exact *big.Rat) json.Number {
	digits, _ := exact.FloatPrec()
	return json.Number(exact.FloatString(digits))
}

// multipleFrom returns the first multiple of a step from a number on: of 5, from 7 on, it is 10.
func multipleFrom(number, step *big.Rat) *big.Rat {
	times := new(big.Rat).Quo(number, step)
	if !times.IsInt() {
		below := new(big.Int).Div(times.Num(), times.Denom()) // rounds down
		times.SetInt(below.Add(below, big.NewInt(1)))
	}
	return times.Mul(times, step)
}

// plainNumber returns a number that a schema allows. If none of the candidates is allowed, any other is as good:
// a test knows no valid request then.
func (g *Generator) plainNumber(wanted *schema.Schema) any {
	for _, number := range numberCandidates(wanted) {
		if g.Fits(wanted, number.value) {
			return number.value
		}
	}
	return json.Number("1")
}

// Limits are the smallest and the largest integer that a schema allows.
func Limits(wanted *schema.Schema) (low, high int64) {
	low, high = math.MinInt64, math.MaxInt64
	if schema.FormatOf(wanted) == "int32" {
		low, high = math.MinInt32, math.MaxInt32
	}
	if bound := lowerBound(wanted); bound != nil {
		low = max(low, saturated(firstWhole(bound, bound == wanted.ExclusiveMinimum)))
	}
	if bound := upperBound(wanted); bound != nil {
		// The last one below 7.5 is 7, because the first one above -7.5 is -7.
		last := firstWhole(new(big.Rat).Neg(bound), bound == wanted.ExclusiveMaximum)
		high = min(high, saturated(last.Neg(last)))
	}
	return low, high
}

// firstWhole returns the first whole number that a lower bound allows.
func firstWhole(bound *big.Rat, isExclusive bool) *big.Int {
	whole := multipleFrom(bound, oneWhole)
	if isExclusive && whole.Cmp(bound) == 0 {
		whole.Add(whole, oneWhole)
	}
	return whole.Num()
}

// saturated is a whole number as an int64, or the end of the range if it is beyond it.
func saturated(whole *big.Int) int64 {
	switch {
	case whole.IsInt64():
		return whole.Int64()
	case whole.Sign() > 0:
		return math.MaxInt64
	}
	return math.MinInt64
}
