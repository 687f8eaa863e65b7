package resources

import (
	"cmp"
	"fmt"
	"maps"
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
			l := &List{List: declared, ReadBy: operation, Resource: x}
			item := schema.At(operation.Result(), l.ItemsAt()+"/0")
			l.ID, l.Item = s.placed(item, declared.ID)
			for _, parameter := range slices.Sorted(maps.Keys(l.Filters)) {
				l.Selects = append(l.Selects, declaredFilter(parameter, l.Filters[parameter]))
			}
			s.Lists = append(s.Lists, l)
		}
	}
	for _, x := range s.All {
		s.inferList(x)
	}
}

// inferList adds the list that is at the path above that of a resource: GET /plants lists what POST /plants
// creates. A PUT has no path of its own for the list, so that is above it.
func (s *Set) inferList(x *Resource) {
	path := x.Create.Template
	if above, hasAbove := x.Create.Above(); hasAbove {
		path = above
	}
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
	items := s.inferItems(l)
	if items == nil {
		s.miss(operation, "no array of its response, or more than one, has the member that identifies what "+x.Create.ID+" creates")
		l.Items = unknown
		l.ID = x.identityName()
		s.stub.Lists = append(s.stub.Lists, l.List)
		return
	}
	for _, parameter := range operation.Parameters {
		s.inferParameter(l, parameter, items)
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
	isKnown := slices.ContainsFunc(s.Lists, func(l *List) bool {
		return l.ReadBy == operation
	})
	isOpen := func(name string) bool { return !s.values.IsGiven(name) }
	isOfAnother := slices.ContainsFunc(operation.PathNames, isOpen) && x.Parent == nil
	isUsed := isKnown || s.IsLeftOut(operation)
	return !isUsed && !isOfAnother && !operation.Streams()
}

// inferItems finds the items of a response, and in them the identity, and returns their schema. A response
// with two arrays of items says not which one is the list.
//
//	[{"id": 7}, {"id": 8}]                       the response itself is the list
//	{"items": [{"id": 7}], "next_cursor": "x"}   the member items is it
//	{"data": {"items": [{"id": 7}]}}             /data/items is it
func (s *Set) inferItems(l *List) (items *schema.Schema) {
	whole := l.ReadBy.Result()
	if whole == nil {
		return nil
	}
	if item := s.itemOf(l, s.values.Flatten(whole)); item != nil {
		return item
	}
	tops, inners := map[string]*schema.Schema{}, map[string]*schema.Schema{}
	for _, name := range s.values.Names(whole) {
		tops[name] = s.values.Property(whole, name)
		s.inferNext(l, name, tops[name])
		for _, inner := range s.values.Names(tops[name]) {
			inners[jsonvalue.Pointer(name, inner)] = s.values.Property(tops[name], inner)
		}
	}
	return cmp.Or(s.onlyList(l, tops), s.onlyList(l, inners))
}

// onlyList is the schema of the things in one of some members, if exactly one is a list of them.
func (s *Set) onlyList(l *List, members map[string]*schema.Schema) (items *schema.Schema) {
	for at, member := range members {
		item := s.itemOf(l, member)
		if item == nil {
			continue
		}
		if items != nil {
			return nil
		}
		items = item
		l.Items = at
	}
	return items
}

// itemOf returns the schema of the things in an array, and notes where they have their identity; nil: nowhere.
func (s *Set) itemOf(l *List, array *schema.Schema) *schema.Schema {
	if schema.TypeOf(array) != "array" {
		return nil
	}
	item := schema.Of(array.Items2020)
	names := identityNames(l.Resource.identityName())
	identity, w := s.find(item, nil, func(of *schema.Schema) string { return s.memberNamed(of, names, anyMember) })
	if identity == "" {
		return nil
	}
	l.ID = identity
	l.Item = w
	return schema.At(item, w.Members)
}

// identityName is the name of the member that identifies a resource. Where only Location or the path has the
// identity, it is the name of the path parameter.
func (x *Resource) identityName() string {
	if x.Member != "" {
		return x.Member
	}
	names := x.onOne().PathNames
	return names[len(names)-1]
}

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

// inferParameter finds out what a parameter of a list does: it selects items by a member, or does what its name says.
func (s *Set) inferParameter(l *List, parameter *document.Parameter, items *schema.Schema) {
	if parameter.In != "query" {
		return
	}
	if f := s.findFilter(l, parameter, items); f != nil {
		l.Selects = append(l.Selects, *f)
		l.Filters[parameter.Name] = f.String()
		return
	}
	if s.memberOfParameter(items, PlainName(parameter.Name), l.ID) == "" {
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

// memberOfParameter returns the member of items that has a plain name, in the singular or plural.
func (s *Set) memberOfParameter(items *schema.Schema, plain, identity string) string {
	names := []string{plain, strings.TrimSuffix(plain, "s"), plain + "s"}
	return s.memberNamed(items, names, func(name string, _ *schema.Schema) bool { return name != identity })
}

// scalar is what a schema has one or several of, where it is not null.
func (s *Set) scalar(of *schema.Schema) *schema.Schema {
	return s.values.Scalar(s.values.WithoutNull(of))
}

// sameKind reports whether two schemas have the same type, which is neither array nor object.
func sameKind(one, other *schema.Schema) bool {
	name := schema.TypeOf(one)
	isOne := name != "" && schema.IsScalar(one)
	return isOne && schema.TypeOf(other) == name
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
	for _, name := range slices.Sorted(maps.Keys(l.Filters)) {
		text += "; " + name + " selects by the member " + l.Filters[name]
	}
	return text
}
