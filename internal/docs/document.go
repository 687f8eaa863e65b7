package docs

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4" // the YAML parser of kin-openapi
)

// documented is the address that the document in the repository has as the
// default of its variable base_url. The service replaces it with its own.
const documented = "http://127.0.0.1:8080"

// serveDocument serves the OpenAPI document in one format, YAML or JSON. Nothing is cached
// for an address, so requests with invented hosts need no memory.
func serveDocument(mediaType string, text []byte, baseURL *url.URL) http.Handler {
	before, after, _ := strings.Cut(string(text), `"`+documented+`"`)
	version := digest(before, after)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Caches may store the document, but must revalidate it before each use.
		w.Header().Set("Cache-Control", "no-cache")
		var address string
		if baseURL != nil {
			address = baseURL.String()
		} else {
			w.Header().Add("Vary", "Host") // some caches ignore the host when they look up a response
			address = requestURL(r)
		}
		// The address needs no escaping: ParseBaseURL or requestURL has checked it.
		plain := before + `"` + address + `"` + after
		send(w, r, mediaType, digest(version, address), plain, func() string { return compress(plain) })
	})
}

// toJSON converts a document from YAML to JSON. It keeps the order of the members,
// because the page shows the operations in that order. It drops comments.
func toJSON(text []byte) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	var buf bytes.Buffer
	if err := writeJSON(jsontext.NewEncoder(&buf), &root); err != nil {
		return nil, fmt.Errorf("write the document as JSON: %w", err)
	}
	return buf.Bytes(), nil
}

// writeJSON writes one value. It copies numbers digit by digit. Values that JSON
// does not have, or that the document does not need, are errors: dates, anchors,
// 0x10.
func writeJSON(enc *jsontext.Encoder, n *yaml.Node) error {
	switch n.Kind {
	case yaml.DocumentNode:
		return writeJSON(enc, n.Content[0])
	case yaml.MappingNode: // its children are names and values in turn
		return writeAll(enc, n, jsontext.BeginObject, jsontext.EndObject)
	case yaml.SequenceNode:
		return writeAll(enc, n, jsontext.BeginArray, jsontext.EndArray)
	}
	switch n.ShortTag() {
	case "!!str":
		return enc.WriteToken(jsontext.String(n.Value))
	case "!!null":
		return enc.WriteToken(jsontext.Null)
	case "!!bool", "!!int", "!!float":
		return enc.WriteValue(jsontext.Value(n.Value))
	}
	return fmt.Errorf("line %d: %q has no equivalent in JSON", n.Line, n.Value)
}

func writeAll(enc *jsontext.Encoder, n *yaml.Node, begin, end jsontext.Token) error {
	if err := enc.WriteToken(begin); err != nil {
		return err
	}
	for _, child := range n.Content {
		if err := writeJSON(enc, child); err != nil {
			return err
		}
	}
	return enc.WriteToken(end)
}

// host matches a name, an IPv4 address or an IPv6 address in brackets, with or
// without a port. No match contains a character that ends a string in YAML or
// JSON, so a request cannot inject anything into the document. It is compiled when it is
// needed: that takes 1.5 ms, which is a tenth of a start of the program.
var host = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i:[a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(:[0-9]{1,5})?$`)
})

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
	case !host().MatchString(u.Host):
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
	if !host().MatchString(r.Host) {
		return documented
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + strings.ToLower(r.Host)
}
