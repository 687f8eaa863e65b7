package plan

import (
	"net/http"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A default is what a service takes for a member that a client leaves out. The client relies on the document and never
// sends the value, so a service that takes another one goes unnoticed.

// defaultsOf are the defaults of members that a create may leave out, by name.
func defaultsOf(generator *values.Generator, x *resources.Resource) map[string]any {
	defaults := map[string]any{}
	described := x.Create.ThingSchema()
	for _, name := range generator.Names(described) {
		property := generator.Property(described, name)
		isRequired := slices.Contains(generator.Flatten(described).Required, name)
		isSent := isRequired || name == x.Member || generator.IsGiven(name)
		mayBeSent := !isSent && !generator.IsAbsent(property)
		if mayBeSent && schema.DefaultOf(property) != nil {
			defaults[name] = jsonvalue.Normal(schema.DefaultOf(property))
		}
	}
	return defaults
}

// defaultTests are the tests of defaults of what is created.
func (p *Planner) defaultTests() (all []Test) {
	for _, x := range p.Resources.All {
		if x.Operations[http.MethodGet] == nil || len(defaultsOf(p.Values, x)) == 0 {
			continue
		}
		promise := scenario.Promise{Operation: x.Create.ID, Kind: scenario.TakesDefaults}
		all = append(all, p.testOf(promise, func(t *draft.Trial) { takesDefaults(t, x) }))
	}
	return all
}

// takesDefaults creates something without the members that have defaults, and reads it. What a read does not have may
// have any value.
//
//	POST /jobs {}                201 {"id": 3}, where the document says "retries: {default: 5}"
//	GET /jobs/3                  must have {"retries": 5}, or no retries
func takesDefaults(t *draft.Trial, x *resources.Resource) {
	thing := x.Thing(nil)
	defaults := defaultsOf(t.Values, x)
	thing.Sent = t.Varied(x, thing)
	for name := range defaults {
		delete(thing.Sent, name)
	}
	t.CreateIfPossible(thing)
	if thing.Missing {
		t.NotTested("a create without what has a default was refused")
	}
	got, _ := t.Read(thing)
	object := x.Shown(got)
	for name, value := range defaults {
		have, isShown := object[name]
		isKept := !isShown || draft.KeepsLeniently(value, have)
		t.Require(isKept, "%s was left out, and its default is %v, but it is %v", name, value, have)
	}
}
