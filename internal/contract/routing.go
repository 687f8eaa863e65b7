package contract

import (
	"net/http"
	"regexp"
	"slices"
)

// routes returns the tests of what no operation answers: methods that a path
// does not offer, OPTIONS, and paths that do not exist. What the answers must be
// is known to besideDocument, which every exchange passes.
func (s *suite) routes() (all []Test) {
	var paths []string
	for _, r := range s.doc.routes {
		paths = append(paths, parameterInPath.ReplaceAllString(r.template, "1"))
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	add := func(name, path string, methods ...string) {
		all = append(all, Test{name, name, func(v *session) {
			for _, method := range methods {
				v.send(method, path, "", http.Header{}, nil)
			}
		}})
	}
	for _, path := range paths {
		var others []string
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"} {
			if s.doc.find(documented(method), path) == nil {
				others = append(others, method)
			}
		}
		add("methods that "+path+" does not offer", path, others...)
		add("OPTIONS "+path, path, http.MethodOptions)
		add("no path "+path+"/", path+"/", "GET", "POST", "OPTIONS", "BREW")
	}
	add("no path /nowhere", "/nowhere", "GET", "HEAD", "POST", "OPTIONS", "BREW")
	return all
}

var parameterInPath = regexp.MustCompile(`\{[^}]*\}`)
