package report

import (
	"cmp"
	"net/http"
	"slices"
	"sync"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Ledger records which promises of a document tests have observed, and what has failed. Several
// goroutines may use it.
type Ledger struct {
	// Promised lists all promises, and why some of them cannot be tested. It is called once.
	Promised func() (all []scenario.Promise, untested map[scenario.Promise]string)
	// Known are causes by id, and promises that are not tested by id or name, that do not fail, each with the reason.
	Known map[string]string
	// IsDocumented reports whether an operation has a status. Nil: each has all.
	IsDocumented func(operation string, status int) bool

	mu sync.Mutex
	// By promise, the first test that did.
	observed map[scenario.Promise]string
	failed   map[scenario.Promise]scenario.Failure
	// By promise, why the service could not be tested for it.
	skipped map[scenario.Promise]scenario.Outcome
	causes  map[string]*Cause // by id
	// By operation, the statuses of responses, and the first body with each status of a refusal.
	statuses map[string][]int
	refusing map[string]map[int]string
	// By operation, the failures that count if it accepts a request.
	held map[string][]scenario.Failure
	// By promise that something is refused, the operation that must accept something else: see NoteRefusal.
	refusals map[scenario.Promise]string
	// Of responses.
	requests int
	// Why what was not tried will not be tried any more.
	end string

	promisedOnce sync.Once
	promised     []Promise // named, and sorted by their names
	untested     map[scenario.Promise]string
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	l := &Ledger{}
	l.Clear()
	return l
}

// Clear forgets what tests have shown.
func (l *Ledger) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.observed = map[scenario.Promise]string{}
	l.failed = map[scenario.Promise]scenario.Failure{}
	l.skipped = map[scenario.Promise]scenario.Outcome{}
	l.causes = map[string]*Cause{}
	l.statuses = map[string][]int{}
	l.refusing = map[string]map[int]string{}
	l.held = map[string][]scenario.Failure{}
	l.refusals = map[scenario.Promise]string{}
	l.requests = 0
	l.end = ""
}

// Progress is how many operations have responded, how many requests got a response, and how many causes were
// found.
type Progress struct{ Operations, Requests, Causes int }

// Progress is how far the tests have come.
func (l *Ledger) Progress() Progress {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Progress{Operations: len(l.statuses), Requests: l.requests, Causes: len(l.causes)}
}

// End records why no more tests will run. It is the reason of what is not tested without another one.
func (l *Ledger) End(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end = why
}

// ended is why no more tests will run, or nothing.
func (l *Ledger) ended() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// NoteStatus records the status of a response of an operation; empty: of none of the document. Only the first response with a
// status says something new of the operation.
func (l *Ledger) NoteStatus(operation string, status int, body []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	if operation == "" || slices.Contains(l.statuses[operation], status) {
		return
	}
	l.statuses[operation] = append(l.statuses[operation], status)
	if l.accepts(operation, status) {
		l.release(operation)
	} else if status < http.StatusInternalServerError {
		l.noteFirstRefusal(operation, status, body)
	}
}

// Statuses returns the statuses that responses to an operation had.
func (l *Ledger) Statuses(operation string) []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.statuses[operation])
}

// Note records that a test has observed promises.
func (l *Ledger) Note(test string, promises ...scenario.Promise) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, promise := range promises {
		l.observed[promise] = cmp.Or(l.observed[promise], test)
	}
}

// Has reports whether a test has observed a promise.
func (l *Ledger) Has(promise scenario.Promise) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.observed[promise] != ""
}

// Fail records that promises are broken. Of several failures of a promise, the last one of those that weigh most stays.
func (l *Ledger) Fail(failure scenario.Failure, promises ...scenario.Promise) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, promise := range promises {
		if before, hasFailed := l.failed[promise]; !hasFailed || l.weight(failure) >= l.weight(before) {
			l.failed[promise] = failure
		}
	}
}

// weight says how much a failure counts for its promise: one that is held not at all, and one that is known less than a new one,
// which it may not hide. The lock is held.
func (l *Ledger) weight(failure scenario.Failure) int {
	switch {
	case l.isHeld(failure):
		return 0
	case failure.ReasonIn(l.Known) != "":
		return 1
	}
	return 2
}

// Record records the outcome of a test of promises, and returns the failures that are the first of their
// cause. by is what ran the test. Only the first failure is shown beside a promise; the causes have all of
// them, but for those that are held (never.go).
func (l *Ledger) Record(outcome scenario.Outcome, promises []scenario.Promise, by string) (fresh []scenario.Failure) {
	failures := l.hold(outcome.Failures)
	for _, failure := range slices.Backward(outcome.Failures) { // the first one stays
		l.Fail(failure, promises...)
	}
	switch {
	case len(outcome.Failures) > 0:
	case outcome.NotTested != "":
		l.skip(outcome, promises)
	default:
		l.Note(by, promises...)
	}
	return l.NoteFailures(failures)
}

// NoteRefusal records that promises are kept by refusals of an operation. They show something only if it accepts
// what is valid: a service that refuses everything would keep them all.
func (l *Ledger) NoteRefusal(operation string, promises []scenario.Promise) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, promise := range promises {
		l.refusals[promise] = operation
	}
}

// whyNothing is why what tests have observed of a promise shows nothing, or nothing: its operation accepts no request, so that
// a failure of the promise is held, or a refusal does not keep it. The lock is held.
func (l *Ledger) whyNothing(promise scenario.Promise) string {
	if failure, hasFailed := l.failed[promise]; hasFailed && l.isHeld(failure) {
		return nothingAccepted
	}
	if operation, isRefusal := l.refusals[promise]; isRefusal && !l.isAccepting(operation) {
		return nothingAccepted
	}
	return ""
}

// skip records why promises could not be tried.
func (l *Ledger) skip(outcome scenario.Outcome, promises []scenario.Promise) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, promise := range promises {
		l.skipped[promise] = outcome
	}
}

// list lists the promises. Making them means to make all tests of the document, so it is done once, at the first call.
func (l *Ledger) list() []Promise {
	l.promisedOnce.Do(func() {
		var all []scenario.Promise
		all, l.untested = l.Promised()
		isListed := map[scenario.Promise]bool{}
		for _, promise := range all {
			if !isListed[promise] {
				isListed[promise] = true
				l.promised = append(l.promised, Promise{Promise: promise, Name: Name(promise)})
			}
		}
		slices.SortFunc(l.promised, func(one, other Promise) int { return cmp.Compare(one.Name, other.Name) })
	})
	return l.promised
}

// Promises lists everything that the document promises, with what tests have shown of it so far.
func (l *Ledger) Promises() (all []Promise) {
	promised := l.list()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, promise := range promised {
		all = append(all, l.judged(promise))
	}
	return all
}

// judged is a promise with what has become of it. Broken has precedence over kept: it is enough that one test
// has seen it. The lock is held.
func (l *Ledger) judged(promise Promise) Promise {
	of := promise.Promise
	nothing := l.whyNothing(of)
	failure, hasFailed := l.failed[of]
	test := l.observed[of]
	switch {
	case hasFailed && !l.isHeld(failure):
		promise.State = Broken
		promise.Why = failure.String()
		promise.Cause = failure.ID()
		promise.Excepted = failure.ReasonIn(l.Known) != ""
	case test != "" && nothing == "":
		promise.State = Kept
		promise.Why = test
	default:
		promise.State = NotTested
		if l.skipped[of].IsUndecided {
			promise.Promise.Duty = scenario.MustDecide
		}
		reason := cmp.Or(l.Known[promise.Name], l.Known[promise.ID()])
		promise.Excepted = reason != ""
		promise.Why = cmp.Or(reason, l.skipped[of].NotTested, nothing, l.untested[of], l.end, "no test has observed it")
	}
	return promise
}
