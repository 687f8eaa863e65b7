package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	sch "github.com/plantstore/plantstore/api/contracttest/internal/schema"

	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// most is the largest array or object that is made, where the document allows
// still larger ones.
const most = 1000

// longest is the longest text that is made, in characters.
const longest = 1 << 20

func orMost(n *uint64) uint64 {
	if n == nil {
		return most
	}
	return *n
}

// candidates tries values that may show that a keyword is obeyed, or broken: those at its
// edge and beside it.
func (g *generator) candidates(s *openapi3.Schema, try func(keyword string, value any)) {
	switch {
	case len(s.Enum) > 0:
		for i, v := range s.Enum {
			try("enum", jsonvalue.Normal(v))
			if s.Type.Is("integer") || s.Type.Is("number") {
				try("enum", int64(i+1))
			}
		}
		try("enum", int64(0))
		try("enum", fmt.Sprint(s.Enum[0], "?"))
		try("enum", "") // some services take it for an absent parameter
	case s.Type.Is("integer"), s.Type.Is("number"):
		g.numbers(s, try)
	case s.Type.Is("string"):
		g.texts(s, try)
	case s.Type.Is("array"):
		try("minItems", g.many(s, s.MinItems))
		if s.MinItems > 0 {
			try("minItems", g.many(s, s.MinItems-1))
		}
		if s.MaxItems != nil {
			try("maxItems", g.many(s, *s.MaxItems))
			try("maxItems", g.many(s, *s.MaxItems+1))
		}
		if s.UniqueItems {
			try("uniqueItems", g.many(s, max(s.MinItems, min(2, orMost(s.MaxItems)))))
			array := g.many(s, max(s.MinItems, 1))
			if uint64(len(array)) < orMost(s.MaxItems) {
				array = append(array, nil)
			}
			array[len(array)-1] = array[0]
			try("uniqueItems", array)
		}
	case sch.IsObject(s):
		g.objects(s, try)
	}
}

func (g *generator) objects(s *openapi3.Schema, try func(keyword string, value any)) {
	base := func() map[string]any { return g.simpleBase(s, false).(map[string]any) }
	if s.MinProps > 0 {
		try("minProperties", base())
		small := g.simpleBase(s, true).(map[string]any)
		for name := range small {
			if !slices.Contains(s.Required, name) && uint64(len(small)) >= s.MinProps {
				delete(small, name)
			}
		}
		try("minProperties", small)
	}
	if s.MaxProps != nil {
		try("maxProperties", base())
		try("maxProperties", g.grown(s, base(), *s.MaxProps+1))
	}
	switch {
	case sch.IsClosed(s):
		try("additionalProperties", base())
	case s.AdditionalProperties.Schema != nil:
		try("additionalProperties", g.with(s, judge.UnknownMember, g.additional(s)))
	default:
		try("additionalProperties", g.with(s, judge.UnknownMember, map[string]any{"deep": []any{nil}}))
	}
}

// numbers tries numbers at the bounds of a schema and beside them. It computes with decimal
// fractions, as the document has them.
func (g *generator) numbers(s *openapi3.Schema, try func(keyword string, value any)) {
	for _, n := range []json.Number{"1.5", "1", "0", "-1"} {
		try("type", n)
	}
	whole, one, half := s.Type.Is("integer"), big.NewRat(1, 1), big.NewRat(1, 2)
	step := half
	switch {
	case s.MultipleOf != nil && *s.MultipleOf > 0:
		step = decimal(*s.MultipleOf)
	case whole:
		step = one
	}
	demanded := demanded(s)
	near := func(bound *big.Rat, upwards bool, keywords ...string) {
		if whole || s.MultipleOf != nil {
			bound = multiple(bound, step, upwards)
		}
		for _, keyword := range keywords {
			for _, distance := range []*big.Rat{new(big.Rat), step, one, new(big.Rat).Mul(step, half)} {
				if slices.Contains(demanded, keyword) {
					try(keyword, number(new(big.Rat).Add(bound, distance)))
					try(keyword, number(new(big.Rat).Sub(bound, distance)))
				}
			}
		}
	}
	low, high := limits(s)
	least, greatest := new(big.Rat).SetInt64(low), new(big.Rat).SetInt64(high)
	if s.Min != nil && !whole {
		least = decimal(*s.Min)
	}
	if s.Max != nil && !whole {
		greatest = decimal(*s.Max)
	}
	near(big.NewRat(3, 2), true, "multipleOf")
	near(least, true, "minimum", "exclusiveMinimum", "multipleOf", "format")
	near(greatest, false, "maximum", "exclusiveMaximum", "multipleOf", "format")
	if s.Format == "int32" {
		try("format", json.Number("2147483648"))
	}
	if middle := new(big.Rat).Add(least, greatest); s.Min != nil && s.Max != nil && !whole {
		try("type", number(middle.Mul(middle, half)))
	}
	for _, n := range []int64{low, high, 1 << 53, 1<<53 + 1} { // beyond 2^53 a float64 is off by one
		if whole && low <= n && n <= high {
			try("type", json.Number(strconv.FormatInt(n, 10)))
		}
	}
}

// decimal is a number as the document has it, where a float64 is only near it.
func decimal(n float64) *big.Rat {
	r, _ := new(big.Rat).SetString(strconv.FormatFloat(n, 'f', -1, 64))
	return r
}

func number(r *big.Rat) json.Number {
	digits, _ := r.FloatPrec()
	return json.Number(r.FloatString(digits))
}

// multiple returns the first multiple of a step from n on.
func multiple(n, step *big.Rat, upwards bool) *big.Rat {
	times := new(big.Rat).Quo(n, step)
	whole := new(big.Int).Div(times.Num(), times.Denom()) // rounds down
	if upwards && !times.IsInt() {
		whole.Add(whole, big.NewInt(1))
	}
	return times.Mul(times.SetInt(whole), step)
}

// plainNumber returns a number that a schema allows.
func (g *generator) plainNumber(s *openapi3.Schema) any {
	var plain any
	g.numbers(s, func(_ string, n any) {
		if valid, _ := g.shows(s, "", n); valid && plain == nil {
			plain = n
		}
	})
	return cmp.Or(plain, any(json.Number("1")))
}

// limits are the smallest and the largest integer that a schema allows.
func limits(s *openapi3.Schema) (low, high int64) {
	low, high = math.MinInt64, math.MaxInt64
	if s.Format == "int32" {
		low, high = math.MinInt32, math.MaxInt32
	}
	if s.Min != nil {
		n := math.Ceil(*s.Min)
		if s.ExclusiveMin.IsTrue() && n == *s.Min {
			n++
		}
		low = max(low, int64(n))
	}
	if s.Max != nil {
		n := math.Floor(*s.Max)
		if s.ExclusiveMax.IsTrue() && n == *s.Max {
			n--
		}
		if n < math.MaxInt64 {
			high = min(high, int64(n))
		}
	}
	return low, high
}

// texts tries texts of the sch.Formats, patterns and lengths of a schema, and beside them.
func (g *generator) texts(s *openapi3.Schema, try func(keyword string, value any)) {
	plain, format := g.text(s), sch.Formats[s.Format]
	for _, text := range slices.Concat(format.Valid, format.Invalid) {
		try("format", text)
	}
	free := s.Pattern == "" && len(format.Valid) == 0 && !!sch.IsKnownFormat(s.Format)
	if s.Format != "" {
		try("format", plain) // of an unknown format it is the example
	}
	if s.Pattern != "" {
		try("pattern", plain)
		for _, text := range []string{"", "~", "a", "1", "ABC def", `"`, "\n", "\x00"} {
			try("pattern", text)
			try("pattern", padded(text, s))
		}
	}
	tried := texts
	if g.plain || g.recursive() {
		tried = append(slices.Clip(texts[:fewTexts]), texts[fewTexts+g.random.IntN(len(texts)-fewTexts)])
	}
	for _, text := range tried {
		if free {
			try("type", text)
		}
	}
	sized := func(keyword string, edge, beyond uint64) {
		if free {
			try(keyword, strings.Repeat("蘭", int(edge)))
		}
		try(keyword, plain)
		longer := *s
		longer.MinLength, longer.MaxLength = beyond, nil
		grown, _ := g.matchPattern(&longer)
		for _, text := range []string{strings.Repeat("x", int(beyond)), strings.Repeat("0", int(beyond)), grown} {
			try(keyword, text)
		}
	}
	if s.MinLength > 0 && s.MinLength <= longest {
		sized("minLength", s.MinLength, s.MinLength-1)
	}
	if s.MaxLength != nil && *s.MaxLength <= longest {
		sized("maxLength", *s.MaxLength, *s.MaxLength+1)
	}
}

// padded makes a text as long as a schema wants it. Lengths are in characters.
func padded(text string, s *openapi3.Schema) string {
	runes := []rune(text)
	if need := int(min(s.MinLength, longest)) - len(runes); need > 0 {
		return text + strings.Repeat("x", need)
	}
	if s.MaxLength != nil && uint64(len(runes)) > *s.MaxLength {
		// The end is what makes identities different.
		return string(runes[uint64(len(runes))-*s.MaxLength:])
	}
	return text
}
