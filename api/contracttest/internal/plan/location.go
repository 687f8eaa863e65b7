package plan

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// locationLeads creates a resource and goes where Location leads. A client that has sent a create knows nothing
// else of where its resource is (RFC 9110, section 15.3.2).
//
//	POST /tools {"name": "a"}    201, Location: /tools/7
//	GET /tools/7                 must have {"name": "a"}
func locationLeads(d *draft.Draft, x *resources.Resource) []scenario.Step {
	thing := x.Thing(d.Values.Identity(x.Identity))
	parents := d.Parents(x, thing)
	create := d.CreationOf(x, thing)
	location := location{draft: d, resource: x, body: jsonvalue.Object(create.Body)}
	return append(parents, scenario.Step{
		Call:  func() scenario.Call { return create },
		Check: location.find,
		Then:  func(scenario.Interaction) []scenario.Step { return location.follow() },
	})
}

// location is where the response to a create leads.
type location struct {
	draft    *draft.Draft
	resource *resources.Resource
	body     map[string]any

	created scenario.Interaction
	get     *document.Operation
	path    string
	query   []string
}

// find finds out where Location leads. Of an inferred resource a Location elsewhere may be right: a proxy,
// a content delivery network.
func (l *location) find(created scenario.Interaction) (err error) {
	l.created = created
	value := created.Header.Get("Location")
	if value == "" {
		return l.lacks()
	}
	if l.resource.IsInferred {
		err = l.differs(value)
	}
	if err != nil {
		return err
	}
	l.path, l.query, err = draft.LeadsTo(created, value)
	if err != nil {
		return err
	}
	l.get = l.draft.Document.Find(http.MethodGet, l.path)
	return scenario.Require(l.get != nil, "Location leads to %s, which is no path of the document", l.path)
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
	return scenario.Untried("the response to a create has no Location")
}

// differs returns what is special of a Location of an inferred resource, or nil.
func (l *location) differs(value string) error {
	switch {
	case l.lacksBase(value):
		return scenario.Brokenf("Location is %s, which lacks the path of the service: nothing is there", value)
	case leadsElsewhere(l.created, value):
		return scenario.Untried("Location leads to another host: " + value)
	}
	return nil
}

// lacksBase reports whether a Location would lead to a path of the document, if it had the path that comes before those
// of the document: /things/7 of a service at http://plants.example/api.
func (l *location) lacksBase(value string) bool {
	base, err := url.Parse(draft.TargetOf(l.created))
	if err != nil || strings.HasPrefix(value, "//") { // another host
		return false
	}
	isBelow := strings.HasPrefix(value, base.Path+"/")
	return !isBelow && l.draft.Document.Find(http.MethodGet, value) != nil
}

// leadsElsewhere reports whether a reference is to something that is not below the target, as behind a proxy.
func leadsElsewhere(x scenario.Interaction, reference string) bool {
	from, err := x.ParsedURL()
	if err != nil {
		return false
	}
	to, err := from.Parse(reference)
	return err == nil && !strings.HasPrefix(to.String(), draft.TargetOf(x)+"/")
}

// follow reads what is there, which must be what was created. An assigned identity is compared with that of the
// response, and not with one that the body may have proposed.
func (l *location) follow() []scenario.Step {
	return []scenario.Step{{
		Send: func() (scenario.Request, error) {
			return scenario.Request{
				Method: http.MethodGet,
				Path:   l.path,
				Query:  l.query,
				Header: http.Header{},
			}, nil
		},
		Expect: scenario.Accepted,
		Check: func(got scenario.Interaction) error {
			member := l.resource.Member
			if l.resource.IsAssigned {
				delete(l.body, member)
			}
			if err := l.draft.Shows(got, l.body, l.get); err != nil {
				return err
			}
			id := l.created.Member(member)
			other := got.Member(member)
			isNamed := l.resource.IsAssigned && member != ""
			return scenario.Require(!isNamed || id == other, "the response to a create has %s %v, but Location leads to %v", member, id, other)
		},
	}}
}
