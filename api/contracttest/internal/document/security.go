package document

import (
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Requirements returns what opens the operation: one of several sets of schemes. None: it is open. An
// empty set: it is open, too.
func (o *Operation) Requirements() []openapi3.SecurityRequirement {
	if o.Spec.Security != nil {
		return *o.Spec.Security
	}
	return o.spec.Security
}

// IsOpen reports whether the operation needs no credentials.
func (o *Operation) IsOpen() bool {
	requirements := o.Requirements()
	isEmpty := func(schemes openapi3.SecurityRequirement) bool { return len(schemes) == 0 }
	return len(requirements) == 0 || slices.ContainsFunc(requirements, isEmpty)
}

// SaysNoSecurity reports whether the document says nothing of what opens the operation. It is open then, but
// documents of services that need a login often say nothing, too.
func (o *Operation) SaysNoSecurity() bool { return o.Spec.Security == nil && o.spec.Security == nil }

// Schemes are the security schemes of the document, by name.
func (d *Document) Schemes() openapi3.SecuritySchemes {
	if d.Spec.Components == nil {
		return nil
	}
	return d.Spec.Components.SecuritySchemes
}

// Scheme returns a security scheme, which is empty if the document has none with the name.
func (d *Document) Scheme(name string) *openapi3.SecurityScheme {
	if scheme := d.Schemes()[name]; scheme != nil {
		return scheme.Value
	}
	return &openapi3.SecurityScheme{}
}

// CredentialHeader is the header that has the credential of a scheme, or nothing. A key in the query has no
// header.
func CredentialHeader(scheme *openapi3.SecurityScheme) string {
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
	for _, scheme := range d.Schemes() {
		if CredentialHeader(scheme.Value) == header {
			return true
		}
	}
	return false
}

// ChallengeSchemes are the schemes that WWW-Authenticate may name, in lower case. API keys have none:
// no scheme is registered for them.
func (d *Document) ChallengeSchemes() (names []string) {
	for _, scheme := range d.Schemes() {
		switch scheme.Value.Type {
		case "http":
			names = append(names, strings.ToLower(scheme.Value.Scheme))
		case "oauth2", "openIdConnect":
			names = append(names, "bearer")
		}
	}
	return names
}
