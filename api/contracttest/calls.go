package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/document"

	"iter"
	"net/http"
	"net/url"
	"regexp"
)

// What the sequences of the options call.

// NewID returns an identity for a resource of a create operation that no other
// test uses.
func (v *Session) NewID(create string) any { return v.suite.gen.identity(v.resource(create).schema) }

// Create creates a resource with the plainest body and returns it as it was
// sent, with its identity if the service assigns that. The resource is that of the
// create operation.
func (v *Session) Create(create string, id any) map[string]any {
	x := v.resource(create)
	sent, id := v.create(x, id)
	sent[x.member] = id
	return sent
}

// Read reads a resource of a create operation.
func (v *Session) Read(create string, id any) Interaction {
	x := v.resource(create)
	if x.uses[http.MethodGet] == nil {
		v.Failf("%s has no operation that reads", create)
	}
	return *v.read(x, id)
}

// Call sends a request of an operation, for one resource if its path names one,
// and checks the response against the document only.
func (v *Session) Call(operation string, id any, body any) Interaction {
	return v.on(v.route(operation), id, nil, body)
}

// Query sends a request of an operation without a body and checks the response
// against the document only.
func (v *Session) Query(operation string, query url.Values) Interaction {
	return v.Send(operation, query, http.Header{})
}

// Send is Query with a header, which is not nil.
func (v *Session) Send(operation string, query url.Values, header http.Header) Interaction {
	r := v.route(operation)
	return v.send(r, r.Template, []string{query.Encode()}, header, nil)
}

// Beside runs a part of the test at the same time. The result must be called: it waits for its
// end, and ends the test if that has failed.
func (v *Session) Beside(part func(*Session)) (wait func()) {
	other := *v
	other.failures = nil
	ended := make(chan any, 1)
	go func() {
		defer func() { ended <- recover() }()
		part(&other)
	}()
	return func() {
		fault := <-ended
		if v.failures = append(v.failures, other.failures...); fault != nil {
			panic(fault)
		}
	}
}

// linkTarget finds the reference in a Link to the next page.
var linkTarget = regexp.MustCompile(`<([^>]*)>; *rel="?next"?`)

// Walk returns the page of an operation for a query and those to which Link leads from it.
// A service may lead in a circle: the caller must end the walk then.
func (v *Session) Walk(operation string, query url.Values) iter.Seq[Interaction] {
	r := v.route(operation)
	return func(yield func(Interaction) bool) {
		for path, pairs := r.Template, []string{query.Encode()}; path != ""; {
			got := v.send(r, path, pairs, http.Header{}, nil)
			v.Accepted(got)
			if !yield(got) {
				return
			}
			path = ""
			if link := linkTarget.FindStringSubmatch(got.Header.Get("Link")); link != nil {
				path, pairs = v.leadsTo(got, link[1])
			}
		}
	}
}

func (v *Session) route(operation string) *document.Operation {
	r := v.contract.document.Operation(operation)
	if r == nil {
		v.Failf("the document has no operation %s", operation)
	}
	return r
}

func (v *Session) resource(create string) *resource {
	r := v.contract.document.Operation(create)
	x := firstWhere(v.suite.resources, func(x *resource) bool { return x.create == r })
	if x == nil {
		v.Failf("%s creates no resource that a test can use", create)
	}
	return x
}
