package plan

import (
	"iter"
	"slices"
)

// OfSeveral yields the tests of more than one request, without what comes before them in a run.
func (p *Planner) OfSeveral() iter.Seq[Test] {
	return slices.Values(p.testsOfSeveral()[len(p.pathTests()):])
}
