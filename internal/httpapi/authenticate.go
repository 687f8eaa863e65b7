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

// challenge begins every WWW-Authenticate header (RFC 6750, section 3).
const challenge = `Bearer realm="plantstore"`

var (
	// errNoCredentials has no error in its challenge, as RFC 6750, section 3.1,
	// requires for a request without credentials.
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

// authenticate returns the token of a request, or why it has no valid one. h are
// the headers of the response. Failed authentications are counted.
func (v validator) authenticate(ctx context.Context, h http.Header, r *http.Request) (token.Token, error) {
	t, err := v.verify(ctx, r)
	if err == errBadCredentials || errors.Is(err, token.ErrInvalid) {
		return token.Token{}, v.countFailedAuth(h, r, err)
	}
	return t, err
}

// countFailedAuth counts a failed authentication, and returns err, or
// errTooManyFailures if the address is beyond its limit.
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

func (v validator) verify(ctx context.Context, r *http.Request) (token.Token, error) {
	text, err := bearer(r.Header["Authorization"])
	if err != nil {
		return token.Token{}, err
	}
	return v.tokens.Verify(ctx, text)
}

// bearer returns the token in the Authorization header. Two such headers are
// refused, because servers and proxies disagree about which one counts.
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
		return "", errNoCredentials // none of a known scheme
	}
	// RFC 9110, section 11.4, allows any number of spaces and nothing else.
	return strings.TrimLeft(text, " "), nil
}
