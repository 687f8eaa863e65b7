package values

import (
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"
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
func numberCandidates(wanted *openapi3.Schema) (all []candidate) {
	for _, number := range []json.Number{"1.5", "1", "0", "-1"} {
		all = append(all, candidate{"type", number})
	}
	all = append(all, numbersNear(wanted, []string{"multipleOf"}, big.NewRat(3, 2))...)
	low, high := Limits(wanted)
	all = append(all, numbersNear(wanted, lowerKeywords, edges(wanted.Min, low)...)...)
	all = append(all, numbersNear(wanted, upperKeywords, edges(wanted.Max, high)...)...)
	if wanted.Format == "int32" {
		// Cut to 32 bits, it may be within the bounds.
		all = append(all, candidate{"format", json.Number("2147483648")})
	}
	if wanted.Type.Is("integer") {
		// Beyond 2^53 a float64 is off by one.
		for _, number := range []int64{low, high, 1 << 53, 1<<53 + 1} {
			all = append(all, candidate{"type", json.Number(strconv.FormatInt(number, 10))})
		}
	}
	return all
}

// edges are where a range may end: at the bound, if the document has one, and at the last integer.
func edges(bound *float64, integer int64) []*big.Rat {
	last := new(big.Rat).SetInt64(integer)
	if bound == nil {
		return []*big.Rat{last}
	}
	return []*big.Rat{decimal(*bound), last}
}

// numbersNear are numbers at some edges and on both sides of them, and of the multiples after them, for the
// keywords that a schema has. Half a step beyond an edge is what rounding gets wrong.
func numbersNear(wanted *openapi3.Schema, keywords []string, edges ...*big.Rat) (all []candidate) {
	step := stepOf(wanted)
	var centers []*big.Rat
	for _, edge := range edges {
		centers = append(centers, multipleFrom(edge, step), edge)
	}
	demanded := demandedKeywords(wanted)
	for _, keyword := range keywords {
		if slices.Contains(demanded, keyword) {
			all = append(all, numbersAround(keyword, centers, step)...)
		}
	}
	return all
}

// numbersAround are numbers on both sides of others, for a keyword.
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
func stepOf(wanted *openapi3.Schema) *big.Rat {
	switch {
	case wanted.MultipleOf != nil && *wanted.MultipleOf > 0:
		return decimal(*wanted.MultipleOf)
	case wanted.Type.Is("integer"):
		return oneWhole
	}
	return oneHalf
}

// decimal is a number as the document has it.
func decimal(number float64) *big.Rat {
	exact, _ := new(big.Rat).SetString(strconv.FormatFloat(number, 'f', -1, 64)) // which is a number
	return exact
}

// numberOf writes a fraction with all of its digits, and without an exponent, which strict decoders of integers
// refuse.
func numberOf(exact *big.Rat) json.Number {
	digits, _ := exact.FloatPrec()
	return json.Number(exact.FloatString(digits))
}

// multipleFrom returns the first multiple of a step from a number on.
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
func (g *Generator) plainNumber(wanted *openapi3.Schema) any {
	for _, number := range numberCandidates(wanted) {
		if g.Fits(wanted, number.value) {
			return number.value
		}
	}
	return json.Number("1")
}

// Limits are the smallest and the largest integer that a schema allows.
func Limits(wanted *openapi3.Schema) (low, high int64) {
	low, high = math.MinInt64, math.MaxInt64
	if wanted.Format == "int32" {
		low, high = math.MinInt32, math.MaxInt32
	}
	if wanted.Min != nil {
		first := firstWhole(*wanted.Min, wanted.ExclusiveMin.IsTrue())
		low = max(low, saturated(first))
	}
	if wanted.Max != nil {
		last := -firstWhole(-*wanted.Max, wanted.ExclusiveMax.IsTrue())
		high = min(high, saturated(last))
	}
	return low, high
}

// firstWhole returns the first whole number that a lower bound allows.
func firstWhole(bound float64, isExclusive bool) float64 {
	whole := math.Ceil(bound)
	if isExclusive && whole == bound {
		return whole + 1
	}
	return whole
}

// saturated is a whole number as an int64, or the end of the range if it is beyond it. float64 has no 2^63-1, so
// a document that has it is read as 2^63.
func saturated(whole float64) int64 {
	switch {
	case whole >= math.MaxInt64:
		return math.MaxInt64
	case whole <= math.MinInt64:
		return math.MinInt64
	}
	return int64(whole)
}
