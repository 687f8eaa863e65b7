package plan

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
)

// A run may end before all tests have run: its time is over, or the service has crashed. So it begins with what shows most,
// and each phase has something of every operation.

// order says when a test of one request runs: what has not been seen yet comes first, so that a run that is
// ended early has seen something of everything.
type order int

const (
	broad      order = iota // the first test of its promise
	plain                   // the plainest valid request of its operation
	deep                    // one more test of its promise, or a random body
	robustness              // it may end the service
	clearing                // it deletes what all others need
)

// Tests makes the tests, one after the other, in the order in which they should run, until ctx is done: first requests
// of each operation, until one is accepted; the plainest one with each kind of credentials; each promise once;
// sequences; each promise again, and random bodies; robustness; and deletes of all that there is.
func (p *Planner) Tests(ctx context.Context) iter.Seq[Test] {
	return func(yield func(Test) bool) {
		for test := range p.all(ctx) {
			if ctx.Err() != nil {
				return
			}
			if p.isWanted(test) && !yield(test) {
				return
			}
		}
	}
}

// phase is a part of a run, which ends before the next one begins.
type phase struct {
	number int
	tests  iter.Seq[Test]
	// The area of a test; nil: its tests do not look at others.
	area func(Test) string
}

// all makes the tests: first requests come first, then each promise once. What may end the service comes
// late. A service that has crashed on a robustness test is not of use to the tests that come after it, and neither is one
// that has lost all of its data.
func (p *Planner) all(ctx context.Context) iter.Seq[Test] {
	careful := []phase{
		{0, p.rehearsals(), nil},
		{1, p.singles(plain), nil},
		{2, p.singles(broad), nil},
		{3, ofFamilies(p.families()...), p.areaOf},
		{4, p.singles(deep), nil},
	}
	robustnessTests := ofPhases(phase{5, p.singles(robustness), nil})
	clears := ofPhases(phase{6, p.singles(clearing), nil})
	return func(yield func(Test) bool) {
		_ = passes(interrupted(ofPhases(careful...), robustnessTests, lastPartOf(ctx)), yield) && passes(clears, yield)
	}
}

// passes yields tests, and reports whether more are wanted.
func passes(tests iter.Seq[Test], yield func(Test) bool) bool {
	for test := range tests {
		if !yield(test) {
			return false
		}
	}
	return true
}

// ofPhases yields the tests of some phases.
func ofPhases(phases ...phase) iter.Seq[Test] {
	return func(yield func(Test) bool) {
		for _, phase := range phases {
			for test := range phase.tests {
				test.Phase = phase.number
				if phase.area != nil {
					test.Area = phase.area(test)
				}
				if !yield(test) {
					return
				}
			}
		}
	}
}

// robustnessShare is the part of the time of a run that robustness tests have at least, if they need it: one of so many. That a
// service crashes weighs more than what one more value may show.
const robustnessShare = 4

// lastPartOf reports whether no time is left but that of robustness tests.
func lastPartOf(ctx context.Context) func() bool {
	end, ends := ctx.Deadline()
	from := end.Add(-time.Until(end) / robustnessShare)
	return func() bool { return ends && time.Now().After(from) }
}

// interrupted yields some tests, then others, as soon as it is time for them, and then the rest of the first ones.
func interrupted(first, others iter.Seq[Test], isTime func() bool) iter.Seq[Test] {
	return func(yield func(Test) bool) {
		turn := sync.OnceValue(func() bool { return passes(others, yield) })
		for test := range first {
			goesOn := !isTime() || turn()
			if !goesOn || !yield(test) {
				return
			}
		}
		turn()
	}
}

// areaOf is the part of the service that a test is about: where the path of its operation begins.
func (p *Planner) areaOf(test Test) string {
	operation := p.Document.Operation(test.Promise().Operation)
	if operation == nil {
		return "the service"
	}
	area, _, _ := strings.Cut(strings.TrimPrefix(operation.Template, "/"), "/")
	return area
}

// families are the tests that are not of one request.
func (p *Planner) families() []func() []Test {
	return []func() []Test{
		p.pathTests,
		p.resourceTests,
		p.belowTests,
		p.defaultTests,
		p.declaredSequences,
		p.conditionTests,
		p.listTests,
	}
}

// ofFamilies yields the tests of some families.
func ofFamilies(families ...func() []Test) iter.Seq[Test] {
	return func(yield func(Test) bool) {
		for _, family := range families {
			if !passes(slices.Values(family()), yield) {
				return
			}
		}
	}
}

// singles yields the tests of one request that run at some time. Operations that may create something come
// first, so that there is something to read, and those that delete it last.
func (p *Planner) singles(when order) iter.Seq[Test] {
	return func(yield func(Test) bool) {
		operations := slices.Clone(p.Document.Operations)
		slices.SortStableFunc(operations, singlesOrder)
		for _, operation := range operations {
			for _, single := range p.singlesOf(operation, when) {
				if !yield(single.test(p)) {
					return
				}
			}
		}
	}
}

// singlesOrder is less than 0 if the tests of an operation come before those of another one. Deletes have the parts of a
// thing before the thing.
func singlesOrder(one, other *document.Operation) int {
	if isDelete(one) && isDelete(other) {
		return len(other.PathNames) - len(one.PathNames)
	}
	return singlesRanks[one.Method] - singlesRanks[other.Method]
}

// singlesRanks say in which order the methods come: first those that may create something, and last those that delete it.
var singlesRanks = map[string]int{
	http.MethodPost:   -1,
	http.MethodDelete: 1,
}
