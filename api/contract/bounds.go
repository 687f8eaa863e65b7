package contract

import (
	"math"
	"math/big"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// numberBound is a bound of a number.
type numberBound struct {
	value       any // int64 or float64
	isUpper     bool
	isExclusive bool
	message     string // of a number that is beyond
}

// boundsOf returns the bounds of numbers of a schema.
func boundsOf(schema *jsonschema.Schema) (bounds []numberBound) {
	for _, each := range []struct {
		number               *big.Rat
		isUpper, isExclusive bool
		words                string
	}{
		{schema.Minimum, false, false, "at least"},
		{schema.ExclusiveMinimum, false, true, "more than"},
		{schema.Maximum, true, false, "at most"},
		{schema.ExclusiveMaximum, true, true, "less than"},
	} {
		if each.number != nil {
			value := exactNumber(each.number)
			message := "must be " + each.words + " " + formatNumber(value)
			bounds = append(bounds, numberBound{value, each.isUpper, each.isExclusive, message})
		}
	}
	return bounds
}

// exactNumber returns a number of the document. A fraction is the nearest float64.
func exactNumber(number *big.Rat) any {
	if number.IsInt() && number.Num().IsInt64() {
		return number.Num().Int64()
	}
	nearest, _ := number.Float64()
	return nearest
}

// allows reports whether a number is within the bound.
func (b numberBound) allows(number any) bool {
	side := compareNumbers(number, b.value)
	if b.isUpper {
		side = -side
	}
	return side > 0 || side == 0 && !b.isExclusive
}

// sizeBounds are the bounds of the length of a text, or of a number of items or members.
type sizeBounds struct {
	least, most     int
	tooFew, tooMany string // messages
}

// unlimited is a size that no value has.
const unlimited = math.MaxInt

// newSizeBounds returns bounds of a number of things, or nil if there are none. The messages say which things are counted.
func newSizeBounds(least, most *int, thing, whose string) *sizeBounds {
	if least == nil && most == nil {
		return nil
	}
	made := &sizeBounds{most: unlimited}
	if least != nil {
		made.least = *least
	}
	if most != nil {
		made.most = *most
	}
	made.tooFew = "must have at least " + countOf(made.least, thing) + whose
	made.tooMany = "must have at most " + countOf(made.most, thing) + whose
	return made
}

func countOf(count int, thing string) string {
	if count != 1 {
		thing += "s"
	}
	return strconv.Itoa(count) + " " + thing
}

// withoutLeast returns the upper bound alone.
func (b *sizeBounds) withoutLeast() *sizeBounds {
	if b == nil {
		return nil
	}
	return &sizeBounds{most: b.most, tooMany: b.tooMany}
}

// holdSize holds a size to its bounds, and reports whether it is not too large.
func (v *visit) holdSize(bounds *sizeBounds, size int) bool {
	switch {
	case bounds == nil:
		return true
	case size < bounds.least:
		v.fault(bounds.tooFew)
	case size > bounds.most:
		v.fault(bounds.tooMany)
		return false
	}
	return true
}
