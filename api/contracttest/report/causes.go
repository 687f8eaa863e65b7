package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Cause is what failures have in common.
type Cause struct {
	ID, Cause string
	Count     int      // of failures
	Tests     []string // that found it
	// Parts are the causes that were joined to this one, because they have one root.
	Parts []string
	parts []string // their ids
	// Places are the operations at which it was found.
	Places []Place
	// The reason in the options for which it does not fail: all of its places are known.
	Known string
	First scenario.Failure
}

// Place is where a cause was found. Lists of what is known have its id: see [scenario.Failure.PlaceID].
type Place struct{ ID, Operation string }

// reasonIn returns the reason that a list of what is known has for the last place, or nothing unless it has all of them.
func reasonIn(known map[string]string, places []Place) (reason string) {
	for _, place := range places {
		if reason = known[place.ID]; reason == "" {
			return ""
		}
	}
	return reason
}

// NoteFailures adds failures to the causes, and returns those that are the first of their cause.
func (l *Ledger) NoteFailures(failures []scenario.Failure) (fresh []scenario.Failure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, failure := range failures {
		if l.noteFailure(failure) {
			fresh = append(fresh, failure)
		}
	}
	return fresh
}

// noteFailure adds a failure to the causes, and reports whether it is the first of its cause. The first failure is kept
// whole, and of the others only which test has found them. The lock is held.
func (l *Ledger) noteFailure(failure scenario.Failure) (isFirst bool) {
	id := failure.ID()
	cause := l.causes[id]
	isFirst = cause == nil
	if isFirst {
		cause = &Cause{ID: id, Cause: CauseText(failure.Cause), First: failure}
		l.causes[id] = cause
	}
	cause.Count++
	if at := (Place{failure.PlaceID(), failure.Operation}); !slices.Contains(cause.Places, at) {
		cause.Places = append(cause.Places, at)
	}
	if !slices.Contains(cause.Tests, failure.Test) {
		cause.Tests = append(cause.Tests, failure.Test)
	}
	return isFirst
}

// Causes lists what has failed so far: crashes first, then what fails most often.
func (l *Ledger) Causes() []Cause {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := []Cause{}
	for _, cause := range l.causes {
		one := *cause
		one.Known = reasonIn(l.Known, one.Places)
		all = append(all, one)
	}
	all = joined(all)
	slices.SortFunc(all, func(one, other Cause) int {
		return cmp.Or(
			cmp.Compare(one.First.Rank, other.First.Rank),
			cmp.Compare(other.Count, one.Count),
			cmp.Compare(one.Cause, other.Cause))
	})
	return all
}

// String is the cause in a few lines, with one request that shows it.
func (c Cause) String() string {
	times := fmt.Sprint(c.Count, " times")
	if c.Count == 1 {
		times = "once"
	}
	text := fmt.Sprintf("[%s] %s, %s", c.ID, c.Cause, times)
	if c.Known != "" {
		return text + "; known: " + c.Known
	}
	return text + c.where() + "\n  broken: " + strings.ReplaceAll(c.shown(), "\n\t", "\n  ")
}

// shown is what the first failure has shown, without the id, and which tests have found the cause: that a read succeeds may be the
// fault of a deletion, which only the name of the test says.
func (c Cause) shown() string {
	text := strings.TrimPrefix(c.First.String(), "["+c.First.ID()+"] ") + "\n\ttests:  " + c.Tests[0]
	if more := len(c.Tests) - 1; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
