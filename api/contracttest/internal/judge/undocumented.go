package judge

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Much of what goes wrong in a service is outside its document: a path with a slash too many, or a method
// that the document does not have. OpenAPI says nothing about it, but HTTP does.

// isDocumented reports whether an operation must describe the response. HEAD is described by GET, but a
// service need not offer it. Routers answer HEAD by themselves more often than authors write it down.
func (j *Judge) isDocumented(x scenario.Interaction) bool {
	mayLackHead := !j.Settings.Rules.Head
	if mayLackHead && x.Status == http.StatusMethodNotAllowed {
		return j.Document.Find(x.Method, x.Path) != nil // GET serves HEAD, but is not it
	}
	return j.Document.Serving(x.Method, x.Path) != nil
}

// undocumented checks responses that no operation of the document describes, and says why there is none:
//
//   - an unknown path is 404, or 405 where only a page is;
//   - a known path with a method that it does not offer is 404, or 405 with Allow;
//   - OPTIONS of a known path, if the options promise it, is 204 with Allow.
func (j *Judge) undocumented(x scenario.Interaction) (faults []scenario.Fault, why *scenario.Violation) {
	isKnown := len(j.operationsOn(x.Path)) > 0
	switch {
	case j.isPage(x):
		return nil, nil
	case !isKnown && x.Status == http.StatusMethodNotAllowed && !j.exact(): // a page may be there
		return nil, &scenario.Violation{Kind: scenario.UnknownPath}
	case !isKnown && j.mayBeServed(x):
		return noFailure("paths", x), nil
	case !isKnown:
		return refused(scenario.UnknownPath, x)
	case x.Method == http.MethodOptions:
		return j.optionsOfPath(x), nil
	case x.Status == http.StatusNotFound && !j.exact():
		return nil, &scenario.Violation{Kind: scenario.UnknownMethod}
	}
	faults, why = refused(scenario.UnknownMethod, x)
	// A 405 must say which methods the path offers (RFC 9110, section 15.5.6).
	if x.Status == http.StatusMethodNotAllowed {
		faults = append(faults, j.allow(x)...)
	}
	return faults, why
}

// mayBeServed reports whether a path that does not exist need not be refused: with a slash at its end it may mean the
// path without it, or lead there, and OPTIONS may be CORS, unless the options say otherwise.
func (j *Judge) mayBeServed(x scenario.Interaction) bool {
	isAlike := x.Method == http.MethodOptions || j.Document.HasPath(strings.TrimSuffix(x.Path, "/"))
	return isAlike && !j.exact()
}

// isPage reports whether a response is a page for people. A service with a user interface may give that for any path.
func (j *Judge) isPage(x scenario.Interaction) bool {
	isHTML := strings.HasPrefix(x.Header.Get("Content-Type"), "text/html")
	isRead := x.Method == http.MethodGet || x.Method == http.MethodHead
	return isHTML && isRead && x.Status == http.StatusOK && !j.exact()
}

// refused checks that a request is refused that no operation serves.
func refused(kind scenario.Kind, x scenario.Interaction) ([]scenario.Fault, *scenario.Violation) {
	why := &scenario.Violation{Kind: kind}
	if why.Allows(x.Status) {
		return nil, why
	}
	wanted := why.Statuses()[0]
	return wrongStatus("paths", wanted, fmt.Sprintf("must be %d: the document has no such operation", wanted)), why
}

// noFailure checks a response of which no more is known than that the service must not fail. That it knows
// no such method is no failure (RFC 9110, section 15.6.2).
func noFailure(keyword string, x scenario.Interaction) []scenario.Fault {
	isFailure := x.Status >= http.StatusInternalServerError && x.Status != http.StatusNotImplemented
	return require(!isFailure, "status", keyword, "is a failure of the service")
}

// optionsOfPath checks the response to OPTIONS, of which only the options know what it must be.
func (j *Judge) optionsOfPath(x scenario.Interaction) []scenario.Fault {
	if !j.Settings.Rules.Options {
		return noFailure("OPTIONS", x)
	}
	faults := j.allow(x)
	if x.Status != http.StatusNoContent {
		faults = append(faults, wrongStatus("OPTIONS", http.StatusNoContent, "must be 204")...)
	}
	return append(faults, empty("OPTIONS", x)...)
}

// wrongStatus is a fault of a response that must have one status.
func wrongStatus(keyword string, wanted int, message string) []scenario.Fault {
	return []scenario.Fault{{Where: "status", Keyword: keyword, Message: message, Wanted: wanted}}
}

// allow fails unless there is an Allow header with the methods of the path. It may list others, which a request with that method
// shows, unless the options say that everything must be as HTTP says.
func (j *Judge) allow(x scenario.Interaction) []scenario.Fault {
	lines := x.Header.Values("Allow")
	isOne := len(lines) == 1 || !j.exact() // several are one list (RFC 9110, section 5.3)
	if len(lines) == 0 || !isOne {
		return one("header Allow", "required", "must be given exactly once")
	}
	required, allowed := j.offered(x.Path)
	var listed []string // without what may be listed and need not be
	for method := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		method = strings.TrimSpace(method)
		mayBeListed := slices.Contains(allowed, method) || !j.exact()
		if slices.Contains(required, method) || !mayBeListed {
			listed = append(listed, method)
		}
	}
	slices.Sort(listed)
	message := fmt.Sprintf("lists %v, but the path offers %v", listed, required)
	return require(slices.Equal(listed, required), "header Allow", "paths", message)
}

// offered returns the methods that Allow must list for a path, sorted, and those that it may list. HEAD and
// OPTIONS may be missing, unless the options promise them. So may the methods of other templates that also
// fit: the first one has the fewest parameters, and many routers look at that one alone.
func (j *Judge) offered(path string) (required, allowed []string) {
	operations := j.operationsOn(path)
	for _, operation := range operations {
		if path == anyPath || operation.Template == operations[0].Template {
			required = append(required, operation.Method)
		}
		allowed = append(allowed, operation.Method)
	}
	allowed = append(allowed, required...)
	if slices.Contains(allowed, http.MethodGet) {
		allowed = append(allowed, http.MethodHead)
	}
	if j.Settings.Rules.Head && slices.Contains(required, http.MethodGet) {
		required = append(required, http.MethodHead)
	}
	if j.Settings.Rules.Options {
		required = append(required, http.MethodOptions)
	}
	slices.Sort(required)
	return slices.Compact(required), append(allowed, http.MethodOptions)
}

// anyPath is the target of OPTIONS that asks about the service as a whole (RFC 9110, section 9.3.7).
const anyPath = "*"

// operationsOn returns the operations on a path.
func (j *Judge) operationsOn(path string) (all []*document.Operation) {
	for _, operation := range j.Document.Operations {
		if path == anyPath || operation.Matches(path) {
			all = append(all, operation)
		}
	}
	return all
}
