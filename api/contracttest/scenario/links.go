package scenario

import (
	"regexp"
	"strings"
)

// ServiceURL is the URL of the service that an interaction was with.
func (x Interaction) ServiceURL() string {
	address, _, _ := strings.Cut(x.URL, "?")
	return strings.TrimSuffix(address, x.Path)
}

// LeadsTo resolves a reference in a response (RFC 3986, section 5) and returns where it leads, path and
// query below the service. It must not lead elsewhere. A client with credentials must not follow a service
// to another host.
func (x Interaction) LeadsTo(reference string) (path string, query []string, err error) {
	target, err := x.ParsedURL()
	if err == nil {
		target, err = target.Parse(reference)
	}
	if err != nil {
		return "", nil, Brokenf("leads to %q: %v", reference, err)
	}
	if target.RawQuery != "" {
		query = strings.Split(target.RawQuery, "&")
	}
	target.RawQuery = ""
	path = strings.TrimPrefix(target.String(), x.ServiceURL()) // what is not below it still begins with a scheme
	if !strings.HasPrefix(path, "/") {
		return "", nil, Brokenf("leads to %s, which is not below %s", target, x.ServiceURL())
	}
	return path, query, nil
}

// linkTarget finds the reference in a Link to the next page.
var linkTarget = regexp.MustCompile(`<([^>]*)>; *rel="?next"?`)

// NextLink is the reference in a Link to the next page, or nothing.
func (x Interaction) NextLink() string {
	if found := linkTarget.FindStringSubmatch(x.Header.Get("Link")); found != nil {
		return found[1]
	}
	return ""
}
