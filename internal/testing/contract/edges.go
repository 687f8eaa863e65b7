package contract

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

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
