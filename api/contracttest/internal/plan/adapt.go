package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/known"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// A request is adapted when it is sent, not when its test is made: what is known of the service grows meanwhile. Only
// values that the engine has made up are replaced. A value that a test is about is another one than the plainest, so
// it stays.

// adapted is a test of one request with what the service is known to need, and the names of what it needs.
func (d *Draft) adapted(c *single) (filled *single, needs []string) {
	filled = new(*c)
	filled.parameters = maps.Clone(c.parameters)
	filled.header = c.header.Clone()
	for _, parameter := range c.operation.Parameters {
		names := d.namesOf(c, parameter)
		if len(names) == 0 {
			continue
		}
		needs = append(needs, parameter.Name)
		isOpen := parameter.In != "path" && c.isMadeUp(d, parameter)
		if text, ok := d.knownText(parameter, names); ok && isOpen {
			filled.set(parameter, text)
		}
	}
	filled.fillPath(d, c)
	adapted, ofBody := d.adaptedBody(c.operation, c.body, c.keeps)
	filled.body = adapted
	return filled, append(needs, ofBody...)
}

// fillPath fills what of a path is made up. Where something below the resource of a test is known, but nothing creates
// it, the whole path is of what is known.
func (c *single) fillPath(d *Draft, made *single) {
	names := c.operation.PathNames
	isPart := c.use != nil && !c.use.IsNamedBy(c.operation, names[len(names)-1])
	isOpen := func(parameter *openapi3.Parameter) bool {
		isOfUse := c.use.IsNamedBy(c.operation, parameter.Name)
		return c.about != parameter.Name && (isOfUse && isPart || !isOfUse && made.isMadeUp(d, parameter))
	}
	chosen := d.knownPath(c.operation, isOpen)
	if isPart && chosen[c.use.Parameter] != "" {
		c.use = nil
	}
	for name, text := range chosen {
		if !c.use.IsNamedBy(c.operation, name) {
			c.parameters[name] = text
		}
	}
}

// namesOf are the names under which a parameter of a request is looked up: none, if the test creates what it names.
func (d *Draft) namesOf(c *single, parameter *openapi3.Parameter) []string {
	switch {
	case d.values.IsGiven(parameter.Name), c.about == parameter.Name:
		return nil
	case parameter.In != "path" && !parameter.Required:
		return nil
	case parameter.In != "path":
		return known.Elsewhere(parameter.Name)
	case c.use.IsNamedBy(c.operation, parameter.Name):
		return nil
	}
	return known.InPath(c.operation.Template, parameter.Name)
}

// isMadeUp reports whether a request has the plainest value of a parameter.
func (c *single) isMadeUp(d *Draft, parameter *openapi3.Parameter) bool {
	plain, _ := d.values.BaseParameter(parameter)
	switch parameter.In {
	case "path":
		return c.parameters[parameter.Name] == plain
	case "query":
		return slices.Contains(c.query, plain)
	case "header":
		return c.header.Get(parameter.Name) == plain
	}
	return false
}

// knownText is a known value as a parameter has it.
func (d *Draft) knownText(parameter *openapi3.Parameter, names []string) (text string, ok bool) {
	wanted, _ := document.ParameterSchema(parameter)
	value := d.knownValue(wanted, names)
	if value == nil {
		return "", false
	}
	return document.Written(parameter, value)
}

// knownValue is a known value that a schema allows, or nil.
func (d *Draft) knownValue(wanted *openapi3.Schema, names []string) (found any) {
	d.pool.Find(names, func(entry known.Entry) bool {
		found = d.fitting(wanted, entry.Value)
		return found != nil
	})
	return found
}

// fitting is a value in a form that a schema allows, or nil.
func (d *Draft) fitting(wanted *openapi3.Schema, value any) any {
	for _, form := range formsOf(value) {
		if d.values.Fits(wanted, form) {
			return form
		}
	}
	return nil
}

// namesInPath are the names under which a parameter of a path is looked up: what was accepted there comes first.
func namesInPath(operation *document.Operation, i int) []string {
	return append([]string{operation.Prefix(i)}, known.InPath(operation.Template, operation.PathNames[i])...)
}

// knownPath has known values of the parameters of a path that are open. They belong together as far as can be seen: one
// that was seen below others comes with them.
func (d *Draft) knownPath(operation *document.Operation, isOpen func(*openapi3.Parameter) bool) map[string]string {
	chosen := map[string]string{}
	for i, name := range slices.Backward(operation.PathNames) {
		parameter := operation.Parameter("path", name)
		isUnknown := chosen[name] == "" && parameter != nil && !d.values.IsGiven(name)
		if !isUnknown || !isOpen(parameter) {
			continue
		}
		entry, isKnown := d.inPath(operation, i, parameter)
		if !isKnown {
			continue
		}
		chosen[name], _ = document.Written(parameter, entry.Value)
		for j := range i {
			above := operation.Parameter("path", operation.PathNames[j])
			isUnknown := above != nil && chosen[above.Name] == "" && !d.values.IsGiven(above.Name)
			if !isUnknown || !isOpen(above) {
				continue
			}
			if text := d.aboveEntry(operation, entry, i, j); text != "" {
				chosen[above.Name] = text
			}
		}
	}
	return chosen
}

// aboveEntry is the parameter of a path that belongs to an entry further down in it, or nothing: what the same object has
// under its name, or what was above the entry where that was seen.
func (d *Draft) aboveEntry(operation *document.Operation, entry known.Entry, at, above int) string {
	parameter := operation.Parameter("path", operation.PathNames[above])
	wanted, _ := document.ParameterSchema(parameter)
	for _, name := range known.InPath(operation.Template, parameter.Name) {
		if value := entry.Beside[name]; value != nil {
			text, _ := document.Written(parameter, d.fitting(wanted, value))
			return text
		}
	}
	if entry.Place.Shape == operation.Prefix(at-1) && above < len(entry.Place.Trail) {
		return entry.Place.Trail[above]
	}
	return ""
}

// inPath finds a value for a parameter of a path: one that was seen right there, or else anywhere.
func (d *Draft) inPath(operation *document.Operation, i int, parameter *openapi3.Parameter) (found known.Entry, ok bool) {
	wanted, _ := document.ParameterSchema(parameter)
	names := namesInPath(operation, i)
	for _, isAnywhere := range []bool{false, true} {
		found, ok = d.pool.Find(names, func(entry known.Entry) bool {
			isThere := isAnywhere || entry.Place.Shape == operation.Prefix(i-1)
			_, canBeWritten := document.Written(parameter, d.fitting(wanted, entry.Value))
			isRefused := i == len(operation.PathNames)-1 && d.hasRefused(operation, entry.Value)
			return isThere && canBeWritten && !isRefused
		})
		if ok {
			found.Value = d.fitting(wanted, found.Value)
			return found, true
		}
	}
	return found, false
}

// formsOf are a value as it is, and as a text or a number: documents do not agree with themselves.
func formsOf(value any) []any {
	text := fmt.Sprint(value)
	forms := []any{value, text}
	if number := json.Number(text); isInteger(number) {
		forms = append(forms, number)
	}
	return forms
}

// isInteger reports whether a number is whole.
func isInteger(number json.Number) bool {
	_, err := number.Int64()
	return err == nil
}

// adaptedBody is the body of a request with what the service is known to need, and the names of what it names. keeps
// is the member that the test is about. A body that is no JSON stays as it is.
func (d *Draft) adaptedBody(operation *document.Operation, body []byte, keeps string) (adapted []byte, needs []string) {
	lesson := d.lessonOf(operation)
	isPlain := !lesson.hasReferences && !lesson.needsFresh && len(lesson.leftOut) == 0
	if isPlain || len(body) == 0 {
		return body, nil
	}
	value, err := jsonvalue.Decode(body)
	if err != nil {
		return body, nil
	}
	filler := d.filler(operation, lesson)
	filler.keeps = keeps
	return jsonvalue.Encode(filler.fill(value)), filler.needs
}

// adaptedObject is adaptedBody of an object that is sent to create or change something.
func (d *Draft) adaptedObject(operation *document.Operation, object map[string]any) map[string]any {
	if object == nil {
		return nil
	}
	filled := d.filler(operation, d.lessonOf(operation)).fill(jsonvalue.Normal(object))
	return jsonvalue.Object(filled)
}

// filler fills a body with known identities, leaves out what the service refuses, and makes texts new where it wants
// that.
type filler struct {
	*Draft
	lesson lesson
	schema *openapi3.Schema
	own    []string // what the operation is about
	keeps  string   // the place that a test is about
	needs  []string
}

// filler returns what fills bodies of an operation.
func (d *Draft) filler(operation *document.Operation, lesson lesson) *filler {
	return &filler{
		Draft:  d,
		lesson: lesson,
		schema: operation.BodySchema(),
		own:    known.NounsOf(operation.Template, ""),
	}
}

// fill returns a body as it is sent.
func (f *filler) fill(body any) any {
	return f.within(f.schema, body, "", deepestReference)
}

// within fills what is in a value at a place.
func (f *filler) within(of *openapi3.Schema, value any, at string, levels int) any {
	if of == nil || levels == 0 {
		return value
	}
	if items := jsonvalue.List(value); items != nil {
		item := schema.Of(f.values.Flatten(of).Items)
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
	for name, inner := range object {
		place := at + "/" + jsonvalue.Escape(name)
		isGiven := f.values.IsGiven(name)
		if f.lesson.leftOut[place] && !f.isKept(place) && !isGiven {
			continue
		}
		filled[name] = inner
		if isGiven {
			continue
		}
		if property := f.values.Property(shape, name); property != nil {
			filled[name] = f.member(property, inner, place, levels)
		}
	}
	return filled
}

// isKept reports whether a test is about something at a place, or below it.
func (f *filler) isKept(place string) bool { return strings.HasPrefix(f.keeps+"/", place+"/") }

// member fills a member of an object.
func (f *filler) member(property *openapi3.Schema, value any, place string, levels int) any {
	names := f.referenceNames(property, place)
	found := f.knownValue(f.values.Scalar(property), names)
	name := place[strings.LastIndex(place, "/")+1:]
	isReference := len(known.Elsewhere(name)) > 0
	if isReference || found != nil {
		f.needs = append(f.needs, name)
	}
	isPlain := jsonvalue.Same(value, f.values.Base(property))
	text, isText := value.(string)
	switch {
	case found != nil && isPlain && property.Type.Is("array"):
		return []any{found}
	case found != nil && isPlain:
		return found
	case f.lesson.needsFresh && isText && !isReference && f.mayBeFresh(property, text):
		return f.values.Fresh(property, []any{text})
	}
	return f.within(property, value, place, levels-1)
}

// mayBeFresh reports whether a text is made up, and may be any other one as well.
func (f *filler) mayBeFresh(property *openapi3.Schema, text string) bool {
	isChosen := len(property.Enum) > 0 || f.values.IsIdentity(property)
	return !isChosen && property.Type.Is("string") && f.values.IsMadeUpText(property, text)
}

// referenceNames are the names under which a member at a place is looked up, or none. The name of what is being
// created is none: it must be new.
func (f *filler) referenceNames(property *openapi3.Schema, place string) (names []string) {
	if f.values.IsIdentity(property) {
		return nil
	}
	path := strings.Split(strings.ReplaceAll(place, "/*", ""), "/")
	name := path[len(path)-1]
	isID := slices.Contains([]string{"id", "uuid"}, strings.ToLower(name))
	names = known.Elsewhere(name)
	switch {
	case isID:
		names = known.Elsewhere(path[len(path)-2] + "_" + name)
	case len(names) == 0 && isIdentityFormat(property):
		names = []string{known.Singular(name) + "id"}
	}
	return slices.DeleteFunc(names, func(key string) bool {
		return slices.ContainsFunc(f.own, func(noun string) bool {
			return slices.Contains([]string{noun + "id", noun + "name", noun + "slug", noun + "key"}, key)
		})
	})
}
