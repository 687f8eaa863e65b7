package plan

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

// Promises are collected without sending anything, so that a report can say what was not tried, too. A
// promise comes from the document, never from a test: a test that is lost leaves its promise not tested.

// ResponsePromise is the promise of a response with a status of the document. That of 500 is one for all operations: what may
// break belongs to none of them.
func ResponsePromise(operation *document.Operation, key string) scenario.Promise {
	promise := scenario.Promise{Kind: scenario.ListedResponse, Status: key}
	if key != fmt.Sprint(http.StatusInternalServerError) {
		promise.Operation = operation.ID
	}
	return promise
}

// headerPromise is that of a header of a response.
func headerPromise(response scenario.Promise, name string) scenario.Promise {
	response.Kind = scenario.HeaderOfResponse
	response.Place = name
	return response
}

// examplePromise is that of an example of a parameter or a body.
func examplePromise(operation *document.Operation, kind scenario.PromiseKind, name string) scenario.Promise {
	return scenario.Promise{Operation: operation.ID, Kind: kind, Place: name}
}

const (
	untoldEffect = "no test shows what it does: name it in Lists of the options, or in Shows of a sequence"
	untestable   = "this package cannot test it"
	unwanted     = "the options include no operation that it is of"
	notMade      = "the run was stopped before the tests of it were made"
)

// collected are promises, and why some of them cannot be tested.
type collected struct {
	all      []scenario.Promise
	untested map[scenario.Promise]string
}

// add adds promises. An empty reason says nothing of them: they may have had one before.
func (c *collected) add(why string, promises ...scenario.Promise) {
	c.all = append(c.all, promises...)
	for _, promise := range promises {
		if why != "" {
			c.untested[promise] = why
		}
	}
}

// Promises lists all promises of the document, some of them more than once, and why some of them cannot be tested.
func (p *Planner) Promises() (all []scenario.Promise, untested map[scenario.Promise]string) {
	c := collected{untested: map[scenario.Promise]string{}}
	isShown := map[scenario.Promise]bool{}
	for _, test := range p.testsOfSeveral() {
		why := ""
		if !p.isWanted(test) {
			why = unwanted
		}
		c.add(why, test.Shows...)
		for _, promise := range test.Shows {
			isShown[promise] = true
		}
	}
	for _, operation := range p.Document.Operations {
		for _, parameter := range operation.Parameters {
			if effect := scenario.Effect(operation.ID, parameter.Name); !isShown[effect] {
				c.untested[effect] = untoldEffect
			}
		}
		why := p.whyNotTested(operation)
		c.add(why, constraints(operation)...)
		c.add(why, documented(operation)...)
		if tests := p.promisesOf(operation); tests != nil {
			c.add("", tests.promises...)
			c.add(cmp.Or(why, untestable), tests.unsupported...)
		} else {
			c.add(notMade, scenario.Promise{Operation: operation.ID, Kind: scenario.UnmadeTests})
		}
	}
	for _, promise := range p.members {
		c.add(cmp.Or(p.whyNotTested(p.Document.Operation(promise.Operation)), noResponseHad), promise)
	}
	c.add(untestable, p.Document.Unsupported...)
	return c.all, c.untested
}

// constraints lists the promises of what an operation takes, whether tests try them or not: effects and defaults of
// parameters, and examples of bodies.
func constraints(operation *document.Operation) (all []scenario.Promise) {
	for _, parameter := range operation.Parameters {
		all = append(all, scenario.Effect(operation.ID, parameter.Name))
		if wanted, _ := document.ParameterSchema(parameter); schema.DefaultOf(wanted) != nil {
			all = append(all, scenario.Default(operation.ID, parameter.Name))
		}
	}
	for name := range operation.BodyExamples() {
		all = append(all, examplePromise(operation, scenario.BodyExample, name))
	}
	return all
}

// documented lists what responses must show: each status and header that
// the document lists, and success with each example of a parameter.
func documented(operation *document.Operation) (all []scenario.Promise) {
	for name := range operation.ParameterExamples() {
		all = append(all, examplePromise(operation, scenario.ParameterExample, name))
	}
	for key, response := range operation.Responses {
		promise := ResponsePromise(operation, key)
		all = append(all, promise)
		for name := range response.Headers {
			all = append(all, headerPromise(promise, name))
		}
	}
	return all
}

// Shown lists the promises that a response without fault shows. Examples of bodies that are known to be kept are left out:
// to compare each body with them takes time.
func (p *Planner) Shown(x scenario.Interaction, isKnown func(scenario.Promise) bool) (shown []scenario.Promise) {
	operation := p.Document.Find(x.Method, x.Path)
	if operation == nil {
		return nil // outside the document
	}
	key, response := operation.ResponseAs(x.Status)
	promise := ResponsePromise(operation, key)
	shown = append(shown, promise)
	for name := range response.Headers {
		if len(x.Header.Values(name)) > 0 {
			shown = append(shown, headerPromise(promise, name))
		}
	}
	// A refused example proves nothing.
	if x.Status >= http.StatusBadRequest {
		return shown
	}
	value, _ := x.Value() // what is no JSON has no members
	members := p.shownMembers(operation.ResultOf(x.Status), value)
	return slices.Concat(shown, members, shownBodyExamples(operation, x, isKnown), shownParameters(operation, x))
}

// shownBodyExamples lists the examples that the body of a request is. Comparing is expensive, so those that
// are known are left out.
func shownBodyExamples(operation *document.Operation, x scenario.Interaction, isKnown func(scenario.Promise) bool) (shown []scenario.Promise) {
	var sent any
	for name, example := range operation.BodyExamples() {
		promise := examplePromise(operation, scenario.BodyExample, name)
		if isKnown(promise) {
			continue
		}
		if sent == nil {
			// What is no JSON is no example.
			sent, _ = jsonvalue.Decode(x.RequestBody)
		}
		if jsonvalue.Same(sent, jsonvalue.Normal(example)) {
			shown = append(shown, promise)
		}
	}
	return shown
}

// shownParameters lists the examples of parameters that a request has.
func shownParameters(operation *document.Operation, x scenario.Interaction) (shown []scenario.Promise) {
	_, query, _ := strings.Cut(x.URL, "?")
	sent := strings.Split(query, "&")
	inPath := operation.PathValues(x.Path)
	for name, example := range operation.ParameterExamples() {
		i := slices.Index(operation.PathNames, name)
		isInPath := i >= 0 && inPath[i] == example
		if isInPath || slices.Contains(sent, example) {
			shown = append(shown, examplePromise(operation, scenario.ParameterExample, name))
		}
	}
	return shown
}
