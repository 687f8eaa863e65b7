package contracttest

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// numberAtEdge is a number near what a keyword allows.
type numberAtEdge struct {
	keyword string
	number  float64
}

func numbersAtEdges(s *openapi3.Schema) (all []numberAtEdge) {
	add := func(keyword string, n float64) { all = append(all, numberAtEdge{keyword, n}) }
	step := 0.5
	if s.MultipleOf != nil {
		step = *s.MultipleOf
	}
	if s.Min != nil {
		add("minimum", *s.Min)
		add("minimum", *s.Min-step)
		add("minimum", *s.Min+step)
		if s.ExclusiveMin.IsTrue() {
			add("exclusiveMinimum", *s.Min)
			add("exclusiveMinimum", *s.Min+step)
		}
	}
	if s.Max != nil {
		add("maximum", *s.Max)
		add("maximum", *s.Max+step)
		add("maximum", *s.Max-step)
		if s.ExclusiveMax.IsTrue() {
			add("exclusiveMaximum", *s.Max)
			add("exclusiveMaximum", *s.Max-step)
		}
	}
	if s.MultipleOf != nil {
		if n, err := strconv.ParseFloat(string(plainNumber(s).(json.Number)), 64); err == nil {
			add("multipleOf", n)
			add("multipleOf", n+step/2)
			add("multipleOf", n-step/2)
		}
	}
	return all
}

// exclusives adds the bounds themselves, which exclusive bounds forbid.
func exclusives(s *openapi3.Schema, low, high int64, add func(string, any)) {
	if s.Min != nil && s.ExclusiveMin.IsTrue() {
		add("exclusiveMinimum", low)
	}
	if s.Max != nil && s.ExclusiveMax.IsTrue() {
		add("exclusiveMaximum", high)
	}
}

func floor(n *float64) float64 {
	if n == nil {
		return 0
	}
	return math.Floor(*n)
}

func multipleBelow(s *openapi3.Schema, n int64) int64 {
	if s.MultipleOf == nil || *s.MultipleOf < 1 {
		return n
	}
	return n - n%int64(*s.MultipleOf)
}

func edge(set bool, keyword, otherwise string) string {
	if set {
		return keyword
	}
	return otherwise
}

// outside returns a value of the right type that no enum lists.
func outside(s *openapi3.Schema) any {
	if s.Type.Is("integer") || s.Type.Is("number") {
		n := int64(0)
		for _, v := range s.Enum {
			if m, err := strconv.ParseFloat(fmt.Sprint(v), 64); err == nil {
				n = max(n, int64(m)+1)
			}
		}
		return n
	}
	return fmt.Sprint(s.Enum[0], "?")
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

// multipleFrom returns the first multiple that a schema asks for, from n on.
func multipleFrom(s *openapi3.Schema, n int64) any {
	if s.MultipleOf == nil || *s.MultipleOf != math.Trunc(*s.MultipleOf) || *s.MultipleOf == 0 {
		return n
	}
	step := int64(*s.MultipleOf)
	if rest := n % step; rest > 0 {
		n += step - rest
	} else if rest < 0 {
		n -= rest
	}
	return n
}

// plainNumber returns a number that a schema allows.
func plainNumber(s *openapi3.Schema) any {
	candidates := []float64{1.5, 1, 0, 0.5, -1}
	if s.Min != nil {
		candidates = append(candidates, *s.Min, *s.Min+0.5, *s.Min+1, math.Ceil(*s.Min))
		if s.Max != nil {
			candidates = append(candidates, (*s.Min+*s.Max)/2)
		}
	}
	if s.Max != nil {
		candidates = append(candidates, *s.Max, *s.Max-0.5, *s.Max-1, math.Floor(*s.Max))
	}
	if m := s.MultipleOf; m != nil {
		for _, c := range slices.Clone(candidates) {
			candidates = append(candidates, math.Ceil(c / *m)**m)
		}
	}
	for _, c := range candidates {
		if numberFits(s, c) {
			return number(c)
		}
	}
	return number(candidates[0])
}

func numberFits(s *openapi3.Schema, n float64) bool {
	return s.VisitJSON(n) == nil
}

// number writes a float as JSON does.
func number(n float64) json.Number {
	return json.Number(strconv.FormatFloat(n, 'f', -1, 64))
}

// oneOff returns n+d, which may be beyond int64.
func oneOff(n, d int64) json.Number {
	return json.Number(new(big.Int).Add(big.NewInt(n), big.NewInt(d)).String())
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

// fitsText reports whether a schema of a string allows a text.
func fitsText(s *openapi3.Schema, text string) bool {
	length := uint64(len([]rune(text)))
	if length < s.MinLength || s.MaxLength != nil && length > *s.MaxLength {
		return false
	}
	if s.Pattern != "" {
		if compiled, err := compilePattern(s.Pattern); err != nil || !compiled.MatchString(text) {
			return false
		}
	}
	check := formats[s.Format].check
	return check == nil || check(text) == nil
}
