package lessons

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/world"
)

// IsReference reports whether a parameter names something that exists, by its own name.
func IsReference(parameter *document.Parameter) bool {
	return parameter.In == "path" || len(world.Elsewhere(parameter.Name)) > 0
}

// NamesOf are the names under which a parameter that is not in the path is looked up, or none.
func NamesOf(parameter *document.Parameter) []string {
	wanted, _ := document.ParameterSchema(parameter)
	return namesOf(parameter.Name, wanted)
}

// namesOf are the names under which a parameter or member with a name is looked up, or none. An integer may name something,
// too: the project of /tasks?project=7 does, if a response has shown the id of a project.
func namesOf(name string, wanted *schema.Schema) []string {
	names := world.Elsewhere(name)
	if len(names) == 0 && isIdentityFormat(wanted) {
		return []string{world.Singular(name) + "id"}
	}
	return names
}

// Text is a known value as a parameter has it, looked up under some names, or false.
func (l *Lessons) Text(parameter *document.Parameter, names []string) (text string, ok bool) {
	wanted, _ := document.ParameterSchema(parameter)
	value := l.knownValue(wanted, names)
	if value == nil {
		return "", false
	}
	return document.Written(parameter, value)
}

// knownValue is a known value that a schema allows, or nil.
func (l *Lessons) knownValue(wanted *schema.Schema, names []string) (found any) {
	l.world.Find(names, func(entry world.Entry) bool {
		found = l.fitting(wanted, entry.Value)
		return found != nil
	})
	return found
}

// fitting is a value in a form that a schema allows, or nil: as it is, as a text, or as a number. A document may describe
// one identity as a text in a response and as a number in a path.
func (l *Lessons) fitting(wanted *schema.Schema, value any) any {
	text := fmt.Sprint(value)
	forms := []any{value, text}
	if number := json.Number(text); jsonvalue.IsInteger(number) {
		forms = append(forms, number)
	}
	fitting, _ := l.values.FirstFit(wanted, forms...)
	return fitting
}

// Path has known values, as they are written, of the parameters of a path that are open. They belong together as far as
// can be seen: one that was seen below others comes with them. After GET /rooms/r1/boards has shown the board s1, the
// path of /rooms/{room}/boards/{board} has both r1 and s1.
func (l *Lessons) Path(operation *document.Operation, isOpen func(*document.Parameter) bool) map[string]string {
	search := pathSearch{
		Lessons:   l,
		operation: operation,
		isOpen:    isOpen,
		chosen:    map[string]string{},
	}
	for i := range slices.Backward(operation.PathNames) {
		search.choose(i)
	}
	return search.chosen
}

// pathSearch chooses values for the parameters of a path.
type pathSearch struct {
	*Lessons
	operation *document.Operation
	isOpen    func(*document.Parameter) bool
	chosen    map[string]string
}

// choose chooses a value for the i-th parameter if it needs one, and values that belong to it for those before it in the path.
func (s *pathSearch) choose(i int) {
	parameter := s.open(i)
	if parameter == nil {
		return
	}
	entry, isKnown := s.find(i, parameter)
	if !isKnown {
		return
	}
	s.chosen[parameter.Name], _ = document.Written(parameter, entry.Value)
	for above := range i {
		if text := s.aboveEntry(entry, i, above); text != "" {
			s.chosen[s.operation.PathNames[above]] = text
		}
	}
}

// open is the i-th parameter of the path if it needs a value, or else nil.
func (s *pathSearch) open(i int) *document.Parameter {
	name := s.operation.PathNames[i]
	isSettled := s.chosen[name] != "" || s.values.IsGiven(name)
	parameter := s.operation.Parameter("path", name)
	if isSettled || parameter == nil || !s.isOpen(parameter) {
		return nil
	}
	return parameter
}

// find finds a value for a parameter of the path: one that was seen right there, or else anywhere.
func (s *pathSearch) find(i int, parameter *document.Parameter) (found world.Entry, ok bool) {
	names := world.NamesInPath(s.operation, i)
	isLast := i == len(s.operation.PathNames)-1 // a 404 counts for the last value alone: see World.IsMissing
	if isLast {
		accepted, others := names[:1], names[1:] // what was accepted in this path stays the first
		names = slices.Concat(accepted, s.unlikelyLast(others))
	}
	fits := func(entry world.Entry) bool {
		isMissing := isLast && s.mayBeMissing(entry.Value)
		return !isMissing && s.canBeWritten(parameter, entry)
	}
	fitsThere := func(entry world.Entry) bool { return entry.Place.Shape == s.operation.Prefix(i-1) && fits(entry) }
	if found, ok = s.world.Find(names, fitsThere); ok {
		return found, true
	}
	return s.world.Find(names, fits)
}

// canBeWritten reports whether an entry has a value that a parameter allows, in a form that can be written.
func (s *pathSearch) canBeWritten(parameter *document.Parameter, entry world.Entry) bool {
	wanted, _ := document.ParameterSchema(parameter)
	_, isWritten := document.Written(parameter, s.fitting(wanted, entry.Value))
	return isWritten
}

// unlikelyLast puts those names last under which the operation has not found a value. Where GET /databases/{database} finds no
// id, it may find a name.
func (s *pathSearch) unlikelyLast(names []string) []string {
	isMissing := func(entry world.Entry) bool { return s.mayBeMissing(entry.Value) }
	var likely, unlikely []string
	for _, name := range names {
		if _, isUnlikely := s.world.Find([]string{name}, isMissing); isUnlikely {
			unlikely = append(unlikely, name)
		} else {
			likely = append(likely, name)
		}
	}
	return append(likely, unlikely...)
}

// mayBeMissing reports whether the operation has not found a value, and nothing that its body names can be why.
func (s *pathSearch) mayBeMissing(value any) bool {
	return s.world.IsMissing(s.operation, value) && !s.Of(s.operation).hasReferences
}

// aboveEntry is what an open parameter of the path is, if that is known of an entry further down in the path, or nothing:
// what the object that the entry was seen in has under the name of the parameter, or what was in the path before the entry.
// For {room} of /rooms/{room}/boards/{board} it is the room_id beside the id of a board, or the room whose boards were listed.
func (s *pathSearch) aboveEntry(entry world.Entry, at, above int) string {
	parameter := s.open(above)
	if parameter == nil {
		return ""
	}
	wanted, _ := document.ParameterSchema(parameter)
	for _, name := range world.InPath(s.operation.Template, parameter.Name) {
		if value := entry.Beside[name]; value != nil {
			text, _ := document.Written(parameter, s.fitting(wanted, value))
			return text
		}
	}
	if entry.Place.Shape == s.operation.Prefix(at-1) {
		return entry.Place.Trail[above]
	}
	return ""
}
