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

// otherThanEqual are words about a parameter that selects not what has its value.
var otherThanEqual = regexp.MustCompile(`(?i)before|after|since|until|less|greater|\bm(in|ax)|above|below|least|most|between|\bnot\b|n't|without|exclu|except|other than|sort|order|ignored`)

// findLists finds the lists that the options declare, and infers others.
func (p *Planner) findLists() {
	for _, declared := range p.Lists {
		operation := p.Document.Operation(declared.Operation)
		x := p.resourceCreatedBy(declared.Create)
		if operation != nil && x != nil && !p.isLeftOut(operation) {
			p.lists = append(p.lists, &listing{
				List:      declared,
				operation: operation,
				resource:  x,
			})
		}
	}
	for _, x := range p.resources {
		p.inferList(x)
	}
}

// inferList adds the list that is at the path above that of a resource.
func (p *Planner) inferList(x *resource) {
	path := x.create.Template
	if above, ok := x.create.Above(); ok {
		path = above
	}
	operation := p.Document.Find(http.MethodGet, path)
	if !p.infers(operation) || !p.canBeList(operation) {
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
		if parameter.In == "query" {
			p.inferParameter(l, parameter, items)
		}
	}
	if l.Next == "" && !isAmong(lastNames, l.After) {
		l.After = "" // nothing tells its values
	}
	p.lists = append(p.lists, l)
	p.Inferred = append(p.Inferred, l.sentence())
}

// canBeList reports whether an operation may list a resource, and is not yet known for it.
func (p *Planner) canBeList(operation *document.Operation) bool {
	isKnown := slices.ContainsFunc(p.lists, func(l *listing) bool {
		return l.operation == operation
	})
	isOfAnother := len(operation.PathNames) > 0 || operation.Streams()
	isUsed := isKnown || p.isLeftOut(operation)
	return !isUsed && !isOfAnother
}

// inferItems finds the items of a response, and in them the identity, and returns their schema.
func (p *Planner) inferItems(l *listing) (items *openapi3.Schema) {
	whole := l.operation.Result()
	if whole == nil {
		return nil
	}
	if items := p.itemsOf(l, p.values.Flatten(whole)); items != nil {
		return items
	}
	for _, name := range p.values.Names(whole) {
		member := p.values.Property(whole, name)
		other := p.itemsOf(l, member)
		if other != nil && items != nil {
			return nil // there are two
		}
		if other != nil {
			l.Items = name
			items = other
		}
		p.inferNext(l, name, member)
	}
	return items
}

// itemsOf returns the schema of the items of an array that have an identity, which it notes, or nil.
func (p *Planner) itemsOf(l *listing, array *openapi3.Schema) *openapi3.Schema {
	if !array.Type.Is("array") {
		return nil
	}
	identity := l.resource.identityName()
	item := schema.Of(array.Items)
	for _, name := range p.values.Names(item) {
		isEnd := plainName(name) == "id" && strings.HasSuffix(identity, "id")
		isFirst := isEnd && l.ID == ""
		if isFirst || plainName(name) == identity {
			l.ID = name
		}
	}
	if l.ID == "" {
		return nil
	}
	return item
}

// identityName is the plain name of the member that identifies a resource. Where only Location or the path
// has the identity, it is the name of the path parameter.
func (x *resource) identityName() string {
	if x.member != "" {
		return plainName(x.member)
	}
	return plainName(x.uses[http.MethodGet].PathNames[0])
}

// inferNext notes that a member of the response, or one in it, leads to the next page.
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

// inferParameter finds out what a parameter of a list does.
func (p *Planner) inferParameter(l *listing, parameter *openapi3.Parameter, items *openapi3.Schema) {
	described, _ := document.ParameterSchema(parameter)
	wanted := p.values.Flatten(described)
	if member := p.memberOfName(items, parameter.Name, l.ID); member != "" {
		if p.selectsBy(l, parameter, wanted, items, member) {
			l.Filters[parameter.Name] = member
		}
		return
	}
	isNumber := wanted.Type.Is("integer")
	for _, meaning := range []struct {
		field *string
		names string
		fits  bool
	}{
		{&l.Limit, limitNames, isNumber},
		{&l.Offset, offsetNames, isNumber},
		{&l.Page, pageNames, isNumber},
		{&l.After, cursorNames + lastNames, true},
	} {
		if *meaning.field == "" && meaning.fits && isAmong(meaning.names, parameter.Name) {
			*meaning.field = parameter.Name
		}
	}
}

// memberOfName returns the member of items that a parameter has the name of, in the singular or plural.
func (p *Planner) memberOfName(items *openapi3.Schema, parameter, identity string) string {
	wanted := plainName(parameter)
	return first(p.values.Names(items), func(name string) bool {
		plain := plainName(name)
		return name != identity && slices.Contains([]string{plain, plain + "s", strings.TrimSuffix(plain, "s")}, wanted)
	})
}

// selectsBy reports whether a parameter may select the items whose member has its value.
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

// sentence says what was inferred of a list.
func (l *listing) sentence() string {
	text := fmt.Sprintf("%s lists what %s creates", l.Operation, l.Create)
	if l.Items != "" {
		text += " in the member " + l.Items
	}
	after := "is the " + l.Next + " of the page before"
	if l.Next == "" {
		after = "is the " + l.ID + " of the item before"
	}
	for _, part := range []struct{ parameter, does string }{
		{l.Limit, "is the most items of a page"},
		{l.Offset, "is how many items come before"},
		{l.Page, "is the number of the page"},
		{l.After, after},
	} {
		if part.parameter != "" {
			text += "; " + part.parameter + " " + part.does
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Filters)) {
		text += "; " + name + " selects by the member " + l.Filters[name]
	}
	return text
}
