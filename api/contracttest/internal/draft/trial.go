package draft

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Trial is one run of a generated test: it says what it does with things, and the draft knows the requests.
type Trial struct {
	*scenario.Trial
	*Draft
}

// As returns a trial of a user with the same draft.
func (t *Trial) As(user scenario.User) *Trial { return &Trial{Trial: t.Trial.As(user), Draft: t.Draft} }

// Draw gives things identities. A draft has such a method, too: that of the trial counts.
func (t *Trial) Draw(things ...*scenario.Thing) { t.Trial.Draw(things...) }

// CreateOf creates a thing of a resource.
func (t *Trial) CreateOf(x *resources.Resource) *scenario.Thing {
	thing := x.Thing(nil)
	t.Create(thing)
	return thing
}

// Call calls the operation with a method on a thing.
func (t *Trial) Call(method string, thing *scenario.Thing, body any) scenario.Interaction {
	return t.Do(t.CallOf(method, thing, body), scenario.Expectation{})
}

// Accepted calls the operation with a method on a thing, which must succeed, or what follows shows nothing.
func (t *Trial) Accepted(method string, thing *scenario.Thing, body any) scenario.Interaction {
	return t.Do(t.CallOf(method, thing, body), scenario.Accepted)
}

// Refused calls the operation with a method on a thing, which must refuse it for a reason.
func (t *Trial) Refused(method string, thing *scenario.Thing, body any, kind scenario.Kind) {
	t.Do(t.CallOf(method, thing, body), scenario.Refused(kind))
}

// Read reads a thing, and remembers in it what is seen. It reports false if no operation reads it.
func (t *Trial) Read(thing *scenario.Thing) (got scenario.Interaction, isRead bool) {
	if t.Resources.CreatedBy(thing.Creator).Operations[http.MethodGet] == nil {
		return got, false
	}
	thing.Seen = t.Call(http.MethodGet, thing, nil)
	return thing.Seen, true
}

// ReadShows reads a thing, which must have what is known of it.
func (t *Trial) ReadShows(thing *scenario.Thing, known map[string]any) {
	get := t.Resources.CreatedBy(thing.Creator).Operations[http.MethodGet]
	if got, isRead := t.Read(thing); isRead {
		t.Check(t.Shows(got, known, get))
	}
}

// Unchanged reads a thing again, which must be as it was seen: byte by byte, because a client would take any
// difference for a change. The test must not have written it since: with each write a service may set a time or a version.
func (t *Trial) Unchanged(thing *scenario.Thing, what string, args ...any) {
	before := thing.Seen
	hasChanged := t.HasChanged(thing)
	t.Require(!hasChanged, "%s has changed %v from %s to %s", fmt.Sprintf(what, args...), thing.ID, before.Body, thing.Seen.Body)
}

// HasChanged reads a thing again, and reports whether it is not as it was seen. If it differs, it is read once more: members
// that change by themselves, such as a counter of reads, do not count.
func (t *Trial) HasChanged(thing *scenario.Thing) bool {
	before := thing.Seen
	after, _ := t.Read(thing) // what no operation reads has an empty body before and after
	if bytes.Equal(before.Body, after.Body) {
		return false
	}
	again, _ := t.Read(thing)
	return !hasOnlyMoved(before, after, again)
}

// hasOnlyMoved reports whether the first two of three reads differ only in members in which the last two differ, too.
func hasOnlyMoved(before, after, again scenario.Interaction) bool {
	hasOneStatus := before.Status == after.Status && after.Status == again.Status
	one, errOne := before.Value()
	other, errOther := after.Value()
	third, errThird := again.Value()
	if errors.Join(errOne, errOther, errThird) != nil || !hasOneStatus {
		return false
	}
	moved := jsonvalue.Differences("", other, third)
	for _, place := range jsonvalue.Differences("", one, other) {
		if !slices.Contains(moved, place) {
			return false
		}
	}
	return true
}

// Remove removes a thing, if there is an operation for it and its path can name it.
func (t *Trial) Remove(thing *scenario.Thing) {
	if call, isPossible := t.Removal(thing); isPossible {
		t.Do(call, scenario.Expectation{})
	}
}
