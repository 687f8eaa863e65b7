package contract

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/internal/paths"
)

// routes finds the operation of a request by the paths of the document. The pattern that a router has set is not enough:
// chi cuts the last slash of it, and [http.ServeMux] cannot have each name of a parameter.
type routes struct {
	tree      paths.Tree[resource]
	bases     []string // what may come before each path; the longest first
	outside   []string // see Options.Outside
	isFirst   bool     // see Options.BeforeRouter
	ambiguous func() error
}

// resource is a path of the document.
type resource struct {
	template   string
	names      []string              // of the parameters
	operations map[string]*Operation // by method
	allowed    string                // the header Allow
}

// newRoutes returns the routes of operations.
func newRoutes(operations []*Operation, servers openapi3.Servers, options *Options) *routes {
	made := &routes{outside: options.Outside, isFirst: options.BeforeRouter, bases: basesOf(servers, options.BasePath)}
	for _, operation := range operations {
		found := made.tree.Add(operation.Path)
		if found.operations == nil {
			*found = resource{operation.Path, paths.Names(operation.Path), map[string]*Operation{}, ""}
		}
		found.operations[operation.Method] = operation
		found.allowed = strings.Join(slices.Sorted(maps.Keys(found.methods())), ", ")
	}
	made.ambiguous = sync.OnceValue(func() error { return findAmbiguous(operations) })
	return made
}

// basesOf returns what may come before each path of the document: the base path that is set, or else those of the servers, and
// nothing, because a proxy may remove it.
func basesOf(servers openapi3.Servers, basePath string) []string {
	if basePath != "" {
		return []string{strings.TrimSuffix(basePath, "/")}
	}
	bases := []string{""}
	for _, server := range servers {
		if base, err := server.BasePath(); err == nil {
			bases = append(bases, strings.TrimSuffix(base, "/"))
		}
	}
	slices.SortFunc(bases, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(bases)
}

// methods returns the methods that are allowed.
func (f *resource) methods() map[string]*Operation {
	allowed := maps.Clone(f.operations)
	if get := f.operations[http.MethodGet]; get != nil {
		allowed[http.MethodHead] = cmp.Or(f.operations[http.MethodHead], get)
	}
	return allowed
}

// findAmbiguous returns an error with two paths of the document between which routers choose differently.
func findAmbiguous(operations []*Operation) error {
	var templates []string
	for _, operation := range operations {
		templates = append(templates, operation.Path)
	}
	slices.Sort(templates)
	templates = slices.Compact(templates)
	for i, one := range templates {
		for _, other := range templates[i+1:] {
			if paths.Ambiguous(one, other) && !paths.SameShape(one, other) { // or they are one path
				return fmt.Errorf("the paths %s and %s meet, and routers choose differently: put the middleware behind the router",
					one, other)
			}
		}
	}
	return nil
}

// isOutside reports whether a request is for a path that is passed on unchecked.
func (f *routes) isOutside(r *http.Request) bool {
	return slices.Contains(f.outside, r.URL.Path)
}

// find sets the operation of a request and the texts of the parameters in its path. It compares both with what a router before
// the middleware has found, because the handler gets that.
func (f *routes) find(request *Request, w http.ResponseWriter, r *http.Request) error {
	path := r.URL.EscapedPath()
	request.path = request.pathTexts[:0]
	for _, base := range f.bases {
		below, isBelow := strings.CutPrefix(path, base)
		if !isBelow {
			continue
		}
		found, texts := f.tree.Find(below, request.path)
		if found == nil {
			continue
		}
		request.path = texts
		if err := f.compare(r, base, found, texts); err != nil {
			return err
		}
		return found.choose(request, w, r.Method)
	}
	return &Refusal{Kind: NoOperation, Message: "the document has no such path"}
}

// choose sets the operation of a method.
func (f *resource) choose(request *Request, w http.ResponseWriter, method string) error {
	request.Operation = f.operations[method]
	if method == http.MethodHead {
		request.Operation = cmp.Or(request.Operation, f.operations[http.MethodGet])
	}
	if request.Operation == nil {
		w.Header().Set("Allow", f.allowed)
		return &Refusal{Kind: MethodNotAllowed, Message: "the method is not allowed: use " + f.allowed}
	}
	return nil
}

// compare returns a refusal if the router has chosen another path than the document has, or has other values of parameters.
func (f *routes) compare(r *http.Request, base string, found *resource, texts []string) error {
	if f.isFirst {
		return nil
	}
	pattern, names := r.Pattern[strings.IndexByte(r.Pattern, ' ')+1:], found.names
	if below, isBelow := strings.CutPrefix(pattern, base); !isBelow || below != found.template {
		if !paths.SameShape(base+found.template, pattern) {
			return f.withoutRouter(pattern, base, found)
		}
		names = paths.Names(pattern)
	}
	for i, name := range names {
		name, _, _ = strings.Cut(strings.TrimSuffix(name, "..."), ":") // chi has expressions after the names
		if value := r.PathValue(name); value != "" && !readsSame(value, texts[i], r.URL) {
			return &Refusal{Kind: NoOperation, Message: "the router and the document find different values in the path"}
		}
	}
	return nil
}

// readsSame reports whether code behind a router reads a text of the path as it is checked. chi hands on texts that are
// escaped if the URL has a RawPath. Generated code unescapes them then.
func readsSame(value, text string, url *url.URL) bool {
	plain := unescapePath(text)
	return value == plain || url.RawPath != "" && unescapePath(value) == plain
}

// unescapePath returns a text of a path without escapes. net/http has refused what is not well escaped.
func unescapePath(text string) string {
	plain, _ := url.PathUnescape(text)
	return plain
}

// withoutRouter returns a refusal unless no router has chosen a path of the document: there is no pattern, or one of
// everything below a path, where another router comes later.
func (f *routes) withoutRouter(pattern, base string, found *resource) error {
	if pattern == "" {
		return f.ambiguous()
	}
	below, isAll := strings.CutSuffix(strings.TrimRight(pattern, "*"), "/")
	if isAll && !f.hasPath(strings.TrimPrefix(below, base)) {
		return f.ambiguous()
	}
	message := fmt.Sprintf("the router has chosen %s, and the document %s: if another router follows, set Options.BeforeRouter",
		pattern, base+found.template)
	return &Refusal{Kind: NoOperation, Message: message}
}

// hasPath reports whether the document has a path, with a last slash or without.
func (f *routes) hasPath(pattern string) bool {
	without, _ := f.tree.Find(pattern, nil)
	with, _ := f.tree.Find(pattern+"/", nil)
	return without != nil || with != nil
}
