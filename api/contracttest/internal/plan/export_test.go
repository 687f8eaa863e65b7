package plan

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// OfSeveral yields the tests of more than one request, without what comes before them in a run.
func (p *Planner) OfSeveral() iter.Seq[Test] {
	return slices.Values(p.testsOfSeveral()[len(p.pathTests()):])
}

// Parts makes all tests, and yields those of some parts of a run, by their numbers: the identities in the tests depend on how many
// were made before.
func (p *Planner) Parts(numbers string) iter.Seq[Test] {
	return func(yield func(Test) bool) {
		ctx := context.Background()
		for number, tests := range []iter.Seq[Test]{
			p.rehearsals(), p.singles(ctx, plain), p.singles(ctx, broad), slices.Values(p.testsOfSeveral()), p.singles(ctx, deep),
			p.singles(ctx, robustness), p.singles(ctx, clearing),
		} {
			for test := range tests {
				if strings.Contains(numbers, strconv.Itoa(number)) && !yield(test) {
					return
				}
			}
		}
	}
}
