package plan

import (
	"maps"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// credentials adds tests of what opens the operation: without credentials, with each of them missing or
// wrong, without the scope, and with good ones. Where there are several ways in, each is tried alone: one
// that is broken would hide behind the others.
//
//	GET /tools                              must be 401
//	GET /tools, Authorization: Bearer bad   must be 401
//	GET /tools, Authorization: Bearer good  must be 200
func (m *singleMaker) credentials() {
	isOpen := m.operation.IsOpen()
	requirements := m.operation.Requirements()
	if isOpen {
		m.addAccess("open", "", scenario.Access{Chosen: true})
	} else {
		m.addAccess("none", scenario.NoCredentials, scenario.Access{Chosen: true})
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
			m.addAccess("scope", scenario.MissingScope, scenario.Access{WithoutScope: scope})
		}
		m.addAccess("good"+of, "", scenario.Access{Chosen: true, Only: schemes})
	}
}

// wrongCredentials adds tests with one scheme of several wrong or missing. Where all are needed, a service that
// looks at one of them lets in every client that has that one.
func (m *singleMaker) wrongCredentials(of string, schemes []string, isFirst bool) {
	for _, wrong := range schemes {
		at := of
		if len(schemes) > 1 {
			at += ", " + wrong
		}
		m.addAccess("bad"+at, scenario.BadCredentials, scenario.Access{
			Chosen: true,
			Only:   schemes,
			Wrong:  wrong,
		})
		if len(schemes) > 1 {
			others := slices.DeleteFunc(slices.Clone(schemes), func(name string) bool {
				return name == wrong
			})
			m.addAccess("missing"+at, scenario.NoCredentials, scenario.Access{
				Chosen: true,
				Only:   others,
			})
		}
	}
	if isFirst && len(schemes) == 1 {
		m.formsOfCredentials(schemes[0])
	}
}

// formsOfCredentials adds tests of wrong credentials that look nearly like right ones, or like none. That the name of a
// scheme has no case (RFC 9110, section 11.1) has no test: services that are right otherwise know it too rarely.
func (m *singleMaker) formsOfCredentials(scheme string) {
	wrong := scenario.Access{
		Chosen: true,
		Only:   []string{scheme},
		Wrong:  scheme,
		Form:   scenario.Cut,
	}
	m.addAccess("cut", scenario.BadCredentials, wrong)
	if document.CredentialHeader(m.Document.Scheme(scheme)) == "Authorization" {
		wrong.Form = scenario.Bare
		m.addAccess("bare", scenario.BadCredentials, wrong)
	}
}

// addAccess adds a test with some credentials, which the service must accept or refuse.
func (m *singleMaker) addAccess(name string, refused scenario.Kind, access scenario.Access) {
	c := m.add("credentials "+name, scenario.Promise{Kind: scenario.Security, Place: name})
	c.access = access
	isFirst := !slices.ContainsFunc(m.tests.singles, func(other *single) bool { return other.order == plain })
	switch {
	case refused != "":
		c.refused(refused, "", "")
	case isFirst:
		c.order = plain
	}
}
