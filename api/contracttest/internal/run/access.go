package run

import (
	"cmp"
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
		found = s.asSent(s.target.Credentials)
	case access.WithoutScope != "":
		var bare scenario.Credentials
		bare, ok = s.target.Without[access.WithoutScope]
		found = s.asSent(bare)
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
			credential = edited(credential, func(part string) string { return part[:max(len(part)-1, 0)] })
		default:
			credential = edited(cmp.Or(credential, sent(s.Plan.Document.Scheme(name), "")), scenario.WrongOf)
		}
		if credential == "" {
			return nil, false
		}
		found[name] = credential
	}
	return found, true
}

// edited is a credential, as it is sent, with another secret in the same form; empty: the secret is.
func edited(credential string, edit func(string) string) string {
	kind, secret, hasKind := strings.Cut(credential, " ")
	if !hasKind {
		return edit(credential)
	}
	if decoded, err := base64.StdEncoding.DecodeString(secret); err == nil && strings.EqualFold(kind, "basic") {
		return kind + " " + base64.StdEncoding.EncodeToString([]byte(edit(string(decoded))))
	}
	if secret = edit(secret); secret == "" {
		return ""
	}
	return kind + " " + secret
}

// credential is what a request sends for a security scheme: what the target has, or the header of the options, byte for
// byte. People give headers, because that is what they have at hand. One for no scheme of the document is for all.
func (s *session) credential(name string) string {
	scheme := s.Plan.Document.Scheme(name)
	if secret := s.target.Credentials[name]; secret != "" {
		return sent(scheme, secret)
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
	schemes := s.Plan.Document.Schemes
	for name := range schemes {
		if s.credential(name) != "" {
			return false
		}
	}
	return len(schemes) > 0
}

// asSent are credentials as requests have them, of secrets.
func (s *session) asSent(secrets scenario.Credentials) scenario.Credentials {
	all := scenario.Credentials{}
	for name, secret := range secrets {
		all[name] = sent(s.Plan.Document.Scheme(name), secret)
	}
	return all
}

// sent is a secret in the form in which a request has it.
func sent(scheme *document.Scheme, secret string) string {
	switch {
	case scheme.Type == "apiKey":
		return secret
	case strings.EqualFold(scheme.Scheme, "basic"):
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(cmp.Or(secret, ":")))
	}
	return "Bearer " + secret // also of oauth2 and openIdConnect
}

// Apply adds a secret to a request.
func Apply(request *http.Request, scheme *document.Scheme, secret string) {
	apply(request, scheme, sent(scheme, secret))
}

// apply adds a credential, as it is sent, to a request.
func apply(request *http.Request, scheme *document.Scheme, credential string) {
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
