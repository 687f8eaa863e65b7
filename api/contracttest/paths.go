package contracttest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
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
	for _, r := range s.document.routes {
		if path, ok := s.examplePath(r); ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		var others []string
		for _, method := range slices.Concat([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE"}, odd) {
			if s.document.serving(method, path) == nil {
				others = append(others, method)
			}
		}
		add("methods that "+path+" does not offer", path, others...)
		if s.contract.options.Rules.Options {
			add("OPTIONS "+path, path, http.MethodOptions)
		}
		if !s.document.hasPath(path + "/") {
			add("no path "+path+"/", path+"/", append([]string{"GET", "POST", "OPTIONS"}, odd...)...)
		}
	}
	add("no path /nowhere", "/nowhere", append([]string{"GET", "HEAD", "POST", "OPTIONS"}, odd...)...)
	return all
}

// examplePath fills a path with the plainest parameters.
func (s *suite) examplePath(r *route) (string, bool) {
	path := r.template
	for _, p := range r.parameters {
		if p.In != "path" {
			continue
		}
		text, ok := "1", true
		if schema, _ := parameterSchema(p); !schema.Type.Is("integer") {
			text, ok = s.gen.baseParameter(p)
		}
		if !ok {
			return "", false
		}
		path = strings.Replace(path, "{"+p.Name+"}", text, 1)
	}
	return path, true
}

// checkUndocumented checks responses that no operation of the document
// describes. It reports false if the document must describe the response:
//
//   - an unknown path is 404;
//   - a known path with a method that it does not offer is 405 with Allow;
//   - OPTIONS of a known path, if the options promise it, is 204 with Allow;
//   - a path that the options add is checked by the options.
//
// HEAD is checked as GET without a body.
func (c *Contract) checkUndocumented(x Interaction) (faults []Fault, undocumented bool) {
	added := c.options.Undocumented != nil && c.options.Undocumented(x.Path)
	known := c.document.hasPath(x.Path) || added || x.Path == "*"
	r := c.document.serving(x.Method, x.Path)
	switch {
	case c.document.find(x.Method, x.Path) != nil:
		return nil, false
	case r != nil && x.Method == http.MethodHead && (c.options.Rules.Head || x.Status != http.StatusMethodNotAllowed):
		return nil, false
	case added && (x.Method == http.MethodGet || x.Method == http.MethodHead):
		if c.options.UndocumentedResponse != nil {
			faults = c.options.UndocumentedResponse(x)
		}
	case !known && c.options.Undeclared != Exact && (c.document.hasPath(strings.TrimSuffix(x.Path, "/")) || x.Method == http.MethodOptions):
		// It may mean the path without the slash, or lead there; OPTIONS may be CORS.
		if x.Status >= 500 && x.Status != http.StatusNotImplemented {
			faults = []Fault{{"status", "paths", "is a failure of the service"}}
		}
	case !known:
		faults = c.checkRefusal(Violation{Kind: UnknownPath}, x)
	case x.Method == http.MethodOptions && !c.options.Rules.Options:
		if x.Status >= 500 {
			faults = []Fault{{"status", "OPTIONS", "is a failure of the service"}}
		}
	case x.Method == http.MethodOptions:
		faults = c.checkAllow(x)
		if x.Status != http.StatusNoContent {
			faults = append(faults, Fault{"status", "OPTIONS", "must be 204"})
		}
		if len(x.Body) > 0 {
			faults = append(faults, Fault{"body", "OPTIONS", "must be empty"})
		}
	default:
		faults = c.checkRefusal(Violation{Kind: UnknownMethod}, x)
		if x.Status == http.StatusMethodNotAllowed {
			faults = append(faults, c.checkAllow(x)...)
		}
	}
	for _, name := range c.options.EveryResponse {
		faults = append(faults, checkHeaders(openapi3.Headers{name: c.document.doc.Components.Headers[name]}, x.Header)...)
	}
	return faults, true
}

// checkRefusal checks the response to a request that no operation serves.
func (c *Contract) checkRefusal(why Violation, x Interaction) []Fault {
	if !why.allows(x.Status) {
		return []Fault{{"status", "paths", fmt.Sprintf("must be %d: the document has no such operation", statuses[why.Kind][0])}}
	}
	if x.Method == http.MethodHead || c.options.Refusal == nil {
		return nil
	}
	return c.options.Refusal(why, x)
}

// checkAllow fails unless there is one Allow header with exactly the methods of
// the path. Without a promise of the options, HEAD and OPTIONS may be missing, and so may
// the methods of a template that also fits a path that another one, with fewer parameters, has.
func (c *Contract) checkAllow(x Interaction) []Fault {
	lines := x.Header.Values("Allow")
	if len(lines) > 1 && c.options.Undeclared != Exact {
		lines = []string{strings.Join(lines, ",")} // RFC 9110, section 5.3
	}
	if len(lines) != 1 {
		return []Fault{{"header Allow", "required", "must be given exactly once"}}
	}
	offered := map[string]bool{http.MethodOptions: c.options.Rules.Options} // true: it must be listed
	offer := func(method string, must bool) {
		offered[method] = offered[method] || must
		if method == http.MethodGet {
			offered[http.MethodHead] = offered[http.MethodHead] || must && c.options.Rules.Head
		}
	}
	if c.options.Undocumented != nil && c.options.Undocumented(x.Path) {
		offer(http.MethodGet, true)
	}
	first := ""
	for _, r := range c.document.routes {
		if fits := r.pattern.MatchString(x.Path); fits || x.Path == "*" {
			first = cmp.Or(first, r.template)
			offer(r.method, x.Path == "*" || first == r.template)
		}
	}
	want := slices.DeleteFunc(slices.Sorted(maps.Keys(offered)), func(method string) bool { return !offered[method] })
	var got []string
	for method := range strings.SplitSeq(lines[0], ",") {
		if must, may := offered[strings.TrimSpace(method)]; must || !may {
			got = append(got, strings.TrimSpace(method))
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return []Fault{{"header Allow", "paths", fmt.Sprintf("lists %v, but the path offers %v", got, want)}}
	}
	return nil
}
