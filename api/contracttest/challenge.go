package contracttest

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// challenge is one challenge of a WWW-Authenticate header, as in
// Bearer realm="x", error="y" (RFC 9110, section 11.6.1).
var (
	authScheme = regexp.MustCompile(`^[ \t,]*([!#$%&'*+.^_|~0-9A-Za-z` + "`" + `-]+)`)
	authParam  = regexp.MustCompile(`^[ \t]*([!#$%&'*+.^_|~0-9A-Za-z` + "`" + `-]+)[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|[!#$%&'*+.^_|~0-9A-Za-z` + "`" + `-]+)[ \t]*(?:,|$)`)
	token68    = regexp.MustCompile(`^[ \t]*[A-Za-z0-9._~+/-]+=*[ \t]*(?:,|$)`)
)

// parseChallenges returns the schemes of a WWW-Authenticate header, in lower
// case, or an error if it does not parse.
func parseChallenges(header string) (schemes []string, err error) {
	rest := header
	for strings.Trim(rest, " \t,") != "" {
		m := authScheme.FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("%q does not start with a scheme", rest)
		}
		schemes = append(schemes, strings.ToLower(m[1]))
		rest = rest[len(m[0]):]
		switch {
		case rest == "" || rest[0] == ',':
			continue
		case rest[0] != ' ':
			return nil, fmt.Errorf("%q is not a challenge", header)
		}
		if m := token68.FindString(rest); m != "" {
			if rest = rest[len(m):]; strings.Contains(m, ",") || rest == "" {
				continue
			}
		}
		seen := []string{}
		for {
			m := authParam.FindStringSubmatch(rest)
			if m == nil {
				break
			}
			if name := strings.ToLower(m[1]); slices.Contains(seen, name) {
				return nil, fmt.Errorf("parameter %s is given more than once", name)
			} else {
				seen = append(seen, name)
			}
			rest = rest[len(m[0]):]
		}
		if len(seen) == 0 {
			return nil, fmt.Errorf("%q has neither parameters nor a token", strings.TrimSpace(rest))
		}
	}
	if len(schemes) == 0 {
		return nil, fmt.Errorf("%q has no challenge", header)
	}
	return schemes, nil
}

// checkChallenge checks WWW-Authenticate: it must parse, and on a 401 it must
// name a scheme that the document has. A document with only API keys needs none:
// no scheme is registered for them.
func (c *Contract) checkChallenge(x Interaction) []Fault {
	const where = "header WWW-Authenticate"
	var known []string
	if c.document.doc.Components != nil {
		for _, ref := range c.document.doc.Components.SecuritySchemes {
			switch ref.Value.Type {
			case "http":
				known = append(known, strings.ToLower(ref.Value.Scheme))
			case "oauth2", "openIdConnect":
				known = append(known, "bearer")
			}
		}
	}
	values := x.Header.Values("WWW-Authenticate")
	if len(values) == 0 {
		return nil // whether it is required the document says
	}
	schemes, err := parseChallenges(strings.Join(values, ", "))
	if err != nil {
		return []Fault{{where, "challenge", err.Error()}}
	}
	if x.Status == http.StatusUnauthorized && len(known) > 0 &&
		!slices.ContainsFunc(schemes, func(s string) bool { return slices.Contains(known, s) }) {
		return []Fault{{where, "securitySchemes", fmt.Sprintf("has the schemes %v, the document has %v", schemes, known)}}
	}
	return nil
}
