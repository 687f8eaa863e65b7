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
	"unicode"

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
	operations      map[string]*Operation // by method
	first           *Operation            // any of them
	allowed         string                // the header Allow
	allowedWithHead string                // where the handler gets each method, and so HEAD for GET
}

// newRoutes returns the routes of operations.
func newRoutes(operations []*Operation, servers openapi3.Servers, options *Options) *routes {
	made := &routes{outside: options.Outside, isFirst: options.BeforeRouter, bases: basesOf(servers, options.BasePath)}
	for _, operation := range operations {
		found := made.tree.Add(operation.Path)
		if found.operations == nil {
			*found = resource{operations: map[string]*Operation{}, first: operation}
		}
		operation.names = paths.Names(operation.Path)
		found.operations[operation.Method] = operation
		found.setAllowed()
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

// setAllowed sets the methods that are allowed.
func (f *resource) setAllowed() {
	methods := slices.Sorted(maps.Keys(f.operations))
	f.allowed = strings.Join(methods, ", ")
	if f.operations[http.MethodGet] != nil {
		methods = append(methods, http.MethodHead)
	}
	slices.Sort(methods)
	f.allowedWithHead = strings.Join(slices.Compact(methods), ", ")
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
		operation := found.operation(r.Method)
		if err := f.compare(r, base, cmp.Or(operation, found.first), texts); err != nil {
			return err
		}
		request.Operation = operation
		if operation == nil {
			return found.refuseMethod(w, r, base)
		}
		return nil
	}
	return &Refusal{Kind: NoOperation, Message: "the document has no such path"}
}

// operation returns the operation of a method, or nil.
func (f *resource) operation(method string) *Operation {
	if method == http.MethodHead {
		return cmp.Or(f.operations[method], f.operations[http.MethodGet])
	}
	return f.operations[method]
}

// refuseMethod returns the refusal of a method. Whether a router that comes later takes HEAD for GET is not known: chi does not.
func (f *resource) refuseMethod(w http.ResponseWriter, r *http.Request, base string) error {
	allowed := f.allowed
	if paths.SameShape(base+f.first.Path, patternOf(r)) {
		allowed = f.allowedWithHead
	}
	w.Header().Set("Allow", allowed)
	return &Refusal{Kind: MethodNotAllowed, Message: "the method is not allowed: use " + allowed}
}

// patternOf returns the pattern that a router has chosen, without a method; or nothing if there was no router.
func patternOf(r *http.Request) string {
	return r.Pattern[strings.IndexByte(r.Pattern, ' ')+1:]
}

// compare returns a refusal if the router has chosen another path than the document has, or has other names or values of
// parameters.
func (f *routes) compare(r *http.Request, base string, operation *Operation, texts []string) error {
	if f.isFirst {
		return nil
	}
	pattern, names := patternOf(r), operation.names
	if below, isBelow := strings.CutPrefix(pattern, base); !isBelow || below != operation.Path {
		if !paths.SameShape(base+operation.Path, pattern) {
			return f.withoutRouter(pattern, base+operation.Path, base)
		}
		names = namesOf(pattern)
		if areSwapped(names, operation.names) {
			return f.mismatch(pattern, base+operation.Path, "their parameters have each other's names")
		}
	}
	for i, name := range names {
		if value := r.PathValue(name); value != "" && !readsSame(value, texts[i], r.URL) {
			return &Refusal{Kind: NoOperation, Message: "the router and the document find different values in the path"}
		}
	}
	return nil
}

// namesOf returns the names of the parameters in a pattern of a router: chi has expressions after them, and [http.ServeMux] an
// end that is not a parameter.
func namesOf(pattern string) []string {
	names := paths.Names(strings.TrimSuffix(pattern, "{$}"))
	for i, name := range names {
		names[i], _, _ = strings.Cut(strings.TrimSuffix(name, "..."), ":")
	}
	return names
}

// areSwapped reports whether a router has the name of a parameter in the place of another one, whose value the handler would
// read.
func areSwapped(names, wanted []string) bool {
	for i, name := range names {
		isSame := func(other string) bool { return identifier(other) == identifier(name) }
		if !isSame(wanted[i]) && slices.ContainsFunc(wanted, isSame) {
			return true
		}
	}
	return false
}

// identifier returns a name as it is in a pattern of [http.ServeMux], which takes no others.
func identifier(name string) string {
	return strings.Map(func(letter rune) rune {
		if unicode.IsLetter(letter) || unicode.IsDigit(letter) {
			return letter
		}
		return '_'
	}, name)
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
func (f *routes) withoutRouter(pattern, template, base string) error {
	if pattern == "" {
		return f.ambiguous()
	}
	below, isAll := strings.CutSuffix(strings.TrimRight(pattern, "*"), "/")
	if isAll && !f.hasPath(strings.TrimPrefix(below, base)) {
		return f.ambiguous()
	}
	return f.mismatch(pattern, template, "if another router follows, set Options.BeforeRouter")
}

func (f *routes) mismatch(pattern, template, hint string) error {
	return &Refusal{Kind: NoOperation, Message: fmt.Sprintf("the router has chosen %s, and the document %s: %s", pattern, template, hint)}
}

// hasPath reports whether the document has a path, with a last slash or without.
func (f *routes) hasPath(pattern string) bool {
	without, _ := f.tree.Find(pattern, nil)
	with, _ := f.tree.Find(pattern+"/", nil)
	return without != nil || with != nil
}
