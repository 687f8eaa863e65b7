package contract

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
)

// Numbers are int64 or float64. Integers are compared exactly: a float64 has only those up to 2^53.

// plainNumber returns an int64 for a whole number that fits.
func plainNumber(number float64) any {
	if isWhole := number == math.Trunc(number); isWhole && math.Abs(number) < 1<<63 {
		return int64(number)
	}
	return number
}

// plainValue returns a value of the document as the decoder would read it, but for whole numbers, which are int64.
func plainValue(value any) any {
	switch value := value.(type) {
	case float64:
		return plainNumber(value)
	case int:
		return int64(value)
	case uint64:
		return numberOf(strconv.FormatUint(value, 10))
	case json.Number:
		if number, isFloat := numberOf(value.String()).(float64); isFloat {
			return plainNumber(number)
		}
		return numberOf(value.String())
	case []any:
		items := make([]any, len(value))
		for i, item := range value {
			items[i] = plainValue(item)
		}
		return items
	case map[string]any:
		members := make(map[string]any, len(value))
		for name, member := range value {
			members[name] = plainValue(member)
		}
		return members
	}
	return value
}

// compareNumbers returns -1, 0 or 1, as [cmp.Compare] does.
func compareNumbers(one, other any) int {
	whole, isWhole := one.(int64)
	otherWhole, isOtherWhole := other.(int64)
	switch {
	case isWhole && isOtherWhole:
		return cmp.Compare(whole, otherWhole)
	case isWhole:
		return compareMixed(whole, other.(float64))
	case isOtherWhole:
		return -compareMixed(otherWhole, one.(float64))
	}
	return cmp.Compare(one.(float64), other.(float64))
}

func compareMixed(whole int64, number float64) int {
	if math.Abs(number) >= 1<<63 {
		return cmp.Compare(0, number)
	}
	truncated := math.Trunc(number)
	return cmp.Or(cmp.Compare(whole, int64(truncated)), cmp.Compare(truncated, number))
}

// isMultiple reports whether a number is a multiple of another one. A float64 is the decimal number with the fewest digits that
// is read as it: 0.3 is a multiple of 0.1.
func isMultiple(number, of any) bool {
	whole, isWhole := number.(int64)
	ofWhole, isOfWhole := of.(int64)
	if isWhole && isOfWhole {
		return ofWhole != 0 && whole%ofWhole == 0
	}
	dividend, divisor := decimal(number), decimal(of)
	return divisor.Sign() != 0 && new(big.Rat).Quo(dividend, divisor).IsInt()
}

func decimal(number any) *big.Rat {
	exact, _ := new(big.Rat).SetString(formatNumber(number))
	return cmp.Or(exact, new(big.Rat))
}

// formatNumber returns the shortest text of a number.
func formatNumber(number any) string {
	if whole, isWhole := number.(int64); isWhole {
		return strconv.FormatInt(whole, 10)
	}
	return strconv.FormatFloat(number.(float64), 'g', -1, 64)
}

func isNumber(value any) bool {
	switch value.(type) {
	case int64, float64:
		return true
	}
	return false
}

// isSame reports whether two values are equal: 1 and 1.0 are.
func isSame(one, other any) bool {
	switch one := one.(type) {
	case int64, float64:
		return isNumber(other) && compareNumbers(one, other) == 0
	case []any:
		items, isArray := other.([]any)
		return isArray && slices.EqualFunc(one, items, isSame)
	case map[string]any:
		members, isObject := other.(map[string]any)
		return isObject && maps.EqualFunc(one, members, isSame)
	}
	switch other.(type) {
	case []any, map[string]any:
		return false // these cannot be compared with ==
	}
	return one == other
}

// areUnique reports whether no two items are equal.
func areUnique(items []any) bool {
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		if _, isFile := item.(fileSize); isFile {
			continue // its bytes are not kept
		}
		text, _ := json.Marshal(plainValue(item)) // with sorted names; infinite numbers were refused
		if seen[string(text)] {
			return false
		}
		seen[string(text)] = true
	}
	return true
}
