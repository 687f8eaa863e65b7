package plan

import (
	"cmp"
	"iter"
	"maps"
	"net/http"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/lessons"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Before anything is tested, each operation is tried until the service accepts a request: with the example of the
// document, with all members, with new texts, with nothing optional. What is learned on the way is a lesson, and all
// tests after it begin with what was accepted. An operation may need what another one creates, so those that were
// refused are tried again when more is known.

// mostRounds is how often an operation is tried. What one round has created, the next one may need.
const mostRounds = 4

// rehearsals yields the tests of first requests, in the order of rehearsalOrder. Deletes come once, after all rounds:
// the others need what they delete.
func (p *Planner) rehearsals() iter.Seq[Test] {
	return func(yield func(Test) bool) {
		operations, deletes := p.rehearsed()
		// After a round that has added nothing to what is known, another one would be the same.
		added := -1
		for round := 0; round < mostRounds && added < p.World.Added(); round++ {
			added = p.World.Added()
			if !p.rehearse(operations, yield) {
				return
			}
		}
		p.rehearse(deletes, yield)
	}
}

// rehearsed are the operations of which a request can be written, in their order; deletes apart, without those of what an
// option names.
func (p *Planner) rehearsed() (operations, deletes []*document.Operation) {
	for _, operation := range slices.SortedStableFunc(slices.Values(p.Document.Operations), rehearsalOrder) {
		switch {
		case p.maker(operation).unwritable() != "", p.deletesGiven(operation):
		case isDelete(operation):
			deletes = append(deletes, operation)
		default:
			operations = append(operations, operation)
		}
	}
	return operations, deletes
}

// rehearse yields the first requests of those of some operations that have accepted none. It reports false if no more are wanted.
func (p *Planner) rehearse(operations []*document.Operation, yield func(Test) bool) bool {
	for _, operation := range operations {
		isDone := p.Lessons.Of(operation).IsRehearsed // what other tests have sent does not count: they do not try all ways
		if !isDone && !yield(p.rehearsal(operation)) {
			return false
		}
	}
	return true
}

// isDelete reports whether an operation deletes.
func isDelete(operation *document.Operation) bool { return operation.Method == http.MethodDelete }

// rehearsalRanks say in which order the methods come; 0 is that of reads. Reads come first: they change nothing, and
// their responses may have what others need. A create may store what the service cannot read afterwards.
var rehearsalRanks = map[string]int{
	http.MethodPost:   1,
	http.MethodPut:    2,
	http.MethodPatch:  2,
	http.MethodDelete: 3,
}

// rehearsalOrder is less than 0 if an operation comes before another one: by the method, then /things before
// /things/{id}/parts. Deletes have the second order reversed: parts are deleted before their thing.
func rehearsalOrder(one, other *document.Operation) int {
	deeper := len(one.PathNames) - len(other.PathNames)
	if isDelete(one) {
		deeper = -deeper
	}
	return cmp.Or(rehearsalRanks[one.Method]-rehearsalRanks[other.Method], deeper)
}

// rehearsal is the test of the first request of an operation. It shows no promise, but what is wrong with a response
// is wrong here, too.
func (p *Planner) rehearsal(operation *document.Operation) Test {
	promise := scenario.Promise{Operation: operation.ID, Kind: scenario.FirstRequest}
	return p.testOf(promise, func(t *draft.Trial) {
		c := p.plainest(operation, "first request", promise, t.Draft.Values)
		r := &rehearsal{surroundings{single: c, Trial: t}}
		attempts := r.allAttempts()
		r.create()
		r.tryAll(attempts)
	})
}

// attempt is one way to make a request.
type attempt struct {
	body     any      // an example of the document; nil: the plainest body
	isFresh  bool     // with texts that no other request has
	isVaried bool     // with another value for each member
	isLeast  bool     // without what is optional
	with     []string // but with the optional members at these places
}

// rehearsal is the test of a first request in one run.
type rehearsal struct{ surroundings }

// allAttempts are the ways to make a request, in the order in which they are tried. Of the examples, it is the first that is
// valid.
func (r *rehearsal) allAttempts() (all []attempt) {
	described := r.Operation.BodySchema()
	mayCreate := r.Operation.EndsWithParameter() && slices.Contains([]string{http.MethodPost, http.MethodPut}, r.Operation.Method)
	switch {
	case described == nil && mayCreate:
		return []attempt{{}, {isFresh: true}} // with the name of something else in the path, or with a new one
	case described == nil:
		return []attempt{{}}
	}
	for _, example := range r.Operation.ExamplesOfBody() {
		if r.Draft.Values.Fits(described, example) {
			all = append(all, attempt{body: example})
			break
		}
	}
	all = append(all, attempt{}, attempt{isFresh: true}, attempt{isLeast: true}, attempt{isLeast: true, isFresh: true})
	if len(r.Draft.Values.Flatten(described).Required) > 0 {
		return all
	}
	// Without what is optional, nothing is left, and a change of nothing may be refused.
	places := r.optionalPlaces()
	for _, place := range places[:min(len(places), mostAlone)] {
		all = append(all, attempt{isLeast: true, with: []string{place}})
	}
	return all
}

// mostAlone is how many optional members are tried alone.
const mostAlone = 8

// tryAll makes the request in one way after the other, until one is accepted. If the path names nothing, and that is why the
// first one is refused, no body can help.
func (r *rehearsal) tryAll(attempts []attempt) {
	for _, way := range attempts {
		status := r.send(way)
		isInVain := r.absent && status == http.StatusNotFound
		switch {
		case status < http.StatusBadRequest:
			r.accepted(way)
			return
		case isInVain:
			return
		}
	}
}

// send makes a request in one way, and returns the status.
func (r *rehearsal) send(way attempt) int {
	filled, _ := r.filled(r.Draft)
	if way.isFresh {
		filled.FreshenPath(r.Draft)
	}
	if r.Operation.BodySchema() != nil {
		filled.body = r.body(way)
	}
	return r.Send(filled.request(r.thing), scenario.Expectation{}).Status
}

// isAccepted reports whether a request that is made in one way is accepted.
func (r *rehearsal) isAccepted(way attempt) bool { return r.send(way) < http.StatusBadRequest }

// body is the body of a request in one way: what the lesson of the operation makes of it, if the way were what it has learned.
func (r *rehearsal) body(way attempt) []byte {
	if way.isVaried {
		return jsonvalue.Encode(r.Operation.Takes.Wrapped(r.Draft.PlainBody(r.Operation), r.Draft.VariedThing(r.Operation)))
	}
	body := way.body
	if body == nil {
		body = r.plain()
	}
	lesson := r.Lessons.Of(r.Operation) // a copy: nothing is learned before a request is accepted
	lesson.NeedsFresh = lesson.NeedsFresh || way.isFresh
	if way.isLeast {
		lesson.LeftOut = map[string]bool{}
		for _, place := range r.optionalPlaces() {
			lesson.LeftOut[place] = !slices.Contains(way.with, place)
		}
	}
	return jsonvalue.Encode(r.Lessons.ValueBy(r.Operation, lesson, body))
}

// plain is the plainest body.
func (r *rehearsal) plain() any { return r.Draft.Values.Base(r.Operation.BodySchema()) }

// optionalPlaces are the places of what a body may leave out.
func (r *rehearsal) optionalPlaces() []string {
	return r.Lessons.OptionalPlaces(r.Operation, r.plain())
}

// accepted learns from a way that was accepted: whether texts must be new each time, which optional members the service
// refuses, and whether it refuses other values than the plainest ones.
func (r *rehearsal) accepted(way attempt) {
	r.Lessons.Teach(r.Operation, func(l *lessons.Lesson) {
		l.IsRehearsed = true
		l.NeedsFresh = way.isFresh
	})
	hasBody := r.Operation.BodySchema() != nil
	isCreate := r.Operation.Method == http.MethodPost && !r.Operation.EndsWithParameter()
	if isCreate && hasBody && !way.isFresh {
		r.again(way)
	}
	if way.isLeast {
		r.optionalOnes(way)
	}
	if hasBody && !r.isAccepted(attempt{isVaried: true}) {
		r.Lessons.Teach(r.Operation, func(l *lessons.Lesson) { l.RefusesVaried = true })
	}
}

// again makes the request once more. If it is refused now, and accepted with new texts, the service needs these each time.
func (r *rehearsal) again(way attempt) {
	if r.isAccepted(way) {
		return
	}
	way.isFresh = true
	needsFresh := r.isAccepted(way)
	r.Lessons.Teach(r.Operation, func(l *lessons.Lesson) { l.NeedsFresh = needsFresh })
}

// mostOptional is how many optional members are tried one by one.
const mostOptional = 30

// optionalOnes tries the optional members one by one, so that one that is refused does not hide the others. If all others
// together are refused then, or if there are too many to try, all optional members are left out.
//
//	POST /tools {"name": "a"}                  201, with nothing optional
//	POST /tools {"name": "a", "zone": "x"}     400: zone is left out from now on
//	POST /tools {"name": "a", "size": 1}       201
func (r *rehearsal) optionalOnes(way attempt) {
	optional := r.optionalPlaces()
	if len(optional) > mostOptional {
		r.leaveOut(optional...)
		return
	}
	for _, place := range optional {
		withOne := way
		withOne.with = append(slices.Clip(way.with), place)
		if !r.isAccepted(withOne) {
			r.leaveOut(place)
		}
	}
	way.isLeast = false
	if !r.isAccepted(way) {
		r.leaveOut(optional...)
	}
}

// leaveOut remembers places of what the service refuses.
func (r *rehearsal) leaveOut(places ...string) {
	r.Lessons.Teach(r.Operation, func(l *lessons.Lesson) {
		l.LeftOut = maps.Collect(maps.All(l.LeftOut)) // a copy, also of nil: other tests may read the old one
		for _, place := range places {
			l.LeftOut[place] = true
		}
	})
}
