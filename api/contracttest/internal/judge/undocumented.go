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

// isDocumented reports whether an operation must describe the response. GET describes the response to HEAD, too. But a 405 says
// that the service does not offer HEAD, which it need not unless the options say so: then only an operation with that method
// describes it.
func (j *Judge) isDocumented(x scenario.Interaction) bool {
	mayLackHead := !j.Settings.Rules.Head
	if mayLackHead && x.Status == http.StatusMethodNotAllowed {
		return j.Document.Find(x.Method, x.Path) != nil
	}
	return j.Document.Serving(x.Method, x.Path) != nil
}

// undocumented checks a response that no operation of the document describes, and says why the request must be refused; nil:
// it need not be.
func (j *Judge) undocumented(x scenario.Interaction) (faults []scenario.Fault, why *scenario.Violation) {
	switch {
	case j.isPage(x):
		return nil, nil
	case len(j.operationsOn(x.Path)) == 0:
		return j.unknownPath(x)
	}
	return j.unknownMethod(x)
}

// unknownPath checks the response for a path that the document does not have: it must be 404. Unless the options say otherwise,
// it may be 405, where a page has the path.
func (j *Judge) unknownPath(x scenario.Interaction) (faults []scenario.Fault, why *scenario.Violation) {
	switch {
	case x.Status == http.StatusMethodNotAllowed && !j.exact():
		return nil, &scenario.Violation{Kind: scenario.UnknownPath}
	case j.mayBeServed(x):
		return noFailure("paths", x), nil
	}
	return refused(scenario.UnknownPath, x)
}

// unknownMethod checks the response to a method that a path does not have: it must be 405 with Allow (RFC 9110, section 15.5.6).
// Unless the options say otherwise, it may be 404.
func (j *Judge) unknownMethod(x scenario.Interaction) (faults []scenario.Fault, why *scenario.Violation) {
	switch {
	case x.Method == http.MethodOptions:
		return j.optionsOfPath(x), nil
	case x.Status == http.StatusNotFound && !j.exact():
		return nil, &scenario.Violation{Kind: scenario.UnknownMethod}
	}
	faults, why = refused(scenario.UnknownMethod, x)
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

// refused checks that a request that no operation serves is refused, for an unknown path or an unknown method.
func refused(kind scenario.Kind, x scenario.Interaction) ([]scenario.Fault, *scenario.Violation) {
	why := &scenario.Violation{Kind: kind}
	if why.Allows(x.Status) {
		return nil, why
	}
	wanted := why.Statuses()[0]
	return wrongStatus("paths", wanted, fmt.Sprintf("must be %d: the document has no such operation", wanted)), why
}

// noFailure checks a response of which no more is known than that the service must not fail. A 501 is no failure: it says that
// the service does not know the method (RFC 9110, section 15.6.2).
func noFailure(keyword string, x scenario.Interaction) []scenario.Fault {
	isFailure := x.Status >= http.StatusInternalServerError && x.Status != http.StatusNotImplemented
	return require(!isFailure, "status", keyword, "is a failure of the service")
}

// optionsOfPath checks the response to OPTIONS. It must be 204 with Allow if the options promise that, else anything but a
// failure.
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

// allow checks that an Allow header lists the methods of the path, each once. If the options are exact, it must list no other one
// but those that HTTP or another template explains. Otherwise it may: a request with that method shows whether it is right.
func (j *Judge) allow(x scenario.Interaction) []scenario.Fault {
	lines := x.Header.Values("Allow")
	isOne := len(lines) == 1 || !j.exact() // several are one list (RFC 9110, section 5.3)
	if len(lines) == 0 || !isOne {
		return one("header Allow", "required", "must be given exactly once")
	}
	required, allowed := j.offered(x.Path)
	var listed []string // without those that may be listed and need not be: GET of "GET, HEAD"
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
