package plan

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// credentials adds tests of what opens the operation: without credentials, with each of them missing or
// wrong, without the scope, and with good ones. Of several requirements each is tried alone: one that is broken would hide
// behind the others.
//
//	GET /tools                              must be 401
//	GET /tools, Authorization: Bearer bad   must be 401
//	GET /tools, Authorization: Bearer good  must be 200
func (m *singleMaker) credentials() {
	isOpen := m.operation.IsOpen()
	requirements := m.operation.Requirements()
	if isOpen {
		m.addAccess("open", "", scenario.Only())
	} else {
		m.addAccess("none", scenario.NoCredentials, scenario.Only())
	}
	for i, requirement := range requirements {
		schemes := slices.Sorted(maps.Keys(requirement))
		if len(schemes) == 0 {
			continue
		}
		of := ""
		if len(requirements) > 1 {
			of = " " + strings.Join(schemes, " and ")
		}
		if !isOpen {
			m.wrongCredentials(of, schemes, i == 0)
		}
		if scope := m.Rules.ScopeOf(m.operation.Declared()); scope != "" && i == 0 {
			m.addAccess("scope", scenario.MissingScope, scenario.Without(scope))
		}
		m.addAccess("good"+of, "", scenario.Only(schemes...))
	}
}

// wrongCredentials adds tests with one scheme of several wrong or missing. Where all are needed, a service that
// looks at one of them lets in every client that has that one.
func (m *singleMaker) wrongCredentials(of string, schemes []string, isFirst bool) {
	for i, wrong := range schemes {
		at := of
		if len(schemes) > 1 {
			at += ", " + wrong
		}
		m.addAccess("bad"+at, scenario.BadCredentials, m.edited(schemes, wrong, other))
		if len(schemes) > 1 {
			others := slices.Concat(schemes[:i], schemes[i+1:])
			m.addAccess("missing"+at, scenario.NoCredentials, scenario.Only(others...))
		}
	}
	if isFirst && len(schemes) == 1 {
		m.formsOfCredentials(schemes[0])
	}
}

// formsOfCredentials adds tests of wrong credentials that look nearly like right ones, or like none. That the name of a
// scheme has no case (RFC 9110, section 11.1) has no test: services that are right otherwise know it too rarely.
func (m *singleMaker) formsOfCredentials(scheme string) {
	m.addAccess("cut", scenario.BadCredentials, m.edited([]string{scheme}, scheme, cut))
	if document.CredentialHeader(m.Document.Scheme(scheme)) == "Authorization" {
		m.addAccess("bare", scenario.BadCredentials, m.edited([]string{scheme}, scheme, bare))
	}
}

// edited is the access with the credentials for some schemes, one of which is edited to be wrong.
func (m *singleMaker) edited(schemes []string, wrong string, edit func(string, *document.Scheme) string) scenario.Access {
	return scenario.Access{Only: schemes, Edit: func(given scenario.Given) scenario.Credentials {
		own := maps.Clone(given.Own)
		own[wrong] = edit(own[wrong], m.Document.Scheme(wrong))
		return own.Of(schemes)
	}}
}

// other is a credential with another secret, which no service accepts. It needs no right one.
func other(credential string, scheme *document.Scheme) string {
	return withSecret(cmp.Or(credential, scheme.Sent("")), scenario.WrongOf)
}

// cut is a credential without the last character of its secret.
func cut(credential string, _ *document.Scheme) string {
	return withSecret(credential, withoutLast)
}

func withoutLast(secret string) string { return secret[:max(len(secret)-1, 0)] }

// bare is the name of the scheme alone, as in "Authorization: Bearer".
func bare(credential string, scheme *document.Scheme) string {
	kind, _, _ := strings.Cut(other(credential, scheme), " ")
	return kind
}

// withSecret is a credential with its secret edited, in the same form. If no secret is left, the credential is empty.
//
//	"Bearer s", "Basic YW5uOnM=" (of "ann:s"), or "s" alone
func withSecret(credential string, edit func(secret string) string) string {
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

// addAccess adds a test with some credentials, which the service must refuse for a reason, or accept, if there is none. The
// first one that it must accept is the plainest valid request of the operation.
func (m *singleMaker) addAccess(name string, refused scenario.Kind, access scenario.Access) {
	c := m.add("credentials "+name, scenario.Promise{Kind: scenario.Security, Place: name})
	c.access = access
	switch {
	case refused != "":
		c.refused(refused, "", "")
	case len(ofOrder(plain, m.tests.singles)) == 0:
		c.order = plain
	}
}
