package scenario

// Access says which credentials a request has. Zero: some that open its operation.
type Access struct {
	// Only are the security schemes that a test of credentials is about.
	Only []string
	// Edit makes all credentials of the request from those that were given; nil: they do not suffice. An Access without
	// Edit is not of a test of credentials.
	Edit func(given Given) Credentials
}

// IsUsual reports whether a request has some credentials that open the operation, if there are any.
func (a Access) IsUsual() bool { return a.Edit == nil }

// Given are the credentials that a run was given, as requests have them: "Bearer token".
type Given struct {
	Own     Credentials            // by security scheme
	Without map[string]Credentials // others, by the scope that they lack
}

// Only returns the access with the credentials for some schemes, and no others. Without a scheme there are none.
func Only(schemes ...string) Access {
	return Access{Only: schemes, Edit: func(given Given) Credentials { return given.Own.Of(schemes) }}
}

// Without returns the access with credentials that lack a scope.
func Without(scope string) Access {
	return Access{Edit: func(given Given) Credentials { return given.Without[scope] }}
}

// Of returns the credentials for some schemes, or nil if there are none for one of them.
func (c Credentials) Of(schemes []string) Credentials {
	found := Credentials{}
	for _, scheme := range schemes {
		if c[scheme] == "" {
			return nil
		}
		found[scheme] = c[scheme]
	}
	return found
}
