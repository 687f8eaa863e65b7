package docs

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// documented is the address that stands in the document where that of the
// service belongs: the default of its variable base_url.
const documented = "http://127.0.0.1:8080"

// document is the document in one of its forms, cut in two where the address of
// the service belongs. Nothing is kept for an address, so that strangers who
// make up hosts cost no memory.
type document struct {
	mediaType     string
	before, after string
	digest        string // of both
	baseURL       string // empty: that of the request
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

func newJSONDocument(inYAML []byte, baseURL *url.URL) (*document, error) {
	text, err := toJSON(inYAML)
	if err != nil {
		return nil, err
	}
	return newDocument("application/json", text, baseURL)
}

func (d *document) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Anyone may keep it, but has to ask each time whether it still holds.
	w.Header().Set("Cache-Control", "no-cache")
	address := d.baseURL
	if address == "" {
		// Some caches leave the host out of what they find an answer by.
		w.Header().Set("Vary", "Host")
		address = requestURL(r)
	}
	if address == "" {
		address = documented
	}
	// The address fits into the quotes: it was checked.
	send(w, r, d.mediaType, digest(d.digest, address), d.before, `"`, address, `"`, d.after)
}

// digest makes an ETag of parts.
func digest(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	return base64.RawURLEncoding.EncodeToString(hash.Sum(nil)[:16])
}
