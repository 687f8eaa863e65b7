package run

import (
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

// credentialsFor returns the credentials of a request, or an error if it needs some that were not given. Without any, an
// operation is tried until it asks for them: the security of a service may be switched off.
func (s *session) credentialsFor(operation *document.Operation, access scenario.Access) (found scenario.Credentials, err error) {
	given := s.given()
	_, isNeeded := s.closed.Load(operation)
	switch {
	case !access.IsUsual() && s.isUnsaid(operation):
		return nil, unsaidSecurity
	case !access.IsUsual():
		found = access.Edit(given)
		isNeeded = true
	case operation == nil: // the document does not say which ones it needs
		return given.Own, nil
	default:
		found = sufficient(operation, given.Own)
	}
	if isNeeded && found == nil {
		return nil, noCredentials
	}
	return found, nil
}

// isUnsaid reports whether credentials were given, and the document does not say which operations need them.
func (s *session) isUnsaid(operation *document.Operation) bool {
	return operation != nil && operation.SaysNoSecurity() && s.givesCredentials()
}

// isOwn reports whether a request had the credentials of the run, as they were given.
func (s *session) isOwn(access scenario.Access) bool {
	if access.IsUsual() {
		return true
	}
	given := s.given()
	sent := access.Edit(given)
	right := given.Own.Of(slices.Collect(maps.Keys(sent)))
	return len(sent) > 0 && maps.Equal(sent, right)
}

// asksInVain reports whether an operation asks for credentials that were not given, and remembers that: later tests send it no
// request (see credentialsFor).
func (s *session) asksInVain(operation *document.Operation, access scenario.Access, status int) bool {
	isAsking := status == http.StatusUnauthorized || status == http.StatusForbidden
	isBare := access.IsUsual() && !operation.IsOpen() && sufficient(operation, s.given().Own) == nil
	if isAsking && isBare {
		s.closed.Store(operation, true)
	}
	return isAsking && isBare
}

// sufficient returns the credentials for the first set of schemes, in the order of the document, of which none lacks its
// credential; nil: there is no such set.
func sufficient(operation *document.Operation, own scenario.Credentials) scenario.Credentials {
	for _, requirement := range operation.Requirements() {
		if found := own.Of(slices.Collect(maps.Keys(requirement))); len(found) > 0 {
			return found
		}
	}
	return nil
}

// given are the credentials of the target and of the header.
func (s *session) given() scenario.Given {
	given := scenario.Given{Own: scenario.Credentials{}, Without: map[string]scenario.Credentials{}}
	for name, scheme := range s.Plan.Document.Schemes {
		if credential := s.credential(name, scheme); credential != "" {
			given.Own[name] = credential
		}
	}
	for scope, secrets := range s.target.Without {
		given.Without[scope] = scenario.Credentials{}
		for name, secret := range secrets {
			given.Without[scope][name] = s.Plan.Document.Scheme(name).Sent(secret)
		}
	}
	return given
}

// credential is what a request sends for a security scheme: what the target has, or the header of the options, byte for
// byte. People give headers, because that is what they have at hand. Schemes share the header Authorization: what it has is
// for those that it fits, or for all, if it fits none.
func (s *session) credential(name string, scheme *document.Scheme) string {
	if secret := s.target.Credentials[name]; secret != "" {
		return scheme.Sent(secret)
	}
	given := CredentialIn(s.Header, scheme)
	if scheme.Type == "apiKey" || fits(scheme, given) {
		return given
	}
	for _, other := range s.Plan.Document.Schemes {
		if other.Type != "apiKey" && fits(other, given) {
			return ""
		}
	}
	return given
}

// fits reports whether what Authorization has is of the form of a scheme: Basic has a form of its own, the others share one.
func fits(scheme *document.Scheme, authorization string) bool {
	kind, _, _ := strings.Cut(authorization, " ")
	return strings.EqualFold(kind, "basic") == strings.EqualFold(scheme.Scheme, "basic")
}

// CredentialIn is what a header has for a scheme, or nothing.
func CredentialIn(header http.Header, scheme *document.Scheme) string {
	if scheme.Type != "apiKey" || scheme.In == "header" {
		return header.Get(document.CredentialHeader(scheme))
	}
	cookie, err := (&http.Request{Header: header}).Cookie(scheme.Name)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// givesCredentials reports whether the header of the options has the credential of a scheme.
func (r *Runner) givesCredentials() bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(r.Header)), r.Plan.Document.IsCredential)
}

// lacksCredentials reports whether the document has security schemes, and the target credentials for none.
func (s *session) lacksCredentials() bool {
	return len(s.Plan.Document.Schemes) > 0 && len(s.given().Own) == 0
}

// Apply adds a credential to a request, where its scheme says.
func Apply(request *http.Request, scheme *document.Scheme, credential string) {
	switch {
	case scheme.Type != "apiKey":
		request.Header.Set("Authorization", credential)
	case scheme.In == "header":
		request.Header.Set(scheme.Name, credential)
	case scheme.In == "query":
		pair := url.QueryEscape(scheme.Name) + "=" + url.QueryEscape(credential)
		request.URL.RawQuery = strings.TrimPrefix(request.URL.RawQuery+"&"+pair, "&")
	default:
		request.AddCookie(&http.Cookie{Name: scheme.Name, Value: credential})
	}
}

// AddHeader adds the header of the options. A document often lists a scheme and not which operations it opens,
// so every request has all of it, unless the test is about credentials, and chooses them. What the request
// has already stays.
func (r *Runner) AddHeader(header http.Header, access scenario.Access) {
	for name, values := range r.Header {
		isWithheld := !access.IsUsual() && r.Plan.Document.IsCredential(name)
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
