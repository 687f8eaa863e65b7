package contracttest

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

const challengeToken = "[!#$%&'*+.^_|~0-9A-Za-z`-]+"

// The text between the commas of a WWW-Authenticate header, as in Bearer realm="x",
// error="y": a scheme, a parameter or a token of it, or both (RFC 9110, section 11.6.1).
// Texts in quotes are made empty before.
var (
	quotedText  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	inChallenge = regexp.MustCompile(`^(?:(` + challengeToken + `)(?: +|$))?` +
		`(?:(` + challengeToken + `)[ \t]*=[ \t]*(?:` + challengeToken + `|"")|[A-Za-z0-9._~+/-]+=*)?$`)
)

// parseChallenges returns the schemes of a WWW-Authenticate header, in lower
// case, or an error if it does not parse.
func parseChallenges(header string) (schemes []string, err error) {
	var seen []string // the parameters of a scheme
	for part := range strings.SplitSeq(quotedText.ReplaceAllString(header, `""`), ",") {
		if part = strings.Trim(part, " \t"); part == "" {
			continue
		}
		m := inChallenge.FindStringSubmatch(part)
		switch {
		case m == nil, m[1] == "" && (m[2] == "" || len(seen) == 0):
			return nil, fmt.Errorf("%q is not a list of challenges", header)
		case m[1] != "":
			schemes, seen = append(schemes, strings.ToLower(m[1])), nil
		}
		if m[2] != "" && slices.Contains(seen, strings.ToLower(m[2])) {
			return nil, fmt.Errorf("parameter %s is given more than once", m[2])
		}
		if m[2] != "" {
			seen = append(seen, strings.ToLower(m[2]))
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
