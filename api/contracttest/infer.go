package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	sch "github.com/plantstore/plantstore/api/contracttest/internal/schema"

	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/getkin/kin-openapi/openapi3"
)

// What a document does not declare follows from its shape: POST /things makes what
// GET /things/{id} reads. It becomes a Resource or a List as the options have them, so that the
// same tests try both. Where a right service may do otherwise, the tests of an inferred one are
// untried and do not fail.

// infers reports whether the options let anything be inferred of an operation.
func (s *suite) infers(r *document.Operation) bool {
	return r != nil && (s.contract.options.Infer == nil || s.contract.options.Infer(r.Declared()))
}

// inferResources adds the resources that have a path of their own below that of a create, and
// those that PUT creates.
func (s *suite) inferResources() {
	for _, get := range s.document.Operations {
		collection, ok := get.Above()
		if get.Method != http.MethodGet || !ok || !s.infers(get) {
			continue
		}
		id := func(method string) string {
			r := s.document.Find(method, get.Template)
			if r == nil || r.Template != get.Template || !s.infers(r) {
				return ""
			}
			if mediaType, _ := r.Body(); mediaType == "application/json-patch+json" {
				return "" // it needs paths that exist
			}
			return r.ID
		}
		x := Resource{Read: id(http.MethodGet), Replace: id(http.MethodPut), Change: id(http.MethodPatch), Delete: id(http.MethodDelete)}
		create := s.document.Find(http.MethodPost, collection)
		if create == nil {
			create = s.document.Operation(x.Replace)
			if create == nil || create.Lists(http.StatusNotFound) && !create.Lists(http.StatusCreated) {
				continue // it only replaces
			}
		}
		if x.Create = create.ID; !s.infers(create) || len(create.PathNames) > 1 || !s.identify(&x, create, get) {
			continue
		}
		declares := func(declared Resource) bool { return declared.Create == x.Create }
		isDeclared := slices.ContainsFunc(s.contract.options.Resources, declares)
		if use := s.uses[get]; isDeclared || use != nil && use.create != create {
			continue
		}
		s.addResource(x, true)
		takes := []string{x.Read, x.Replace, x.Change, x.Delete}
		takes = slices.DeleteFunc(takes, func(name string) bool { return name == "" || name == x.Create })
		who := "the member " + x.ID + " of its body, which the client chooses"
		switch {
		case create.Method == http.MethodPut:
			who = "its path, which the client chooses"
		case x.Assigned && x.ID == "":
			who = "Location, which the service assigns"
		case x.Assigned:
			who = "the member " + x.ID + " of its response, which the service assigns"
		}
		s.inferred = append(s.inferred, fmt.Sprintf("%s creates what %s take by {%s}: it is in %s", x.Create, strings.Join(takes, ", "), get.PathNames[0], who))
	}
}

// property returns the schema of a member, without allOf, or nil.
func (s *suite) property(schema *openapi3.Schema, name string) *openapi3.Schema {
	if schema == nil {
		return nil
	}
	if ref := s.gen.flatten(schema).Properties[name]; ref != nil {
		return s.gen.flatten(ref.Value)
	}
	return nil
}

// names returns the names of the members of a schema, sorted.
func (s *suite) names(schema *openapi3.Schema) []string {
	if schema == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.gen.flatten(schema).Properties))
}

// identify finds the identity that a path needs in what a create takes and gives.
func (s *suite) identify(x *Resource, create, get *document.Operation) bool {
	p := get.Parameter("path", get.PathNames[0])
	if p == nil {
		return false
	}
	schema, _ := document.ParameterSchema(p)
	valid := func(schema *openapi3.Schema) bool { return s.gen.valid(schema, s.gen.identity(schema)) }
	if create.Method == http.MethodPut {
		return valid(schema)
	}
	inPath := s.gen.flatten(schema)
	member := func(in *openapi3.Schema, sent bool) string {
		for _, name := range []string{plain(get.PathNames[0]), "id"} {
			for _, candidate := range s.names(in) {
				p := s.property(in, candidate)
				fits := p.Type.Is("integer") || p.Type.Is("string") && inPath.Type.Is("string")
				if fits && plain(candidate) == name && strings.HasSuffix(plain(get.PathNames[0]), name) && !(sent && s.gen.absent(p)) {
					return candidate
				}
			}
		}
		return ""
	}
	_, request := create.Body()
	sent, received := member(request, true), member(s.result(create), false)
	switch {
	case sent != "" && (received == "" || slices.Contains(s.gen.flatten(request).Required, sent)):
		x.ID = sent
		return valid(s.property(request, sent))
	case received != "":
		x.ID, x.Assigned = received, true
		return true
	}
	x.Assigned = true
	return create.SendsLocation()
}

// result is the schema of what an operation that succeeds responds with, or nil.
func (s *suite) result(r *document.Operation) *openapi3.Schema {
	for status := http.StatusOK; status < http.StatusAccepted; status++ {
		if response := r.Response(status); response != nil && r.Succeeds(status) {
			if _, schema := document.JSONOf(response.Content); schema != nil {
				return schema
			}
		}
	}
	return nil
}

// plain is a name in one of the ways to write it: page_size, pageSize and page[size] are the same.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// The plain names that parameters of lists usually have, and members with the next page.
const (
	limitNames  = " limit perpage pagesize size maxresults maxitems first count top take "
	lastNames   = " after startingafter startafter afterid " // the page follows an item
	cursorNames = " cursor after pagetoken nexttoken continuationtoken marker startingafter "
	offsetNames = " offset skip "
	pageNames   = " page pagenumber "
	nextNames   = " next nextcursor nextpagetoken nexttoken nextpage nextmarker continuationtoken cursor endcursor "
	aroundNames = " meta paging pagination pageinfo links "
)

func among(names, name string) bool { return strings.Contains(names, " "+plain(name)+" ") }

// otherThanEqual are words about a parameter that selects not what has its value; partly are
// words about a list that need not have all that exists.
var (
	otherThanEqual = regexp.MustCompile(`(?i)before|after|since|until|less|greater|\bm(in|ax)|above|below|least|most|between|\bnot\b|n't|without|exclu|except|other than|sort|order|ignored`)
	partly         = regexp.MustCompile(`(?i)\bonly\b|published|active|public|visible|available|\bown(ed)?\b|your|current user|recent|latest|newest|search|matching|popular`)
)

// inferLists adds the lists that are at the path above that of a resource.
func (s *suite) inferLists() {
	for _, x := range s.resources {
		collection := x.create.Template
		if above, ok := x.create.Above(); ok {
			collection = above
		}
		r := s.document.Find(http.MethodGet, collection)
		if !s.infers(r) || r.Streams() || len(r.PathNames) > 0 || slices.ContainsFunc(s.lists, func(l lister) bool { return l.route == r }) {
			continue
		}
		l := lister{List{Operation: r.ID, Create: x.create.ID, Filters: map[string]string{}}, r, x, true}
		items := s.inferItems(&l)
		if items == nil {
			continue
		}
		for _, p := range r.Parameters {
			if schema, _ := document.ParameterSchema(p); p.In == "query" {
				s.inferParameter(&l, p, s.gen.flatten(schema), items)
			}
		}
		if l.Next == "" && !among(lastNames, l.After) {
			l.After = "" // nothing tells its values
		}
		s.lists, s.inferred = append(s.lists, l), append(s.inferred, l.sentence())
	}
}

// inferItems finds the items of a response, and in them the identity, and returns their schema.
func (s *suite) inferItems(l *lister) (items *openapi3.Schema) {
	whole, id := s.result(l.route), l.resource.member
	if x := l.resource; id == "" { // Location or the path has it
		id = x.uses[http.MethodGet].PathNames[0]
	}
	itemsOf := func(array *openapi3.Schema) *openapi3.Schema {
		if !array.Type.Is("array") {
			return nil
		}
		item := sch.Of(array.Items)
		for _, name := range s.names(item) {
			if plain(name) == plain(id) || l.ID == "" && plain(name) == "id" && strings.HasSuffix(plain(id), "id") {
				l.ID = name
			}
		}
		if l.ID == "" {
			return nil
		}
		return item
	}
	if whole == nil {
		return nil
	}
	if items = itemsOf(s.gen.flatten(whole)); items != nil {
		return items
	}
	for _, name := range s.names(whole) {
		member := s.property(whole, name)
		if other := itemsOf(member); other != nil {
			if items != nil {
				return nil // there are two
			}
			l.Items, items = name, other
		}
		if among(nextNames, name) && !member.Type.Is("array") && len(member.Properties) == 0 {
			l.Next = name
		}
		for _, inner := range s.names(member) {
			if among(aroundNames, name) && among(nextNames, inner) {
				l.Next = name + "/" + inner
			}
		}
	}
	return items
}

// inferParameter finds out what a parameter of a list does.
func (s *suite) inferParameter(l *lister, p *openapi3.Parameter, schema, items *openapi3.Schema) {
	_, body := l.resource.create.Body()
	for _, name := range s.names(items) {
		if plain(name) != plain(p.Name) && plain(name)+"s" != plain(p.Name) && plain(name) != plain(p.Name)+"s" || name == l.ID {
			continue
		}
		sent, item := s.property(body, name), s.property(items, name)
		if sent == nil || s.gen.absent(sent) || otherThanEqual.MatchString(p.Description) || !sameKind(s.scalar(schema), s.scalar(sent)) || !sameKind(s.scalar(sent), s.scalar(item)) {
			return
		}
		l.Filters[p.Name] = name
		return
	}
	set := func(field *string, names string, ok bool) {
		if *field == "" && ok && among(names, p.Name) {
			*field = p.Name
		}
	}
	number := schema.Type.Is("integer")
	set(&l.Limit, limitNames, number)
	set(&l.Offset, offsetNames, number)
	set(&l.Page, pageNames, number)
	set(&l.After, cursorNames+lastNames, true)
}

// scalar is the schema of the items of an array, or the schema itself.
func (s *suite) scalar(schema *openapi3.Schema) *openapi3.Schema {
	if schema.Type.Is("array") {
		return s.gen.flatten(sch.Of(schema.Items))
	}
	return schema
}

func sameKind(a, b *openapi3.Schema) bool {
	return len(a.Type.Slice()) == 1 && slices.Equal(a.Type.Slice(), b.Type.Slice()) && !a.Type.Is("object") && !a.Type.Is("array")
}

// sentence says what was inferred of a list.
func (l lister) sentence() string {
	text := fmt.Sprintf("%s lists what %s creates", l.Operation, l.Create)
	if l.Items != "" {
		text += " in the member " + l.Items
	}
	for _, part := range [][2]string{
		{l.Limit, "is the most items of a page"},
		{l.Offset, "is how many items come before"},
		{l.Page, "is the number of the page"},
		{l.After, map[bool]string{true: "is the " + l.ID + " of the item before", false: "is the " + l.Next + " of the page before"}[l.Next == ""]},
	} {
		if part[0] != "" {
			text += "; " + part[0] + " " + part[1]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Filters)) {
		text += "; " + name + " selects by the member " + l.Filters[name]
	}
	return text
}
