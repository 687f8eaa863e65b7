package draft

import (
	"net/http"
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

// walk reads the pages of an operation for a query, and those to which Link leads from it.
func (d *Draft) walk(step scenario.Step) []scenario.Step {
	operation := d.Document.Operation(step.Walk.Operation)
	if operation == nil {
		return Failing("the document has no operation %s", step.Walk.Operation)
	}
	w := &linkWalk{
		method: operation.Method,
		path:   operation.Template,
		pairs:  []string{step.Walk.Query.Encode()},
		visit:  step.Walk.Visit,
	}
	return []scenario.Step{w.step()}
}

// linkWalk is a walk by Link.
type linkWalk struct {
	method, path string
	pairs        []string
	visit        func(scenario.Interaction) (enough bool, err error)
}

// step is the request of the next page.
func (w *linkWalk) step() scenario.Step {
	return scenario.Step{
		Send: func() (scenario.Request, error) {
			return scenario.Request{
				Method: w.method,
				Path:   w.path,
				Query:  w.pairs,
				Header: http.Header{},
			}, nil
		},
		Expect: scenario.Accepted,
		Check:  w.read,
		Then: func(scenario.Interaction) []scenario.Step {
			if w.path == "" {
				return nil
			}
			return []scenario.Step{w.step()}
		},
	}
}

// read visits a page. The path is empty then if there is no other.
func (w *linkWalk) read(x scenario.Interaction) error {
	enough, err := w.visit(x)
	link := NextLink(x)
	w.path = ""
	if isLast := enough || link == ""; err != nil || isLast {
		return err
	}
	w.path, w.pairs, err = LeadsTo(x, link)
	return err
}
