package plan

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// The identity of what was created leads to it, and so does Location. An identity that was never created leads to nothing:
// services that return any row for any identity pass all tests that read only what they have just created.

// leadsTest is the test that the identity of what was created leads to an operation.
func (p *Planner) leadsTest(x *resources.Resource, operation *document.Operation) Test {
	promise := scenario.Promise{Operation: x.Create.ID, Kind: scenario.LinkLeads, Place: operation.ID}
	if x.IsInferred {
		promise.Kind = scenario.IdentityLeads
	}
	test := p.testOf(promise, func(t *draft.Trial) { identityLeads(t, x, operation) })
	test.Shows = []scenario.Promise{scenario.Effect(operation.ID, p.Resources.UseOf(operation).Parameter), promise}
	return test
}

// identityLeads calls an operation on what was created, which must succeed, and then on what was never created, which must
// fail: an operation that does not look at its path succeeds. The second call is left out for a PUT, because it may create,
// and where the document does not promise that the operation fails.
//
//	GET /tools/7                 must be 200
//	GET /tools/1000007           must not be 200, if the only tool has the id 7
func identityLeads(t *draft.Trial, x *resources.Resource, operation *document.Operation) {
	body := t.PlainBody(operation)
	thing := t.CreateOf(x)
	t.Accepted(operation.Method, thing, body)
	mayCreate := operation.Method == http.MethodPut
	if mayCreate || !x.RefusesAbsent(operation) {
		return
	}
	other := neverCreated(t.Draft, x, thing)
	got := t.Call(operation.Method, other, t.PlainBody(operation))
	isRefused := got.Status >= http.StatusBadRequest
	t.Require(isRefused, "%s succeeds for %v, which was never created; %v was: %.300s", operation.ID, other.ID, thing.ID, got.Body)
}

// neverCreated is what a service has never created, below what a thing that exists is below.
func neverCreated(d *draft.Draft, x *resources.Resource, existing *scenario.Thing) *scenario.Thing {
	other := x.Thing(d.Values.Identity(x.Identity))
	other.Parent = existing.Parent
	if number, err := strconv.ParseInt(fmt.Sprint(existing.ID), 10, 64); err == nil && x.IsAssigned {
		// A service that counts has not come so far: it may come to the number that was drawn.
		other.ID = number + 1_000_000
	}
	return other
}

// locationLeads creates a resource and goes where Location leads. A client that has sent a create knows nothing
// else of where its resource is (RFC 9110, section 15.3.2).
//
//	POST /tools {"name": "a"}    201, Location: /tools/7
//	GET /tools/7                 must have {"name": "a"}
func locationLeads(t *draft.Trial, x *resources.Resource) {
	thing := x.Thing(t.Values.Identity(x.Identity))
	if parent := t.Parent(x, thing); parent != nil {
		t.Create(parent)
	}
	create := t.CreationOf(x, thing)
	l := location{draft: t.Draft, resource: x, created: t.Do(create, scenario.Expectation{})}
	read, err := l.find()
	t.Check(err)
	got := t.Send(read, scenario.Accepted)
	t.Check(l.compare(got, jsonvalue.Object(create.Body)))
}

// location is where the response to a create leads.
type location struct {
	draft    *draft.Draft
	resource *resources.Resource

	created scenario.Interaction
	get     *document.Operation // that reads what is there
}

// find returns the request that reads what Location leads to.
func (l *location) find() (read scenario.Request, err error) {
	value := l.created.Header.Get("Location")
	if value == "" {
		return read, l.lacks()
	}
	if err := l.differs(value); err != nil {
		return read, err
	}
	path, query, err := l.created.LeadsTo(value)
	if err != nil {
		return read, err
	}
	l.get = l.draft.Document.Find(http.MethodGet, path)
	read = scenario.Request{Method: http.MethodGet, Path: path, Query: query, Header: http.Header{}}
	return read, scenario.Require(l.get != nil, "Location leads to %s, which is no path of the document", path)
}

// lacks says what it means that a response has no Location. The document may list it for another success. Of an
// inferred resource only a 201 is known to have created something.
func (l *location) lacks() error {
	described := l.resource.Create.Response(l.created.Status)
	isListed := described != nil && document.HasHeader(described.Headers, "Location")
	isCreated := l.created.Status == http.StatusCreated || !l.resource.IsInferred
	if isListed && isCreated {
		return scenario.Brokenf("the response to a create has no Location, which the document lists")
	}
	return scenario.NotTested("the response to a create has no Location")
}

// differs says what is special of a Location of an inferred resource, or nothing: it may lack the path of the service, which
// is wrong, or lead elsewhere, which may be right: to a proxy, or a content delivery network.
func (l *location) differs(value string) error {
	switch {
	case !l.resource.IsInferred:
		return nil
	case l.lacksBase(value):
		return scenario.Brokenf("Location is %s, which lacks the path of the service: nothing is there", value)
	case leadsElsewhere(l.created, value):
		return scenario.NotTested("Location leads to another host: " + value)
	}
	return nil
}

// lacksBase reports whether a Location would lead to a path of the document, if it had the path that comes before those
// of the document: /things/7 of a service at http://plants.example/api.
func (l *location) lacksBase(value string) bool {
	base, err := url.Parse(l.created.ServiceURL())
	if err != nil || strings.HasPrefix(value, "//") { // another host
		return false
	}
	isBelow := strings.HasPrefix(value, base.Path+"/")
	return !isBelow && l.draft.Document.Find(http.MethodGet, value) != nil
}

// leadsElsewhere reports whether a reference leads to something that is not below the URL of the service, as behind a proxy.
func leadsElsewhere(x scenario.Interaction, reference string) bool {
	from, err := x.ParsedURL()
	if err != nil {
		return false
	}
	to, err := from.Parse(reference)
	return err == nil && !strings.HasPrefix(to.String(), x.ServiceURL()+"/")
}

// compare compares what is there with what was sent. An assigned identity is compared with that of the response to the
// create, and not with one that the body may have proposed.
func (l *location) compare(got scenario.Interaction, sent map[string]any) error {
	member := l.resource.Member
	if l.resource.IsAssigned {
		delete(sent, member)
	}
	if err := l.draft.Shows(got, sent, l.get); err != nil {
		return err
	}
	id := l.resource.Create.GivenBy(l.created)[member]
	other := l.get.GivenBy(got)[member]
	isNamed := l.resource.IsAssigned && member != ""
	return scenario.Require(!isNamed || jsonvalue.Same(id, other), "the response to a create has %s %v, but Location leads to %v", member, id, other)
}
