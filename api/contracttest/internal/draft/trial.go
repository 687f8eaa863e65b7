package draft

import (
	"fmt"
	"net/http"

	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Trial is one run of a generated test: it says what it does with things, and the draft knows the requests.
type Trial struct {
	*scenario.Trial
	*Draft
}

// Create creates a thing.
func (t *Trial) Create(thing *scenario.Thing) { t.Trial.Create(thing) }

// CreateOf creates a thing of a resource.
func (t *Trial) CreateOf(x *resources.Resource) *scenario.Thing {
	thing := x.Thing(nil)
	t.Create(thing)
	return thing
}

// Call calls the operation with a method on a thing.
func (t *Trial) Call(method string, thing *scenario.Thing, body any) scenario.Interaction {
	return t.Run(t.Draft.Call(method, thing, body, nil))
}

// Accepted calls the operation with a method on a thing, which must succeed, or what follows shows nothing.
func (t *Trial) Accepted(method string, thing *scenario.Thing, body any) scenario.Interaction {
	return t.Run(t.Draft.CallAccepted(method, thing, body))
}

// Refused calls the operation with a method on a thing, which must refuse it for a reason.
func (t *Trial) Refused(method string, thing *scenario.Thing, body any, kind scenario.Kind) {
	step := t.Draft.Call(method, thing, body, nil)
	step.Expect = scenario.Refused(kind)
	t.Run(step)
}

// Read reads a thing, and remembers what is seen. It reports false if no operation reads it.
func (t *Trial) Read(thing *scenario.Thing) (got scenario.Interaction, isRead bool) {
	if t.Resources.CreatedBy(thing.Creator).Operations[http.MethodGet] == nil {
		return got, false
	}
	return t.Run(t.Draft.Read(thing)...), true
}

// ReadShows reads a thing, which must have what is known of it.
func (t *Trial) ReadShows(thing *scenario.Thing, known map[string]any) {
	get := t.Resources.CreatedBy(thing.Creator).Operations[http.MethodGet]
	if got, isRead := t.Read(thing); isRead {
		t.Check(t.Shows(got, known, get))
	}
}

// Unchanged reads a thing again, which must be as it was seen.
func (t *Trial) Unchanged(thing *scenario.Thing, what string, args ...any) {
	t.Run(t.Draft.Unchanged(thing, "%s", fmt.Sprintf(what, args...))...)
}

// Remove removes a thing, if there is an operation for it and its path can name it.
func (t *Trial) Remove(thing *scenario.Thing) { t.Run(t.Draft.Remove(thing)...) }

// Parents creates what a thing is below, if it is below something.
func (t *Trial) Parents(x *resources.Resource, thing *scenario.Thing) {
	t.Run(t.Draft.Parents(x, thing)...)
}
