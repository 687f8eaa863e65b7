package judge

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Much of what goes wrong in a service is outside its document: a path with a slash too many, or a method
// that the document does not have. OpenAPI says nothing about it, but HTTP does.

// isDocumented reports whether an operation must describe the response. HEAD is described by GET, but a
// service need not offer it. Routers answer HEAD by themselves more often than authors write it down.
func (j *Judge) isDocumented(x scenario.Interaction) bool {
	if j.Document.Find(x.Method, x.Path) != nil {
		return true
	}
	isHead := x.Method == http.MethodHead && j.Document.Serving(x.Method, x.Path) != nil
	mayLackHead := !j.Settings.Rules.Head && x.Status == http.StatusMethodNotAllowed
	return isHead && !mayLackHead
}

// isAdded reports whether the options have a path that the document does not have.
func (j *Judge) isAdded(path string) bool {
	return j.Settings.Undocumented != nil && j.Settings.Undocumented(path)
}

// undocumented checks responses that no operation of the document describes:
//
//   - an unknown path is 404;
//   - a known path with a method that it does not offer is 405 with Allow;
//   - OPTIONS of a known path, if the options promise it, is 204 with Allow;
//   - a path that the options add is checked by the options.
func (j *Judge) undocumented(x scenario.Interaction) (faults []scenario.Fault) {
	faults = j.withoutOperation(x)
	for _, name := range j.Settings.EveryResponse {
		faults = append(faults, j.headers(openapi3.Headers{name: j.Document.Headers[name]}, x.Header)...)
	}
	return faults
}

// withoutOperation checks a response by why there is no operation for it.
func (j *Judge) withoutOperation(x scenario.Interaction) []scenario.Fault {
	isOfDocument := x.Path == "*" || j.Document.HasPath(x.Path)
	isAdded := j.isAdded(x.Path)
	isRead := x.Method == http.MethodGet || x.Method == http.MethodHead
	switch {
	case isAdded && isRead:
		return j.added(x)
	case !isOfDocument && !isAdded:
		return j.unknownPath(x)
	case x.Method == http.MethodOptions:
		return j.optionsOfPath(x)
	}
	return j.unknownMethod(x)
}

// added checks the response to a read of a path of the options. What it must be, only they know.
func (j *Judge) added(x scenario.Interaction) []scenario.Fault {
	if j.Settings.UndocumentedResponse == nil {
		return nil
	}
	return j.Settings.UndocumentedResponse(x)
}

// unknownMethod checks the response to a method that a path does not offer.
func (j *Judge) unknownMethod(x scenario.Interaction) []scenario.Fault {
	faults := j.refusal(scenario.Violation{Kind: scenario.UnknownMethod}, x)
	if x.Status == http.StatusMethodNotAllowed {
		faults = append(faults, j.allow(x)...)
	}
	return faults
}

// unknownPath checks the response to a path that does not exist. With a slash at its end it may mean
// the path without it, or lead there, and OPTIONS may be CORS, unless the options say otherwise.
func (j *Judge) unknownPath(x scenario.Interaction) []scenario.Fault {
	mayBeServed := x.Method == http.MethodOptions || j.Document.HasPath(strings.TrimSuffix(x.Path, "/"))
	if j.exact() || !mayBeServed {
		return j.refusal(scenario.Violation{Kind: scenario.UnknownPath}, x)
	}
	if x.Status == http.StatusNotImplemented {
		return nil
	}
	return noFailure("paths", x)
}

// noFailure checks a response of which no more is known than that the service must not fail.
func noFailure(keyword string, x scenario.Interaction) []scenario.Fault {
	if x.Status < http.StatusInternalServerError {
		return nil
	}
	return one("status", keyword, "is a failure of the service")
}

// optionsOfPath checks the response to OPTIONS, of which only the options know what it must be.
func (j *Judge) optionsOfPath(x scenario.Interaction) []scenario.Fault {
	if !j.Settings.Rules.Options {
		return noFailure("OPTIONS", x)
	}
	faults := j.allow(x)
	if x.Status != http.StatusNoContent {
		faults = append(faults, one("status", "OPTIONS", "must be 204")...)
	}
	return append(faults, empty("OPTIONS", x)...)
}

// refusal checks the response to a request that no operation serves.
func (j *Judge) refusal(why scenario.Violation, x scenario.Interaction) []scenario.Fault {
	if !why.Allows(x.Status) {
		return one("status", "paths", fmt.Sprintf("must be %d: the document has no such operation", why.Statuses()[0]))
	}
	if x.Method == http.MethodHead || j.Settings.Refusal == nil {
		return nil
	}
	return j.Settings.Refusal(why, x)
}

// allow fails unless there is one Allow header with exactly the methods of the path. It must be exact: a
// client that reads a method there may use it.
func (j *Judge) allow(x scenario.Interaction) []scenario.Fault {
	lines := x.Header.Values("Allow")
	if len(lines) > 1 && !j.exact() {
		lines = []string{strings.Join(lines, ",")} // RFC 9110, section 5.3
	}
	if len(lines) != 1 {
		return one("header Allow", "required", "must be given exactly once")
	}
	must, may := j.offered(x.Path)
	var listed []string // without what may be listed and need not be
	for method := range strings.SplitSeq(lines[0], ",") {
		method = strings.TrimSpace(method)
		if must[method] || !may[method] {
			listed = append(listed, method)
		}
	}
	slices.Sort(listed)
	if want := slices.Sorted(maps.Keys(must)); !slices.Equal(listed, want) {
		return one("header Allow", "paths", fmt.Sprintf("lists %v, but the path offers %v", listed, want))
	}
	return nil
}

// offered returns the methods that Allow must list for a path, and those that it may list. Without a
// promise of the options, HEAD and OPTIONS may be missing, and so may the methods of a template that
// also fits a path that another one, with fewer parameters, has.
func (j *Judge) offered(path string) (must, may map[string]bool) {
	must = map[string]bool{}
	may = map[string]bool{http.MethodOptions: true}
	if j.Settings.Rules.Options {
		must[http.MethodOptions] = true
	}
	offer := func(methods map[string]bool, method string, head bool) {
		methods[method] = true
		if method == http.MethodGet && head {
			methods[http.MethodHead] = true
		}
	}
	if j.isAdded(path) {
		offer(must, http.MethodGet, j.Settings.Rules.Head)
		offer(may, http.MethodGet, true)
	}
	first := ""
	for _, operation := range j.Document.Operations {
		isAll := path == "*"
		if !isAll && !operation.Matches(path) {
			continue
		}
		if first == "" {
			first = operation.Template
		}
		if isAll || operation.Template == first {
			offer(must, operation.Method, j.Settings.Rules.Head)
		}
		offer(may, operation.Method, true)
	}
	return must, may
}
