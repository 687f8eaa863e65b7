package plan

import (
	"net/http"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Methods that a path may offer, and one that servers may refuse before they look at the path: no
// standard has it.
var (
	standardMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE"}
	unknownMethod   = "BREW"
)

// pathTests returns the tests of what no operation serves: methods that a path does not offer, OPTIONS, and paths that do not
// exist, with a slash at their end or none. What the responses must be, package judge knows.
func (p *Planner) pathTests() (all []Test) {
	for _, path := range p.examplePaths() {
		unoffered := slices.DeleteFunc(p.withUnknownMethod(standardMethods...), func(method string) bool {
			return p.Document.Serving(method, path) != nil || p.mayBeServed(method, path)
		})
		all = append(all, p.pathTest(scenario.UnofferedMethods, path, unoffered...))
		if p.Rules.Options {
			all = append(all, p.pathTest(scenario.OptionsOfPath, path, http.MethodOptions))
		}
		if !p.Document.HasPath(path + "/") {
			all = append(all, p.pathTest(scenario.NoPath, path+"/", p.withUnknownMethod("GET", "POST", "OPTIONS")...))
		}
	}
	return append(all, p.pathTest(scenario.NoPath, "/nowhere", p.withUnknownMethod("GET", "HEAD", "POST", "OPTIONS")...))
}

// mayBeServed reports whether an operation with a method serves a path if its last parameter may have slashes: /files/{path}
// may serve /files/info/7.
func (p *Planner) mayBeServed(method, path string) bool {
	return slices.ContainsFunc(p.Document.Operations, func(operation *document.Operation) bool {
		return operation.Method == method && endsWithText(operation) && servesAbove(operation, path)
	})
}

// endsWithText reports whether the path of an operation ends with a parameter that is any text.
func endsWithText(operation *document.Operation) bool {
	if !operation.EndsWithParameter() {
		return false
	}
	last := operation.Parameter("path", operation.PathNames[len(operation.PathNames)-1])
	if last == nil {
		return false
	}
	described, _ := document.ParameterSchema(last)
	return schema.TypeOf(described) == "string" && schema.FormatOf(described) == "" && schema.PatternOf(described) == ""
}

// servesAbove reports whether an operation serves a path, or a path above it: /files/info of /files/info/7.
func servesAbove(operation *document.Operation, path string) bool {
	for path != "" && !operation.Matches(path) {
		path = path[:strings.LastIndexByte(path, '/')]
	}
	return path != ""
}

// withUnknownMethod adds a method that no standard has, if the options say that everything must be as HTTP says.
func (p *Planner) withUnknownMethod(methods ...string) []string {
	if !p.Rules.Exact {
		return slices.Clone(methods)
	}
	return append(slices.Clone(methods), unknownMethod)
}

// pathTest sends requests with several methods, and whatever credentials there are.
func (p *Planner) pathTest(kind scenario.PromiseKind, path string, methods ...string) Test {
	return p.testOf(scenario.Promise{Kind: kind, Place: path}, func(t *draft.Trial) {
		for _, method := range methods {
			request := scenario.Request{Method: method, Path: path, Header: http.Header{}}
			t.Send(request, scenario.Expectation{})
		}
	})
}

// examplePaths are the paths of the document, each once, though several operations are on it.
func (p *Planner) examplePaths() (paths []string) {
	for _, operation := range p.Document.Operations {
		if path, ok := p.examplePath(operation); ok && !p.Resources.IsLeftOut(operation) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// examplePath fills a path with the plainest parameters, and 1 for a number, or reports false if a parameter has no value.
// The resource need not exist: a server decides before it looks for it.
func (p *Planner) examplePath(operation *document.Operation) (path string, ok bool) {
	path = operation.Template
	for _, parameter := range operation.Parameters {
		if parameter.In != "path" {
			continue
		}
		text := "1"
		if wanted, _ := document.ParameterSchema(parameter); schema.TypeOf(wanted) != "integer" {
			if text, ok = p.Values.BaseParameter(parameter); !ok {
				return "", false
			}
		}
		path = strings.Replace(path, "{"+parameter.Name+"}", text, 1)
	}
	return path, true
}
