package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/document"

	"net/http"
	"slices"
	"strings"
)

// pathTests returns the tests of what no operation serves: methods that a path
// does not offer, OPTIONS, and paths that do not exist. checkUndocumented knows
// what the responses must be; every response passes it.
func (s *suite) pathTests() (all []Case) {
	add := func(name, path string, methods ...string) {
		all = append(all, newCase(name, func(v *Session) {
			for _, method := range methods {
				v.sendAs(method, path, nil, http.Header{}, nil, v.target.Credentials)
			}
		}))
	}
	var odd []string // servers may refuse a method that no standard has before they look at the path
	if s.contract.options.Undeclared == Exact {
		odd = []string{"BREW"}
	}
	var paths []string
	for _, r := range s.document.Operations {
		if path, ok := s.examplePath(r); ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		var others []string
		for _, method := range slices.Concat([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE"}, odd) {
			if s.document.Serving(method, path) == nil {
				others = append(others, method)
			}
		}
		add("methods that "+path+" does not offer", path, others...)
		if s.contract.options.Rules.Options {
			add("OPTIONS "+path, path, http.MethodOptions)
		}
		if !s.document.HasPath(path + "/") {
			add("no path "+path+"/", path+"/", append([]string{"GET", "POST", "OPTIONS"}, odd...)...)
		}
	}
	add("no path /nowhere", "/nowhere", append([]string{"GET", "HEAD", "POST", "OPTIONS"}, odd...)...)
	return all
}

// examplePath fills a path with the plainest parameters.
func (s *suite) examplePath(r *document.Operation) (string, bool) {
	path := r.Template
	for _, p := range r.Parameters {
		if p.In != "path" {
			continue
		}
		text, ok := "1", true
		if schema, _ := document.ParameterSchema(p); !schema.Type.Is("integer") {
			text, ok = s.gen.baseParameter(p)
		}
		if !ok {
			return "", false
		}
		path = strings.Replace(path, "{"+p.Name+"}", text, 1)
	}
	return path, true
}
