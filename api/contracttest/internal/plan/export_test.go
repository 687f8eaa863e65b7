package plan

import "iter"

// OfSeveral yields the tests of more than one request, without what comes before them in a run.
func (p *Planner) OfSeveral() iter.Seq[Test] {
	return ofFamilies(p.resourceTests, p.belowTests, p.defaultTests, p.declaredSequences, p.conditionTests, p.listTests)
}
