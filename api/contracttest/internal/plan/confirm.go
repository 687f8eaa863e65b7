package plan

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A valid value may be refused for what no document says: the end is before the begin, or the name is not one of those that
// the service knows. So a refusal is confirmed before it is a fault: other requests with the same value, or with an ordinary
// value in its place, must be refused, or accepted, too.
//
//	POST /trips {"begin": "2026-11-20", "end": "2024-02-29"}   422
//	POST /trips {"begin": "2024-02-29", "end": "2024-02-29"}   201: the end alone is not the reason

// wrongValue are statuses that say that something in a request is wrong.
var wrongValue = []int{http.StatusBadRequest, http.StatusUnprocessableEntity}

// canBeConfirmed reports whether a request was refused that has one value, in the body, the query or the path, that may be why.
func (s *surroundings) canBeConfirmed(status int) bool {
	if s.promise.Duty != scenario.MustAccept || s.promise.Place == "" {
		return false
	}
	switch s.promise.Kind {
	case scenario.BodyKeyword:
		return slices.Contains(wrongValue, status) && s.Operation.HasJSON()
	case scenario.ParameterKeyword:
		return slices.Contains(append(wrongValue, http.StatusNotFound, http.StatusNotAcceptable), status) && s.named() != nil
	}
	return false
}

// knowsSome is why a refusal shows nothing if an ordinary value is refused, too.
func knowsSome(name string) error {
	return scenario.NotTested("the service refuses an ordinary " + name + ", too: give one that it knows with --value " + name + "=…")
}

// named is the parameter of the query or the path that a test is about, or a part of it, or nil. One that names what the test
// has created is none.
func (s *surroundings) named() *document.Parameter {
	name, _, _ := strings.Cut(s.promise.Place, "/")
	if s.use.IsNamedBy(s.Operation, name) {
		return nil
	}
	return cmp.Or(s.Operation.Parameter("query", name), s.Operation.Parameter("path", name))
}

// refusedWithout is why the refusal of a value shows nothing if the request is refused without it, too.
const refusedWithout scenario.NotTested = "the request is refused without this value, too, for a reason that the document does not say"

// confirmParameter is confirm for a parameter of the query or the path.
func (s *surroundings) confirmParameter(sent scenario.Request) error {
	parameter := s.named()
	wanted, _ := document.ParameterSchema(parameter)
	if without, _ := s.filled(s.Draft); !parameter.Required {
		without.Unset(parameter)
		if !s.isAccepted(without) {
			return refusedWithout
		}
	}
	if schema.TypeOf(s.shapeOf(wanted)) == "boolean" && (s.accepts(parameter, true) || s.accepts(parameter, false)) {
		return scenario.NotTested("it is refused with one of true and false alone, and the document does not say when")
	}
	if s.isNegative(parameter, wanted) && !s.accepts(parameter, minusOne) {
		return refusesNegative
	}
	if value, isOrdinary := s.ordinaryValue(wanted); isOrdinary && !s.accepts(parameter, value) {
		return knowsSome(parameter.Name)
	}
	return s.judge(s.Send(sent, scenario.Expectation{}))
}

// minusOne is the negative number that a service refuses only if it refuses all of them.
const minusOne = json.Number("-1")

// refusesNegative is why the refusal of a negative number shows nothing but that the document has no minimum.
const refusesNegative scenario.NotTested = "the service refuses -1, too, and the document has no minimum"

// isNegative reports whether a parameter is a number below 0.
func (s *surroundings) isNegative(parameter *document.Parameter, wanted *schema.Schema) bool {
	_, value, isPair := strings.Cut(s.Text(parameter), "=")
	if !isPair {
		value = s.Text(parameter)
	}
	return schema.IsNumber(s.shapeOf(wanted)) && strings.HasPrefix(value, "-")
}

// accepts reports whether the service accepts the request with another value of a parameter.
func (s *surroundings) accepts(parameter *document.Parameter, value any) bool {
	other, _ := s.filled(s.Draft)
	text, _ := document.Written(parameter, value) // as it could write the value that was refused
	other.Set(parameter, text)
	return s.isAccepted(other)
}

// isAccepted reports whether the service accepts another request in these surroundings.
func (s *surroundings) isAccepted(other *single) bool {
	return s.Send(other.request(s.thing), scenario.Expectation{}).Status < http.StatusBadRequest
}

// confirm says what is wrong with a service that has refused a request, or why that shows nothing. What may store something that
// has the names of the request comes after it.
func (s *surroundings) confirm(sent scenario.Request) error {
	if s.promise.Kind == scenario.ParameterKeyword {
		return s.confirmParameter(sent)
	}
	body, _ := jsonvalue.Decode(sent.Body) // a test has written it
	above, name := split(s.promise.Place)
	object := jsonvalue.Object(jsonvalue.Lookup(body, "#"+above))
	if object == nil {
		return s.judge(s.Send(sent, scenario.Expectation{}))
	}
	if s.isAcceptedBeside(sent, above, s.alikes(above, object, name)) {
		return scenario.NotTested("it is refused only beside other values, or at another time, and the document does not say which")
	}
	if number, isNumber := object[name].(json.Number); isNumber && strings.HasPrefix(string(number), "-") {
		other := maps.Clone(object)
		other[name] = minusOne
		if !s.isAcceptedBeside(sent, above, []map[string]any{other}) {
			return refusesNegative
		}
	}
	other, isOrdinary := s.ordinary(above, object, name)
	if isOrdinary && !s.isAcceptedBeside(sent, above, other) {
		return knowsSome(name)
	}
	got := s.Send(sent, scenario.Expectation{})
	wrong := s.judge(got)
	broken, isBroken := errors.AsType[scenario.Broken](wrong)
	switch {
	case !isBroken:
		return wrong
	case !isOrdinary && !s.isAcceptedBeside(sent, above, s.without(above, object, name)):
		return refusedWithout
	}
	broken.Shown = &got
	return broken
}

// split is the place of an object, and the name of one of its members.
func split(place string) (above, name string) {
	i := strings.LastIndexByte(place, '/')
	return place[:i], jsonvalue.Unescape(place[i+1:])
}

// isAcceptedBeside reports whether the service accepts a request with one of some objects at a place of its body.
func (s *surroundings) isAcceptedBeside(sent scenario.Request, above string, objects []map[string]any) bool {
	return slices.ContainsFunc(objects, func(other map[string]any) bool {
		body, _ := jsonvalue.Decode(sent.Body) // it has been decoded
		object := jsonvalue.Object(jsonvalue.Lookup(body, "#"+above))
		clear(object)
		maps.Copy(object, other)
		if !s.Values.Fits(s.Operation.BodySchema(), body) {
			return false
		}
		sent.Body = jsonvalue.Encode(body)
		return s.Send(sent, scenario.Expectation{}).Status < http.StatusBadRequest
	})
}

// shapeAt is the schema of an object in the body.
func (s *surroundings) shapeAt(above string, object map[string]any) *schema.Schema {
	return s.Values.ShapeOf(schema.At(s.Operation.BodySchema(), above), object)
}

// without is an object with the plainest value of a member, and one without the member, if that is optional.
func (s *surroundings) without(above string, object map[string]any, name string) (others []map[string]any) {
	shape := s.shapeAt(above, object)
	if !slices.Contains(shape.Required, name) {
		other := maps.Clone(object)
		maps.DeleteFunc(other, func(member string, _ any) bool {
			isUnnamed := name == schema.UnknownMember && shape.Properties[member] == nil
			return member == name || isUnnamed
		})
		others = append(others, other)
	}
	if property := shape.Properties[name]; property != nil {
		other := maps.Clone(object)
		other[name] = s.Values.Base(property)
		others = append(others, other)
	}
	return others
}

// yearsLater is how many years a date is moved. Most leap days have one so much later.
const yearsLater = 8

// alikes are an object without what is optional, and, if it has a member, with the value of that in all members of the same type
// and format. A date is also moved: it may be refused because it is past.
func (s *surroundings) alikes(above string, object map[string]any, name string) []map[string]any {
	shape := s.shapeAt(above, object)
	of := s.shapeOf(schema.Of(shape.Properties[name]))
	least := maps.Clone(object)
	maps.DeleteFunc(least, func(other string, _ any) bool { return other != name && !slices.Contains(shape.Required, other) })
	all := []map[string]any{least}
	value, has := object[name]
	if !has {
		return all
	}
	alike := []any{value}
	if later, isDate := values.Moved(schema.FormatOf(of), value, yearsLater, 0); isDate {
		alike = append(alike, later)
	}
	for _, value := range alike {
		same := maps.Clone(object)
		for other := range object {
			property := s.shapeOf(schema.Of(shape.Properties[other]))
			isAlike := schema.TypeOf(property) == schema.TypeOf(of) && schema.FormatOf(property) == schema.FormatOf(of)
			if isAlike && s.Values.Fits(property, value) {
				same[other] = value
			}
		}
		all = append(all, same)
	}
	return all
}

// ordinary is an object with an ordinary value as a member.
func (s *surroundings) ordinary(above string, object map[string]any, name string) (others []map[string]any, isOrdinary bool) {
	if _, has := object[name]; !has {
		return nil, false
	}
	of := s.shapeOf(schema.Of(s.shapeAt(above, object).Properties[name]))
	value, isOrdinary := s.ordinaryValue(of)
	if day, isDate := values.Moved(schema.FormatOf(of), s.Values.Base(of), 0, cmp.Or(values.PlaceInOrder(name), 1)); isDate {
		value, isOrdinary = day, true
	}
	other := maps.Clone(object)
	other[name] = value
	return []map[string]any{other}, isOrdinary
}

// shapeOf is what a schema says of a value that is not null.
func (s *surroundings) shapeOf(of *schema.Schema) *schema.Schema {
	return s.Values.WithoutNull(s.Values.Flatten(of))
}

// ordinaryValue is a text at no edge of a schema, that no other test has sent, or an array with one, or false if there is none.
func (s *surroundings) ordinaryValue(of *schema.Schema) (value any, isOrdinary bool) {
	shape := s.shapeOf(of)
	if schema.TypeOf(shape) == "array" {
		item, isOrdinary := s.ordinaryValue(schema.Of(shape.Items2020))
		return []any{item}, isOrdinary && s.Values.Fits(of, []any{item})
	}
	isText := schema.TypeOf(shape) == "string" && schema.FormatOf(shape) == "" && len(schema.ValuesOf(shape)) == 0
	if !isText {
		return nil, false
	}
	text, isMade := s.Values.Fresh(shape, nil).(string)
	return text, isMade && s.Values.Fits(shape, text)
}
