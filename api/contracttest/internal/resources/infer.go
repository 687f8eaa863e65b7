package resources

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// What a document does not declare follows from its shape: POST /things makes what GET /things/{id} reads. It becomes a
// [scenario.Resource] or a [scenario.List], as the options have them, so that the same code adds both.

// Infers reports whether the options let anything be inferred of an operation.
func (s *Set) Infers(operation *document.Operation) bool {
	if operation == nil {
		return false
	}
	return !slices.ContainsFunc(s.declared.Lists, func(list scenario.List) bool {
		return list.Operation == operation.ID && list.Create == ""
	})
}

// inferResources adds the resources that have a path of their own below that of a create, and those that PUT creates: first those
// that can be read there, then those that can only be deleted.
func (s *Set) inferResources() {
	for _, on := range s.document.Operations {
		if on.Method == http.MethodGet {
			s.inferResource(on)
		}
	}
	for _, on := range s.document.Operations {
		if on.Method == http.MethodDelete && !s.isRead(on) {
			s.inferResource(on)
		}
	}
}

// inferResource adds the resource that an operation is on, a GET or a DELETE, if another one creates it at the path above. If it
// is below another resource, a test must be able to create that, too. Why it is on none is noted, of a DELETE only if another
// operation creates what it deletes.
func (s *Set) inferResource(on *document.Operation) {
	above, hasAbove := on.Above()
	if !hasAbove || !s.Infers(on) {
		return
	}
	x := scenario.Resource{
		Read:    s.inferredOn(on, http.MethodGet),
		Replace: s.inferredOn(on, http.MethodPut),
		Change:  s.inferredOn(on, http.MethodPatch),
		Delete:  s.inferredOn(on, http.MethodDelete),
	}
	create := s.inferredCreate(above, x.Replace)
	parent := s.parentOf(on)
	isOrphan := parent == nil && s.needsParentOf(on)
	switch {
	case on.Method == http.MethodDelete && !s.createsWhatIsDeleted(create, on):
		return
	case create == nil:
		s.miss(on, "no operation at the path above creates what it reads")
		return
	case isOrphan:
		s.miss(on, "no test can create what its path names before")
		return
	case !s.Infers(create):
		return
	}
	x.Create = create.ID
	s.addInferred(x, create, on, parent)
}

// addInferred adds a resource, which is below its parent, if it is known what identifies it. What is declared counts more.
func (s *Set) addInferred(x scenario.Resource, create, on *document.Operation, parent *Resource) {
	if s.isDeclared(create, on) {
		return
	}
	found := s.identify(create, on)
	if found == nil {
		s.miss(on, "no member of what "+create.ID+" takes or responds with identifies what it reads")
		x.ID = unknown
		x.Assigned = true
		s.stub.Resources = append(s.stub.Resources, x)
		return
	}
	x.ID = found.member
	x.Assigned = found.assigned
	s.addResource(x, true)
	// One that a link has declared is below nothing: only a create without path parameters has links to follow.
	if added := s.CreatedBy(x.Create); added != nil {
		added.Parent = parent
		added.IsGuessed = found.guessed
	}
	others := slices.DeleteFunc([]string{x.Read, x.Replace, x.Change, x.Delete}, func(name string) bool {
		return name == "" || name == x.Create
	})
	s.Inferred = append(s.Inferred, fmt.Sprintf("%s creates what {%s} names in %s: it is in %s",
		x.Create, on.LastPathName(), strings.Join(others, ", "), found.where))
}

// isRead reports whether the document has a GET at the path of an operation.
func (s *Set) isRead(on *document.Operation) bool {
	return s.document.At(http.MethodGet, document.Shape(on.Template)) != nil
}

// createsWhatIsDeleted reports whether an operation creates what another one deletes. No read can confirm that, so nothing of
// it is guessed.
func (s *Set) createsWhatIsDeleted(create, remove *document.Operation) bool {
	if create == nil || create.Method != http.MethodPost {
		return false
	}
	found := s.identify(create, remove)
	return found != nil && !found.guessed
}

// unknown stands in the stub for what the options have to say.
const unknown = "…"

// miss notes why it was not inferred what an operation is on, unless that is declared, or no test needs it.
func (s *Set) miss(operation *document.Operation, why string) {
	if s.uses[operation] == nil && !s.IsLeftOut(operation) {
		s.missed[why] = append(s.missed[why], operation.ID)
	}
}

// mostMissed is how many operations are named that lack the same.
const mostMissed = 5

// NotInferred has a sentence for each reason why something was not inferred.
func (s *Set) NotInferred() (sentences []string) {
	for _, why := range jsonvalue.Names(s.missed) {
		names := s.missed[why]
		text := strings.Join(names[:min(len(names), mostMissed)], ", ")
		if more := len(names) - mostMissed; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		sentences = append(sentences, text+": "+why)
	}
	return sentences
}

// Stub is what the options should have of what was not inferred, as JSON to be filled in; empty: nothing.
func (s *Set) Stub() string {
	text, _ := json.Marshal(s.stub)               // of texts and booleans
	return strings.TrimPrefix(string(text), "{}") // that is nothing
}

// needsParentOf reports whether what an operation reads is below something that the options do not give.
func (s *Set) needsParentOf(get *document.Operation) bool {
	above := get.PathNames[:len(get.PathNames)-1]
	return slices.ContainsFunc(above, func(name string) bool { return !s.values.IsGiven(name) })
}

// parentOf is the resource that a thing is below which an operation reads, or nil: what is at /tickets/{id} for
// /tickets/{id}/comments/{comment}.
func (s *Set) parentOf(get *document.Operation) *Resource {
	above := len(get.PathNames) - 2
	if above < 0 || s.values.IsGiven(get.PathNames[above]) {
		return nil
	}
	return s.resourceAt(get.Prefix(above))
}

// resourceAt is the resource with an operation at a path of a shape, or nil.
func (s *Set) resourceAt(shape string) *Resource {
	for _, x := range s.All {
		for _, operation := range x.Operations {
			if document.Shape(operation.Template) == shape {
				return x
			}
		}
	}
	return nil
}

// inferBelow lets operations below a resource work on one that a test creates: /tickets/{id}/comments, or
// /tickets/{id}/close.
func (s *Set) inferBelow() {
	for _, operation := range s.document.Operations {
		isKnown := s.uses[operation] != nil || s.IsLeftOut(operation)
		if isKnown || !s.Infers(operation) {
			continue
		}
		s.uses[operation] = s.useAbove(operation)
	}
}

// useAbove says which resource the path of an operation names that is below one: the last that it names, unless the options give
// a parameter after it. It is nil if there is none.
func (s *Set) useAbove(operation *document.Operation) *Use {
	for i, name := range slices.Backward(operation.PathNames) {
		if s.values.IsGiven(name) {
			return nil
		}
		if x := s.resourceAt(operation.Prefix(i)); x != nil {
			return &Use{x, name}
		}
	}
	return nil
}

// inferredOn returns the name of the operation with a method on the resource that another one reads, or nothing.
func (s *Set) inferredOn(get *document.Operation, method string) string {
	operation := s.document.At(method, document.Shape(get.Template))
	if !s.Infers(operation) {
		return ""
	}
	if mediaType, _ := operation.Body(); mediaType == "application/json-patch+json" {
		return "" // it needs paths that exist
	}
	return operation.ID
}

// registrations are where a service creates its users, if it does not at /users.
var registrations = []string{"", "/register", "/signup", "/sign-up"}

// inferredCreate returns what creates resources below a path, or nil. The PUT that replaces one may, unless it has a 404 and no
// 201: then it only replaces.
func (s *Set) inferredCreate(above, replace string) *document.Operation {
	for _, registration := range registrations {
		if post := s.document.At(http.MethodPost, document.Shape(above+registration)); post != nil {
			return post
		}
	}
	put := s.document.Operation(replace)
	if put != nil && put.Lists(http.StatusNotFound) && !put.Lists(http.StatusCreated) {
		return nil
	}
	return put
}

// isDeclared reports whether the options or links declare what was inferred. What is declared is true, and
// what was inferred may contradict it.
func (s *Set) isDeclared(create, get *document.Operation) bool {
	if other := s.uses[get]; other != nil && other.Create != create {
		return true
	}
	return slices.ContainsFunc(s.declared.Resources, func(declared scenario.Resource) bool {
		return declared.Create == create.ID
	})
}

// identification says where the identity of a resource is, and whether the client or the service chooses it.
type identification struct {
	member   string // of the body or the response; empty: of neither
	assigned bool   // by the service
	guessed  bool   // the member has another name than the parameter, or is in one that may be something else
	where    string // for people
}

// identify finds the identity that a path needs in what a create takes and gives, or returns nil. A member
// that the client must send counts more than one of the response: the service then takes it over.
//
//	POST /shelves {"code": "A"}   GET /shelves/{code}    the client chooses it
//	201 {"id": 7}                 GET /tools/{toolId}    the service assigns it
//	201, Location: /notes/7       GET /notes/{id}        the service assigns it
func (s *Set) identify(create, get *document.Operation) *identification {
	parameter := get.Parameter("path", get.LastPathName())
	if parameter == nil {
		return nil
	}
	inPath, _ := document.ParameterSchema(parameter)
	if create.Method == http.MethodPut {
		return s.chosen(inPath, "", "its path")
	}
	fits := func(_ string, member *schema.Schema) bool { return s.fitsPath(member, inPath) }
	names := identityNames(parameter.Name)
	received, gives := s.find(create.Result(), create.BodySchema(), names, fits)
	takes := s.takes(create, gives)
	body := takes.Schema(create.BodySchema())
	sent := s.memberNamed(body, names, fits)
	isChosen := sent != "" && (received == "" || slices.Contains(s.values.Flatten(body).Required, sent))
	switch {
	case isChosen:
		member := takes.NameOf(sent)
		return s.chosen(s.values.Property(body, sent), member, "the member "+member+" of its body")
	case received != "":
		member := gives.NameOf(received)
		found := assigned(member, "the member "+member+" of its response")
		found.guessed = !isWrapper(gives.Members, create)
		return found
	case create.SendsLocation():
		return assigned("", "Location")
	}
	// A read shows the member, so that another one of the create is not it.
	if shown, _ := s.find(get.Result(), nil, names, fits); shown != "" {
		return nil
	}
	return s.guess(create, fits)
}

// guess finds an identity with a name that is usual for one, and not that of the parameter: a failure with it counts only if
// what is created can be read by it.
//
//	201 {"user_id": 7}            GET /users/{name}
func (s *Set) guess(create *document.Operation, fits suitable) *identification {
	usual := []string{nounOf(create) + "id", "id", "uuid"}
	member, gives := s.find(create.Result(), create.BodySchema(), usual, fits)
	if member == "" {
		return nil
	}
	found := assigned(gives.NameOf(member), "the member "+gives.NameOf(member)+" of its response, as is usual")
	found.guessed = true
	return found
}

// chosen is an identity that the client chooses, or nil if none can be drawn.
func (s *Set) chosen(identity *schema.Schema, member, where string) *identification {
	if !s.values.Fits(identity, s.values.Identity(identity)) {
		return nil
	}
	return &identification{member: member, where: where + ", which the client chooses"}
}

// assigned is an identity that the service assigns.
func assigned(member, where string) *identification {
	return &identification{member: member, assigned: true, where: where + ", which the service assigns"}
}

// fitsPath reports whether a member may have what a path parameter needs. An integer can be written into any
// path, a text only where the path takes texts. A member that is not sent has no type.
func (s *Set) fitsPath(member, inPath *schema.Schema) bool {
	isText := schema.TypeOf(member) == "string" && schema.TypeOf(s.values.Flatten(inPath)) == "string"
	return isText || schema.TypeOf(member) == "integer"
}
