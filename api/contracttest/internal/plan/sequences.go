package plan

import (
	"net/http"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/report"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Sequences find what single requests cannot: that a service forgets, mixes up, or changes too much. Each
// is one sentence about a resource that HTTP or the document promises, and each creates what it needs. What
// a sequence compares is what was sent with what a read shows, and never one response with the document's
// examples.

// This file has the table of them, and makes the tests. What each of them does is in a file of its idea: stored.go, changes.go,
// deletions.go, leads.go, etags.go, others.go, and atonce.go.

// sequence is a test over a resource, with what the resource must be like.
type sequence struct {
	promise scenario.PromiseKind
	methods []string // the resource must have an operation with each of them
	run     func(t *draft.Trial, x *resources.Resource)
	applies func(x *resources.Resource) bool // nil: to any resource that has the methods
}

// sequences are tested of each resource that they fit, in this order.
var sequences = []sequence{
	{scenario.ReadSeesCreate, []string{http.MethodGet}, readSeesCreate, nil},
	{scenario.ReadSeesReplacement, []string{http.MethodGet, http.MethodPut}, readSeesReplacement, nil},
	{scenario.ReadSeesChange, []string{http.MethodGet, http.MethodPatch}, readSeesChange, nil},
	{scenario.DeletedIsGone, []string{http.MethodDelete}, deletedIsGone, (*resources.Resource).ShowsDeletion},
	{scenario.ReplacesOne, []string{http.MethodGet, http.MethodPut}, replacesOne, nil},
	{scenario.DeletesOne, []string{http.MethodGet, http.MethodDelete}, deletesOne, nil},
	{scenario.AssignsOnce, []string{http.MethodDelete}, assignsAnother, (*resources.Resource).AssignsOnce},
	{scenario.PutChangesETag, []string{http.MethodGet, http.MethodPut}, putChangesETag, (*resources.Resource).HasETag},
	{scenario.PatchChangesETag, []string{http.MethodGet, http.MethodPatch}, patchChangesETag, (*resources.Resource).HasETag},
	{scenario.CreateReplacesNone, []string{http.MethodGet}, createsNew, (*resources.Resource).RefusesConflicts},
	{scenario.CreatesDiffer, nil, identitiesDiffer, (*resources.Resource).AssignsIdentity},
	{scenario.CreatesOne, nil, createsOne, (*resources.Resource).RefusesConflicts},
	{scenario.PutsOnce, []string{http.MethodGet, http.MethodPut}, putsOnce, takesIfMatchOnPut},
	{scenario.PatchesOnce, []string{http.MethodGet, http.MethodPatch}, patchesOnce, takesIfMatchOnPatch},
	{scenario.PutRemoves, []string{http.MethodGet, http.MethodPut}, putRemoves, isInferred},
}

// fits reports whether a sequence can be tested of a resource.
func (s sequence) fits(x *resources.Resource) bool {
	for _, method := range s.methods {
		if x.Operations[method] == nil {
			return false
		}
	}
	return s.applies == nil || s.applies(x)
}

// isInferred reports whether a resource was inferred. What a replacement removes from any other resource,
// readSeesReplacement tests: see afterReplacement.
func isInferred(x *resources.Resource) bool { return x.IsInferred }

// resourceTests returns the tests over resources: that the identity leads to each operation, that Location leads to what was
// created, the sequences, and that HEAD is as GET.
func (p *Planner) resourceTests() (all []Test) {
	for _, x := range p.Resources.All {
		for _, method := range x.Methods() {
			all = append(all, p.leadsTest(x, x.Operations[method]))
		}
		if x.HasLocation() {
			all = append(all, p.resourceTest(x, scenario.LocationLeads, locationLeads))
		}
		for _, sequence := range sequences {
			if sequence.fits(x) {
				all = append(all, p.resourceTest(x, sequence.promise, sequence.run))
			}
		}
		if x.Operations[http.MethodGet] != nil && p.Rules.Head {
			all = append(all, p.resourceTest(x, scenario.HeadIsGet, headIsGet))
		}
	}
	return all
}

// resourceTest is a test over a resource of a promise that its create has.
func (p *Planner) resourceTest(x *resources.Resource, kind scenario.PromiseKind, run func(*draft.Trial, *resources.Resource)) Test {
	promise := scenario.Promise{Operation: x.Create.ID, Kind: kind}
	return p.testOf(promise, func(t *draft.Trial) { run(t, x) })
}

// declaredSequences returns the tests that the options add.
func (p *Planner) declaredSequences() (all []Test) {
	for _, declared := range p.Sequences {
		promise := scenario.Promise{Kind: scenario.DeclaredSequence, Place: declared.Name}
		test := newTest(report.Name(promise), promise, declared.Run)
		test.Shows = append(slices.Clone(declared.Shows), promise)
		test.Cleanup = declared.Cleanup
		all = append(all, test)
	}
	return all
}
