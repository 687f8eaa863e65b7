package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/document"

	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// badCredential is what no service accepts.
const badCredential = "not-a-credential"

// apply adds a credential to a request.
func apply(req *http.Request, scheme *openapi3.SecurityScheme, credential string) {
	switch {
	case scheme.Type == "apiKey" && scheme.In == "header":
		req.Header.Set(scheme.Name, credential)
	case scheme.Type == "apiKey" && scheme.In == "query":
		pair := url.QueryEscape(scheme.Name) + "=" + url.QueryEscape(credential)
		req.URL.RawQuery = strings.TrimPrefix(req.URL.RawQuery+"&"+pair, "&")
	case scheme.Type == "apiKey":
		req.AddCookie(&http.Cookie{Name: scheme.Name, Value: credential})
	case strings.EqualFold(scheme.Scheme, "basic"):
		req.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(credential)))
	default: // bearer, oauth2, openIdConnect
		req.Header.Set("Authorization", "Bearer "+credential)
	}
}

// good returns the credentials for the first set of schemes that there are some for.
func (v *Session) good(r *document.Operation) (Credentials, bool) {
	if r == nil || len(r.Requirements()) == 0 {
		return nil, true
	}
	for _, requirement := range r.Requirements() {
		names := slices.Sorted(maps.Keys(requirement))
		if some, ok := v.some(names, "", ""); ok && len(names) > 0 {
			return some, true
		}
	}
	return nil, r.IsOpen()
}

// credentials returns the cases of the credentials of an operation.
func (s *suite) credentials(r *document.Operation) (all []*testCase) {
	add := func(name string, refused Kind, credentials func(*Session) (Credentials, bool)) {
		c := s.request(r, "credentials "+name, "security, "+name)
		if c.credentials = credentials; refused != "" {
			c.refused(Violation{Kind: refused})
		}
		all = append(all, c)
	}
	none := func(*Session) (Credentials, bool) { return nil, true }
	if r.IsOpen() {
		add("open", "", none)
	} else {
		add("none", NoCredentials, none)
	}
	for i, requirement := range r.Requirements() {
		names := slices.Sorted(maps.Keys(requirement))
		if len(names) == 0 {
			continue
		}
		with := func(wrong, by string) func(*Session) (Credentials, bool) {
			return func(v *Session) (Credentials, bool) { return v.some(names, wrong, by) }
		}
		of := ""
		if len(r.Requirements()) > 1 {
			of = " " + strings.Join(names, " and ")
		}
		for _, wrong := range names {
			at := of
			if len(names) > 1 {
				at += ", " + wrong
			}
			if !r.IsOpen() {
				add("bad"+at, BadCredentials, with(wrong, badCredential))
			}
			if !r.IsOpen() && len(names) > 1 {
				add("missing"+at, NoCredentials, with(wrong, ""))
			}
		}
		if scope := s.contract.options.Scope(r.Declared()); scope != "" && i == 0 {
			add("scope", MissingScope, func(v *Session) (Credentials, bool) {
				without := v.target.Without[scope]
				return without, without != nil
			})
		}
		add("good"+of, "", with("", ""))
	}
	return all
}

// some returns the credentials for some schemes, with one of them replaced; an
// empty one is left out. It reports false if the target does not have them.
func (v *Session) some(names []string, replaced, by string) (Credentials, bool) {
	some := Credentials{}
	for _, name := range names {
		credential := v.credential(name)
		if name == replaced {
			if credential = by; by == "" {
				continue
			}
			if strings.EqualFold(v.contract.document.Scheme(name).Scheme, "basic") {
				credential = badCredential + ":" + badCredential
			}
		}
		if credential == "" {
			return nil, false
		}
		some[name] = credential
	}
	return some, true
}

// credential is what a request sends for a security scheme: what the target has, or the header
// of the options.
func (v *Session) credential(name string) string {
	header, scheme := v.contract.options.Header, v.contract.document.Scheme(name)
	credential := v.target.Credentials[name]
	switch value := header.Get(document.CredentialHeader(scheme)); {
	case credential != "" || value == "":
	case scheme.Type == "apiKey" && scheme.In == "header":
		credential = value
	case scheme.Type == "apiKey":
		if cookie, err := (&http.Request{Header: header}).Cookie(scheme.Name); err == nil {
			credential = cookie.Value
		}
	default:
		kind, rest, _ := strings.Cut(value, " ")
		if credential = rest; strings.EqualFold(kind, "basic") {
			decoded, _ := base64.StdEncoding.DecodeString(rest) // else it is a wrong credential
			credential = string(decoded)
		}
	}
	return credential
}

// lacksCredentials reports whether the document has security schemes, and the target credentials for none.
func (v *Session) lacksCredentials() bool {
	schemes := v.contract.document.Schemes()
	for name := range schemes {
		if v.credential(name) != "" {
			return false
		}
	}
	return len(schemes) > 0
}

// addHeader adds what every request sends: the header of the options, without credentials for an
// operation of the document. A service may ask for them before it says that there is none.
func (c *Contract) addHeader(header http.Header, r *document.Operation) {
	for name, values := range c.options.Header {
		isCredential := r != nil && c.document.IsCredential(name)
		if !isCredential && header[name] == nil {
			header[name] = values
		}
	}
}
