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
	if operation == nil || p.Infer == nil {
		return operation != nil
	}
	return p.Infer(operation.Declared())
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

// inferResource adds the resource that an operation reads, if another one creates it at the path above.
func (p *Planner) inferResource(get *document.Operation, above string) {
	x := scenario.Resource{
		Read:    p.inferredOn(get, http.MethodGet),
		Replace: p.inferredOn(get, http.MethodPut),
		Change:  p.inferredOn(get, http.MethodPatch),
		Delete:  p.inferredOn(get, http.MethodDelete),
	}
	create := p.inferredCreate(above, x.Replace)
	if !p.infers(create) || len(create.PathNames) > 1 {
		return
	}
	x.Create = create.ID
	if p.identify(&x, create, get) && !p.isDeclared(create, get) {
		p.addResource(x, true)
		p.Inferred = append(p.Inferred, sentenceOfResource(x, create, get))
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
	if post := p.Document.Find(http.MethodPost, above); post != nil {
		return post
	}
	put := p.Document.Operation(replace)
	if put == nil {
		return nil
	}
	if onlyReplaces := put.Lists(http.StatusNotFound) && !put.Lists(http.StatusCreated); onlyReplaces {
		return nil
	}
	return put
}

// isDeclared reports whether the options or links declare what was inferred.
func (p *Planner) isDeclared(create, get *document.Operation) bool {
	other := p.uses[get]
	isOfOther := other != nil && other.create != create
	declares := func(declared scenario.Resource) bool { return declared.Create == create.ID }
	return isOfOther || slices.ContainsFunc(p.Resources, declares)
}

// sentenceOfResource says what was inferred.
func sentenceOfResource(x scenario.Resource, create, get *document.Operation) string {
	takes := slices.DeleteFunc([]string{x.Read, x.Replace, x.Change, x.Delete}, func(name string) bool {
		return name == "" || name == x.Create
	})
	chooser := "the member " + x.ID + " of its body, which the client chooses"
	switch {
	case create.Method == http.MethodPut:
		chooser = "its path, which the client chooses"
	case x.Assigned && x.ID == "":
		chooser = "Location, which the service assigns"
	case x.Assigned:
		chooser = "the member " + x.ID + " of its response, which the service assigns"
	}
	return fmt.Sprintf("%s creates what {%s} names in %s: it is in %s", x.Create, get.PathNames[0], strings.Join(takes, ", "), chooser)
}

// identify finds the identity that a path needs in what a create takes and gives.
func (p *Planner) identify(x *scenario.Resource, create, get *document.Operation) bool {
	parameter := get.Parameter("path", get.PathNames[0])
	if parameter == nil {
		return false
	}
	inPath, _ := document.ParameterSchema(parameter)
	if create.Method == http.MethodPut {
		return p.canIdentify(inPath)
	}
	body := create.BodySchema()
	sent := p.identityIn(body, inPath, get.PathNames[0], true)
	received := p.identityIn(create.Result(), inPath, get.PathNames[0], false)
	isRequired := sent != "" && slices.Contains(p.values.Flatten(body).Required, sent)
	switch {
	case isRequired, sent != "" && received == "":
		x.ID = sent
		return p.canIdentify(p.values.Property(body, sent))
	case received != "":
		x.ID = received
		x.Assigned = true
		return true
	}
	x.Assigned = true
	return create.SendsLocation()
}

// canIdentify reports whether identities can be drawn for a schema.
func (p *Planner) canIdentify(identity *openapi3.Schema) bool {
	return p.values.Fits(identity, p.values.Identity(identity))
}

// identityIn returns the member of a schema that has the name of a path parameter, or of its end.
func (p *Planner) identityIn(of, inPath *openapi3.Schema, parameter string, isSent bool) string {
	for _, name := range []string{plainName(parameter), "id"} {
		if !strings.HasSuffix(plainName(parameter), name) {
			continue
		}
		found := first(p.values.Names(of), func(candidate string) bool {
			member := p.values.Property(of, candidate)
			return plainName(candidate) == name && p.mayIdentify(member, inPath, isSent)
		})
		if found != "" {
			return found
		}
	}
	return ""
}

// mayIdentify reports whether a member may have what a path parameter needs. One that is sent must not
// be readOnly.
func (p *Planner) mayIdentify(member, inPath *openapi3.Schema, isSent bool) bool {
	if isSent && p.values.IsAbsent(member) {
		return false
	}
	isText := member.Type.Is("string") && p.values.Flatten(inPath).Type.Is("string")
	return isText || member.Type.Is("integer")
}

// plainName is a name in one of the ways to write it: page_size, pageSize and page[size] are the same.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// The plain names that parameters of lists usually have, and members with the next page.
const (
	limitNames = " limit perpage pagesize size maxresults maxitems first count top take "
	// The page follows an item.
	lastNames   = " after startingafter startafter afterid "
	cursorNames = " cursor after pagetoken nexttoken continuationtoken marker startingafter "
	offsetNames = " offset skip "
	pageNames   = " page pagenumber "
	nextNames   = " next nextcursor nextpagetoken nexttoken nextpage nextmarker continuationtoken cursor endcursor "
	aroundNames = " meta paging pagination pageinfo links "
)

// isAmong reports whether a name is one of some plain ones.
func isAmong(names, name string) bool {
	return strings.Contains(names, " "+plainName(name)+" ")
}
