package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/limit"
	"github.com/plantstore/plantstore/internal/token"
)

// authenticator finds the tokens of requests.
type authenticator struct {
	tokens *token.Verifier
	failed *limit.Rates[netip.Prefix]
}

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
	errTooManyFailures = fail(plantapi.CodeTooManyRequests, "too many requests with bad credentials, try again later")
)

func lacksScope(s token.Scope) *failure {
	return &failure{
		code:      plantapi.CodeInsufficientScope,
		message:   fmt.Sprintf("the token lacks the scope %q", s),
		challenge: fmt.Sprintf(`%s, error="insufficient_scope", scope="%s"`, challenge, s),
	}
}

// authenticate returns the token of a request, or why it has no valid one. Beyond the limit of failed
// authentications the response to bad credentials is 429 instead of 401, and nothing else changes:
// valid credentials are accepted always, because clients behind one NAT or proxy share an address.
// [token.Verifier] bounds the reads of the store.
func (a authenticator) authenticate(ctx context.Context, response http.Header, r *http.Request) (token.Token, error) {
	found, err := a.verify(ctx, r)
	if err == errBadCredentials || errors.Is(err, token.ErrInvalid) {
		if quota := a.failed.Use(addressOf(r)); quota.Refused {
			quota.Describe(response)
			err = errTooManyFailures
		}
	}
	return found, err
}

func (a authenticator) verify(ctx context.Context, r *http.Request) (token.Token, error) {
	text, err := bearer(r.Header["Authorization"])
	if err != nil {
		return token.Token{}, err
	}
	return a.tokens.Verify(ctx, text)
}

// maxAddresses bounds the memory that a flood of bad credentials takes: about
// 200 bytes for each address. A flood from more addresses makes the service
// forget some of them, and respond to their bad credentials with 401 again.
const maxAddresses = 16 << 10

// addressOf is the address that a connection comes from; no header is trusted.
// An IPv6 address is its /64, because one host has that many. All connections
// without an IP address, as of a Unix socket, have the zero Prefix.
func addressOf(r *http.Request) netip.Prefix {
	remote, _ := netip.ParseAddrPort(r.RemoteAddr)
	address := remote.Addr().Unmap()
	prefix, _ := address.Prefix(min(address.BitLen(), 64))
	return prefix
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
