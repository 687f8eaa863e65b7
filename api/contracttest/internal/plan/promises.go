package plan

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Promises are collected without sending anything, so that a report can say what was not tried, too. A
// promise comes from the document, never from a test: a test that is lost leaves its promise untried.

// A promise is named by the operation, then by what it promises: "addThing, body /name minLength,
// refused".

// effectPromise is that the effect of a parameter is seen: one that a service accepts and ignores keeps
// no promise.
func effectPromise(operation *document.Operation, parameter string) string {
	return fmt.Sprintf("%s, effect of parameter %s", operation.ID, parameter)
}

// ResponsePromise names a response. That something broke is one promise for all
// operations: what may break belongs to none of them.
func ResponsePromise(operation *document.Operation, key string) string {
	if key == fmt.Sprint(http.StatusInternalServerError) {
		return "any operation, " + key
	}
	return operation.ID + ", " + key
}

const (
	untoldEffect = "no test shows what it does: name it in Lists of the options, or in Shows of a sequence"
	untestable   = "this package cannot test it"
	unwanted     = "the options include no operation that it is of"
	notMade      = "the run was stopped before the tests of it were made"
)

// Promises lists the names of all promises of the document, sorted, and why some of them cannot be
// tested.
func (p *Planner) Promises() (all []string, untested map[string]string) {
	untested = map[string]string{}
	isShown := map[string]bool{}
	for test := range ofFamilies(append(p.families(), p.randomTests)...) {
		for _, promise := range test.Promises() {
			isShown[promise] = true
			all = append(all, promise)
			if !p.isWanted(test) {
				untested[promise] = unwanted
			}
		}
	}
	for _, operation := range p.Document.Operations {
		for _, parameter := range operation.Parameters {
			if effect := effectPromise(operation, parameter.Name); !isShown[effect] {
				untested[effect] = untoldEffect
			}
		}
		promises := append(constraints(operation), documented(operation)...)
		if why := p.whyNotTested(operation); why != "" {
			for _, promise := range promises {
				untested[promise] = why
			}
		}
		all = append(all, promises...)
		tests := p.promisesOf(operation)
		if tests == nil {
			name := operation.ID + ", requests: what else the document says of them"
			untested[name] = notMade
			all = append(all, name)
			continue
		}
		all = append(all, tests.promises...)
		for _, name := range tests.unsupported {
			untested[name] = cmp.Or(p.whyNotTested(operation), untestable)
			all = append(all, name)
		}
	}
	for _, name := range p.Document.Unsupported {
		untested[name] = untestable
		all = append(all, name)
	}
	slices.Sort(all)
	return slices.Compact(all), untested
}

// Promises are what the test shows.
func (t Test) Promises() []string {
	if len(t.Shows) == 0 {
		return []string{t.Name}
	}
	return t.Shows
}

// constraints lists the promises of what an operation takes, whether tests try them or not.
func constraints(operation *document.Operation) (all []string) {
	for _, parameter := range operation.Parameters {
		all = append(all, effectPromise(operation, parameter.Name))
		if wanted, _ := document.ParameterSchema(parameter); wanted.Default != nil {
			all = append(all, operation.ID+", default of parameter "+parameter.Name)
		}
	}
	for name := range operation.BodyExamples() {
		all = append(all, operation.ID+", request example "+name)
	}
	return all
}

// documented lists what responses must show: each status and header that
// the document lists, and success with each example of a parameter.
func documented(operation *document.Operation) (all []string) {
	for name := range operation.ParameterExamples() {
		all = append(all, operation.ID+", example of parameter "+name)
	}
	for key, response := range operation.Spec.Responses.Map() {
		promise := ResponsePromise(operation, key)
		all = append(all, promise)
		for name := range response.Value.Headers {
			all = append(all, promise+", header "+name)
		}
	}
	return all
}

// Shown lists the promises that a response without fault shows. Of promises that are known to be kept,
// some are left out.
func (p *Planner) Shown(x scenario.Interaction, isKnown func(promise string) bool) (shown []string) {
	operation := p.Document.Find(x.Method, x.Path)
	if operation == nil {
		return nil // outside the document
	}
	key, response := operation.ResponseAs(x.Status)
	promise := ResponsePromise(operation, key)
	shown = append(shown, promise)
	for name := range response.Headers {
		if len(x.Header.Values(name)) > 0 {
			shown = append(shown, promise+", header "+name)
		}
	}
	// A refused example proves nothing.
	if x.Status >= http.StatusBadRequest {
		return shown
	}
	shown = append(shown, shownBodyExamples(operation, x, isKnown)...)
	return append(shown, shownParameters(operation, x)...)
}

// shownBodyExamples lists the examples that the body of a request is. Comparing is expensive, so those that
// are known are left out.
func shownBodyExamples(operation *document.Operation, x scenario.Interaction, isKnown func(string) bool) (shown []string) {
	var sent any
	for name, example := range operation.BodyExamples() {
		promise := operation.ID + ", request example " + name
		if isKnown(promise) {
			continue
		}
		if sent == nil {
			// What is no JSON is no example.
			sent, _ = jsonvalue.Decode(x.RequestBody)
		}
		if jsonvalue.Same(sent, jsonvalue.Normal(example.Value.Value)) {
			shown = append(shown, promise)
		}
	}
	return shown
}

// shownParameters lists the examples of parameters that a request has.
func shownParameters(operation *document.Operation, x scenario.Interaction) (shown []string) {
	_, query, _ := strings.Cut(x.URL, "?")
	sent := strings.Split(query, "&")
	inPath := operation.PathValues(x.Path)
	for name, example := range operation.ParameterExamples() {
		i := slices.Index(operation.PathNames, name)
		isInPath := i >= 0 && inPath[i] == example
		if isInPath || slices.Contains(sent, example) {
			shown = append(shown, operation.ID+", example of parameter "+name)
		}
	}
	return shown
}
