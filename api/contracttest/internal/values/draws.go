package values

import (
	"math/rand/v2"
	"slices"
)

// A drawn value is made from random numbers, and the numbers are kept, as package rapid does it. To make a
// body that fails smaller, the numbers are made fewer and smaller, and the body is drawn from them again. So
// it is still valid, or wrong in its one way, which cutting members out of the body would not ensure.

// Draws are the random numbers that a value is made from.
type Draws struct {
	next func() uint64
	Made []uint64 // the numbers so far
}

// NewDraws returns numbers that are drawn from a seed.
func NewDraws(random *rand.Rand) *Draws { return &Draws{next: random.Uint64} }

// Again returns numbers that were made before, and then zeroes: of 0 the plainest value is drawn.
func Again(numbers []uint64) *Draws {
	next := func() uint64 {
		if len(numbers) == 0 {
			return 0
		}
		number := numbers[0]
		numbers = numbers[1:]
		return number
	}
	return &Draws{next: next}
}

// bits draws a number, and keeps it.
func (d *Draws) bits() uint64 {
	number := d.next()
	d.Made = append(d.Made, number)
	return number
}

// below draws a number from 0 to n-1.
func (d *Draws) below(n int) int { return int(d.bits() % uint64(n)) }

// Coin draws one of two sides.
func (d *Draws) Coin() bool { return d.below(2) == 1 }

// Shrink looks for fewer and smaller numbers that still fail. It takes the first success each time: the
// best body is not worth many requests.
func Shrink(found []uint64, attempts int, fails func([]uint64) bool) {
	at := 0
	for range attempts {
		if at == len(found) {
			return
		}
		simpler := simplerAt(found, at)
		if success := slices.IndexFunc(simpler, fails); success >= 0 {
			found = simpler[success]
		} else {
			at++
		}
	}
}

// simplerAt returns what may be tried in place of some numbers: fewer from one of them on, then a smaller one.
func simplerAt(found []uint64, at int) [][]uint64 {
	replaced := func(count int, with ...uint64) []uint64 {
		return slices.Replace(slices.Clone(found), at, min(at+count, len(found)), with...)
	}
	number := found[at]
	simpler := [][]uint64{replaced(3), replaced(1)} // a character is three numbers
	if number > 0 {
		simpler = append(simpler, replaced(1, 0), replaced(1, number/2))
	}
	return simpler
}
