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

// credentialsFor returns the credentials of a request, or an error if there are none.
func (s *session) credentialsFor(operation *document.Operation, access scenario.Access) (found scenario.Credentials, err error) {
	given := s.given()
	switch {
	case !access.IsUsual() && s.isUnsaid(operation):
		return nil, unsaidSecurity
	case !access.IsUsual():
		found = access.Edit(given)
	case operation == nil: // the document does not say which ones it needs
		return given.Own, nil
	default:
		found = good(operation, given.Own)
		// Of a service whose security is switched off, all can be tried without them.
		if _, isClosed := s.closed.Load(operation); !isClosed || operation.IsOpen() {
			return found, nil
		}
	}
	if found == nil {
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

// asksInVain reports whether a service asks for credentials that were not given. Later tests of the operation do
// not ask it again.
func (s *session) asksInVain(operation *document.Operation, access scenario.Access, status int) bool {
	isUsual := operation != nil && access.IsUsual()
	isBare := isUsual && !operation.IsOpen() && good(operation, s.given().Own) == nil
	isInVain := isBare && slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden}, status)
	if isInVain {
		s.closed.Store(operation, true)
	}
	return isInVain
}

// good returns the credentials for the first set of schemes that there are all for, or nil. The sets are tried in the order
// of the document.
func good(operation *document.Operation, own scenario.Credentials) scenario.Credentials {
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
// byte. People give headers, because that is what they have at hand. One for no scheme of the document is for all.
func (s *session) credential(name string, scheme *document.Scheme) string {
	if secret := s.target.Credentials[name]; secret != "" {
		return scheme.Sent(secret)
	}
	given := CredentialIn(s.Header, scheme)
	fitsOther := func(other *document.Scheme) bool { return scheme.Type != "apiKey" && fits(other, given) }
	isOfOther := !fits(scheme, given) && slices.ContainsFunc(slices.Collect(maps.Values(s.Plan.Document.Schemes)), fitsOther)
	if isOfOther {
		return ""
	}
	return given
}

// fits reports whether a credential has the form of a scheme: that of Basic is one of its own.
func fits(scheme *document.Scheme, credential string) bool {
	kind, _, _ := strings.Cut(credential, " ")
	isBasic := strings.EqualFold(scheme.Scheme, "basic")
	return scheme.Type != "apiKey" && strings.EqualFold(kind, "basic") == isBasic
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

// Apply adds a credential to a request.
func Apply(request *http.Request, scheme *document.Scheme, credential string) {
	if scheme.Type == "apiKey" {
		applyKey(request, scheme, credential)
		return
	}
	request.Header.Set("Authorization", credential)
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
