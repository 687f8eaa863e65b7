package docs

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// host is a name, an IPv4 address or an IPv6 address in brackets, with a port or
// without: what cannot end a text in YAML or JSON, whoever sends it.
var host = regexp.MustCompile(`^(?i:[a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(:[0-9]{1,5})?$`)

// ParseBaseURL reads the address of a service as its callers write it, as in
// https://example.com/store. A slash at the end is taken off.
func ParseBaseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.Unwrap(err) // the text is the caller's to quote
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("it must begin with http:// or https://")
	case u.User != nil:
		return nil, errors.New("it must not hold a name or a password")
	case !host.MatchString(u.Host):
		return nil, errors.New("it must name a host in ASCII, as in https://example.com")
	case strings.ContainsAny(text, "?#"):
		return nil, errors.New("it must end with a path, without ? and #")
	}
	escaped := strings.TrimSuffix(u.EscapedPath(), "/")
	if escaped != "" && path.Clean(escaped+"/x") != escaped+"/x" {
		return nil, errors.New("its path must do without //, . and .. segments")
	}
	return &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host), Path: strings.TrimSuffix(u.Path, "/"), RawPath: escaped}, nil
}

// requestURL is the address of the service as this request has it, or empty if
// it names no host that makes sense. What proxies say in further headers, anyone
// can say: behind one, the address is a setting.
func requestURL(r *http.Request) string {
	if !host.MatchString(r.Host) {
		return ""
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + strings.ToLower(r.Host)
}
