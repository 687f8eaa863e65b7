package lessons

import (
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/world"
)

// Body is the body of a request with what the service is known to need, and the names of its members that name something
// else. keeps is the place that the test is about, for example /owner/name, which stays as it is. A body that is no JSON
// stays, too.
func (l *Lessons) Body(operation *document.Operation, body []byte, keeps string) (adapted []byte, needs []string) {
	lesson := l.Of(operation)
	isPlain := !lesson.hasReferences && !lesson.NeedsFresh && len(lesson.LeftOut) == 0
	if isPlain {
		return body, nil
	}
	value, err := jsonvalue.Decode(body)
	if err != nil {
		return body, nil
	}
	f := l.newFiller(operation, lesson)
	f.keeps = keeps
	return jsonvalue.Encode(f.fill(value)), f.needs
}

// Value is a value with what the service is known to need, to be sent as a body.
func (l *Lessons) Value(operation *document.Operation, value any) any {
	return l.ValueBy(operation, l.Of(operation), value)
}

// ValueBy is Value, if all that is known is a lesson.
func (l *Lessons) ValueBy(operation *document.Operation, lesson Lesson, value any) any {
	return l.newFiller(operation, lesson).fill(jsonvalue.Normal(value))
}

// OptionalPlaces are the places in a body of what may be left out. What is in such a place is left out with it.
func (l *Lessons) OptionalPlaces(operation *document.Operation, body any) []string {
	return l.optionalWithin(operation.BodySchema(), body, "", deepest)
}

// optionalWithin are the places, in a value at a place, of what may be left out. Of a list it looks into the first item.
//
//	{"name": "a", "owner": {"id": 1}, "size": 1}   /owner and /size, if only name is required
func (l *Lessons) optionalWithin(of *schema.Schema, value any, at string, levels int) (places []string) {
	if levels == 0 {
		return nil
	}
	if items := jsonvalue.List(value); len(items) > 0 {
		return l.optionalWithin(l.itemOf(of), items[0], at+"/*", levels)
	}
	object := jsonvalue.Object(value)
	shape := l.values.ShapeOf(of, value)
	for _, name := range jsonvalue.Names(object) {
		place := at + jsonvalue.Pointer(name)
		property := l.values.Property(shape, name)
		switch {
		case !slices.Contains(shape.Required, name):
			places = append(places, place)
		case property != nil:
			places = append(places, l.optionalWithin(property, object[name], place, levels-1)...)
		}
	}
	return places
}

// itemOf is the schema of the items of an array.
func (l *Lessons) itemOf(array *schema.Schema) *schema.Schema {
	return schema.Of(l.values.Flatten(array).Items2020)
}

// filler fills a body with known identities, leaves out what the service refuses, and makes texts new where it wants
// that.
type filler struct {
	*Lessons
	lesson Lesson
	schema *schema.Schema
	own    []string // the nouns of what the operation is about
	keeps  string   // the place that a test is about
	needs  []string // the names of members that name something else: the request may be refused for these
}

// newFiller returns what fills bodies of an operation.
func (l *Lessons) newFiller(operation *document.Operation, lesson Lesson) *filler {
	return &filler{
		Lessons: l,
		lesson:  lesson,
		schema:  operation.BodySchema(),
		own:     world.NounsOf(operation.Template, ""),
	}
}

// fill returns a body as it is sent.
func (f *filler) fill(body any) any { return f.within(f.schema, body, "", deepest) }

// within fills what is in a value at a place. Members that the options give stay, and those that the service refuses are left
// out, unless the test is about them.
func (f *filler) within(of *schema.Schema, value any, at string, levels int) any {
	if of == nil || levels == 0 {
		return value
	}
	if jsonvalue.List(value) != nil {
		item := f.itemOf(of)
		return jsonvalue.Map(value, func(_ string, inner any) any {
			return f.within(item, inner, at+"/*", levels)
		})
	}
	object := jsonvalue.Object(value)
	if object == nil {
		return value
	}
	shape := f.values.ShapeOf(of, value)
	filled := map[string]any{}
	// In an order, so that a seed draws the same new texts again.
	for _, name := range jsonvalue.Names(object) {
		place := at + jsonvalue.Pointer(name)
		switch {
		case f.values.IsGiven(name):
			filled[name] = object[name]
		case !f.lesson.LeftOut[place] || f.isKept(place):
			filled[name] = f.member(f.values.Property(shape, name), object[name], place, levels)
		}
	}
	return filled
}

// isKept reports whether a test is about something at a place, or below it.
func (f *filler) isKept(place string) bool { return strings.HasPrefix(f.keeps+"/", place+"/") }

// member fills a member of an object, which the document need not know. A placeholder is replaced by what a response has shown
// under the name of the member, or by a new text. Of any other value, what is in it is filled.
//
//	{"ticket_id": 1}   {"ticket_id": 1000007}, which a response has shown
//	{"name": "Ficus"}  {"name": "value1000008"}, if the service wants a new one each time
func (f *filler) member(property *schema.Schema, value any, place string, levels int) any {
	if property == nil {
		return value
	}
	// An array of references gets one.
	known := f.knownValue(f.values.Scalar(property), f.referenceNames(property, place))
	name := place[strings.LastIndex(place, "/")+1:]
	isReference := len(world.Elsewhere(name)) > 0
	if isReference || known != nil {
		f.needs = append(f.needs, name)
	}
	isPlaceholder := jsonvalue.Same(value, f.values.Base(property))
	switch {
	case known != nil && isPlaceholder:
		return listIfArray(property, known)
	case (!isReference || f.isOwn(world.Singular(name))) && f.mayBeFresh(property, value):
		return f.values.Fresh(property, []any{value})
	}
	return f.within(property, value, place, levels-1)
}

// listIfArray is a value, or an array of it if a schema is of arrays.
func listIfArray(of *schema.Schema, value any) any {
	if schema.TypeOf(of) == "array" {
		return []any{value}
	}
	return value
}

// mayBeFresh reports whether a value is a placeholder text that the service wants to be new.
func (f *filler) mayBeFresh(property *schema.Schema, value any) bool {
	text, isText := value.(string)
	if !f.lesson.NeedsFresh || !isText {
		return false
	}
	isChosen := len(schema.ValuesOf(property)) > 0 || f.values.IsIdentity(property)
	return !isChosen && schema.TypeOf(property) == "string" && f.values.IsPlaceholder(property, text)
}

// referenceNames are the names under which a member at a place is looked up, or none. A name of what the operation itself is
// about is not looked up: what is being created must be new.
func (f *filler) referenceNames(property *schema.Schema, place string) (names []string) {
	if f.values.IsIdentity(property) {
		return nil
	}
	path := strings.Split(strings.ReplaceAll(place, "/*", ""), "/")
	object, name := path[len(path)-2], path[len(path)-1] // object is empty at the top
	names = namesOf(name, property)
	isID := slices.Contains([]string{"id", "uuid"}, strings.ToLower(name))
	if isID { // {"ticket": {"id": …}} is {"ticket_id": …}
		names = world.Elsewhere(object + "_" + name)
	}
	return slices.DeleteFunc(names, f.isOwn)
}

// isOwn reports whether a name is one of what the operation itself is about: "ticketid" for POST /tickets.
func (f *filler) isOwn(name string) bool {
	return slices.ContainsFunc(f.own, func(noun string) bool {
		return slices.Contains([]string{noun + "id", noun + "name", noun + "slug", noun + "key"}, name)
	})
}
