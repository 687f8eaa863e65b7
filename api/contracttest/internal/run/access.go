package run

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A request has the credentials that its operation asks for and no others: with one token on all requests,
// a service that lets everyone in would look like one that checks.

// badCredential is what no service accepts.
const badCredential = "not-a-credential"

// noCredentials is why what needs credentials cannot be tried.
const noCredentials scenario.Untried = "no credentials were given for it, as a header of the options or of the command"

// credentialsFor returns the credentials of a request, or an error if there are none.
func (s *session) credentialsFor(operation *document.Operation, access scenario.Access) (scenario.Credentials, error) {
	var found scenario.Credentials
	ok := true
	switch {
	case access.All:
		found = s.target.Credentials
	case access.WithoutScope != "":
		found, ok = s.target.Without[access.WithoutScope]
	case access.Chosen:
		found, ok = s.chosen(access.Only, access.Wrong)
	default:
		found, ok = s.good(operation)
	}
	if !ok {
		return nil, noCredentials
	}
	return found, nil
}

// good returns the credentials for the first set of schemes that there are some for. The sets are tried in
// the order of the document.
func (s *session) good(operation *document.Operation) (scenario.Credentials, bool) {
	if operation == nil {
		return nil, true
	}
	for _, requirement := range operation.Requirements() {
		schemes := slices.Sorted(maps.Keys(requirement))
		if found, ok := s.chosen(schemes, ""); ok && len(schemes) > 0 {
			return found, true
		}
	}
	return nil, operation.IsOpen()
}

// chosen returns the credentials for some schemes, one of which may be wrong, or false if there are
// none for one of them.
func (s *session) chosen(schemes []string, wrong string) (scenario.Credentials, bool) {
	found := scenario.Credentials{}
	for _, name := range schemes {
		credential := s.credential(name)
		if name == wrong {
			credential = wrongCredential(s.Plan.Document.Scheme(name))
		}
		if credential == "" {
			return nil, false
		}
		found[name] = credential
	}
	return found, true
}

// wrongCredential is one that no service accepts, in the form that the scheme has.
func wrongCredential(scheme *openapi3.SecurityScheme) string {
	if strings.EqualFold(scheme.Scheme, "basic") {
		return badCredential + ":" + badCredential
	}
	return badCredential
}

// credential is what a request sends for a security scheme: what the target has, or the header
// of the options.
func (s *session) credential(name string) string {
	if credential := s.target.Credentials[name]; credential != "" {
		return credential
	}
	return CredentialIn(s.Header, s.Plan.Document.Scheme(name))
}

// CredentialIn is the credential of a scheme in a header, or nothing. The options have headers, because
// that is what people have at hand.
func CredentialIn(header http.Header, scheme *openapi3.SecurityScheme) string {
	value := header.Get(document.CredentialHeader(scheme))
	switch {
	case value == "":
		return ""
	case scheme.Type == "apiKey" && scheme.In == "header":
		return value
	case scheme.Type == "apiKey":
		cookie, err := (&http.Request{Header: header}).Cookie(scheme.Name)
		if err != nil {
			return ""
		}
		return cookie.Value
	}
	kind, credential, _ := strings.Cut(value, " ")
	if !strings.EqualFold(kind, "basic") {
		return credential
	}
	// Else it is a wrong credential.
	decoded, _ := base64.StdEncoding.DecodeString(credential)
	return string(decoded)
}

// lacksCredentials reports whether the document has security schemes, and the target credentials for none.
func (s *session) lacksCredentials() bool {
	schemes := s.Plan.Document.Schemes()
	for name := range schemes {
		if s.credential(name) != "" {
			return false
		}
	}
	return len(schemes) > 0
}

// Apply adds a credential to a request.
func Apply(request *http.Request, scheme *openapi3.SecurityScheme, credential string) {
	isKey := scheme.Type == "apiKey"
	switch {
	case isKey && scheme.In == "header":
		request.Header.Set(scheme.Name, credential)
	case isKey && scheme.In == "query":
		pair := url.QueryEscape(scheme.Name) + "=" + url.QueryEscape(credential)
		request.URL.RawQuery = strings.TrimPrefix(request.URL.RawQuery+"&"+pair, "&")
	case isKey:
		request.AddCookie(&http.Cookie{Name: scheme.Name, Value: credential})
	case strings.EqualFold(scheme.Scheme, "basic"):
		request.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(credential)))
	default: // bearer, oauth2, openIdConnect
		request.Header.Set("Authorization", "Bearer "+credential)
	}
}

// AddHeader adds what every request sends: the header of the options, without credentials for an
// operation of the document. A service may ask for them before it says that there is none.
func (r *Runner) AddHeader(header http.Header, operation *document.Operation) {
	for name, values := range r.Header {
		isCredential := operation != nil && r.Plan.Document.IsCredential(name)
		if !isCredential && header[name] == nil {
			header[name] = values
		}
	}
}
