package draft

import (
	"net/http"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A request has a slot for each parameter that it sends. A test settles some of them. The others are free: they have the
// plainest value until the request is sent, and then one that is known to exist, because what is known of the service
// grows meanwhile. A parameter of the path without a slot has the identity of what the test creates.

// Slots are the parameters of a request of an operation.
type Slots struct {
	Operation *document.Operation
	all       []slot
}

// slot is a parameter of a request.
type slot struct {
	parameter *document.Parameter
	text      string // as it is written: in a query or a cookie with its name
	isFree    bool
}

// Free gives a parameter the plainest value, until the request is sent. An operation with a parameter of which no value can be
// written has no tests.
func (s *Slots) Free(parameter *document.Parameter, drawn *values.Generator) {
	text, _ := drawn.BaseParameter(parameter)
	s.all = append(slices.Clip(s.all), slot{parameter: parameter, text: text, isFree: true}) // a copy of the slots keeps its own
}

// Set settles a parameter. A copy of the slots keeps its own.
func (s *Slots) Set(parameter *document.Parameter, text string) {
	s.Unset(parameter)
	s.all = append(s.all, slot{parameter: parameter, text: text})
}

// Unset takes a parameter out of a request.
func (s *Slots) Unset(parameter *document.Parameter) {
	s.all = slices.DeleteFunc(slices.Clone(s.all), func(of slot) bool { return of.parameter == parameter })
}

// find is the slot of a parameter, or an empty one.
func (s *Slots) find(parameter *document.Parameter) slot {
	i := slices.IndexFunc(s.all, func(of slot) bool { return of.parameter == parameter })
	if i < 0 {
		return slot{}
	}
	return s.all[i]
}

// Has reports whether a parameter has a slot.
func (s *Slots) Has(parameter *document.Parameter) bool { return s.find(parameter).parameter != nil }

// Text is a parameter as it is written, a query with its name.
func (s *Slots) Text(parameter *document.Parameter) string { return s.find(parameter).text }

// IsFree reports whether a parameter has a slot, and no test has settled it.
func (s *Slots) IsFree(parameter *document.Parameter) bool { return s.find(parameter).isFree }

// IsSettled reports whether a test has settled a parameter.
func (s *Slots) IsSettled(parameter *document.Parameter) bool {
	return s.Has(parameter) && !s.IsFree(parameter)
}

// FillPath settles those parameters of the path for which isOpen is true, and of which a value is known.
func (s *Slots) FillPath(d *Draft, isOpen func(*document.Parameter) bool) {
	for name, text := range d.Lessons.Path(s.Operation, isOpen) {
		s.Set(s.Operation.Parameter("path", name), text)
	}
}

// FreshenPath makes the free texts of a path new, as those of a body are: POST /servers/{name} may create
// what the path names, and its name may have to be of small letters.
func (s *Slots) FreshenPath(d *Draft) {
	for _, parameter := range s.Operation.Parameters {
		wanted, _ := document.ParameterSchema(parameter)
		isText := schema.TypeOf(wanted) == "string" && len(schema.ValuesOf(wanted)) == 0
		if parameter.In == "path" && isText && s.IsFree(parameter) {
			text, _ := document.Written(parameter, d.Values.Fresh(wanted, nil))
			s.Set(parameter, text)
		}
	}
}

// Write writes the parameters into a request.
func (s *Slots) Write(request *scenario.Request) {
	var cookies []string
	for _, sent := range s.all {
		switch sent.parameter.In {
		case "path":
			request.Path = strings.ReplaceAll(request.Path, "{"+sent.parameter.Name+"}", sent.text)
		case "query":
			request.Query = append(request.Query, sent.text) // with its name
		case "header":
			request.Header[http.CanonicalHeaderKey(sent.parameter.Name)] = []string{sent.text}
		case "cookie":
			cookies = append(cookies, sent.text) // with its name
		}
	}
	if len(cookies) > 0 {
		request.Header.Set("Cookie", strings.Join(cookies, "; "))
	}
}
