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
// the service knows. So a refusal is confirmed before it is a fault. Controls are requests that differ from the refused one by a
// value, and each of them may show another reason.
//
//	POST /trips {"begin": "2026-11-20", "end": "2024-02-29"}   422
//	POST /trips {"begin": "2024-02-29", "end": "2024-02-29"}   201: the end alone is not the reason

// control is another reason for a refusal, which other requests show by their outcome.
type control struct {
	others []scenario.Request // none: they show nothing
	shows  outcome
	why    scenario.NotTested
}

// outcome is whether the service accepts one of several requests.
type outcome bool

const (
	oneAccepted  outcome = true
	noneAccepted outcome = false
)

const (
	refusedWithout    scenario.NotTested = "the request is refused without this value, too, for a reason that the document does not say"
	refusedBeside     scenario.NotTested = "it is refused only beside other values, or at another time, and the document does not say which"
	refusesNegative   scenario.NotTested = "the service refuses -1, too, and the document has no minimum"
	refusedNow        scenario.NotTested = "the plainest request, which was accepted before, is refused now, too"
	refusesOneBoolean scenario.NotTested = "it is refused with one of true and false alone, and the document does not say when"
)

// knowsSome is why a refusal shows nothing if an ordinary value is refused, too.
func knowsSome(name string) scenario.NotTested {
	return scenario.NotTested("the service refuses an ordinary " + name + ", too: give one that it knows with --value " + name + "=…")
}

// confirm says what is wrong with a service that has refused a request, or why that shows nothing. The request is sent once
// more, before the controls: one of them may store something that has its names.
func (s *surroundings) confirm(sent scenario.Request) error {
	again := s.Send(sent, scenario.Expectation{})
	wrong := s.judge(again)
	broken, isBroken := errors.AsType[scenario.Broken](wrong)
	if !isBroken {
		return wrong
	}
	if why := s.leavesOpen(sent); why != "" {
		return why
	}
	for _, control := range s.controls(sent) {
		isOneAccepted := outcome(slices.ContainsFunc(control.others, s.isAccepted))
		if len(control.others) > 0 && isOneAccepted == control.shows {
			return control.why
		}
	}
	broken.Shown = &again
	return broken
}

// controls are the controls of the value that a test is about.
func (s *surroundings) controls(sent scenario.Request) []control {
	switch s.promise.Kind {
	case scenario.ParameterKeyword:
		return s.parameterControls(s.named())
	case scenario.BodyKeyword:
		return append(s.plainControl(), s.bodyControls(sent, s.memberIn(sent))...)
	}
	return s.plainControl()
}

// plainControl is the request with the plainest body: a name that a create has taken, or what a call has deleted, is the reason for
// each refusal after it.
func (s *surroundings) plainControl() []control {
	plain, _ := s.filled(s.Draft)
	mediaType, described := s.Operation.Body()
	plain.header = plain.header.Clone()
	plain.header.Set("Content-Type", mediaType)
	plain.body, _ = s.Lessons.Body(s.Operation, jsonvalue.Encode(s.Draft.Values.Base(described)), "")
	return []control{{[]scenario.Request{plain.request(s.thing)}, noneAccepted, refusedNow}}
}

const (
	unsaidType  scenario.NotTested = "it is refused, and the document does not say of which type it is"
	namesAsPath scenario.NotTested = "it is refused, and it names what the path names"
)

// leavesOpen is why the document leaves open whether the service may refuse a member of the body, or nothing.
func (s *surroundings) leavesOpen(sent scenario.Request) scenario.NotTested {
	if s.promise.Kind != scenario.BodyKeyword {
		return ""
	}
	m := s.memberIn(sent)
	if _, has := m.object[m.name]; !has {
		return ""
	}
	shape := s.shapeOf(schema.Of(m.property()))
	isTyped := schema.HasType(shape) || schema.IsComposed(shape) || len(schema.ValuesOf(shape)) > 0
	isNamedAsPath := m.name == "id" || slices.Contains(s.Operation.PathNames, m.name)
	switch {
	case m.property() != nil && !isTyped:
		return unsaidType
	case isNamedAsPath && m.above == "" && len(s.Operation.PathNames) > 0:
		return namesAsPath
	}
	return ""
}

// wrongValue are statuses that say that something in a request is wrong.
var wrongValue = []int{http.StatusBadRequest, http.StatusUnprocessableEntity}

// canBeConfirmed reports whether a valid request was refused with a status that may be about the one value that the test is
// about, in the body, the query or the path. Then other requests can show whether it is.
func (s *surroundings) canBeConfirmed(status int) bool {
	isOfWholeBody := slices.Contains([]scenario.PromiseKind{scenario.MediaTypeOfBody, scenario.BodyExample}, s.promise.Kind)
	isOfPlace := s.promise.Place != "" || s.promise.Keyword == "additionalProperties"
	switch {
	case s.promise.Duty != scenario.MustAccept || !isOfPlace:
		return false
	case isOfWholeBody:
		return slices.Contains(wrongValue, status)
	case s.promise.Kind == scenario.BodyKeyword:
		return slices.Contains(wrongValue, status) && s.Operation.HasJSON()
	case s.promise.Kind == scenario.ParameterKeyword:
		return slices.Contains(append(wrongValue, http.StatusNotFound, http.StatusNotAcceptable), status) && s.named() != nil
	}
	return false
}

// takenElsewhere are statuses of requests whose values are right: what else exists, or happens, is in their way.
var takenElsewhere = []int{http.StatusConflict, http.StatusPreconditionFailed, http.StatusLocked}

// isAccepted reports whether the service accepts the values of another request, which it may still refuse for what else there is.
func (s *surroundings) isAccepted(other scenario.Request) bool {
	status := s.Send(other, scenario.Expectation{}).Status
	return status < http.StatusBadRequest || slices.Contains(takenElsewhere, status)
}

// named is the parameter of the query or the path that a test is about, or nil. The place may be a part of a parameter, as
// filter/size is. A parameter that names what the test has created does not count: the service cannot refuse its value.
func (s *surroundings) named() *document.Parameter {
	name, _, _ := strings.Cut(s.promise.Place, "/")
	if s.use.IsNamedBy(s.Operation, name) {
		return nil
	}
	return cmp.Or(s.Operation.Parameter("query", name), s.Operation.Parameter("path", name))
}

// parameterControls are the controls of a parameter of the query or the path.
func (s *surroundings) parameterControls(parameter *document.Parameter) (all []control) {
	wanted, _ := document.ParameterSchema(parameter)
	shape := s.shapeOf(wanted)
	if without, _ := s.filled(s.Draft); !parameter.Required {
		without.Unset(parameter)
		all = append(all, control{[]scenario.Request{without.request(s.thing)}, noneAccepted, refusedWithout})
	}
	if schema.TypeOf(shape) == "boolean" {
		all = append(all, control{s.withValues(parameter, true, false), oneAccepted, refusesOneBoolean})
	}
	if schema.IsNumber(shape) && isNegative(s.valueOf(parameter)) {
		all = append(all, control{s.withValues(parameter, minusOne), noneAccepted, refusesNegative})
	}
	if value, isOrdinary := s.ordinary(parameter.Name, wanted); isOrdinary {
		all = append(all, control{s.withValues(parameter, value), noneAccepted, knowsSome(parameter.Name)})
	}
	return all
}

// withValues are requests with one of some values of a parameter each.
func (s *surroundings) withValues(parameter *document.Parameter, some ...any) (all []scenario.Request) {
	for _, value := range some {
		other, _ := s.filled(s.Draft)
		text, _ := document.Written(parameter, value) // as the value that was refused could be written
		other.Set(parameter, text)
		all = append(all, other.request(s.thing))
	}
	return all
}

// valueOf is the text of a parameter without its name.
func (s *surroundings) valueOf(parameter *document.Parameter) string {
	text := s.Text(parameter)
	if _, value, isPair := strings.Cut(text, "="); isPair {
		return value
	}
	return text
}

// minusOne is the negative number that a service refuses only if it refuses all of them.
const minusOne = json.Number("-1")

func isNegative(number string) bool { return strings.HasPrefix(number, "-") }

// bodyControls are the controls of a member of the body. The last one is a request with an ordinary value of the member, or,
// where there is none, requests without its value.
func (s *surroundings) bodyControls(sent scenario.Request, m member) (all []control) {
	if m.object == nil {
		return nil
	}
	beside := append(s.alikes(m), s.besideOneMore(m)...)
	all = append(all, control{s.requests(sent, m, beside...), oneAccepted, refusedBeside})
	if number, isNumber := m.object[m.name].(json.Number); isNumber && isNegative(string(number)) {
		all = append(all, control{s.requests(sent, m, m.with(minusOne)), noneAccepted, refusesNegative})
	}
	_, has := m.object[m.name]
	if value, isOrdinary := s.ordinary(m.name, m.property()); has && isOrdinary {
		return append(all, control{s.requests(sent, m, m.with(value)), noneAccepted, knowsSome(m.name)})
	}
	return append(all, control{s.requests(sent, m, s.without(m)...), noneAccepted, refusedWithout})
}

// requests are copies of a request with each of some objects in place of the one with a member, as far as the document allows
// them.
func (s *surroundings) requests(sent scenario.Request, m member, objects ...map[string]any) (all []scenario.Request) {
	for _, object := range objects {
		if body := m.bodyWith(object); s.Values.Fits(s.Operation.BodySchema(), body) {
			sent.Body = jsonvalue.Encode(body)
			all = append(all, sent)
		}
	}
	return all
}

// without are an object without a member, if that is optional, and one with its plainest value.
func (s *surroundings) without(m member) (others []map[string]any) {
	if !slices.Contains(m.shape.Required, m.name) {
		others = append(others, m.absent())
	}
	if property := m.property(); property != nil {
		others = append(others, m.with(s.Values.Base(property)))
	}
	return others
}

// yearsLater is how many years a date is moved. Most leap days have one so much later.
const yearsLater = 8

// alikes are an object without what is optional beside a member, and, if it has the member, one with its value in all members
// of the same type and format: then none is before or above another. A date is also moved in one more: it may be refused
// because it is past.
//
//	end of {"begin": "2026-11-20", "end": "2024-02-29"}: both are "2024-02-29", and both are "2032-02-29"
func (s *surroundings) alikes(m member) []map[string]any {
	of := s.shapeOf(schema.Of(m.property()))
	least := maps.Clone(m.object)
	maps.DeleteFunc(least, func(other string, _ any) bool { return other != m.name && !slices.Contains(m.shape.Required, other) })
	all := []map[string]any{least}
	value, has := m.object[m.name]
	if !has {
		return all
	}
	all = append(all, s.alike(m, of, value))
	if later, isDate := values.Moved(schema.FormatOf(of), value, yearsLater, 0); isDate {
		all = append(all, s.alike(m, of, later))
	}
	return all
}

// alike is the object of a member with one value in all members of the type and format of a schema.
func (s *surroundings) alike(m member, of *schema.Schema, value any) map[string]any {
	same := maps.Clone(m.object)
	for other := range m.object {
		property := s.shapeOf(schema.Of(m.shape.Properties[other]))
		isAlike := schema.TypeOf(property) == schema.TypeOf(of) && schema.FormatOf(property) == schema.FormatOf(of)
		if isAlike && s.Values.Fits(property, value) {
			same[other] = value
		}
	}
	return same
}

// mostBeside is how many members are tried beside another one.
const mostBeside = 8

// besideOneMore are an object with one more of the members that it may have and does not have, for each of these: what is
// left out, or has a value, may require another member.
func (s *surroundings) besideOneMore(m member) (others []map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(m.shape.Properties)) {
		property := m.shape.Properties[name]
		_, has := m.object[name]
		if has || name == m.name || s.Values.IsAbsent(property) || len(others) == mostBeside {
			continue
		}
		other := maps.Clone(m.object)
		other[name] = s.Values.Base(property)
		others = append(others, other)
	}
	return others
}

// shapeOf is what a schema says of a value that is not null.
func (s *surroundings) shapeOf(of *schema.Schema) *schema.Schema {
	return s.Values.WithoutNull(s.Values.Flatten(of))
}

// ordinary is a value at no edge of a schema: a text, an array of one, or the plainest object. It is false where a service
// that knows only some of the values would say so: of numbers, booleans and enumerations.
func (s *surroundings) ordinary(name string, of *schema.Schema) (value any, isOrdinary bool) {
	of = schema.Of(of)
	shape := s.shapeOf(of)
	switch schema.TypeOf(shape) {
	case "array":
		value, isOrdinary = s.ordinary(name, shape.Items2020)
		value = []any{value}
	case "object":
		value, isOrdinary = s.Values.Base(shape), true
	case "string":
		value, isOrdinary = s.ordinaryText(name, shape)
	}
	return value, isOrdinary && s.Values.Fits(of, value)
}

// ordinaryText is a text that no other test has sent, or the day after the plainest one; before it, for a name such as begin.
func (s *surroundings) ordinaryText(name string, shape *schema.Schema) (value any, isOrdinary bool) {
	if len(schema.ValuesOf(shape)) > 0 {
		return nil, false
	}
	days := cmp.Or(values.PlaceInOrder(name), 1)
	if day, isDate := values.Moved(schema.FormatOf(shape), s.Values.Base(shape), 0, days); isDate {
		return day, true
	}
	text, isMade := s.Values.Fresh(shape, nil).(string)
	return text, isMade
}
