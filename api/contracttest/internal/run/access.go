package run

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A test of credentials sends those that it is about and no others: with one token on all requests, a service
// that lets everyone in would look like one that checks.

// noCredentials is why what needs credentials cannot be tried.
const noCredentials scenario.NotTested = "no credentials were given for it, as a header of the options or of the command"

// unsaidSecurity is why no test shows that an operation is open.
const unsaidSecurity scenario.NotTested = "the document does not say which operations need the credentials that were given"

// credentialsFor returns the credentials of a request, or an error if there are none.
func (s *session) credentialsFor(operation *document.Operation, access scenario.Access) (scenario.Credentials, error) {
	var found scenario.Credentials
	ok := true
	switch {
	case access.All:
		found = s.target.Credentials
	case access.WithoutScope != "":
		found, ok = s.target.Without[access.WithoutScope]
	case access.Chosen && operation.SaysNoSecurity() && s.givesCredentials():
		return nil, unsaidSecurity
	case access.Chosen:
		found, ok = s.chosen(access)
	default:
		// Of a service whose security is switched off, all can be tried without them.
		_, isClosed := s.closed.Load(operation)
		found, ok = s.good(operation)
		ok = ok || !isClosed
	}
	if !ok {
		return nil, noCredentials
	}
	return found, nil
}

// asksInVain reports whether a service asks for credentials that were not given. Later tests of the operation do
// not ask it again.
func (s *session) asksInVain(operation *document.Operation, access scenario.Access, status int) bool {
	_, areGiven := s.good(operation)
	isBare := access.IsUsual() && !areGiven
	isInVain := isBare && slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden}, status)
	if isInVain {
		s.closed.Store(operation, true)
	}
	return isInVain
}

// good returns the credentials for the first set of schemes that there are some for. The sets are tried in
// the order of the document.
func (s *session) good(operation *document.Operation) (scenario.Credentials, bool) {
	if operation == nil {
		return nil, true
	}
	for _, requirement := range operation.Requirements() {
		schemes := slices.Sorted(maps.Keys(requirement))
		if found, ok := s.chosen(scenario.Access{Only: schemes}); ok && len(schemes) > 0 {
			return found, true
		}
	}
	return nil, operation.IsOpen()
}

// chosen returns the credentials for the schemes of an access, one of which may be wrong, or false if there are
// none for one of them.
func (s *session) chosen(access scenario.Access) (scenario.Credentials, bool) {
	found := scenario.Credentials{}
	for _, name := range access.Only {
		credential := s.credential(name)
		switch {
		case name != access.Wrong:
		case access.Form == scenario.Cut:
			credential = credential[:max(len(credential)-1, 0)]
		default:
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
func wrongCredential(scheme *document.Scheme) string {
	if strings.EqualFold(scheme.Scheme, "basic") {
		return scenario.WrongCredential + ":" + scenario.WrongCredential
	}
	return scenario.WrongCredential
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
func CredentialIn(header http.Header, scheme *document.Scheme) string {
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

// givesCredentials reports whether the header of the options has the credential of a scheme.
func (r *Runner) givesCredentials() bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(r.Header)), r.Plan.Document.IsCredential)
}

// lacksCredentials reports whether the document has security schemes, and the target credentials for none.
func (s *session) lacksCredentials() bool {
	schemes := s.Plan.Document.Schemes
	for name := range schemes {
		if s.credential(name) != "" {
			return false
		}
	}
	return len(schemes) > 0
}

// Apply adds a credential to a request.
func Apply(request *http.Request, scheme *document.Scheme, credential string) {
	switch {
	case scheme.Type == "apiKey":
		applyKey(request, scheme, credential)
	case strings.EqualFold(scheme.Scheme, "basic"):
		request.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(credential)))
	default: // bearer, oauth2, openIdConnect
		request.Header.Set("Authorization", "Bearer "+credential)
	}
}

// applyKey adds a key to a request, where its scheme says.
func applyKey(request *http.Request, scheme *document.Scheme, key string) {
	switch scheme.In {
	case "header":
		request.Header.Set(scheme.Name, key)
	case "query":
		pair := url.QueryEscape(scheme.Name) + "=" + url.QueryEscape(key)
		request.URL.RawQuery = strings.TrimPrefix(request.URL.RawQuery+"&"+pair, "&")
	default:
		request.AddCookie(&http.Cookie{Name: scheme.Name, Value: key})
	}
}

// withoutCredential leaves the scheme of the header Authorization alone.
func withoutCredential(header http.Header) {
	scheme, _, _ := strings.Cut(header.Get("Authorization"), " ")
	header.Set("Authorization", scheme)
}

// AddHeader adds the header of the options. A document often lists a scheme and not which operations it opens,
// so every request has all of it, unless the test is about credentials, and chooses them. What the request
// has already stays.
func (r *Runner) AddHeader(header http.Header, access scenario.Access) {
	for name, values := range r.Header {
		isWithheld := access.IsOfCredentials() && r.Plan.Document.IsCredential(name)
		if !isWithheld {
			addHeader(header, name, values)
		}
	}
}

// addHeader adds a header that a request does not have, or the cookies that it does not have.
func addHeader(header http.Header, name string, values []string) {
	if name == "Cookie" {
		addCookies(header, values)
	} else if header[name] == nil {
		header[name] = values
	}
}

// addCookies adds cookies that a header does not have: an operation may have some as parameters.
func addCookies(header http.Header, lines []string) {
	request := http.Request{Header: header}
	given := http.Request{Header: http.Header{"Cookie": lines}}
	for _, cookie := range given.Cookies() {
		if _, err := request.Cookie(cookie.Name); err != nil {
			request.AddCookie(cookie)
		}
	}
}
