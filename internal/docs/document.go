package docs

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// documented is the address that the document in the repository has as the
// default of its variable base_url. The service replaces it with its own.
const documented = "http://127.0.0.1:8080"

// document serves the OpenAPI document in one format, YAML or JSON. Its text is
// in two parts, before and after the address of the service. Nothing is cached
// for an address, so requests with invented hosts need no memory.
type document struct {
	mediaType     string
	before, after string
	digest        string // of both parts
	baseURL       string // if empty, the address that the request was sent to
}

func newDocument(mediaType string, text []byte, baseURL *url.URL) (*document, error) {
	before, after, found := strings.Cut(string(text), `"`+documented+`"`)
	if !found || strings.Contains(after, `"`+documented+`"`) {
		return nil, fmt.Errorf("the document must have %q exactly once, as the default of base_url", documented)
	}
	d := &document{mediaType: mediaType, before: before, after: after, digest: digest(before, after)}
	if baseURL != nil {
		d.baseURL = baseURL.String()
	}
	return d, nil
}

func (d *document) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Caches may store the document, but must revalidate it before each use.
	w.Header().Set("Cache-Control", "no-cache")
	address := d.baseURL
	if address == "" {
		// Some caches ignore the host when they look up a response.
		w.Header().Set("Vary", "Host")
		address = requestURL(r)
	}
	if address == "" {
		address = documented
	}
	// The address needs no escaping: ParseBaseURL or requestURL has checked it.
	send(w, r, d.mediaType, digest(d.digest, address), d.before+`"`+address+`"`+d.after)
}

// digest returns a hash of the parts, to be used as an ETag.
func digest(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	return base64.RawURLEncoding.EncodeToString(hash.Sum(nil)[:16])
}
