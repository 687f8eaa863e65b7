package draft

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// How a draft goes where a response leads.

// TargetOf is the URL of the service that an interaction was with.
func TargetOf(x scenario.Interaction) string {
	address, _, _ := strings.Cut(x.URL, "?")
	return strings.TrimSuffix(address, x.Path)
}

// LeadsTo resolves a reference in a response (RFC 3986, section 5) and returns where it leads, path and
// query below the service. It must not lead elsewhere. A client with credentials must not follow a service
// to another host.
func LeadsTo(x scenario.Interaction, reference string) (path string, query []string, err error) {
	from, err := x.ParsedURL()
	if err == nil {
		from, err = from.Parse(reference)
	}
	if err != nil {
		return "", nil, scenario.Brokenf("leads to %q: %v", reference, err)
	}
	if from.RawQuery != "" {
		query = strings.Split(from.RawQuery, "&")
	}
	from.RawQuery = ""
	path = strings.TrimPrefix(from.String(), TargetOf(x)) // else it begins with a scheme
	if !strings.HasPrefix(path, "/") {
		return "", nil, scenario.Brokenf("leads to %s, which is not below %s", from, TargetOf(x))
	}
	return path, query, nil
}

// linkTarget finds the reference in a Link to the next page.
var linkTarget = regexp.MustCompile(`<([^>]*)>; *rel="?next"?`)

// NextLink is the reference in a Link to the next page, or nothing.
func NextLink(x scenario.Interaction) string {
	if found := linkTarget.FindStringSubmatch(x.Header.Get("Link")); found != nil {
		return found[1]
	}
	return ""
}

// FirstPage is the request of the first page of a list.
func (d *Draft) FirstPage(id string, query url.Values) (request scenario.Request, err error) {
	operation := d.Document.Operation(id)
	if operation == nil {
		return request, noOperation(id)
	}
	return scenario.Request{
		Method: operation.Method,
		Path:   operation.Template,
		Query:  []string{query.Encode()},
		Header: http.Header{},
	}, nil
}

// NextPage is the request to which the Link of a page leads, if it has one.
func (d *Draft) NextPage(page scenario.Interaction) (next scenario.Request, isThere bool, err error) {
	link := NextLink(page)
	if link == "" {
		return next, false, nil
	}
	next = scenario.Request{Method: page.Method, Header: http.Header{}}
	next.Path, next.Query, err = LeadsTo(page, link)
	return next, true, err
}
