package values

import (
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"
)

var (
	oneWhole = big.NewRat(1, 1)
	oneHalf  = big.NewRat(1, 2)
)

// bounds are the numbers that a schema allows. They are decimal fractions, as the document has them,
// where a float64 is only near.
type bounds struct {
	wanted          *openapi3.Schema
	demanded        []string
	isWhole         bool
	step            *big.Rat // from one number that is allowed to the next
	least, greatest *big.Rat
	lowest, highest int64 // the integers between them
}

// boundsOf reads the bounds of a schema. Where it has none, integers have those of their format.
func boundsOf(wanted *openapi3.Schema) bounds {
	b := bounds{
		wanted:   wanted,
		demanded: demandedKeywords(wanted),
		isWhole:  wanted.Type.Is("integer"),
		step:     oneHalf,
	}
	switch {
	case wanted.MultipleOf != nil && *wanted.MultipleOf > 0:
		b.step = decimal(*wanted.MultipleOf)
	case b.isWhole:
		b.step = oneWhole
	}
	b.lowest, b.highest = Limits(wanted)
	b.least = new(big.Rat).SetInt64(b.lowest)
	b.greatest = new(big.Rat).SetInt64(b.highest)
	if wanted.Min != nil && !b.isWhole {
		b.least = decimal(*wanted.Min)
	}
	if wanted.Max != nil && !b.isWhole {
		b.greatest = decimal(*wanted.Max)
	}
	return b
}

// numberCandidates are numbers at the bounds of a schema and beside them.
func numberCandidates(wanted *openapi3.Schema) (all []candidate) {
	for _, number := range []json.Number{"1.5", "1", "0", "-1"} {
		all = append(all, candidate{"type", number})
	}
	b := boundsOf(wanted)
	all = append(all, b.near(big.NewRat(3, 2), true, "multipleOf")...)
	all = append(all, b.near(b.least, true, "minimum", "exclusiveMinimum", "multipleOf", "format")...)
	all = append(all, b.near(b.greatest, false, "maximum", "exclusiveMaximum", "multipleOf", "format")...)
	if wanted.Format == "int32" {
		all = append(all, candidate{"format", json.Number("2147483648")})
	}
	hasBounds := wanted.Min != nil && wanted.Max != nil
	if hasBounds && !b.isWhole {
		middle := new(big.Rat).Add(b.least, b.greatest)
		all = append(all, candidate{"type", numberOf(middle.Mul(middle, oneHalf))})
	}
	return append(all, b.integers()...)
}

// integers are those at the ends, and those at 2^53: beyond it a float64 is off by one.
func (b bounds) integers() (all []candidate) {
	if !b.isWhole {
		return nil
	}
	for _, number := range []int64{b.lowest, b.highest, 1 << 53, 1<<53 + 1} {
		if min(max(number, b.lowest), b.highest) == number {
			all = append(all, candidate{"type", json.Number(strconv.FormatInt(number, 10))})
		}
	}
	return all
}

// near are numbers at a bound and on both sides of it, for keywords that the schema has. Half a step beyond
// a bound is what rounding gets wrong.
func (b bounds) near(bound *big.Rat, upwards bool, keywords ...string) (all []candidate) {
	if b.isWhole || b.wanted.MultipleOf != nil {
		bound = multiple(bound, b.step, upwards)
	}
	halfStep := new(big.Rat).Mul(b.step, oneHalf)
	for _, keyword := range keywords {
		if !slices.Contains(b.demanded, keyword) {
			continue
		}
		for _, distance := range []*big.Rat{new(big.Rat), b.step, oneWhole, halfStep} {
			all = append(all,
				candidate{keyword, numberOf(new(big.Rat).Add(bound, distance))},
				candidate{keyword, numberOf(new(big.Rat).Sub(bound, distance))})
		}
	}
	return all
}

// decimal is a number as the document has it.
func decimal(number float64) *big.Rat {
	exact, _ := new(big.Rat).SetString(strconv.FormatFloat(number, 'f', -1, 64)) // which is a number
	return exact
}

// numberOf writes a fraction with all of its digits.
func numberOf(exact *big.Rat) json.Number {
	digits, _ := exact.FloatPrec()
	return json.Number(exact.FloatString(digits))
}

// multiple returns the first multiple of a step from a number on.
func multiple(number, step *big.Rat, upwards bool) *big.Rat {
	times := new(big.Rat).Quo(number, step)
	whole := new(big.Int).Div(times.Num(), times.Denom()) // rounds down
	if upwards && !times.IsInt() {
		whole.Add(whole, big.NewInt(1))
	}
	return times.Mul(times.SetInt(whole), step)
}

// plainNumber returns a number that a schema allows.
func (g *Generator) plainNumber(wanted *openapi3.Schema) any {
	for _, number := range numberCandidates(wanted) {
		if isAllowed, _ := g.verdict(wanted, "", number.value); isAllowed {
			return number.value
		}
	}
	return json.Number("1")
}

// Limits are the smallest and the largest integer that a schema allows. float64 has no 2^63-1, so a bound
// beyond int64 is cut.
func Limits(wanted *openapi3.Schema) (low, high int64) {
	low = math.MinInt64
	high = math.MaxInt64
	if wanted.Format == "int32" {
		low = math.MinInt32
		high = math.MaxInt32
	}
	if wanted.Min != nil {
		bound := math.Ceil(*wanted.Min)
		if wanted.ExclusiveMin.IsTrue() && bound == *wanted.Min {
			bound++
		}
		low = max(low, int64(bound))
	}
	if wanted.Max == nil {
		return low, high
	}
	bound := math.Floor(*wanted.Max)
	if wanted.ExclusiveMax.IsTrue() && bound == *wanted.Max {
		bound--
	}
	if bound < math.MaxInt64 {
		high = min(high, int64(bound))
	}
	return low, high
}
