package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/token"
)

// challenge opens every WWW-Authenticate header (RFC 6750, section 3).
const challenge = `Bearer realm="plantstore"`

var (
	// errNoCredentials names no error in its challenge: RFC 6750, section 3.1,
	// wants it so where no credentials were sent.
	errNoCredentials = &failure{
		code:      plantapi.CodeNoCredentials,
		message:   `no credentials: send the header "Authorization: Bearer <token>"`,
		challenge: challenge,
	}
	errBadCredentials = &failure{
		code:      plantapi.CodeBadCredentials,
		message:   token.ErrInvalid.Error(),
		challenge: challenge + `, error="invalid_token"`,
	}
)

func lacksScope(s token.Scope) *failure {
	return &failure{
		code:      plantapi.CodeInsufficientScope,
		message:   fmt.Sprintf("the token lacks the scope %q", s),
		challenge: fmt.Sprintf(`%s, error="insufficient_scope", scope="%s"`, challenge, s),
	}
}

// authenticate tells who is calling. Credentials that are not valid are counted;
// h are the headers of the answer.
func (v validator) authenticate(ctx context.Context, h http.Header, r *http.Request) (token.Token, error) {
	caller, err := v.identify(ctx, r)
	if err == errBadCredentials || errors.Is(err, token.ErrInvalid) {
		return token.Token{}, v.countFailedAuth(h, r, err)
	}
	return caller, err
}

// countFailedAuth counts bad credentials of an address and returns their error:
// err, or errTooManyFailures beyond the limit.
func (v validator) countFailedAuth(h http.Header, r *http.Request, err error) error {
	if v.failedAuth == nil {
		return err
	}
	left, ok := v.failedAuth.allow(addressOf(r))
	if ok {
		return err
	}
	left.refuse(h)
	return errTooManyFailures
}

func (v validator) identify(ctx context.Context, r *http.Request) (token.Token, error) {
	text, err := bearer(r.Header["Authorization"])
	if err != nil {
		return token.Token{}, err
	}
	return v.tokens.Verify(ctx, text)
}

// bearer takes the token out of the Authorization headers of a request. Two of
// them are refused: servers and proxies disagree about which one counts.
func bearer(headers []string) (string, error) {
	if len(headers) == 0 {
		return "", errNoCredentials
	}
	if len(headers) > 1 {
		return "", errBadCredentials
	}
	scheme, text := headers[0], ""
	if i := strings.IndexAny(scheme, " \t,"); i >= 0 {
		scheme, text = scheme[:i], scheme[i:]
	}
	if !strings.EqualFold(scheme, "Bearer") {
		return "", errNoCredentials // of a kind that we know
	}
	// 1*SP, RFC 9110, section 11.4; what else stands there is no token's text.
	return strings.TrimLeft(text, " "), nil
}
