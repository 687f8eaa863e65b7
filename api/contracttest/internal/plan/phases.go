package plan

import (
	"context"
	"iter"
	"net/http"
	"slices"
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
	lengthy                 // its body is long, on which some services hang, and then nothing else can be tested
	clearing                // it deletes what all others need
)

// The phases of a run in their order: each ends before the next one begins.
const (
	// FirstRequests show no promise. Which of them comes next depends on what the ones before have shown.
	FirstRequests = iota
	eachPromise
	// What may end the service, or deletes what all others need. A service that has crashed, or has lost all of its data, is of
	// no use to the tests that come after it.
	lastRequests
)

// Tests makes the tests, one after the other, in the order in which they should run, until ctx is done: first requests
// of each operation, until one is accepted; the plainest one with each kind of credentials; each promise once;
// sequences; each promise again, and random bodies; robustness; and deletes of all that there is.
func (p *Planner) Tests(ctx context.Context) iter.Seq[Test] {
	return func(yield func(Test) bool) {
		y := &yielding{Planner: p, ctx: ctx, yield: yield}
		y.end, y.ends = ctx.Deadline()
		y.begin = time.Now()
		y.phase(FirstRequests, p.rehearsals())
		y.phase(eachPromise, p.singles(ctx, plain), p.singles(ctx, broad), slices.Values(p.testsOfSeveral()), p.singles(ctx, deep))
		y.robustness()
		y.phase(lastRequests, p.singles(ctx, clearing))
	}
}

// yielding yields tests as long as more are wanted.
type yielding struct {
	*Planner
	ctx        context.Context
	yield      func(Test) bool
	begin, end time.Time
	ends       bool // there is an end
	isOver     bool // no more are wanted
	isRobust   bool // robustness tests have had their turn
}

// phase yields the tests of parts of a phase, until no more are wanted. Robustness tests do not wait for their turn if only
// their share of the run is left.
func (y *yielding) phase(number int, parts ...iter.Seq[Test]) {
	for _, tests := range parts {
		for test := range tests {
			if number < lastRequests && y.isLastPart() {
				y.robustness()
			}
			if y.isOver || y.ctx.Err() != nil {
				return
			}
			test.Phase = number
			if y.isWanted(test) && !y.yield(test) {
				y.isOver = true
				return
			}
		}
	}
}

// robustness yields the robustness tests, once.
func (y *yielding) robustness() {
	if !y.isRobust {
		y.isRobust = true
		y.phase(lastRequests, y.singles(y.ctx, robustness), y.singles(y.ctx, lengthy))
	}
}

// robustnessShare is how many times the share of robustness tests goes into a run: they have at least a quarter of its time
// and of its requests, if they need it. That a service crashes weighs more than what one more value may show.
const robustnessShare = 4

// isLastPart reports whether no time is left, or no requests, but those of robustness tests.
func (y *yielding) isLastPart() bool {
	if y.Left != nil && y.Left() < 1.0/robustnessShare {
		return true
	}
	return y.ends && time.Until(y.end) < y.end.Sub(y.begin)/robustnessShare
}

// areaOf is the part of the service that a test is about.
func (p *Planner) areaOf(test Test) string {
	operation := p.Document.Operation(test.Promise().Operation)
	if operation == nil {
		return "the service"
	}
	return p.Document.Area(operation)
}

// testsOfSeveral are the tests that are not of one request. What they look at, others must not change.
func (p *Planner) testsOfSeveral() []Test {
	all := slices.Concat(
		p.pathTests(),
		p.resourceTests(),
		p.belowTests(),
		p.defaultTests(),
		p.echoTests(),
		p.declaredSequences(),
		p.conditionTests(),
		p.listTests(),
		p.userTests(),
	)
	for i, test := range all {
		all[i].Area = p.areaOf(test)
	}
	return all
}

// singles yields the tests of one request that run at some time. If ctx is done, it makes no more: those of all operations of
// a large document take longer to make than a short run. Operations that may create something come first, so that there is
// something to read, and those that delete it last.
func (p *Planner) singles(ctx context.Context, when order) iter.Seq[Test] {
	return func(yield func(Test) bool) {
		operations := slices.Clone(p.Document.Operations)
		slices.SortStableFunc(operations, singlesOrder)
		for _, operation := range operations {
			if ctx.Err() != nil {
				return
			}
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
