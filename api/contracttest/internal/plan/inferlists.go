package plan

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A list is inferred for each resource that has one at the path above it. What its parameters do follows from
// their names, which are much the same everywhere, and what its items are from the member that has the identity.
// A parameter with an unknown name is left out: its effect stays an untried promise, which the report tells.

// otherThanEqual are words about a parameter that selects not what has its value. A wrong guess here costs little:
// the filter is not tested.
var otherThanEqual = regexp.MustCompile(`(?i)before|after|since|until|less|greater|\bm(in|ax)|above|below|least|most|between|\bnot\b|n't|without|exclu|except|other than|sort|order|ignored`)

// findLists finds the lists that the options declare, and infers others.
func (p *Planner) findLists() {
	for _, declared := range p.Lists {
		operation := p.Document.Operation(declared.Operation)
		x := p.resourceCreatedBy(declared.Create)
		if operation != nil && x != nil && !p.isLeftOut(operation) {
			p.lists = append(p.lists, &listing{List: declared, operation: operation, resource: x})
		}
	}
	for _, x := range p.resources {
		p.inferList(x)
	}
}

// inferList adds the list that is at the path above that of a resource: GET /plants lists what POST /plants
// creates. A PUT has no path of its own for the list, so that is above it.
func (p *Planner) inferList(x *resource) {
	path := x.create.Template
	if above, hasAbove := x.create.Above(); hasAbove {
		path = above
	}
	operation := p.Document.At(http.MethodGet, document.Shape(path))
	if !p.infers(operation) || !p.canBeList(operation, x) {
		return
	}
	l := &listing{operation: operation, resource: x, inferred: true}
	l.List = scenario.List{
		Operation: operation.ID,
		Create:    x.create.ID,
		Filters:   map[string]string{},
	}
	items := p.inferItems(l)
	if items == nil {
		return
	}
	for _, parameter := range operation.Parameters {
		p.inferParameter(l, parameter, items)
	}
	if l.Next == "" && !isAmong(lastNames, l.After) {
		l.After = "" // nothing tells its values
	}
	p.lists = append(p.lists, l)
	p.Inferred = append(p.Inferred, l.sentence())
}

// canBeList reports whether an operation may list a resource, and is not yet known for it. One with parameters in
// its path lists what is below another resource, which a test must be able to create; a stream has no end.
func (p *Planner) canBeList(operation *document.Operation, x *resource) bool {
	isKnown := slices.ContainsFunc(p.lists, func(l *listing) bool {
		return l.operation == operation
	})
	isOpen := func(name string) bool { return !p.values.IsGiven(name) }
	isOfAnother := slices.ContainsFunc(operation.PathNames, isOpen) && x.parent == nil
	isUsed := isKnown || p.isLeftOut(operation)
	return !isUsed && !isOfAnother && !operation.Streams()
}

// inferItems finds the items of a response, and in them the identity, and returns their schema. A response
// with two arrays of items says not which one is the list.
func (p *Planner) inferItems(l *listing) (items *openapi3.Schema) {
	whole := l.operation.Result()
	if whole == nil {
		return nil
	}
	if item, identity := p.itemOf(l, p.values.Flatten(whole)); identity != "" {
		l.ID = identity
		return item
	}
	for _, name := range p.values.Names(whole) {
		member := p.values.Property(whole, name)
		p.inferNext(l, name, member)
		item, identity := p.itemOf(l, member)
		switch {
		case identity == "":
		case items != nil:
			return nil
		default:
			items = item
			l.ID = identity
			l.Items = name
		}
	}
	return items
}

// itemOf returns the schema of the items of an array, and the member of them that is their identity. Without
// one it is empty.
func (p *Planner) itemOf(l *listing, array *openapi3.Schema) (item *openapi3.Schema, identity string) {
	if !array.Type.Is("array") {
		return nil, ""
	}
	item = schema.Of(array.Items)
	isAny := func(string, *openapi3.Schema) bool { return true }
	return item, p.memberNamed(item, identityNames(l.resource.identityName()), isAny)
}

// identityName is the name of the member that identifies a resource. Where only Location or the path has the
// identity, it is the name of the path parameter.
func (x *resource) identityName() string {
	if x.member != "" {
		return x.member
	}
	names := x.uses[http.MethodGet].PathNames
	return names[len(names)-1]
}

// inferNext notes that a member of the response, or one in it, leads to the next page. An array or an object of
// such a name is no token that a request could have.
func (p *Planner) inferNext(l *listing, name string, member *openapi3.Schema) {
	isValue := !member.Type.Is("array") && len(member.Properties) == 0
	if isValue && isAmong(nextNames, name) {
		l.Next = name
	}
	if !isAmong(aroundNames, name) {
		return
	}
	for _, inner := range p.values.Names(member) {
		if isAmong(nextNames, inner) {
			l.Next = name + "/" + inner
		}
	}
}

// inferParameter finds out what a parameter of a list does. One that has the name of a member is a filter, or
// nothing that is known.
func (p *Planner) inferParameter(l *listing, parameter *openapi3.Parameter, items *openapi3.Schema) {
	if parameter.In != "query" {
		return
	}
	described, _ := document.ParameterSchema(parameter)
	wanted := p.values.Flatten(described)
	if member := p.memberOfParameter(items, parameter.Name, l.ID); member != "" {
		if p.selectsBy(l, parameter, wanted, items, member) {
			l.Filters[parameter.Name] = member
		}
		return
	}
	for _, meaning := range l.meanings() {
		fits := wanted.Type.Is("integer") || !meaning.isNumber
		isFree := *meaning.parameter == ""
		if fits && isFree && isAmong(meaning.names, parameter.Name) {
			*meaning.parameter = parameter.Name
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
func (l *listing) meanings() []meaning {
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

// memberOfParameter returns the member of items that a parameter has the name of, in the singular or plural.
func (p *Planner) memberOfParameter(items *openapi3.Schema, parameter, identity string) string {
	plain := plainName(parameter)
	names := []string{plain, strings.TrimSuffix(plain, "s"), plain + "s"}
	return p.memberNamed(items, names, func(name string, _ *openapi3.Schema) bool { return name != identity })
}

// selectsBy reports whether a parameter may select the items whose member has its value. A test must be able to
// choose the value, so a create must send it, and parameter, create and item must have it in the same type.
func (p *Planner) selectsBy(l *listing, parameter *openapi3.Parameter, wanted, items *openapi3.Schema, member string) bool {
	sent := p.values.Property(l.resource.create.BodySchema(), member)
	item := p.values.Property(items, member)
	if sent == nil || p.values.IsAbsent(sent) || otherThanEqual.MatchString(parameter.Description) {
		return false
	}
	scalar := p.values.Scalar(sent)
	return sameKind(p.values.Scalar(wanted), scalar) && sameKind(scalar, p.values.Scalar(item))
}

// sameKind reports whether two schemas have the same type, which is neither array nor object.
func sameKind(one, other *openapi3.Schema) bool {
	types := one.Type.Slice()
	isScalar := !one.Type.Is("object") && !one.Type.Is("array")
	return isScalar && len(types) == 1 && slices.Equal(types, other.Type.Slice())
}

// sentence says what was inferred of a list, so that its author can see a wrong guess, and correct it.
func (l *listing) sentence() string {
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
