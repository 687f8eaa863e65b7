package judge

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A client that gets a 401 reads from WWW-Authenticate how to log in (RFC 9110, section 11.6.1). Most clients do
// not, so a header that cannot be parsed goes unnoticed until one does.

// challengeToken is a token (RFC 9110, section 5.6.2).
const challengeToken = "[!#$%&'*+.^_|~0-9A-Za-z`-]+"

// What is between the commas of a WWW-Authenticate header is a scheme, a parameter, or both; a scheme may have a token in
// place of parameters (RFC 9110, section 11.6.1). Texts in quotes are made empty before.
//
//	Bearer realm="x", error="y", Negotiate abc=      Bearer realm="" | error="" | Negotiate abc=
var (
	quotedText  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	inChallenge = regexp.MustCompile(`^(?:(` + challengeToken + `)(?: +|$))?` +
		`(?:(` + challengeToken + `)[ \t]*=[ \t]*(?:` + challengeToken + `|"")|[A-Za-z0-9._~+/-]+=*)?$`)
)

// parseChallenges returns the schemes of a WWW-Authenticate header, in lower case, or an error if it does
// not parse. The grammar is ambiguous at commas, which separate challenges as well as their parameters: what has no scheme
// must be a further parameter of the last one.
func parseChallenges(header string) (schemes []string, err error) {
	var parameters []string // of the last scheme
	for part := range strings.SplitSeq(quotedText.ReplaceAllString(header, `""`), ",") {
		part = strings.Trim(part, " \t")
		if part == "" {
			continue
		}
		match := inChallenge.FindStringSubmatch(part)
		if match == nil {
			return nil, fmt.Errorf("%q is not a list of challenges", header)
		}
		scheme := strings.ToLower(match[1])
		parameter := strings.ToLower(match[2])
		isFurther := parameter != "" && len(parameters) > 0
		switch {
		case scheme != "":
			schemes = append(schemes, scheme)
			parameters = nil
		case !isFurther:
			return nil, fmt.Errorf("%q is not a list of challenges", header)
		}
		if slices.Contains(parameters, parameter) {
			return nil, fmt.Errorf("parameter %s is given more than once", match[2])
		}
		if parameter != "" {
			parameters = append(parameters, parameter)
		}
	}
	if len(schemes) == 0 {
		return nil, fmt.Errorf("%q has no challenge", header)
	}
	return schemes, nil
}

// challenge checks WWW-Authenticate: it must parse, and on a 401 it must name a scheme that the document
// has. Whether a response must have it, the document says.
func (j *Judge) challenge(x scenario.Interaction) []scenario.Fault {
	const where = "header WWW-Authenticate"
	values := x.Header.Values("WWW-Authenticate")
	if len(values) == 0 {
		return nil
	}
	schemes, err := parseChallenges(strings.Join(values, ", "))
	if err != nil {
		return one(where, "challenge", err.Error())
	}
	known := j.Document.ChallengeSchemes()
	mustBeKnown := x.Status == http.StatusUnauthorized && len(known) > 0
	isKnown := slices.ContainsFunc(schemes, func(scheme string) bool { return slices.Contains(known, scheme) })
	message := fmt.Sprintf("has the schemes %v, the document has %v", schemes, known)
	return require(isKnown || !mustBeKnown, where, "securitySchemes", message)
}
