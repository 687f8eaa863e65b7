// Package world remembers what exists in a service, as far as its responses have shown: what was created, seen, not found
// and deleted, and below what. It is the only memory of that: a request that needs something that exists, as the flow of
// a deployment, finds one here.
//
// [World.Learn] looks at each response. A response of GET /flows with {"id": "f1"} shows a "flowid"; a 404, or a DELETE,
// says that a value names nothing; a 201 says that something exists, which is removed at the end of a run.
//
// pool.go keeps the values. names.go says under which names a value is kept and looked up: an id in a response of /flows,
// and the flow_id of anything else, have the same name, "flowid". A name may mislead, so what is found is only a guess: a
// service that refuses it is not accused.
package world

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// World is what is known of a service. Several goroutines may use it.
type World struct {
	document  *document.Document
	resources *resources.Set
	shared    *World // where to look for what is not here; nil: nowhere

	mu   sync.Mutex
	seen pool
	// Values that an operation has not found, see notFound.
	missing map[notFound]bool
	// What was created and not deleted since, by the path at which it can be deleted.
	created map[string]*scenario.Thing
	// Operations that have created what a GET has found.
	found map[string]bool
}

// notFound says that an operation has not found a value that its path ends with. Another one may: some read by the name
// what others change by the id.
type notFound struct {
	operation *document.Operation
	value     string
}

// New returns a world of which nothing is known yet.
func New(of *document.Document, set *resources.Set) *World {
	return &World{
		document:  of,
		resources: set,
		missing:   map[notFound]bool{},
		created:   map[string]*scenario.Thing{},
		found:     map[string]bool{},
	}
}

// OfUser returns the world of another user. That user has created nothing yet, but finds what this world has.
func (w *World) OfUser() *World {
	own := New(w.document, w.resources)
	own.shared = w
	return own
}

// Learn takes from a response what later requests may need.
func (w *World) Learn(x scenario.Interaction) {
	operation := w.document.Find(x.Method, x.Path)
	isMissing := slices.Contains([]int{http.StatusNotFound, http.StatusGone}, x.Status)
	isSuccess := x.Status/100 == 2
	switch {
	case operation == nil: // outside the document
	case isMissing:
		w.learnMissing(operation, x.Path)
	case isSuccess && x.Method == http.MethodDelete:
		w.forget(operation, x.Path) // what the response shows is not there any more
	case isSuccess:
		w.learnSeen(operation, x)
		w.learnCreated(operation, x)
	}
}

// mostLearned is the longest response that is looked at for values.
const mostLearned = 1 << 20

// learnSeen learns which values exist, from the path, the response, and the request if that has created something.
func (w *World) learnSeen(operation *document.Operation, x scenario.Interaction) {
	if len(x.Body) > mostLearned {
		return
	}
	received, err := x.Value()
	if err != nil {
		received, _ = jsonvalue.DecodeLoosely(x.Body) // one name twice is a fault, but a judge tells that
	}
	var sent any
	if creates(x) {
		// Where the response has less, what was sent says what exists now.
		sent, _ = jsonvalue.DecodeLoosely(x.RequestBody)
	}
	at := placeOf(operation, x)
	nouns := NounsOf(operation.Template, operation.ResultName(x.Status))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.learnPath(operation, x, at)
	w.seen.learn(nouns, sent, at)
	w.seen.learn(nouns, received, at)
}

// creates reports whether a request that was accepted seems to have created what its body says.
func creates(x scenario.Interaction) bool {
	isPost := x.Method == http.MethodPost && (x.Status == http.StatusCreated || len(x.Body) == 0)
	return isPost || x.Method == http.MethodPut
}

// placeOf is the place of what a response shows. What a path ends with is the thing that is shown, and is not above it.
//
//	GET /rooms/r1/boards/s1   /rooms/{} with r1
//	GET /rooms/r1/boards      /rooms/{} with r1
func placeOf(operation *document.Operation, x scenario.Interaction) Place {
	trail := operation.PathValues(x.Path)
	last := len(trail) - 1
	if operation.EndsWithParameter() {
		return Place{Shape: operation.Prefix(last - 1), Trail: trail[:last]}
	}
	return Place{Shape: operation.Prefix(last), Trail: trail}
}

// learnPath learns that what a path ends with exists, if it was read or created there: other requests may be accepted for what
// does not exist. The lock is held.
func (w *World) learnPath(operation *document.Operation, x scenario.Interaction, at Place) {
	exists := x.Method == http.MethodGet || x.Status == http.StatusCreated
	value := operation.LastPathValue(x.Path)
	isWrong := value == "" // its escape is, which is sent, too
	if exists && operation.EndsWithParameter() && !isWrong {
		w.seen.add(operation.Prefix(len(operation.PathNames)-1), Entry{Value: value, Place: at})
	}
}

// learnCreated remembers what a response says was created, or that a GET has found what was created before.
func (w *World) learnCreated(operation *document.Operation, x scenario.Interaction) {
	thing, path := w.resources.Created(operation, x)
	w.mu.Lock()
	defer w.mu.Unlock()
	if thing != nil {
		w.created[path] = thing
	}
	if known := w.created[x.Path]; known != nil && x.Method == http.MethodGet {
		w.found[known.Creator] = true
	}
}

// mostMissing is how many values are remembered that an operation did not find.
const mostMissing = 10_000

// learnMissing remembers that an operation has not found what its path names.
func (w *World) learnMissing(operation *document.Operation, path string) {
	value := operation.LastPathValue(path)
	w.mu.Lock()
	defer w.mu.Unlock()
	if value != nil && len(w.missing) < mostMissing {
		w.missing[notFound{operation, fmt.Sprint(value)}] = true
	}
}

// forget drops what was deleted at a path, and what was below it.
func (w *World) forget(operation *document.Operation, path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.created, path)
	if !operation.EndsWithParameter() {
		return
	}
	last := len(operation.PathNames) - 1
	w.seen.drop(NamesInPath(operation, last), operation.LastPathValue(path))
	w.seen.dropBelow(Place{Shape: operation.Prefix(last), Trail: operation.PathValues(path)})
}

// Find returns the newest value under the first of some names that has a suitable one, or false.
func (w *World) Find(names []string, isSuitable func(Entry) bool) (found Entry, ok bool) {
	for _, name := range names {
		for _, entry := range slices.Backward(w.entries(name)) {
			if isSuitable(entry) {
				return entry, true
			}
		}
	}
	if w.shared != nil {
		return w.shared.Find(names, isSuitable)
	}
	return Entry{}, false
}

// entries are the values under a name, the newest one last.
func (w *World) entries(name string) []Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen.entries[name]
}

// Added is how many values were found so far that were not known before.
func (w *World) Added() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen.added
}

// IsMissing reports whether an operation has not found a value at the end of its path.
func (w *World) IsMissing(operation *document.Operation, value any) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.missing[notFound{operation, fmt.Sprint(value)}]
}

// NeverFound is the operation that has created what a path leads to, or something above that, if no GET has found anything that
// it has created; else nothing. Of several such operations it is the uppermost one.
func (w *World) NeverFound(path string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, created := range jsonvalue.Names(w.created) {
		creator := w.created[created].Creator
		isThere := strings.HasPrefix(path+"/", created+"/")
		if isThere && !w.found[creator] {
			return creator
		}
	}
	return ""
}

// Created returns what was created and not deleted since, by the path at which it can be deleted.
func (w *World) Created() map[string]*scenario.Thing {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.created)
}
