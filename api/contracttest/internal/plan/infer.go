package plan

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Inferring is guessing, so it is told (Planner.Inferred), it can be corrected (options), and it is
// confirmed before a failure counts (Draft.confirm). What is declared always has precedence.

// What a document does not declare follows from its shape: POST /things makes what
// GET /things/{id} reads. It becomes a Resource or a List as the options have them, so that the
// same tests try both.

// infers reports whether the options let anything be inferred of an operation.
func (p *Planner) infers(operation *document.Operation) bool {
	if operation == nil {
		return false
	}
	return p.Infer == nil || p.Infer(operation.Declared())
}

// inferResources adds the resources that have a path of their own below that of a create, and
// those that PUT creates.
func (p *Planner) inferResources() {
	for _, get := range p.Document.Operations {
		above, hasAbove := get.Above()
		isRead := get.Method == http.MethodGet && hasAbove
		if isRead && p.infers(get) {
			p.inferResource(get, above)
		}
	}
}

// inferResource adds the resource that an operation reads, if another one creates it at the path above. If it is below
// another resource, a test must be able to create that, too.
func (p *Planner) inferResource(get *document.Operation, above string) {
	x := scenario.Resource{
		Read:    p.inferredOn(get, http.MethodGet),
		Replace: p.inferredOn(get, http.MethodPut),
		Change:  p.inferredOn(get, http.MethodPatch),
		Delete:  p.inferredOn(get, http.MethodDelete),
	}
	create := p.inferredCreate(above, x.Replace)
	parent := p.parentOf(get)
	isOrphan := parent == nil && p.needsParentOf(get)
	if !p.infers(create) || isOrphan {
		return
	}
	found := p.identify(create, get)
	if found == nil || p.isDeclared(create, get) {
		return
	}
	x.Create = create.ID
	x.ID = found.member
	x.Assigned = found.assigned
	p.addResource(x, true)
	if added := p.resourceCreatedBy(create.ID); added != nil && added.inferred {
		added.parent = parent
	}
	takes := slices.DeleteFunc([]string{x.Read, x.Replace, x.Change, x.Delete}, func(name string) bool {
		return name == "" || name == x.Create
	})
	p.Inferred = append(p.Inferred, fmt.Sprintf("%s creates what {%s} names in %s: it is in %s",
		x.Create, get.PathNames[len(get.PathNames)-1], strings.Join(takes, ", "), found.where))
}

// needsParentOf reports whether what an operation reads is below something that the options do not give.
func (p *Planner) needsParentOf(get *document.Operation) bool {
	above := get.PathNames[:len(get.PathNames)-1]
	return slices.ContainsFunc(above, func(name string) bool { return !p.values.IsGiven(name) })
}

// parentOf is the resource that a thing is below which an operation reads, or nil.
func (p *Planner) parentOf(get *document.Operation) *resource {
	if len(get.PathNames) < 2 || p.values.IsGiven(get.PathNames[len(get.PathNames)-2]) {
		return nil
	}
	return p.resourceAt(get.Prefix(len(get.PathNames) - 2))
}

// resourceAt is the resource whose operations are at paths of a shape, or nil.
func (p *Planner) resourceAt(shape string) *resource {
	return first(p.resources, func(x *resource) bool {
		for _, operation := range x.uses {
			if document.Shape(operation.Template) == shape {
				return true
			}
		}
		return false
	})
}

// inferBelow lets operations below a resource work on one that a test creates: /tickets/{id}/comments, or
// /tickets/{id}/close.
func (p *Planner) inferBelow() {
	for _, operation := range p.Document.Operations {
		isKnown := p.uses[operation] != nil || p.isLeftOut(operation) || !p.infers(operation)
		for i := len(operation.PathNames) - 1; i >= 0 && !isKnown; i-- {
			if isKnown = p.values.IsGiven(operation.PathNames[i]); isKnown {
				break
			}
			if x := p.resourceAt(operation.Prefix(i)); x != nil && !p.isLeftOut(x.create) {
				p.uses[operation] = &use{x, operation.PathNames[i]}
				isKnown = true
			}
		}
	}
}

// inferredOn returns the operation with a method on the resource that another one reads, or nothing.
func (p *Planner) inferredOn(get *document.Operation, method string) string {
	operation := p.Document.Find(method, get.Template)
	if !p.infers(operation) || operation.Template != get.Template {
		return ""
	}
	if mediaType, _ := operation.Body(); mediaType == "application/json-patch+json" {
		return "" // it needs paths that exist
	}
	return operation.ID
}

// inferredCreate returns what creates resources below a path, or nil. PUT may, unless it only replaces.
func (p *Planner) inferredCreate(above, replace string) *document.Operation {
	if post := p.Document.At(http.MethodPost, document.Shape(above)); post != nil {
		return post
	}
	put := p.Document.Operation(replace)
	if put != nil && put.Lists(http.StatusNotFound) && !put.Lists(http.StatusCreated) {
		return nil
	}
	return put
}

// isDeclared reports whether the options or links declare what was inferred. What is declared is true, and
// what was inferred may contradict it.
func (p *Planner) isDeclared(create, get *document.Operation) bool {
	other := p.uses[get]
	isOfOther := other != nil && other.create != create
	declares := func(declared scenario.Resource) bool { return declared.Create == create.ID }
	return isOfOther || slices.ContainsFunc(p.Resources, declares)
}

// identification says where the identity of a resource is, and whether the client or the service chooses it.
type identification struct {
	member   string // of the body or the response; empty: of neither
	assigned bool   // by the service
	where    string // for people
}

// identify finds the identity that a path needs in what a create takes and gives, or returns nil. A member
// that the client must send counts more than one of the response: the service then takes it over.
func (p *Planner) identify(create, get *document.Operation) *identification {
	parameter := get.Parameter("path", get.PathNames[len(get.PathNames)-1])
	if parameter == nil {
		return nil
	}
	inPath, _ := document.ParameterSchema(parameter)
	if create.Method == http.MethodPut {
		return p.chosen(inPath, "", "its path")
	}
	fits := func(_ string, member *openapi3.Schema) bool { return p.fitsPath(member, inPath) }
	isSent := func(name string, member *openapi3.Schema) bool {
		return !p.values.IsAbsent(member) && fits(name, member)
	}
	names := identityNames(parameter.Name)
	body := create.BodySchema()
	sent := p.memberNamed(body, names, isSent)
	received := p.memberNamed(create.Result(), names, fits)
	isRequired := sent != "" && slices.Contains(p.values.Flatten(body).Required, sent)
	switch {
	case isRequired, sent != "" && received == "":
		return p.chosen(p.values.Property(body, sent), sent, "the member "+sent+" of its body")
	case received != "":
		return assigned(received, "the member "+received+" of its response")
	case create.SendsLocation():
		return assigned("", "Location")
	}
	return nil
}

// chosen is an identity that the client chooses, or nil if none can be drawn.
func (p *Planner) chosen(identity *openapi3.Schema, member, where string) *identification {
	if !p.values.Fits(identity, p.values.Identity(identity)) {
		return nil
	}
	return &identification{member: member, where: where + ", which the client chooses"}
}

// assigned is an identity that the service assigns.
func assigned(member, where string) *identification {
	return &identification{member: member, assigned: true, where: where + ", which the service assigns"}
}

// fitsPath reports whether a member may have what a path parameter needs. An integer can be written into any
// path, a text only where the path takes texts.
func (p *Planner) fitsPath(member, inPath *openapi3.Schema) bool {
	isText := member.Type.Is("string") && p.values.Flatten(inPath).Type.Is("string")
	return isText || member.Type.Is("integer")
}

// identityNames are the plain names that a member with an identity may have, the best one first: for {petId}
// they are petid and id.
func identityNames(parameter string) []string {
	plain := plainName(parameter)
	if strings.HasSuffix(plain, "id") {
		return []string{plain, "id"}
	}
	return []string{plain}
}

// memberNamed returns the member of a schema that has one of some plain names, the best one first, and that
// is suitable, or an empty name.
func (p *Planner) memberNamed(of *openapi3.Schema, plainNames []string, isSuitable func(name string, member *openapi3.Schema) bool) string {
	names := p.values.Names(of)
	for _, plain := range plainNames {
		found := first(names, func(name string) bool {
			return plainName(name) == plain && isSuitable(name, p.values.Property(of, name))
		})
		if found != "" {
			return found
		}
	}
	return ""
}

// plainName is a name in one of the ways to write it: page_size, pageSize and page[size] are the same. Authors
// agree on the words more than on how to join them.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// The plain names that parameters of lists usually have, and members with the next page.
var (
	limitNames = []string{"limit", "perpage", "pagesize", "size", "maxresults", "maxitems", "first", "count", "top", "take"}
	// The page follows an item.
	lastNames   = []string{"after", "startingafter", "startafter", "afterid"}
	cursorNames = []string{"cursor", "after", "pagetoken", "nexttoken", "continuationtoken", "marker", "startingafter"}
	// Only the service makes values of them.
	opaqueNames = append(slices.Clone(cursorNames), "token")
	offsetNames = []string{"offset", "skip"}
	pageNames   = []string{"page", "pagenumber"}
	nextNames   = []string{"next", "nextcursor", "nextpagetoken", "nexttoken", "nextpage", "nextmarker", "continuationtoken", "cursor", "endcursor"}
	aroundNames = []string{"meta", "paging", "pagination", "pageinfo", "links"}
)

// isAmong reports whether a name is one of some plain ones.
func isAmong(names []string, name string) bool { return slices.Contains(names, plainName(name)) }
