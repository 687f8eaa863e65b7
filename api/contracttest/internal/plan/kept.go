package plan

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// The tests of one request of an operation are made when they are asked for, which is several times in a run: see
// order. They are kept meanwhile, but the requests of a large document would fill the memory.

// operationTests are the tests of one request of an operation, and what they lack.
type operationTests struct {
	singles []*single
	// The singles were too large to be kept.
	isForgotten bool
	// Promises of constraints, whether tests try them or not.
	promises    []scenario.Promise
	unsupported []scenario.Promise
}

const (
	// mostKept is how many bytes of requests are kept. In larger documents the tests of an operation are made
	// again for each part of a run.
	mostKept = 64 << 20
	// besideBody is about how many bytes a request has beside its body.
	besideBody = 1 << 10
)

// testsOf returns the tests of one request of an operation. They are made when they are first asked for.
func (p *Planner) testsOf(operation *document.Operation) *operationTests {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.made[operation]; known != nil && !known.isForgotten {
		return known
	}
	return p.makeTests(operation)
}

// promisesOf returns the same, possibly without the singles, which may have been forgotten. It is nil if nothing was made
// before Stop.
func (p *Planner) promisesOf(operation *document.Operation) *operationTests {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.made[operation]; known != nil || p.isStopped.Load() {
		return known
	}
	return p.makeTests(operation)
}

// Stop makes Promises list no more of what would have to be made first. What is being made ends soon, and is
// incomplete.
func (p *Planner) Stop() {
	p.isStopped.Store(true)
	p.Values.Stop()
}

// makeTests makes the tests of one request of an operation, and keeps them, or at least their promises if there is no room.
// The lock is held.
func (p *Planner) makeTests(operation *document.Operation) *operationTests {
	maker := p.maker(operation)
	maker.make()
	made := maker.tests
	size := 0
	for _, c := range made.singles {
		size += len(c.body) + besideBody
	}
	if p.kept+size <= mostKept {
		p.kept += size
		p.made[operation] = made
	} else {
		p.made[operation] = &operationTests{isForgotten: true, promises: made.promises, unsupported: made.unsupported}
	}
	return made
}

// plainTest returns the only test of the plainest valid request of an operation, or none if it cannot be written, or would
// delete what an option names. It is made without the other tests, so that a run can begin before they are.
func (p *Planner) plainTest(operation *document.Operation) []*single {
	maker := p.maker(operation)
	if maker.unwritable() != "" || p.deletesGiven(operation) {
		return nil
	}
	maker.credentials()
	return ofOrder(plain, maker.tests.singles)
}

// ofOrder are the tests that run at some time.
func ofOrder(when order, singles []*single) (found []*single) {
	for _, c := range singles {
		if c.order == when {
			found = append(found, c)
		}
	}
	return found
}

// maker returns what makes the tests of one request of an operation.
func (p *Planner) maker(operation *document.Operation) *singleMaker {
	generator := p.Values.ForTest(operation.ID)
	return &singleMaker{Planner: p, operation: operation, Values: generator, tests: &operationTests{}}
}
