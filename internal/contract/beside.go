package contract

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// documentation are the paths of the documentation, and root, which redirects to
// it. They are not operations, so the document does not list them.
var documentation = []string{root, "/docs", "/openapi.yaml", "/openapi.json"}

const root = "/"

// partOfDocs reports whether a path may be one of what the page at /docs is
// made of. Which of these there are is the page's own affair.
func partOfDocs(path string) bool { return strings.HasPrefix(path, "/docs/") }

// besideDocument knows the answers that no operation gives. It reports false if
// the exchange is one that the document must describe. This is the whole list:
//
//   - OPTIONS of a known path: 204 with Allow and nothing else;
//   - an unknown path: 404 with 40400;
//   - a known path with a method it does not offer: 405 with 40500 and Allow;
//   - the documentation paths, which offer GET;
//   - GET /: 307 to /docs.
//
// Each of them has the X-Request-Id that the document gives every answer. HEAD
// is answered as GET without a body, so it is held against GET.
func besideDocument(doc *document, x Exchange) (faults []Fault, beside bool) {
	known := doc.knows(x.Path) || x.Path == "*"
	isDocumentation := slices.Contains(documentation, x.Path) || partOfDocs(x.Path)
	defer func() {
		if beside {
			faults = append(faults, checkRequestID(doc, x)...)
		}
	}()
	switch {
	case partOfDocs(x.Path) && x.Status == http.StatusNotFound:
		return checkRefusal(x, plantapi.CodeNoSuchPath), true
	case isDocumentation && documented(x.Method) == http.MethodGet:
		return checkDocumentation(x), true
	case !known && !isDocumentation:
		return checkRefusal(x, plantapi.CodeNoSuchPath), true
	case x.Method == http.MethodOptions:
		faults = checkAllow(doc, x)
		if x.Status != http.StatusNoContent {
			faults = append(faults, Fault{"status", "OPTIONS", "must be 204"})
		}
		if len(x.Body) > 0 {
			faults = append(faults, Fault{"body", "OPTIONS", "must be empty"})
		}
		return faults, true
	case doc.find(documented(x.Method), x.Path) == nil:
		return append(checkRefusal(x, plantapi.CodeMethodNotAllowed), checkAllow(doc, x)...), true
	}
	return nil, false
}

// checkRequestID fails unless an answer has the header that all have.
func checkRequestID(doc *document, x Exchange) []Fault {
	return checkHeaders(openapi3.Headers{requestID: doc.doc.Components.Headers[requestID]}, x.Header)
}

// requestID is the header that stands on every answer.
const requestID = "X-Request-Id"

// documented is the method in the document that answers a method.
func documented(method string) string {
	if method == http.MethodHead {
		return http.MethodGet
	}
	return method
}

// checkRefusal fails unless the answer is an Error with the given code.
func checkRefusal(x Exchange, code plantapi.ErrorCode) []Fault {
	if x.Status != int(code)/100 {
		return []Fault{{"status", "paths", "must be " + http.StatusText(int(code)/100) + ": the document knows no such operation"}}
	}
	if x.Method == http.MethodHead {
		return nil
	}
	e, faults := readError(x)
	if len(faults) == 0 && e.Error != int32(code) {
		faults = append(faults, Fault{"body /error", "ErrorCode", "is not the number for this refusal"})
	}
	return faults
}

// checkDocumentation fails unless the response is a file, a 304 for one, or a
// redirect to the page.
func checkDocumentation(x Exchange) (faults []Fault) {
	if x.Path == root {
		if x.Status != http.StatusTemporaryRedirect {
			faults = append(faults, Fault{"status", "documentation", "must be 307"})
		}
		if x.Header.Get("Location") != "docs" {
			faults = append(faults, Fault{"header Location", "documentation", "must be docs, relative to /"})
		}
		return faults
	}
	switch x.Status {
	case http.StatusOK, http.StatusNotModified, http.StatusPermanentRedirect:
		return nil
	}
	return []Fault{{"status", "documentation", "must be 200, 304 or 308"}}
}

// checkAllow fails unless there is one Allow header with exactly the methods of
// the path.
func checkAllow(doc *document, x Exchange) []Fault {
	lines := x.Header.Values("Allow")
	if len(lines) != 1 {
		return []Fault{{"header Allow", "required", "must be there exactly once"}}
	}
	want := []string{http.MethodOptions}
	if slices.Contains(documentation, x.Path) || partOfDocs(x.Path) {
		want = append(want, http.MethodGet, http.MethodHead)
	}
	for _, r := range doc.routes {
		if x.Path == "*" || matches(r.template, x.Path) {
			want = append(want, r.method)
			if r.method == http.MethodGet {
				want = append(want, http.MethodHead)
			}
		}
	}
	slices.Sort(want)
	want = slices.Compact(want)
	got := strings.Split(lines[0], ", ")
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return []Fault{{"header Allow", "paths", fmt.Sprintf("lists %v, but the path offers %v", got, want)}}
	}
	return nil
}
