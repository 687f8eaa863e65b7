package resources

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A list is inferred for each resource that has one at the path above it. What its parameters do follows from
// their names, which are much the same everywhere, and what its items are from the member that has the identity.
// A parameter with an unknown name is left out: its effect stays a promise that is not tested, which the report tells.

// findLists finds the lists that the options declare, and infers others.
func (s *Set) findLists() {
	for _, declared := range s.declared.Lists {
		operation := s.document.Operation(declared.Operation)
		x := s.CreatedBy(declared.Create)
		if operation != nil && x != nil && !s.IsLeftOut(operation) {
			s.Lists = append(s.Lists, s.declaredList(declared, operation, x))
		}
	}
	for _, x := range s.All {
		s.inferList(x)
	}
}

// declaredList is a list of the options.
func (s *Set) declaredList(declared scenario.List, operation *document.Operation, x *Resource) *List {
	l := &List{List: declared, ReadBy: operation, Resource: x}
	item := schema.At(operation.Result(), l.ItemsAt()+"/0")
	l.ID, l.Item = s.placed(item, declared.ID)
	for _, parameter := range jsonvalue.Names(l.Filters) {
		l.Selects = append(l.Selects, declaredFilter(parameter, l.Filters[parameter]))
	}
	return l
}

// inferList adds the list that has a resource: GET /plants lists what POST /plants creates, and GET /plants lists what
// PUT /plants/{id} creates.
func (s *Set) inferList(x *Resource) {
	path, _ := x.Create.Above()
	operation := s.document.At(http.MethodGet, document.Shape(path))
	if !s.Infers(operation) || !s.canBeList(operation, x) {
		return
	}
	l := &List{ReadBy: operation, Resource: x, IsInferred: true}
	l.List = scenario.List{
		Operation: operation.ID,
		Create:    x.Create.ID,
		Filters:   map[string]string{},
	}
	for _, name := range s.values.Names(operation.Result()) {
		s.inferNext(l, name, s.values.Property(operation.Result(), name))
	}
	found := s.inferItems(l)
	if found == nil {
		s.miss(operation, "no array of its response, or more than one, has the member that identifies what "+x.Create.ID+" creates")
		l.Items = unknown
		l.ID = x.identityName()
		s.stub.Lists = append(s.stub.Lists, l.List)
		return
	}
	l.Items = found.at
	l.ID = found.identity
	l.Item = found.wrapping
	for _, parameter := range operation.Parameters {
		s.inferParameter(l, parameter, found.thing)
	}
	if l.Next == "" && !isAmong(lastNames, l.After) {
		l.After = "" // nothing tells its values
	}
	s.Lists = append(s.Lists, l)
	s.Inferred = append(s.Inferred, l.sentence())
}

// canBeList reports whether an operation may list a resource, and is not yet known for it. One with parameters in
// its path lists what is under another resource, which a test must be able to create; a stream has no end.
func (s *Set) canBeList(operation *document.Operation, x *Resource) bool {
	isKnown := slices.ContainsFunc(s.Lists, func(l *List) bool { return l.ReadBy == operation })
	if isKnown || s.IsLeftOut(operation) || operation.Streams() {
		return false
	}
	isOpen := func(name string) bool { return !s.values.IsGiven(name) }
	return x.Parent != nil || !slices.ContainsFunc(operation.PathNames, isOpen)
}

// items are the items of a list.
type items struct {
	at       string // where a response has them, as the options say it
	identity string // the member that identifies the thing in an item
	wrapping document.Wrapping
	thing    *schema.Schema
}

// inferItems finds the items of a response, or nil. A response with two arrays of items at one depth does not say which one is
// the list.
//
//	[{"id": 7}, {"id": 8}]                       the response itself is the list
//	{"items": [{"id": 7}], "next_cursor": "x"}   the member items is it
//	{"data": {"items": [{"id": 7}]}}             /data/items is it
func (s *Set) inferItems(l *List) *items {
	whole := l.ReadBy.Result()
	if whole == nil {
		return nil
	}
	members, inners := map[string]*schema.Schema{}, map[string]*schema.Schema{}
	for _, name := range s.values.Names(whole) {
		members[name] = s.values.Property(whole, name)
		for _, inner := range s.values.Names(members[name]) {
			inners[jsonvalue.Pointer(name, inner)] = s.values.Property(members[name], inner)
		}
	}
	return cmp.Or(s.itemsAt(l, "", s.values.Flatten(whole)), s.onlyItems(l, members), s.onlyItems(l, inners))
}

// onlyItems are the items in one of some members, if exactly one is a list of them.
func (s *Set) onlyItems(l *List, members map[string]*schema.Schema) (only *items) {
	for at, member := range members {
		found := s.itemsAt(l, at, member)
		if found != nil && only != nil {
			return nil
		}
		only = cmp.Or(found, only)
	}
	return only
}

// itemsAt are the items in an array that a response has in a place, or nil if they have no identity.
func (s *Set) itemsAt(l *List, at string, array *schema.Schema) *items {
	if schema.TypeOf(array) != "array" {
		return nil
	}
	item := schema.Of(array.Items2020)
	identity, w := s.find(item, nil, identityNames(l.Resource.identityName()), anyMember)
	if identity == "" {
		return nil
	}
	return &items{at: at, identity: identity, wrapping: w, thing: schema.At(item, w.Members)}
}

// identityName is the name of the member that identifies a resource. Where only Location or the path has the
// identity, it is the name of the path parameter.
func (x *Resource) identityName() string { return cmp.Or(x.Member, x.onOne().LastPathName()) }

// inferNext notes that a member of the response, or one in it, leads to the next page. An array or an object of
// such a name is no token that a request could have.
//
//	{"items": […], "next": "/tools?page=2"}      the member next
//	{"items": […], "links": {"next": …}}         links/next
func (s *Set) inferNext(l *List, name string, member *schema.Schema) {
	isValue := schema.TypeOf(member) != "array" && len(member.Properties) == 0
	if isValue && isAmong(nextNames, name) {
		l.Next = name
	}
	if !isAmong(aroundNames, name) {
		return
	}
	for _, inner := range s.values.Names(member) {
		if isAmong(nextNames, inner) {
			l.Next = name + "/" + inner
		}
	}
}

// inferParameter finds out what a parameter of a list does: it selects things by a member, or does what its name says. One with
// the name of a member that selects nothing by it does neither.
func (s *Set) inferParameter(l *List, parameter *document.Parameter, thing *schema.Schema) {
	if parameter.In != "query" {
		return
	}
	if f := s.findFilter(l, parameter, thing); f != nil {
		l.Selects = append(l.Selects, *f)
		l.Filters[parameter.Name] = f.String()
		return
	}
	if s.memberOfParameter(thing, PlainName(parameter.Name), l.ID) == "" {
		l.inferMeaning(parameter.Name, parameterSchema(s, parameter))
	}
}

// inferMeaning notes what a parameter does that has no name of a member. Of several parameters with one meaning, such
// as limit and per_page, the first one has it.
func (l *List) inferMeaning(parameter string, wanted *schema.Schema) {
	for _, meaning := range l.meanings() {
		fits := schema.TypeOf(wanted) == "integer" || !meaning.isNumber
		if fits && isAmong(meaning.names, parameter) {
			*meaning.parameter = cmp.Or(*meaning.parameter, parameter)
		}
	}
}

// meaning is what a parameter of a list may do.
type meaning struct {
	parameter *string // its name, if the list has it
	names     []string
	isNumber  bool
	does      string
}

// meanings are all that a parameter of a list may do, beside selecting items.
func (l *List) meanings() []meaning {
	after := "is the " + l.Next + " of the page before"
	if l.Next == "" {
		after = "is the " + l.ID + " of the item before"
	}
	return []meaning{
		{parameter: &l.Limit, names: limitNames, isNumber: true, does: "is the most items of a page"},
		{parameter: &l.Offset, names: offsetNames, isNumber: true, does: "is how many items come before"},
		{parameter: &l.Page, names: pageNames, isNumber: true, does: "is the number of the page"},
		{parameter: &l.After, names: slices.Concat(cursorNames, lastNames), does: after},
	}
}

// memberOfParameter returns the member of a thing, other than its identity, that has a plain name, in the singular or plural.
func (s *Set) memberOfParameter(thing *schema.Schema, plain, identity string) string {
	names := []string{plain, strings.TrimSuffix(plain, "s"), plain + "s"}
	return s.memberNamed(thing, names, func(name string, _ *schema.Schema) bool { return name != identity })
}

// scalar is what a schema has one or several of, where it is not null.
func (s *Set) scalar(of *schema.Schema) *schema.Schema {
	return s.values.Scalar(s.values.WithoutNull(of))
}

// sameKind reports whether two schemas have the same one type, which is neither array nor object.
func sameKind(one, other *schema.Schema) bool {
	kind := schema.TypeOf(one)
	return kind != "" && kind == schema.TypeOf(other) && schema.IsScalar(one)
}

// sentence says what was inferred of a list, so that its author can see a wrong guess, and correct it.
func (l *List) sentence() string {
	text := fmt.Sprintf("%s lists what %s creates", l.Operation, l.Create)
	if l.Items != "" {
		text += " in the member " + l.Items
	}
	for _, meaning := range l.meanings() {
		if *meaning.parameter != "" {
			text += "; " + *meaning.parameter + " " + meaning.does
		}
	}
	for _, name := range jsonvalue.Names(l.Filters) {
		text += "; " + name + " selects by the member " + l.Filters[name]
	}
	return text
}
