package document

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
)

// Requirements returns what opens the operation: one of several sets of schemes. It is open if there is no set, or an empty one.
func (o *Operation) Requirements() []Requirement { return *o.security }

// IsOpen reports whether the operation needs no credentials.
func (o *Operation) IsOpen() bool {
	requirements := o.Requirements()
	isEmpty := func(schemes Requirement) bool { return len(schemes) == 0 }
	return len(requirements) == 0 || slices.ContainsFunc(requirements, isEmpty)
}

// SaysNoSecurity reports whether the document says nothing of what opens the operation. It is open then, but
// documents of services that need a login often say nothing, too.
func (o *Operation) SaysNoSecurity() bool { return *o.security == nil }

// Scheme returns a security scheme, which is empty if the document has none with the name.
func (d *Document) Scheme(name string) *Scheme { return cmp.Or(d.Schemes[name], &Scheme{}) }

// Sent is a secret in the form in which a request has it.
func (s *Scheme) Sent(secret string) string {
	switch {
	case s.Type == "apiKey":
		return secret
	case strings.EqualFold(s.Scheme, "basic"):
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(cmp.Or(secret, ":")))
	}
	return "Bearer " + secret // also of oauth2 and openIdConnect
}

// CredentialHeader is the header that has the credential of a scheme, or nothing. A key in the query has no
// header.
func CredentialHeader(scheme *Scheme) string {
	switch {
	case scheme.Type != "apiKey":
		return "Authorization"
	case scheme.In == "header":
		return http.CanonicalHeaderKey(scheme.Name)
	case scheme.In == "cookie":
		return "Cookie"
	}
	return ""
}

// IsCredential reports whether a header, in its canonical form, has the credential of a scheme.
func (d *Document) IsCredential(header string) bool {
	for _, scheme := range d.Schemes {
		if CredentialHeader(scheme) == header {
			return true
		}
	}
	return false
}

// ChallengeSchemes are the schemes that WWW-Authenticate may name, in lower case. API keys have none:
// no scheme is registered for them.
func (d *Document) ChallengeSchemes() (names []string) {
	for _, scheme := range d.Schemes {
		switch scheme.Type {
		case "http":
			names = append(names, strings.ToLower(scheme.Scheme))
		case "oauth2", "openIdConnect":
			names = append(names, "bearer")
		}
	}
	return names
}
