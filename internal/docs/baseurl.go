package docs

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// host matches a name, an IPv4 address or an IPv6 address in brackets, with or
// without a port. No match contains a character that ends a string in YAML or
// JSON, so a request cannot inject anything into the document.
var host = regexp.MustCompile(`^(?i:[a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(:[0-9]{1,5})?$`)

// ParseBaseURL parses the address of the service as its clients use it, as in
// https://example.com/store. It removes a trailing slash.
func ParseBaseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.Unwrap(err) // without the text, which url.Error repeats
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

// requestURL returns the address of the service that a request was sent to, or
// [documented] if the host of the request is not valid. It ignores the headers
// that proxies add, because every client can send them: behind a proxy, the
// address is a setting.
func requestURL(r *http.Request) string {
	if !host.MatchString(r.Host) {
		return documented
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + strings.ToLower(r.Host)
}
